// What the schedulers start and stop besides processes: declared here, defined in the folders above.
// On the thread that starts and stops the VM.
#pragma once

namespace minivm {

namespace ets {
void init();
// Frees all remaining tables, when the schedulers have stopped and all processes are gone.
void destroy_all();
}  // namespace ets

namespace nif {
// From here on resources that monitor a process learn of its end.
void init();
}

namespace port {
// Writes the output that still waits.
void flush_all();
// Ends the thread of the poller.
void destroy();
}  // namespace port

}  // namespace minivm
