// The environment of the operating system's process, which the program may change at any time (os:putenv/2).
// Threads: any. Who reads or writes `environ`, or calls getenv(3), setenv(3) or unsetenv(3), holds the lock, and builds
// no terms meanwhile: when memory is out, the crash dump looks here.
#pragma once

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

namespace minivm {

inline std::mutex& environment_lock() {
    static std::mutex lock;
    return lock;
}

// The value of a variable; nothing: there is no such variable. Takes the lock.
inline std::optional<std::string> environment_variable(const std::string& name) {
    const std::lock_guard lock(environment_lock());
    const char* const value = std::getenv(name.c_str());
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace minivm
