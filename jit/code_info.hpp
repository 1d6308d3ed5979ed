// What tools outside of the VM may know of native code: names, lines and frames, as plain data.
//
// The engine makes one NativeModule for each module it installs, and one for the shared fragments.
// perf (jit/perf.hpp) and gdb (jit/gdb.hpp) are fed from it; nothing in the VM reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minivm {

enum class Machine : uint8_t { x86_64, aarch64 };
inline constexpr Machine kMachines[] = {Machine::x86_64, Machine::aarch64};

// "x86-64", "aarch64"
const char* machine_name(Machine machine);

// The machine that this program runs on; kRunsNativeCode: it is one of them.
#if defined(__aarch64__)
inline constexpr Machine kHostMachine = Machine::aarch64;
inline constexpr bool kRunsNativeCode = true;
#elif defined(__x86_64__)
inline constexpr Machine kHostMachine = Machine::x86_64;
inline constexpr bool kRunsNativeCode = true;
#else
inline constexpr Machine kHostMachine = Machine::x86_64;
inline constexpr bool kRunsNativeCode = false;
#endif

// The instructions from `offset` on, up to the next entry, belong to this line.
struct NativeLine {
    uint32_t offset;  // from the begin of the range
    uint32_t line;    // 1-based; 0: no line
    uint32_t file;    // index into NativeModule::files
};

// Where the caller's frame is, from `offset` on up to the next entry. The canonical frame address
// (CFA) is what the Erlang stack pointer was before the call; the return address lies in the word
// below it.
struct NativeFrame {
    uint32_t offset;            // from the begin of the range
    uint32_t cfa_offset_bytes;  // CFA = Erlang stack pointer + this
    // The Erlang stack pointer is not in its register but saved in memory, because C++ is running
    // on the scheduler's stack.
    bool saved = false;
    // The return address is not on the stack yet but in the link register (aarch64, until the entry
    // of a function has stored it).
    bool return_in_register = false;
};

// One function or shared fragment.
struct NativeRange {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    std::string name;               // native_function_name(), native_fragment_name()
    std::vector<NativeLine> lines;  // by offset, ascending
    std::vector<NativeFrame>
        frames;               // by offset, ascending; none: debuggers do not unwind through it
    bool ends_stack = false;  // what it would return to is no frame
};

struct NativeModule {
    Machine machine = kHostMachine;
    std::string name;                // "lists", or "$global"
    std::string directory;           // what relative names in `files` are relative to; may be empty
    std::vector<std::string> files;  // "lists.erl"
    std::vector<NativeRange> ranges;  // by address, ascending, without overlap

    // The register of the Erlang stack pointer, and where it is saved while C++ runs: at
    // [saved_base_register + saved_offset_bytes], or, if the base is in memory itself, at
    // [[saved_base_register + saved_base_offset_bytes] + saved_offset_bytes]. DWARF numbers:
    // jit/elf.hpp.
    uint8_t stack_register = 0;
    uint8_t saved_base_register = 0;
    bool saved_base_in_memory = false;
    int32_t saved_base_offset_bytes = 0;
    int32_t saved_offset_bytes = 0;
};

// "$lists:map/2". Bytes that would end a line in a tool's file are replaced by '?'.
std::string native_function_name(std::string_view module, std::string_view function,
                                 unsigned arity);
// "$global::call_error"
std::string native_fragment_name(std::string_view fragment);

}  // namespace minivm
