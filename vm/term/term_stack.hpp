// A stack of terms for walks that must not recurse on the C++ stack: the first 64 cost no allocation.
// Threads: a local of one function.
#pragma once

#include <cstdlib>
#include <cstring>

#include "vm/term/term.hpp"

namespace minivm {

class TermStack {
  public:
    TermStack() = default;
    TermStack(const TermStack&) = delete;
    TermStack& operator=(const TermStack&) = delete;
    ~TermStack() {
        if (base_ != inline_) {
            std::free(base_);
        }
    }
    bool empty() const { return top_ == base_; }
    void push(Term t) {
        if (MINIVM_UNLIKELY(top_ == limit_)) {
            grow();
        }
        *top_++ = t;
    }
    Term pop() {
        MINIVM_ASSERT(!empty());
        return *--top_;
    }

  private:
    static constexpr size_t kInline = 64;

    MINIVM_NOINLINE void grow() {
        const size_t used = static_cast<size_t>(top_ - base_);
        Term* bigger = static_cast<Term*>(std::malloc(used * 2 * sizeof(Term)));
        MINIVM_CHECK(bigger != nullptr);
        std::memcpy(static_cast<void*>(bigger), base_, used * sizeof(Term));
        if (base_ != inline_) {
            std::free(base_);
        }
        base_ = bigger;
        top_ = bigger + used;
        limit_ = bigger + used * 2;
    }

    Term inline_[kInline];
    Term* base_ = inline_;
    Term* top_ = inline_;
    Term* limit_ = inline_ + kInline;
};

}  // namespace minivm
