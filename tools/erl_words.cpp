#include "tools/erl_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace minivm::tools {
namespace {

// Stands in front of the values of each -s, so that they can be told apart. No sensible argument is this character
// alone.
constexpr char kCallMark = '\x01';

// Empty: 0, which is what erl takes for "as many as usual".
std::optional<int> number(std::string_view text) {
    int n = 0;
    if (text.empty()) {
        return n;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return n;
}

// More than zero: so many. Else so many fewer than usual.
std::optional<int> count(std::string_view text, int usual) {
    const std::optional<int> n = number(text);
    if (!n.has_value()) {
        return n;
    }
    return *n > 0 ? *n : usual + *n;
}

}  // namespace

std::string as_cli_word(const std::string& word) {
    if (word == "-pa" || word == "-eval") {
        return "-" + word;
    }
    if (word == "-s") {
        return word + kCallMark;
    }
    if (word.starts_with("-s")) {
        return "-" + word;  // one option that is not known, and not -s with a value
    }
    for (const auto& [erls, option] : {std::pair("+t", kAtomsOption), std::pair("+S", kErlSchedulersOption)}) {
        if (word == erls) {
            return option;
        }
        const bool has_number = word.starts_with(erls) && std::string_view("0123456789:-").find(word[2]) != std::string_view::npos;
        if (has_number) {
            return std::string(option) + "=" + word.substr(2);
        }
    }
    return word;
}

bool begins_call(std::string_view value) { return value.size() == 1 && value.front() == kCallMark; }

std::vector<std::vector<std::string>> split_calls(const std::vector<std::string>& values) {
    std::vector<std::vector<std::string>> calls;
    for (const std::string& value : values) {
        if (begins_call(value)) {
            calls.emplace_back();
        } else {
            calls.back().push_back(value);
        }
    }
    return calls;
}

std::string why_unknown(std::string_view option) {
    constexpr std::array kDistribution = {"-sname", "-name", "-setcookie", "-hidden", "-remsh", "-dist_listen", "-start_epmd",
                                          "-connect_all"};
    constexpr std::array kShell = {"-noshell", "-noinput", "-detached", "-oldshell"};
    const auto is_one_of = [&](const auto& list) {
        return std::find(list.begin(), list.end(), option) != list.end();
    };
    if (is_one_of(kDistribution)) {
        return "run has no distribution, and erl has one";
    }
    if (is_one_of(kShell)) {
        return "run has no shell, and repl is one";
    }
    if (option == "-run") {
        return "there are -s and -eval";
    }
    if (option == "-pz") {
        return "there is -pa";
    }
    if (option.starts_with('+')) {
        return "of erl's options for the emulator there are +S and +t";
    }
    return "";
}

SchedulerNumbers scheduler_numbers(std::string_view value, int processors) {
    const size_t colon = std::min(value.find(':'), value.size());
    const std::string_view behind = value.substr(std::min(colon + 1, value.size()));
    const std::optional<int> all = count(value.substr(0, colon), processors);
    SchedulerNumbers numbers;
    if (!all.has_value() || value.empty() || value == ":" || *all < 1 || *all > kMostSchedulers) {
        numbers.error = "bad amount of schedulers " + std::string(value);
        return numbers;
    }
    // With more schedulers than processors, erl leaves the rest offline unless the value says otherwise.
    const std::optional<int> online = count(behind, std::min(*all, processors));
    if (!online.has_value() || *online < 1 || *online > *all) {
        numbers.error = "bad amount of schedulers online " + std::string(behind) + " (total amount of schedulers " +
                        std::to_string(*all) + ")";
        return numbers;
    }
    numbers.schedulers = *all;
    numbers.online = *online;
    return numbers;
}

}  // namespace minivm::tools
