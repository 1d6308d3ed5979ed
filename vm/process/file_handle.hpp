// What other parts of the VM may do with an open file of prim_file, given its magic reference; and the owners of files:
// a file is closed when the process that opened it has ended, even if others still have its reference, as on OTP.
#pragma once

#include "vm/process/process.hpp"
#include "vm/term/heap.hpp"

namespace minivm {

struct FileHandle : MagicObject {
    // Returns another descriptor of the same file, close-on-exec, which the caller owns; or -errno. Any thread.
    virtual int duplicate() = 0;
    // The process that opened it has ended. On the thread that ends the process; does not wait.
    virtual void owner_ended() = 0;
};

namespace file_owners {
// p, which runs, has opened the file. Keeps no reference.
void add(Process& p, FileHandle* file);
// The file is closed, or about to be freed. `owner` is the pid of the process given to add().
void remove(Term owner, FileHandle* file);
}  // namespace file_owners

}  // namespace minivm
