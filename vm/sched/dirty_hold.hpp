// Looking at a process from outside while a dirty scheduler has it, or is to get it.
#pragma once

namespace minivm {

struct Process;

namespace dirty {

// While one of these is there and true, its process stays where it is: waiting for a dirty
// scheduler, or in its dirty function. So pc, frames, registers and dirty_bif, which were saved
// before, do not change; its heap does, for the function may build terms. A dirty scheduler that is
// done with the process waits meanwhile, so what is done here is short. Any thread that may hold a
// Process*.
class Hold {
public:
    explicit Hold(Process& p);
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();
    // False: it is not with a dirty scheduler, or somebody else holds it.
    explicit operator bool() const { return process_ != nullptr; }

private:
    Process* process_ = nullptr;
};

}  // namespace dirty
}  // namespace minivm
