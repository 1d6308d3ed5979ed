#include "jit/code_info.hpp"

#include <algorithm>

namespace minivm {

namespace {

// Atoms hold any characters; the files of perf hold one name a line.
std::string printable(std::string name) {
    std::replace_if(
        name.begin(), name.end(),
        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
    return name;
}

}  // namespace

const char* machine_name(Machine machine) {
    return machine == Machine::x86_64 ? "x86-64" : "aarch64";
}

std::string native_function_name(std::string_view module, std::string_view function,
                                 unsigned arity) {
    std::string name = "$";
    name += module;
    name += ':';
    name += function;
    name += '/';
    name += std::to_string(arity);
    return printable(std::move(name));
}

std::string native_fragment_name(std::string_view fragment) {
    return printable("$global::" + std::string(fragment));
}

}  // namespace minivm
