// What other parts of the VM may do with an open file of prim_file, whose magic reference they are given, and whose it is:
// a file is closed when the process that opened it has ended, whoever else still has its reference, as on OTP.
#pragma once

#include "vm/process/process.hpp"
#include "vm/term/heap.hpp"

namespace minivm {

struct FileHandle : MagicObject {
    // Another descriptor of the same file, close-on-exec, which is the caller's; -errno: why not. Any thread.
    virtual int duplicate() = 0;
    // Its process has ended. On the thread that ends it; does not wait.
    virtual void owner_ended() = 0;
};

namespace file_owners {
// p, which runs, has opened the file. Keeps no reference.
void add(Process& p, FileHandle* file);
// The file is closed, or going away. `owner` is whom add() was told, by pid.
void remove(Term owner, FileHandle* file);
}  // namespace file_owners

}  // namespace minivm
