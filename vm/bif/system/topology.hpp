// What processors the machine has: system_info(cpu_topology) and system_flag(cpu_topology, _).
#pragma once

#include "vm/process/process.hpp"

namespace minivm::cpu_topology {

// [{cpu, Node, Processor, ProcessorNode, Core, Thread, Logical}], which erlang:format_cpu_topology/1
// turns into what system_info/1 shows; undefined: the system does not tell.
Term detected(Heap& h);

}  // namespace minivm::cpu_topology
