// Which functions get native code, and which of those get fast paths: for finding the function on
// which two engines disagree (tools/bisect).
//
// A module of which nothing is selected runs as bytecode. In one that has native code, what is not
// selected gets default operations only, with calls, frames and returns as ever.
#pragma once

#include "vm/instr/lowered.hpp"
#include "vm/util/result.hpp"

#include <map>
#include <mutex>
#include <set>
#include <string>

namespace minivm::jit {

// A function's name, "lists:map/2", as elsewhere in tools.
std::string selection_name(const LoweredModule& m, uint32_t function);

// Any thread.
class Selection {
public:
    // Lines "MODULE" (all of it) and "MODULE:FUNCTION/ARITY". Fails with what is wrong.
    static Result<Selection, std::string> read(const std::string& path);

    bool has_module(const LoweredModule& m) const;
    bool has_function(const LoweredModule& m, uint32_t function) const;

private:
    std::set<std::string> modules_;
    std::set<std::string> whole_modules_;
    std::set<std::string> functions_;
};

// Writes the names of all functions that get native code, one a line. Any thread.
class FunctionList {
public:
    // Fails with what is wrong with the file.
    Result<void, std::string> open(const std::string& path);
    void add(const LoweredModule& m);

private:
    std::mutex mutex_;
    std::FILE* file_ = nullptr;  // open to the end of the process
};

}  // namespace minivm::jit
