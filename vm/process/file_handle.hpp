// What other parts of the VM may do with an open file of prim_file, whose magic reference they are given.
#pragma once

#include "vm/term/heap.hpp"

namespace minivm {

struct FileHandle : MagicObject {
    // Another descriptor of the same file, close-on-exec, which is the caller's; -errno: why not. Any thread.
    virtual int duplicate() = 0;
};

}  // namespace minivm
