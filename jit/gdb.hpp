// Names, lines and frames of native code for gdb, by its JIT interface: a list of ELF files in
// memory (jit/elf.hpp) and a function on which gdb has a breakpoint. A debugger that attaches later
// reads the list.
//
// Costs the ELF files' memory, about the size of the code again, so it is an option of the VM.
//
// Threads: any; entries are added and removed under one lock.
#pragma once

#include <memory>

namespace minivm {

struct NativeModule;

// A module is known to gdb from construction to destruction: at most as long as its code is there.
class GdbEntry {
public:
    explicit GdbEntry(const NativeModule& module);
    ~GdbEntry();
    GdbEntry(const GdbEntry&) = delete;
    GdbEntry& operator=(const GdbEntry&) = delete;

private:
    struct Listed;
    std::unique_ptr<Listed> listed_;
};

}  // namespace minivm
