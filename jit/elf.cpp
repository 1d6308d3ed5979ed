#include "jit/elf.hpp"

#include "vm/util/assert.hpp"

#include <elf.h>

#include <array>
#include <string_view>
#include <type_traits>
#include <vector>

namespace minivm {

namespace {

// The part of DWARF that is written here, by its own names and numbers.
enum : uint8_t {
    DW_TAG_compile_unit = 0x11,
    DW_TAG_subprogram = 0x2e,
    DW_AT_name = 0x03,
    DW_AT_stmt_list = 0x10,
    DW_AT_low_pc = 0x11,
    DW_AT_high_pc = 0x12,
    DW_AT_comp_dir = 0x1b,
    DW_AT_producer = 0x25,
    DW_AT_external = 0x3f,
    DW_FORM_addr = 0x01,
    DW_FORM_data8 = 0x07,
    DW_FORM_string = 0x08,
    DW_FORM_sec_offset = 0x17,
    DW_FORM_flag_present = 0x19,
    DW_LNS_copy = 0x01,
    DW_LNS_advance_pc = 0x02,
    DW_LNS_advance_line = 0x03,
    DW_LNS_set_file = 0x04,
    DW_LNE_end_sequence = 0x01,
    DW_LNE_set_address = 0x02,
    DW_CFA_nop = 0x00,
    DW_CFA_advance_loc4 = 0x04,
    DW_CFA_undefined = 0x07,
    DW_CFA_same_value = 0x08,
    DW_CFA_def_cfa = 0x0c,
    DW_CFA_def_cfa_expression = 0x0f,
    DW_CFA_val_offset = 0x14,
    DW_CFA_offset = 0x80,  // the register is in its low bits
    DW_OP_deref = 0x06,
    DW_OP_plus_uconst = 0x23,
    DW_OP_breg0 = 0x70  // the register is added
};

constexpr uint32_t kWordBytes = 8;

class ByteWriter {
public:
    template <typename T>
    void number(T value) {
        static_assert(std::is_integral_v<T>);
        out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    void u8(uint8_t value) { number(value); }
    void u16(uint16_t value) { number(value); }
    void u32(uint32_t value) { number(value); }
    void u64(uint64_t value) { number(value); }
    void list(std::initializer_list<uint8_t> values) {
        for (const uint8_t value : values) {
            u8(value);
        }
    }
    void uleb(uint64_t value) {
        do {
            const uint8_t low = value & 0x7f;
            value >>= 7;
            u8(value != 0 ? low | 0x80 : low);
        } while (value != 0);
    }
    void sleb(int64_t value) {
        bool more = true;
        while (more) {
            const uint8_t low = value & 0x7f;
            value >>= 7;
            // Complete when what is left is only the sign, and the last bit written says so.
            more = !((value == 0 && (low & 0x40) == 0) || (value == -1 && (low & 0x40) != 0));
            u8(more ? low | 0x80 : low);
        }
    }
    void text(std::string_view text) {
        out_ += text;
        out_ += '\0';
    }
    void append(const std::string& bytes) { out_ += bytes; }
    void align(size_t alignment, uint8_t filling) {
        while (out_.size() % alignment != 0) {
            u8(filling);
        }
    }
    size_t size() const { return out_.size(); }
    std::string take() { return std::move(out_); }

private:
    std::string out_;
};

// DWARF's units and frame entries begin with the number of bytes that follow.
std::string with_length(std::string body) {
    ByteWriter out;
    out.u32(static_cast<uint32_t>(body.size()));
    out.append(body);
    return out.take();
}

uint64_t module_begin(const NativeModule& module) {
    return module.ranges.front().begin;
}
uint64_t module_bytes(const NativeModule& module) {
    return module.ranges.back().end - module.ranges.front().begin;
}

std::string debug_abbrev() {
    ByteWriter out;
    out.list({1, DW_TAG_compile_unit, 1});  // number, tag, has children
    out.list({DW_AT_producer, DW_FORM_string, DW_AT_name, DW_FORM_string});
    out.list({DW_AT_comp_dir, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr});
    out.list({DW_AT_high_pc, DW_FORM_data8, DW_AT_stmt_list, DW_FORM_sec_offset, 0, 0});
    out.list({2, DW_TAG_subprogram, 0});
    out.list({DW_AT_name, DW_FORM_string, DW_AT_external, DW_FORM_flag_present});
    out.list({DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8, 0, 0});
    out.u8(0);
    return out.take();
}

std::string debug_info(const NativeModule& module) {
    ByteWriter out;
    out.u16(4);  // DWARF version
    out.u32(0);  // offset in .debug_abbrev
    out.u8(kWordBytes);
    out.uleb(1);
    out.text("minivm");
    out.text(module.files.empty() ? module.name : module.files.front());
    out.text(module.directory);
    out.u64(module_begin(module));
    out.u64(module_bytes(module));
    out.u32(0);  // offset in .debug_line
    for (const NativeRange& range : module.ranges) {
        out.uleb(2);
        out.text(range.name);
        out.u64(range.begin);
        out.u64(range.end - range.begin);
    }
    out.u8(0);  // no more children
    return with_length(out.take());
}

void line_sequence(ByteWriter& out, const NativeRange& range) {
    out.list({0, 1 + kWordBytes, DW_LNE_set_address});
    out.u64(range.begin);
    uint32_t offset = 0;
    uint32_t line = 1;
    uint32_t file = 0;
    for (const NativeLine& next : range.lines) {
        MINIVM_CHECK(next.offset >= offset && range.begin + next.offset < range.end);
        out.u8(DW_LNS_advance_pc);
        out.uleb(next.offset - offset);
        if (next.file != file) {
            out.u8(DW_LNS_set_file);
            out.uleb(next.file + 1);  // the table counts from 1
        }
        out.u8(DW_LNS_advance_line);
        out.sleb(int64_t{next.line} - int64_t{line});
        out.u8(DW_LNS_copy);
        offset = next.offset;
        line = next.line;
        file = next.file;
    }
    out.u8(DW_LNS_advance_pc);
    out.uleb(range.end - range.begin - offset);
    out.list({0, 1, DW_LNE_end_sequence});
}

std::string debug_line(const NativeModule& module) {
    ByteWriter header;
    header.u8(1);     // instructions begin at multiples of this, so advance_pc counts bytes
    header.u8(1);     // operations in an instruction
    header.u8(1);     // each row begins a statement
    header.u8(0xfb);  // line_base -5 and
    header.u8(14);    // line_range: of special opcodes, which are not used
    header.u8(13);    // the first special opcode
    header.list({0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1});  // operands of opcodes 1 to 12
    header.u8(0);  // directories: only the unit's own, number 0
    for (const std::string& file : module.files) {
        header.text(file);
        header.list({0, 0, 0});  // directory, time, size
    }
    header.u8(0);
    const std::string header_bytes = header.take();

    ByteWriter out;
    out.u16(4);  // version
    out.u32(static_cast<uint32_t>(header_bytes.size()));
    out.append(header_bytes);
    for (const NativeRange& range : module.ranges) {
        if (!range.lines.empty()) {
            line_sequence(out, range);
        }
    }
    return with_length(out.take());
}

struct FrameRules {
    uint8_t code_unit;  // addresses advance by multiples of this
    uint8_t return_column;
    uint8_t machine_stack_register;  // what debuggers take for the stack pointer
};

FrameRules frame_rules(Machine machine) {
    return machine == Machine::x86_64
               ? FrameRules{1, dwarf_register::kX86ReturnAddress, dwarf_register::kX86Rsp}
               : FrameRules{4, dwarf_register::kA64X30, dwarf_register::kA64Sp};
}

// The rules that all entries begin with: return address below the CFA.
std::string frame_start(const NativeModule& module) {
    const FrameRules rules = frame_rules(module.machine);
    ByteWriter out;
    out.u32(0xffffffff);  // says that this is a common entry
    out.u8(3);            // version
    out.text("");         // augmentation
    out.uleb(rules.code_unit);
    out.sleb(-int64_t{kWordBytes});
    out.uleb(rules.return_column);
    out.u8(DW_CFA_def_cfa);
    out.uleb(module.stack_register);
    out.uleb(kWordBytes);
    out.list({static_cast<uint8_t>(DW_CFA_offset | rules.return_column), 1});
    if (module.stack_register != rules.machine_stack_register) {
        out.u8(DW_CFA_val_offset);  // our stack register in the caller: the CFA
        out.uleb(module.stack_register);
        out.uleb(0);
        out.u8(DW_CFA_same_value);
        out.uleb(rules.machine_stack_register);
    }
    out.align(kWordBytes, DW_CFA_nop);
    return with_length(out.take());
}

void frame_rule(ByteWriter& out, const NativeModule& module, const NativeFrame& frame) {
    const FrameRules rules = frame_rules(module.machine);
    if (frame.saved) {
        ByteWriter expression;
        expression.u8(static_cast<uint8_t>(DW_OP_breg0 + module.saved_base_register));
        if (module.saved_base_in_memory) {
            expression.sleb(module.saved_base_offset_bytes);
            expression.list({DW_OP_deref, DW_OP_plus_uconst});
            expression.uleb(static_cast<uint64_t>(module.saved_offset_bytes));
        } else {
            expression.sleb(module.saved_offset_bytes);
        }
        expression.list({DW_OP_deref, DW_OP_plus_uconst});
        expression.uleb(frame.cfa_offset_bytes);
        out.u8(DW_CFA_def_cfa_expression);
        out.uleb(expression.size());
        out.append(expression.take());
    } else {
        out.u8(DW_CFA_def_cfa);
        out.uleb(module.stack_register);
        out.uleb(frame.cfa_offset_bytes);
    }
    if (frame.return_in_register) {
        out.u8(DW_CFA_same_value);
        out.uleb(rules.return_column);
    } else {
        out.list({static_cast<uint8_t>(DW_CFA_offset | rules.return_column), 1});
    }
}

std::string debug_frame(const NativeModule& module) {
    const FrameRules rules = frame_rules(module.machine);
    ByteWriter section;
    section.append(frame_start(module));
    for (const NativeRange& range : module.ranges) {
        if (range.frames.empty()) {
            continue;
        }
        uint32_t offset = range.frames.front().offset;
        ByteWriter out;
        out.u32(0);  // where the common entry is
        out.u64(range.begin + offset);
        out.u64(range.end - range.begin - offset);
        for (const NativeFrame& frame : range.frames) {
            MINIVM_CHECK(frame.offset >= offset && range.begin + frame.offset < range.end &&
                         (frame.offset - offset) % rules.code_unit == 0);
            if (frame.offset != offset) {
                out.u8(DW_CFA_advance_loc4);
                out.u32((frame.offset - offset) / rules.code_unit);
                offset = frame.offset;
            }
            frame_rule(out, module, frame);
            if (range.ends_stack) {
                out.u8(DW_CFA_undefined);
                out.uleb(rules.return_column);
            }
        }
        out.align(kWordBytes, DW_CFA_nop);
        section.append(with_length(out.take()));
    }
    return section.take();
}

class Symbols {
public:
    void add(std::string_view name, uint64_t begin, uint64_t end) {
        Elf64_Sym symbol{};
        symbol.st_name = static_cast<uint32_t>(names_.size());
        symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
        symbol.st_shndx = kTextSection;
        symbol.st_value = begin;
        symbol.st_size = end - begin;
        table_.append(reinterpret_cast<const char*>(&symbol), sizeof(symbol));
        names_ += name;
        names_ += '\0';
    }
    std::string table() { return std::move(table_); }
    std::string names() { return std::move(names_); }

