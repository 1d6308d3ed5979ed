// How an instruction has ended.
#pragma once

#include <cstdint>

namespace minivm::semantics {

// Where the engine goes on.
enum class Next : uint8_t {
    go_on,
    branch,
    raise,   // Process::exception is set
    failed,  // a BIF's non-value: Process::outcome says what to do
    exiting,
    yield  // then go on
};

}  // namespace minivm::semantics
