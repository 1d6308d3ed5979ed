// Words, fences and locks of the model, with the interface of those they stand for
// (vm/util/atomics.hpp).
#pragma once

#include "tests/support/model/explorer.hpp"

#include <bit>
#include <cstring>

namespace minivm::model {

template <typename T>
uint64_t to_word(T value) {
    static_assert(sizeof(T) <= 8);
    uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(T));
    return word;
}
template <typename T>
T from_word(uint64_t word) {
    T value;
    std::memcpy(&value, &word, sizeof(T));
    return value;
}

template <typename T>
class Atomic {
    using Here = std::source_location;

public:
    explicit Atomic(T value = T{}) : word_(add_word(to_word(value))) {}
    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;

    T load(std::memory_order order, Here at = Here::current()) const {
        return from_word<T>(model::load(word_, order, at));
    }
    void store(T value, std::memory_order order, Here at = Here::current()) {
        model::store(word_, to_word(value), order, at);
    }
    T exchange(T value, std::memory_order order, Here at = Here::current()) {
        return from_word<T>(model::exchange(word_, to_word(value), order, at));
    }
    T fetch_add(T value, std::memory_order order, Here at = Here::current()) {
        return from_word<T>(model::add(word_, to_word(value), kMask, order, at));
    }
    T fetch_sub(T value, std::memory_order order, Here at = Here::current()) {
        return from_word<T>(model::add(word_, to_word(static_cast<T>(-value)), kMask, order, at));
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order order,
                                 Here at = Here::current()) {
        const std::memory_order failure =
            is_seq_cst(order)
                ? order
                : (acquires(order) ? std::memory_order_acquire : std::memory_order_relaxed);
        return compare_exchange_strong(expected, desired, order, failure, at);
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order order,
                                 std::memory_order failure, Here at = Here::current()) {
        uint64_t found = to_word(expected);
        const bool done =
            model::compare_exchange(word_, found, to_word(desired), order, failure, at);
        expected = from_word<T>(found);
        return done;
    }

private:
    static constexpr uint64_t kMask = ~uint64_t{0} >> (64 - 8 * sizeof(T));
    unsigned word_;
};

// Plain data that a protocol protects (DataWord).
template <typename T>
class Data {
public:
    explicit Data(T value = T{}, const char* name = "data")
        : data_(add_data(to_word(value))), name_(name) {}
    Data(const Data&) = delete;
    Data& operator=(const Data& other) { return *this = static_cast<T>(other); }
    Data& operator=(T value) {
        store_data(data_, to_word(value), name_);
        return *this;
    }
    operator T() const { return from_word<T>(load_data(data_, name_)); }

private:
    unsigned data_;
    const char* name_;
};

class Mutex {
public:
    template <typename... Ignored>
    explicit Mutex(Ignored...) : mutex_(add_mutex()) {}
    void lock() { model::lock(mutex_); }
    bool try_lock() { return model::try_lock(mutex_); }
    void unlock() { model::unlock(mutex_); }

private:
    unsigned mutex_;
};

struct Atomics {
    template <typename T>
    using Atomic = model::Atomic<T>;
    using Mutex = model::Mutex;

    static void fence(std::memory_order order,
                      std::source_location at = std::source_location::current()) {
        model::fence(order, at);
    }
};

}  // namespace minivm::model
