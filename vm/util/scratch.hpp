// Room for n values during a call: on the C++ stack unless there are many, since n may come from outside.
// Threads: plain data, one owner.
#pragma once

#include <cstddef>
#include <memory>

namespace minivm {

template <typename T, size_t kInline>
class Scratch {
public:
    explicit Scratch(size_t n) {
        if (n > kInline) {
            heap_.reset(new T[n]);
        }
    }
    T* data() { return heap_ != nullptr ? heap_.get() : inline_; }

private:
    T inline_[kInline];
    std::unique_ptr<T[]> heap_;
};

}  // namespace minivm
