// For BIFs that work in slices with their state in a C++ object.
//
// A magic reference holds the object; a hidden BIF gets it as its argument, with the terms that the
// object needs as further arguments. The object is freed with the last reference to it.
#pragma once

#include "vm/code/export.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/term/binary.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace minivm {

// The most terms or bytes of a slice: tests make it small, so that every BIF here yields. Each slice may deal with
// kLeastSlice all the same, or a BIF that counts its input before it begins would make no progress.
constexpr int64_t kLeastSlice = 4;
constexpr int64_t kNoSliceLimit = INT64_MAX;
extern std::atomic<int64_t> g_slice_limit;

// Terms or bytes that this slice may still deal with: `per_reduction` for each reduction that is left.
// At least one reduction's worth, so that each slice makes progress.
inline int64_t slice_budget(const Process& p, int64_t per_reduction) {
    const int64_t budget = (p.reductions > 1 ? p.reductions : 1) * per_reduction;
    // relaxed: a number that tests set before the BIFs run.
    const int64_t limit = g_slice_limit.load(std::memory_order_relaxed);
    return std::min(budget, std::max(limit, kLeastSlice));
}
inline void charge_slice(Process& p, int64_t given, int64_t left, int64_t per_reduction) {
    consume(p, (given - left) / per_reduction + 1);
}

template <typename State>
Term hold_state(Process& p, std::unique_ptr<State> state) {
    return make_magic_ref(p.heap, new_ref_id(p), state.release());
}
// The object of this type that the magic reference t holds; null if t holds none of this type.
template <typename Object>
Object* object_of(Term t) {
    return is_magic_ref(t) ? dynamic_cast<Object*>(magic_object(t)) : nullptr;
}
template <typename State>
State* held_state(Term ref) {
    State* const state = object_of<State>(ref);
    MINIVM_CHECK(state != nullptr);  // only the VM calls a continuation
    return state;
}

// badarg of the BIF `as` when its continuation finds an error: the trace begins with the name and arguments
// of `as`, not with the continuation's.
inline Term badarg_as(Process& p, const Export* as, Term args) {
    badarg(p);
    p.exception.bif = as->bif;
    p.exception.args = args;
    return kNonValue;
}

// The bytes of a binary at an address that stays the same while a BIF yields or waits.
class HeldBytes {
public:
    HeldBytes() = default;
    HeldBytes(const HeldBytes&) = delete;
    HeldBytes& operator=(const HeldBytes&) = delete;
    ~HeldBytes() {
        if (owner_ != nullptr) {
            owner_->release();
        }
    }
    // False: no binary.
    bool hold(Term binary) {
        if (!get_bytes(binary, &bytes_)) {
            return false;
        }
        if (bytes_.copy != nullptr) {
            return true;
        }
        const Term* object = boxed_ptr(binary);
        if (header_kind(object->raw) == Kind::sub_bits && kind_of(object[1]) == Kind::bin_ref) {
            // A binary with more than one owner is not moved.
            owner_ = reinterpret_cast<RefBinary*>(boxed_ptr(object[1])[1].raw);
            owner_->retain();
        } else {
            bytes_.copy.reset(new uint8_t[bytes_.size + 1]);
            std::memcpy(bytes_.copy.get(), bytes_.data, bytes_.size);
            bytes_.data = bytes_.copy.get();
        }
        return true;
    }
    const uint8_t* data() const { return bytes_.data; }
    size_t size() const { return bytes_.size; }

private:
    Bytes bytes_{};
    RefBinary* owner_ = nullptr;
};

// Collects bytes in a RefBinary, so that a long result is not copied again.
class ByteSink {
public:
    ByteSink() = default;
    ByteSink(const ByteSink&) = delete;
    ByteSink& operator=(const ByteSink&) = delete;
    ~ByteSink() {
        if (large_ != nullptr) {
            large_->release();
        }
    }
    size_t size() const { return size_; }
    const uint8_t* data() const { return large_ != nullptr ? large_->data() : small_; }
    void put(uint8_t byte) { *room(1) = byte; }
    uint8_t* room(size_t n) {
        if (MINIVM_UNLIKELY(n > capacity_ - size_)) {
            grow(n);
        }
        uint8_t* p = (large_ != nullptr ? large_->data() : small_) + size_;
        size_ += n;
        return p;
    }
    // The result as a binary. Call it once.
    Term take(Heap& h) {
        if (large_ == nullptr || size_ <= kMaxHeapBitsBytes) {
            return make_binary(h, data(), size_);
        }
        RefBinary* b = RefBinary::reallocate(large_, size_);
        large_ = nullptr;
        return wrap_ref_binary(h, b, 8 * static_cast<uint64_t>(size_));
    }

private:
    void grow(size_t n) {
        size_t wanted = size_ + n;
        wanted = wanted < 2 * capacity_ ? 2 * capacity_ : wanted;
        if (large_ == nullptr) {
            large_ = RefBinary::create(wanted);
            std::memcpy(large_->data(), small_, size_);
        } else {
            large_ = RefBinary::reallocate(large_, wanted);
        }
        capacity_ = wanted;
    }

    size_t size_ = 0;
    size_t capacity_ = sizeof(small_);
    RefBinary* large_ = nullptr;
    uint8_t small_[128];
};

}  // namespace minivm
