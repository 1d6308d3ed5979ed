// Result: a value or the reason why there is none. What the outside gives us (files, command lines,
// messages of the external term format) is answered with a Result; Erlang exceptions are values of
// the machine and use their own type.
//
//     Result<Header, LoadError> read_header(Reader& in);
//
//     Result<Module, LoadError> read_module(Reader& in) {
//         MINIVM_TRY(auto header, read_header(in));      // returns the error to our caller
//         MINIVM_TRY_VOID(skip_padding(in));             // for Result<void, E>
//         ...
//         return Module(...);                            // a value converts
//         return Failure(LoadError{...});                // an error is always spelled
//     }
//
// Invariant: holds exactly one of T and E from construction to destruction; a moved-from Result
// keeps its alternative, itself moved-from. Reading the alternative that is absent aborts
// (MINIVM_CHECK).
#pragma once

#include "vm/util/assert.hpp"

#include <type_traits>
#include <utility>
#include <variant>

namespace minivm {

// Marks a value as an error, so that T and E may be the same type and nothing becomes an error
// silently.
template <typename E>
struct [[nodiscard]] Failure {
    explicit Failure(E e) : error(std::move(e)) {}
    E error;
};

template <typename T, typename E>
class [[nodiscard]] Result {
    static_assert(!std::is_reference_v<T> && !std::is_reference_v<E>, "store pointers instead");

public:
    using value_type = T;
    using error_type = E;

    // The condition leaves copies and moves to the constructors meant for them.
    template <typename U = T,
              typename = std::enable_if_t<std::is_convertible_v<U&&, T> &&
                                          !std::is_same_v<std::remove_cvref_t<U>, Result>>>
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
    Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}

    template <typename F, typename = std::enable_if_t<std::is_constructible_v<E, F&&>>>
    Result(Failure<F>&& failure) : state_(std::in_place_index<1>, std::move(failure.error)) {}

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& value() & {
        MINIVM_CHECK(ok());
        return *std::get_if<0>(&state_);
    }
    const T& value() const& {
        MINIVM_CHECK(ok());
        return *std::get_if<0>(&state_);
    }
    T&& value() && {
        MINIVM_CHECK(ok());
        return std::move(*std::get_if<0>(&state_));
    }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    E& error() & {
        MINIVM_CHECK(!ok());
        return *std::get_if<1>(&state_);
    }
    const E& error() const& {
        MINIVM_CHECK(!ok());
        return *std::get_if<1>(&state_);
    }
    E&& error() && {
        MINIVM_CHECK(!ok());
        return std::move(*std::get_if<1>(&state_));
    }

    template <typename U>
    T value_or(U&& otherwise) && {
        return ok() ? std::move(*std::get_if<0>(&state_)) : T(std::forward<U>(otherwise));
    }

private:
    std::variant<T, E> state_;
};

// Done, or the reason why not.
template <typename E>
class [[nodiscard]] Result<void, E> {
public:
    using value_type = void;
    using error_type = E;

    Result() = default;

    template <typename F, typename = std::enable_if_t<std::is_constructible_v<E, F&&>>>
    Result(Failure<F>&& failure) : state_(std::in_place_index<1>, std::move(failure.error)) {}

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    void value() const { MINIVM_CHECK(ok()); }

    E& error() & {
        MINIVM_CHECK(!ok());
        return *std::get_if<1>(&state_);
    }
    const E& error() const& {
        MINIVM_CHECK(!ok());
        return *std::get_if<1>(&state_);
    }
    E&& error() && {
        MINIVM_CHECK(!ok());
        return std::move(*std::get_if<1>(&state_));
    }

private:
    std::variant<std::monostate, E> state_;
};

}  // namespace minivm

#define MINIVM_CONCAT_EXPANDED(a, b) a##b
#define MINIVM_CONCAT(a, b) MINIVM_CONCAT_EXPANDED(a, b)

#define MINIVM_TRY_NAMED(result, variable, ...)              \
    auto result = (__VA_ARGS__);                             \
    if (MINIVM_UNLIKELY(!result.ok())) {                     \
        return ::minivm::Failure(std::move(result).error()); \
    }                                                        \
    variable = std::move(result).value()

// MINIVM_TRY(variable, expression): variable (a declaration such as `auto x`, or an existing name)
// gets the value; an error is returned from the enclosing function. Expands to statements: brace
// the body of an if or a loop.
#define MINIVM_TRY(variable, ...) \
    MINIVM_TRY_NAMED(MINIVM_CONCAT(minivm_try_, __COUNTER__), variable, __VA_ARGS__)

// The same for a Result<void, E>, or for a value that is of no interest.
#define MINIVM_TRY_VOID(...)                                                \
    do {                                                                    \
        auto minivm_try_result = (__VA_ARGS__);                             \
        if (MINIVM_UNLIKELY(!minivm_try_result.ok())) {                     \
            return ::minivm::Failure(std::move(minivm_try_result).error()); \
        }                                                                   \
    } while (false)
