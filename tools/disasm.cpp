#include "tools/disasm.hpp"

#include "vm/bif/bif.hpp"
#include "vm/code/export.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/format.hpp"
#include "loader/code_path.hpp"
#include "loader/loader.hpp"
#include "jit/code_info.hpp"
#include "jit/describe.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace minivm::tools {

namespace {

bool wanted(const LoweredModule& m, const LoweredFunction& f, std::string_view filter) {
    if (filter.empty()) {
        return true;
    }
    // As Erlang writes names, or without quotes, as other tools do.
    for (const std::string& module :
         {format_term(m.name), std::string(atom_table::text(m.name))}) {
        if (filter.starts_with(module + ":")) {
            filter.remove_prefix(module.size() + 1);
            break;
        }
    }
    for (const std::string& name : {format_term(f.name), std::string(atom_table::text(f.name))}) {
        if (filter == name || filter == name + "/" + std::to_string(f.arity)) {
            return true;
        }
    }
    return false;
}

Machine machine_named(const std::string& name) {
    return *std::find_if(std::begin(kMachines), std::end(kMachines),
                         [&](Machine m) { return name == machine_name(m); });
}

void print_tables(const LoweredModule& m, std::FILE* out) {
    std::fprintf(out, "module %s  %zu bytes, %zu functions, %zu instructions, md5 ",
                 format_term(m.name).c_str(), m.file_bytes, m.functions.size(), m.code.size());
    for (const uint8_t byte : m.md5) {
        std::fprintf(out, "%02x", byte);
    }
    std::fprintf(out, "\nattributes %s\n", format_term(m.attributes).c_str());
    for (const LoweredExport& e : m.exports) {
        std::fprintf(out, "export %s/%u @%u\n", format_term(e.function).c_str(), e.arity, e.entry);
    }
    for (const Export* e : m.imports) {
        std::fprintf(out, "import %s:%s/%u\n", format_term(e->module).c_str(),
                     format_term(e->function).c_str(), e->arity);
    }
    for (const LoweredLambda& l : m.lambdas) {
        std::fprintf(out, "fun %u %s/%u free %u @%u\n", l.index, format_term(l.function).c_str(),
                     l.arity, l.num_free, l.entry);
    }
    for (size_t i = 0; i < m.files.size(); ++i) {
        std::fprintf(out, "file %zu %s\n", i, m.files[i].c_str());
    }
    std::fprintf(out, "literals %zu words, strings %zu bytes, types %zu, catches %u\n",
                 m.literals == nullptr ? 0 : m.literals->words, m.strings.size(), m.types.size(),
                 m.catch_count);
    if (m.on_load != kNoLabel) {
        std::fprintf(out, "on_load @%u\n", m.on_load);
    }
}

void print_function(const LoweredModule& m, const LoweredFunction& f,
                    const std::set<uint32_t>& targets, std::FILE* out) {
    std::fprintf(out, "\n%s:%s/%u%s%s\n", format_term(m.name).c_str(), format_term(f.name).c_str(),
                 f.arity, f.exported ? "  exported" : "", f.native != nullptr ? "  native" : "");
    uint32_t line = kNoLine;
    for (uint32_t at = f.info; at < f.end; ++at) {
        const Instr& i = m.code[at];
        if (i.line != line && i.line != kNoLine) {
            const LineEntry& e = m.lines[i.line - 1];
            std::fprintf(out, "        ; %s:%u\n", m.files[e.file].c_str(), e.line);
        }
        line = i.line;
        const bool is_target = targets.count(at) != 0 || at == f.entry;
        std::fprintf(out, "%s%6u  %s", is_target ? "@" : " ", at, format_instr(m, i).c_str());
        if ((instr_info(i.op).effects & COLLECTS) != 0) {
            std::fprintf(out, "  [live %u]", i.live);
        }
        if (i.frame >= 0) {
            std::fprintf(out, "  [frame %d]", i.frame);
        }
        std::fputc('\n', out);
    }
}

}  // namespace

bool print_lowered(const LoweredModule& m, const std::string& function, const std::string& native,
                   std::FILE* out) {
    if (function.empty()) {
        print_tables(m, out);
    }
    std::set<uint32_t> targets;
    for (const Operand& o : m.operands) {
        if (o.kind == Operand::Kind::label && o.index != kNoLabel) {
            targets.insert(o.index);
        }
    }
    std::vector<std::string> machine_code;
    if (!native.empty()) {
        machine_code = jit::disassemble(m, machine_named(native), true);
    }
    bool found = false;
    for (size_t n = 0; n < m.functions.size(); ++n) {
        const LoweredFunction& f = m.functions[n];
        if (wanted(m, f, function)) {
            if (native.empty()) {
                print_function(m, f, targets, out);
            } else {
                std::fprintf(out, "\n%s", machine_code[n].c_str());
            }
            found = true;
        }
    }
    return found;
}

int disasm_command(const std::string& path, const std::string& function, const std::string& native,
                   std::FILE* out, std::FILE* err) {
    const auto* const machine =
        std::find_if(std::begin(kMachines), std::end(kMachines),
                     [&](Machine m) { return native == machine_name(m); });
    if (!native.empty() && machine == std::end(kMachines)) {
        std::fprintf(err, "minivm disasm: --native %s: x86-64 or aarch64\n", native.c_str());
        return 2;
    }
    std::vector<uint8_t> bytes;
    std::string why;
    if (!loader::read_file(path, &bytes, &why)) {
        std::fprintf(err, "minivm disasm: %s\n", why.c_str());
        return 1;
    }
    bif_registry::init();  // which calls and bodies are BIFs is part of the lowered form
    LoweredModule m;
    loader::LoadError error;
    if (!loader::load(bytes.data(), bytes.size(), &m, &error)) {
        std::fprintf(err, "minivm disasm: %s: %s\n", path.c_str(), error.text().c_str());
        return 1;
    }
    if (!print_lowered(m, function, native, out)) {
        std::fprintf(err, "minivm disasm: %s has no function %s\n", path.c_str(), function.c_str());
        return 1;
    }
    return 0;
}

}  // namespace minivm::tools
