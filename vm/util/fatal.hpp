// What any part of the VM may ask of vm/fault: to end the program when something has run out, and to prepare a
// thread for a fault.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minivm {

namespace fault {

// Gives the calling thread an alternate stack until it ends. Does nothing without install().
void prepare_thread();
// Ends the VM with status 1 because something has run out: prints `why` on standard error, and a report as for
// a fault. Any thread, also one that holds locks: nothing here takes one of ours.
[[noreturn]] void end_vm(const char* why);

}  // namespace fault

// Ends the VM because that many bytes could not be allocated for a process, a binary or literals: with OTP's message,
// which goes into the recording as well.
enum class WantedFor : uint8_t { heap, fragment, binary, literal };
[[noreturn]] void out_of_memory(WantedFor what, size_t bytes);

}  // namespace minivm
