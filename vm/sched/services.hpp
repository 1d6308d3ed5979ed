// What the schedulers start and stop besides processes: declared here, done by the folders above.
// On the thread that starts and stops the VM.
#pragma once

namespace minivm {

namespace ets {
void init();
// All tables that are left, when the schedulers have stopped and all processes are gone.
void destroy_all();
}  // namespace ets

namespace nif {
// Processes that end are told to resources that monitor them.
void init();
}

namespace port {
// Writes what still waits.
void flush_all();
// Ends the thread of the poller.
void destroy();
}  // namespace port

}  // namespace minivm
