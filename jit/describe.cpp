#include "jit/describe.hpp"

#include "vm/term/format.hpp"
#include "jit/elf.hpp"
#include "jit/emitter.hpp"
#include "jit/jit.hpp"
#include "jit/layout.hpp"
#include "jit/listing.hpp"
#include "jit/native_code.hpp"
#include "jit/runtime.hpp"

#include <algorithm>
#include <array>

namespace minivm::jit {

namespace {

struct Fragment {
    const char* name;
    const void* address;
};

auto named(const Fragments& f) {
    return std::array{
#define FRAGMENT(name) Fragment{#name, f.name},
#include "jit/fragments.def"
#undef FRAGMENT
    };
}

std::string plain(Term atom) {
    // Tools show names as they are, not as Erlang would quote them.
    std::string name = format_term(atom);
    if (name.size() >= 2 && name.front() == '\'' && name.back() == '\'') {
        name = name.substr(1, name.size() - 2);
    }
    return name;
}

std::string function_name(const LoweredModule& m, uint32_t function) {
    const LoweredFunction& f = m.functions[function];
    return native_function_name(plain(m.name), plain(f.name), f.arity);
}

// Where gdb finds the stacks: jit/x86_64/assembler.cpp has the registers' roles. The frames of
// aarch64 are not described, so gdb shows no callers there.
void set_stacks(NativeModule& module) {
    if (module.machine != Machine::x86_64) {
        for (NativeRange& range : module.ranges) {
            range.frames.clear();
        }
        return;
    }
    module.stack_register = dwarf_register::kX86Rsp;
    module.saved_base_register = dwarf_register::kX86Rbp;
    module.saved_offset_bytes = kHeapEnd;
    if (frame_pointers()) {
        module.saved_base_register = dwarf_register::kX86Rbx;
        module.saved_base_in_memory = true;
        module.saved_base_offset_bytes = kSchedProcess;
    }
}

}  // namespace

NativeModule describe(const LoweredModule& m, const NativeCode& code) {
    NativeModule module;
    module.name = plain(m.name);
    module.files = m.files;
    const auto base = reinterpret_cast<uintptr_t>(code.base);
    const auto& locations = code.locations;
    for (size_t first = 0, last = 0; first < locations.size(); first = last) {
        const uint32_t function = locations[first].function;
        while (last < locations.size() && locations[last].function == function) {
            last++;
        }
        NativeRange range;
        range.begin = base + locations[first].offset;
        range.end = base + (last < locations.size() ? locations[last].offset : code.bytes);
        if (range.begin == range.end) {
            continue;
        }
        range.name = function_name(m, function);
        for (size_t i = first; i < last; i++) {
            NativeLine line{locations[i].offset - locations[first].offset, 0, 0};
            if (locations[i].line != 0) {
                const LineEntry& entry = m.lines[locations[i].line - 1];
                line.line = entry.line;
                line.file = entry.file;
            }
            range.lines.push_back(line);
        }
        auto frame = std::lower_bound(
            code.frames.begin(), code.frames.end(), range.begin - base,
            [](const NativeFrame& f, uintptr_t offset) { return f.offset < offset; });
        for (; frame != code.frames.end() && base + frame->offset < range.end; ++frame) {
            range.frames.push_back(*frame);
            range.frames.back().offset = static_cast<uint32_t>(base + frame->offset - range.begin);
        }
        module.ranges.push_back(std::move(range));
    }
    set_stacks(module);
    return module;
}

NativeModule describe_fragments() {
    auto all = named(g_fragments);
    std::sort(all.begin(), all.end(),
              [](const Fragment& a, const Fragment& b) { return a.address < b.address; });
    NativeModule module;
    module.name = "$global";
    for (size_t i = 0; i < all.size(); i++) {
        NativeRange range;
        range.begin = reinterpret_cast<uintptr_t>(all[i].address);
        range.end =
            reinterpret_cast<uintptr_t>(i + 1 < all.size() ? all[i + 1].address : g_fragments.end);
        range.name = native_fragment_name(all[i].name);
        // Called with the return address on top, whoever calls.
        range.frames.push_back({0, sizeof(Word)});
        for (NativeFrame frame : g_fragment_frames) {
            const uintptr_t address = reinterpret_cast<uintptr_t>(g_fragments.enter) + frame.offset;
            if (range.begin <= address && address < range.end) {
                frame.offset = static_cast<uint32_t>(address - range.begin);
                range.frames.push_back(frame);
            }
        }
        module.ranges.push_back(std::move(range));
    }
    set_stacks(module);
    return module;
}

namespace {

// Where listings and measures lay out the fragments, with a module behind them: in reach of the
// program's functions, as code memory is. Nothing is put there.
const auto* const kLayoutBase = reinterpret_cast<const std::byte*>(uintptr_t{1} << 30);
constexpr uintptr_t kLayoutAlignment = 64;

}  // namespace

std::vector<uint8_t> lay_out(const LoweredModule& m, Machine machine, bool fast_paths,
                             Listing* listing, OpUses* uses) {
    const std::unique_ptr<MacroAssembler> shared = new_assembler(machine);
    const std::vector<PlacedFragment> placed = emit_fragments(*shared);
    const Fragments fragments = fragments_at(*shared, placed, kLayoutBase);
    if (listing != nullptr) {
        for (const Fragment& f : named(fragments)) {
            listing->name_address(reinterpret_cast<uintptr_t>(f.address),
                                  native_fragment_name(f.name));
        }
    }
    const std::unique_ptr<MacroAssembler> a = new_assembler(machine);
    NativeCode code;
    Emitter emitter(m, *a, fragments, code, fast_paths);
    if (listing != nullptr) {
        emitter.list_to(*listing);
    }
    if (uses != nullptr) {
        emitter.count_to(*uses);
    }
    emitter.run();
    emitter.place();
    std::vector<uint8_t> bytes(a->size());
    const auto end = reinterpret_cast<uintptr_t>(fragments.end);
    a->copy_to(bytes.data(), (end + kLayoutAlignment - 1) & ~(kLayoutAlignment - 1));
    return bytes;
}

std::vector<std::string> disassemble(const LoweredModule& m, Machine machine, bool fast_paths) {
    Listing listing;
    const std::vector<uint8_t> bytes = lay_out(m, machine, fast_paths, &listing);
    std::vector<std::string> answer;
    for (uint32_t f = 0; f < m.functions.size(); f++) {
        answer.push_back(function_name(m, f) + "\n" + listing.text(bytes.data(), f));
    }
    return answer;
}

}  // namespace minivm::jit
