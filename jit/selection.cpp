#include "jit/selection.hpp"

#include "vm/term/atom_table.hpp"
#include "jit/code_info.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace minivm::jit {

std::string selection_name(const LoweredModule& m, uint32_t function) {
    const LoweredFunction& f = m.functions[function];
    return native_function_name(atom_table::text(m.name), atom_table::text(f.name), f.arity)
        .substr(1);  // without the $ of names in tools for native code
}

Result<Selection, std::string> Selection::read(const std::string& path) {
    std::ifstream in(path);
    if (!in) {
        return Failure(path + ": " + std::strerror(errno));
    }
    Selection selection;
    std::string line;
    while (std::getline(in, line)) {
        if (line.empty()) {
            continue;
        }
        const size_t colon = line.find(':');
        selection.modules_.insert(line.substr(0, colon));
        (colon == std::string::npos ? selection.whole_modules_ : selection.functions_).insert(line);
    }
    return selection;
}

bool Selection::has_module(const LoweredModule& m) const {
    return modules_.count(std::string(atom_table::text(m.name))) != 0;
}

bool Selection::has_function(const LoweredModule& m, uint32_t function) const {
    return whole_modules_.count(std::string(atom_table::text(m.name))) != 0 ||
           functions_.count(selection_name(m, function)) != 0;
}

Result<void, std::string> FunctionList::open(const std::string& path) {
    file_ = std::fopen(path.c_str(), "w");
    if (file_ == nullptr) {
        return Failure(path + ": " + std::strerror(errno));
    }
    return {};
}

void FunctionList::add(const LoweredModule& m) {
    const std::lock_guard lock(mutex_);
    for (uint32_t f = 0; f < m.functions.size(); ++f) {
        std::fprintf(file_, "%s\n", selection_name(m, f).c_str());
    }
    std::fflush(file_);  // the process may be killed
}

}  // namespace minivm::jit
