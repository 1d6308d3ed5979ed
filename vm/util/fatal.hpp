// What any part of the VM may ask of vm/fault: to end the program for want of something, and to be ready for a
// thread that fails.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minivm {

namespace fault {

// Gives the calling thread an alternate stack until it ends. Does nothing without install().
void prepare_thread();
// Ends the VM with status 1 for something that it has run out of: `why` on standard error, and a report as
// of a fault. On any thread; locks may be held, what they guard is not looked at.
[[noreturn]] void end_vm(const char* why);

}  // namespace fault

// What is left to do when so many bytes are not to be had for a process, a binary or literals: the VM ends as OTP's does,
// with OTP's words, and the recording has them, too.
enum class WantedFor : uint8_t { heap, fragment, binary, literal };
[[noreturn]] void out_of_memory(WantedFor what, size_t bytes);

}  // namespace minivm
