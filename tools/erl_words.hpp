// The command line as erl spells it: long options with one dash, +S and +t, -s as often as one likes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minivm::tools {

// The options that CLI11 sees in place of +S N:M and +t N.
constexpr const char* kAtomsOption = "--atoms";
constexpr const char* kErlSchedulersOption = "--erl-schedulers";

// A word of the command line as CLI11 should see it, always one for one.
std::string as_cli_word(const std::string& word);

// Splits the values of all -s, which CLI11 gives together, into those of each.
std::vector<std::vector<std::string>> split_calls(const std::vector<std::string>& values);
// Whether the value is the first of one -s.
bool begins_call(std::string_view value);

// Why minivm does not have an option, which erl may have; empty if there is nothing to say.
std::string why_unknown(std::string_view option);

constexpr int kMostSchedulers = 1024;  // as the emulator's
struct SchedulerNumbers {
    int schedulers = 0;
    int online = 0;
    std::string error;  // what is wrong, or empty
};
// The value of +S on a machine with that many processors, with the meaning it has for erl.
SchedulerNumbers scheduler_numbers(std::string_view value, int processors);

}  // namespace minivm::tools