    static constexpr uint16_t kTextSection = 1;

private:
    std::string table_ = std::string(sizeof(Elf64_Sym), '\0');  // the first one is no symbol
    std::string names_ = std::string(1, '\0');
};

// Erlang's stack and the scheduler's lie anywhere, and gdb takes a caller's frame on the wrong side
// of its callee's for a corrupt stack, unless a symbol of the caller is __morestack, the function by
// which GCC's split stacks go on elsewhere. So code that runs while C++ has the scheduler's stack
// gets a symbol of that name beside its own; a backtrace shows the name in .debug_info.
void add_symbols(Symbols& symbols, const NativeRange& range) {
    symbols.add(range.name, range.begin, range.end);
    for (size_t i = 0; i < range.frames.size(); i++) {
        if (range.frames[i].saved) {
            const bool last = i + 1 == range.frames.size();
            symbols.add("__morestack", range.begin + range.frames[i].offset,
                        last ? range.end : range.begin + range.frames[i + 1].offset);
        }
    }
}

struct Section {
    const char* name;
    Elf64_Shdr header;
    std::string bytes;
};

Section section(const char* name, uint32_t type, std::string bytes) {
    Section made{name, {}, std::move(bytes)};
    made.header.sh_type = type;
    made.header.sh_size = made.bytes.size();
    made.header.sh_addralign = 1;
    return made;
}

}  // namespace

uint16_t elf_machine(Machine machine) {
    return machine == Machine::x86_64 ? EM_X86_64 : EM_AARCH64;
}

std::string make_elf(const NativeModule& module) {
    MINIVM_CHECK(!module.ranges.empty());
    constexpr uint32_t kSymbolNames = 3;
    std::vector<Section> sections;
    sections.push_back(section("", SHT_NULL, {}));
    sections.back().header.sh_addralign = 0;

    Section text = section(".text", SHT_NOBITS, {});
    text.header.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    text.header.sh_addr = module_begin(module);
    text.header.sh_size = module_bytes(module);
    sections.push_back(std::move(text));

    Symbols symbols;
    for (const NativeRange& range : module.ranges) {
        add_symbols(symbols, range);
    }
    Section symtab = section(".symtab", SHT_SYMTAB, symbols.table());
    symtab.header.sh_link = kSymbolNames;
    symtab.header.sh_info = 1;  // the first symbol that is not local
    symtab.header.sh_entsize = sizeof(Elf64_Sym);
    symtab.header.sh_addralign = alignof(Elf64_Sym);
    sections.push_back(std::move(symtab));
    sections.push_back(section(".strtab", SHT_STRTAB, symbols.names()));

    sections.push_back(section(".debug_abbrev", SHT_PROGBITS, debug_abbrev()));
    sections.push_back(section(".debug_info", SHT_PROGBITS, debug_info(module)));
    sections.push_back(section(".debug_line", SHT_PROGBITS, debug_line(module)));
    sections.push_back(section(".debug_frame", SHT_PROGBITS, debug_frame(module)));
    sections.back().header.sh_addralign = kWordBytes;

    std::string names;
    for (Section& one : sections) {
        one.header.sh_name = static_cast<uint32_t>(names.size());
        names += one.name;
        names += '\0';
    }
    const auto names_offset = static_cast<uint32_t>(names.size());
    names += ".shstrtab";
    names += '\0';
    sections.push_back(section(".shstrtab", SHT_STRTAB, std::move(names)));
    sections.back().header.sh_name = names_offset;

    // The header, the sections, the table of sections.
    ByteWriter out;
    out.append(std::string(sizeof(Elf64_Ehdr), '\0'));
    for (Section& one : sections) {
        out.align(kWordBytes, 0);
        one.header.sh_offset = one.header.sh_type == SHT_NULL ? 0 : out.size();
        out.append(one.bytes);
    }
    out.align(kWordBytes, 0);

    Elf64_Ehdr header{};
    constexpr std::array<uint8_t, 7> kIdent = {0x7f,       'E',         'L',       'F',
                                               ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
    std::copy(kIdent.begin(), kIdent.end(), header.e_ident);
    header.e_type = ET_EXEC;  // its addresses are final
    header.e_machine = elf_machine(module.machine);
    header.e_version = EV_CURRENT;
    header.e_shoff = out.size();
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(sections.size());
    header.e_shstrndx = static_cast<uint16_t>(sections.size() - 1);
    for (const Section& one : sections) {
        out.append(std::string(reinterpret_cast<const char*>(&one.header), sizeof(one.header)));
    }
    std::string file = out.take();
    file.replace(0, sizeof(header), reinterpret_cast<const char*>(&header), sizeof(header));
    return file;
}

}  // namespace minivm
