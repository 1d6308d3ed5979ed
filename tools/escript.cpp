#include "tools/escript.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace minivm::tools {
namespace {

// Enough for the lines that may have flags: the second or the third.
constexpr size_t kHeaderBytes = 4096;

std::string header(const std::string& path) {
    std::string bytes(kHeaderBytes, '\0');
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, bytes.data(), bytes.size()) : -1;
    if (fd >= 0) {
        close(fd);
    }
    bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return bytes;
}

std::vector<std::string> words(std::string_view line) {
    std::vector<std::string> all;
    constexpr std::string_view kBlanks = " \t\r";
    for (size_t begin = line.find_first_not_of(kBlanks); begin != line.npos;) {
        const size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
        all.emplace_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(kBlanks, end);
    }
    return all;
}

// Takes flags as on the command line of erl. Those for the emulator (+A 1) mean nothing here.
void add_flags(std::string_view line, RunOptions* options) {
    std::vector<std::string>* values = nullptr;
    std::vector<std::string> directories;
    std::vector<std::string> ignored;
    for (std::string& word : words(line)) {
        if (word.front() == '+') {
            values = &ignored;
        } else if (word == "-pa" || word == "-pz") {
            values = &directories;
        } else if (word.front() == '-' && word.size() > 1) {
            values = &options->flags.emplace_back(word.substr(1), std::vector<std::string>()).second;
        } else if (values != nullptr) {
            values->push_back(std::move(word));
        }
    }
    options->path.insert(options->path.end(), directories.begin(), directories.end());
}

// As escript does, takes any regular file that is of no other known kind. A name without a directory is a script
// only if no module in the directories of the command line has it.
bool is_script(const RunOptions& options, std::string_view text) {
    if (text.starts_with("#!") || text.starts_with("PK\x03\x04")) {
        return true;
    }
    namespace fs = std::filesystem;
    std::error_code ignored;
    const fs::path file = options.program;
    const std::string end = file.extension();
    constexpr std::array kOtherFiles = {".beam", ".erl", ".ex", ".exs"};
    if (!fs::is_regular_file(file, ignored) || text.starts_with("FOR1") || text.starts_with("\x1f\x8b") ||
        std::find(kOtherFiles.begin(), kOtherFiles.end(), end) != kOtherFiles.end()) {
        return false;
    }
    const auto has_module = [&](const fs::path& dir) {
        return fs::exists(dir / (options.program + ".beam"), ignored);
    };
    return options.program.find('/') != std::string::npos ||
           (!has_module(".") && std::none_of(options.path.begin(), options.path.end(), has_module));
}

}  // namespace

void run_as_script(RunOptions* options) {
    const std::string text = header(options->program);
    if (!is_script(*options, text)) {
        return;
    }
    std::string_view rest(text);
    for (int line = 0; line < 3 && text.starts_with('#'); ++line) {
        const std::string_view one = rest.substr(0, rest.find('\n'));
        if (line > 0 && one.starts_with("%%!")) {
            add_flags(one.substr(3), options);
            break;
        }
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    }
    options->arguments.insert(options->arguments.begin(), std::move(options->program));
    options->program.clear();
    options->steps.push_back({.is_call = true, .words = {"escript", "start"}});
}

}  // namespace minivm::tools
