#include "tests/jit/support/native_decoder.hpp"

#include <elf.h>

#include <cstring>
#include <sstream>

namespace minivm::test {
namespace {

[[noreturn]] void wrong(const std::string& what) {
    throw DecodeError(what);
}

void expect(bool condition, const std::string& what) {
    if (!condition) {
        wrong(what);
    }
}

class Reader {
public:
    explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
    template <typename T>
    T get() {
        T value;
        expect(left() >= sizeof(T), "ends within a number");
        std::memcpy(&value, bytes_.data() + at_, sizeof(T));
        at_ += sizeof(T);
        return value;
    }
    uint8_t u8() { return get<uint8_t>(); }
    uint16_t u16() { return get<uint16_t>(); }
    uint32_t u32() { return get<uint32_t>(); }
    uint64_t u64() { return get<uint64_t>(); }
    uint64_t uleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const uint8_t byte = u8();
            value |= uint64_t{byte & 0x7fu} << shift;
            if ((byte & 0x80) == 0) {
                return value;
            }
        }
    }
    int64_t sleb() {
        int64_t value = 0;
        unsigned shift = 0;
        uint8_t byte = 0;
        do {
            byte = u8();
            value |= static_cast<int64_t>(uint64_t{byte & 0x7fu} << shift);
            shift += 7;
        } while ((byte & 0x80) != 0);
        if (shift < 64 && (byte & 0x40) != 0) {
            value |= -(int64_t{1} << shift);
        }
        return value;
    }
    std::string text() {
        std::string answer;
        while (const char c = get<char>()) {
            answer += c;
        }
        return answer;
    }
    std::string take(size_t count) {
        expect(left() >= count, "ends within a block");
        at_ += count;
        return bytes_.substr(at_ - count, count);
    }
    size_t at() const { return at_; }
    size_t left() const { return bytes_.size() - at_; }

private:
    std::string bytes_;
    size_t at_ = 0;
};

struct Attribute {
    uint64_t name;
    uint64_t form;
};
struct Abbreviation {
    uint64_t tag;
    bool children;
    std::vector<Attribute> attributes;
};

std::map<uint64_t, Abbreviation> decode_abbreviations(const std::string& section) {
    std::map<uint64_t, Abbreviation> answer;
    Reader in(section);
    while (const uint64_t number = in.uleb()) {
        Abbreviation one{in.uleb(), in.u8() != 0, {}};
        for (;;) {
            const Attribute attribute{in.uleb(), in.uleb()};
            if (attribute.name == 0 && attribute.form == 0) {
                break;
            }
            one.attributes.push_back(attribute);
        }
        answer.emplace(number, one);
    }
    expect(in.left() == 0, ".debug_abbrev goes on behind its end");
    return answer;
}

void decode_info(const std::string& section, const std::string& abbreviations, DecodedElf& elf) {
    const auto known = decode_abbreviations(abbreviations);
    Reader in(section);
    expect(in.u32() == section.size() - 4, ".debug_info: length");
    expect(in.u16() == 4, ".debug_info: version");
    expect(in.u32() == 0, ".debug_info: offset of abbreviations");
    expect(in.u8() == 8, ".debug_info: bytes of an address");
    int depth = 0;
    do {
        const uint64_t number = in.uleb();
        if (number == 0) {
            depth--;
            continue;
        }
        expect(known.count(number) == 1, ".debug_info: unknown abbreviation");
        const Abbreviation& one = known.at(number);
        std::map<uint64_t, uint64_t> numbers;
        std::map<uint64_t, std::string> texts;
        for (const Attribute& attribute : one.attributes) {
            switch (attribute.form) {
                case 0x01:
                case 0x07:
                    numbers[attribute.name] = in.u64();
                    break;
                case 0x08:
                    texts[attribute.name] = in.text();
                    break;
                case 0x17:
                    numbers[attribute.name] = in.u32();
                    break;
                case 0x19:
                    break;
                default:
                    wrong(".debug_info: form");
            }
        }
        if (one.tag == 0x11) {
            elf.unit_name = texts[0x03];
            elf.unit_directory = texts[0x1b];
            elf.unit_begin = numbers[0x11];
            elf.unit_bytes = numbers[0x12];
            expect(numbers.count(0x10) == 1 && numbers[0x10] == 0, ".debug_info: stmt_list");
        } else {
            expect(one.tag == 0x2e && depth == 1, ".debug_info: tag");
            elf.subprograms.push_back({texts[0x03], numbers[0x11], numbers[0x12]});
        }
        depth += one.children;
    } while (depth > 0);
    expect(in.left() == 0, ".debug_info goes on behind its end");
}

void decode_lines(const std::string& section, DecodedElf& elf) {
    Reader in(section);
    expect(in.u32() == section.size() - 4, ".debug_line: length");
    expect(in.u16() == 4, ".debug_line: version");
    const uint32_t header_bytes = in.u32();
    const size_t program = in.at() + header_bytes;
    const uint8_t unit = in.u8();
    expect(in.u8() == 1, ".debug_line: operations in an instruction");
    in.u8();
    const auto line_base = static_cast<int8_t>(in.u8());
    const uint8_t line_range = in.u8();
    const uint8_t opcode_base = in.u8();
    std::vector<uint8_t> operands(opcode_base);
    for (unsigned i = 1; i < opcode_base; i++) {
        operands[i] = in.u8();
    }
    while (!in.text().empty()) {
    }
    std::vector<std::string> files{""};
    for (std::string name = in.text(); !name.empty(); name = in.text()) {
        files.push_back(name);
        in.uleb();
        in.uleb();
        in.uleb();
    }
    expect(in.at() == program, ".debug_line: length of the header");
    DecodedRow row{};
    uint64_t file = 1;
    const auto reset = [&] { row = {0, 1, "", false}, file = 1; };
    const auto emit = [&](bool ends) {
        if (!ends) {
            expect(file < files.size(), ".debug_line: file");
        }
        elf.rows.push_back({row.address, ends ? 0 : row.line, ends ? "" : files[file], ends});
    };
    reset();
    while (in.left() != 0) {
        const uint8_t opcode = in.u8();
        if (opcode >= opcode_base) {
            row.address += uint64_t{unit} * ((opcode - opcode_base) / line_range);
            row.line += static_cast<uint64_t>(line_base + (opcode - opcode_base) % line_range);
            emit(false);
            continue;
        }
        switch (opcode) {
            case 0: {
                const uint64_t bytes = in.uleb();
                const uint8_t extended = in.u8();
                if (extended == 1) {
                    expect(bytes == 1, ".debug_line: end_sequence");
                    emit(true);
                    reset();
                } else {
                    expect(extended == 2 && bytes == 9, ".debug_line: extended opcode");
                    row.address = in.u64();
                }
                break;
            }
            case 1:
                emit(false);
                break;
            case 2:
                row.address += unit * in.uleb();
                break;
            case 3:
                row.line = static_cast<uint64_t>(static_cast<int64_t>(row.line) + in.sleb());
                break;
            case 4:
                file = in.uleb();
                break;
            default:
                for (unsigned i = 0; i < operands[opcode]; i++) {
                    in.uleb();
                }
        }
    }
    expect(elf.rows.empty() || elf.rows.back().ends_sequence, ".debug_line: no end");
}

struct Common {
    std::string augmentation;
    uint64_t code_unit;
    int64_t data_unit;
    uint64_t return_column;
    std::string instructions;
};

struct Rules {
    uint64_t cfa_register = 0;
    uint64_t cfa_offset = 0;
    bool saved = false;
    int64_t saved_offset = 0;
    std::map<uint64_t, DecodedFrame::Return> registers;
    std::map<uint64_t, int64_t> value_is_cfa_plus;
};

// Calls `row` with the offset at which the rules until then end.
template <typename Row>
void run_frame_program(const std::string& program, const Common& common, Rules& rules, Row row) {
    using Return = DecodedFrame::Return;
    Reader in(program);
    while (in.left() != 0) {
        const uint8_t opcode = in.u8();
        const uint8_t low = opcode & 0x3f;
        switch (opcode >> 6) {
            case 1:
                row(low * common.code_unit);
                continue;
            case 2: {
                const int64_t offset = static_cast<int64_t>(in.uleb()) * common.data_unit;
                rules.registers[low] = offset == -8 ? Return::below_cfa : Return::other;
                continue;
            }
            case 3:
                rules.registers.erase(low);
                continue;
            default:
                break;
        }
        switch (opcode) {
            case 0x00:
                break;
            case 0x02:
                row(in.u8() * common.code_unit);
                break;
            case 0x03:
                row(in.u16() * common.code_unit);
                break;
            case 0x04:
                row(in.u32() * common.code_unit);
                break;
            case 0x07:
                rules.registers[in.uleb()] = Return::undefined;
                break;
            case 0x08:
                rules.registers[in.uleb()] = Return::in_register;
                break;
            case 0x0c:
                rules.cfa_register = in.uleb();
                rules.cfa_offset = in.uleb();
                rules.saved = false;
                break;
            case 0x0d:
                rules.cfa_register = in.uleb();
                break;
            case 0x0e:
                rules.cfa_offset = in.uleb();
                break;
            case 0x0f: {
                Reader expression(in.take(in.uleb()));
                const uint8_t base = expression.u8();
                expect(base >= 0x70 && base <= 0x8f, ".debug_frame: breg");
                rules.cfa_register = base - 0x70;
                rules.saved_offset = expression.sleb();
                expect(expression.u8() == 0x06, ".debug_frame: deref");
                expect(expression.u8() == 0x23, ".debug_frame: plus_uconst");
                rules.cfa_offset = expression.uleb();
                expect(expression.left() == 0, ".debug_frame: expression");
                rules.saved = true;
                break;
            }
            case 0x14: {
                const uint64_t number = in.uleb();
                rules.value_is_cfa_plus[number] =
                    static_cast<int64_t>(in.uleb()) * common.data_unit;
                break;
            }
            default:
                wrong(".debug_frame: instruction " + std::to_string(opcode));
        }
    }
}

void decode_frames(const std::string& section, DecodedElf& elf) {
    Reader in(section);
    std::map<uint64_t, Common> commons;
    while (in.left() != 0) {
        const uint64_t offset = in.at();
        expect(offset % 4 == 0, ".debug_frame: alignment");
        Reader entry(in.take(in.u32()));
        const uint32_t id = entry.u32();
        if (id == 0xffffffff) {
            expect(entry.u8() == 3, ".debug_frame: version");
            Common common;
            common.augmentation = entry.text();
            common.code_unit = entry.uleb();
            common.data_unit = entry.sleb();
            common.return_column = entry.uleb();
            if (common.augmentation.rfind('z', 0) == 0) {
                entry.take(entry.uleb());
            }
            common.instructions = entry.take(entry.left());
            elf.return_column = common.return_column;
            commons.emplace(offset, common);
            continue;
        }
        expect(commons.count(id) == 1, ".debug_frame: common entry");
        const Common& common = commons.at(id);
        uint64_t address = entry.u64();
        const uint64_t end = address + entry.u64();
        if (common.augmentation.rfind('z', 0) == 0) {
            entry.take(entry.uleb());
        }
        Rules rules;
        run_frame_program(common.instructions, common, rules,
                          [](uint64_t) { wrong(".debug_frame: advance in a common entry"); });
        const auto row = [&] {
            DecodedFrame frame{};
            frame.address = address;
            frame.end = end;
            frame.cfa_offset = rules.cfa_offset;
            frame.cfa_register = rules.cfa_register;
            frame.saved = rules.saved;
            frame.saved_offset = rules.saved_offset;
            frame.where = rules.registers.at(common.return_column);
            for (const auto& [number, plus] : rules.value_is_cfa_plus) {
                frame.restores_stack_register |=
                    plus == 0 && !rules.saved ? number == rules.cfa_register : plus == 0;
            }
            elf.frames.push_back(frame);
        };
        run_frame_program(entry.take(entry.left()), common, rules, [&](uint64_t bytes) {
            row();
            address += bytes;
        });
        row();
        expect(address < end, ".debug_frame: a rule behind the end");
    }
}

}  // namespace

DecodedElf decode_elf(const std::string& file) {
    DecodedElf elf;
    Reader in(file);
    const auto header = in.get<Elf64_Ehdr>();
    expect(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0, "magic");
    expect(header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB,
           "class");
    expect(header.e_ehsize == sizeof(Elf64_Ehdr) && header.e_shentsize == sizeof(Elf64_Shdr),
           "sizes");
    elf.machine = header.e_machine;
    elf.type = header.e_type;
    const auto section_header = [&](size_t index) {
        Reader at(file);
        at.take(header.e_shoff + index * sizeof(Elf64_Shdr));
        return at.get<Elf64_Shdr>();
    };
    const auto contents = [&](const Elf64_Shdr& section) {
        Reader at(file);
        at.take(section.sh_offset);
        return section.sh_type == SHT_NOBITS ? std::string() : at.take(section.sh_size);
    };
    const auto name_at = [](const std::string& names, size_t offset) {
        Reader at(names);
        at.take(offset);
        return at.text();
    };
    const std::string names = contents(section_header(header.e_shstrndx));
    std::map<std::string, std::string> debug;
    for (size_t i = 0; i < header.e_shnum; i++) {
        const Elf64_Shdr section = section_header(i);
        const std::string name = name_at(names, section.sh_name);
        expect(section.sh_addralign == 0 || section.sh_offset % section.sh_addralign == 0,
               name + ": alignment");
        if (name == ".text") {
            expect((section.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR),
                   ".text: flags");
            elf.text_begin = section.sh_addr;
            elf.text_bytes = section.sh_size;
        } else if (section.sh_type == SHT_SYMTAB) {
            const std::string strings = contents(section_header(section.sh_link));
            Reader symbols(contents(section));
            expect(section.sh_entsize == sizeof(Elf64_Sym), ".symtab: size of an entry");
            const auto nobody = symbols.get<Elf64_Sym>();
            expect(nobody.st_name == 0 && nobody.st_value == 0, ".symtab: the first symbol");
            while (symbols.left() != 0) {
                const auto symbol = symbols.get<Elf64_Sym>();
                expect(ELF64_ST_TYPE(symbol.st_info) == STT_FUNC, ".symtab: type");
                expect(name_at(names, section_header(symbol.st_shndx).sh_name) == ".text",
                       ".symtab: section");
                elf.symbols.push_back(
                    {name_at(strings, symbol.st_name), symbol.st_value, symbol.st_size});
            }
        } else {
            debug[name] = contents(section);
        }
    }
    decode_info(debug.at(".debug_info"), debug.at(".debug_abbrev"), elf);
    decode_lines(debug.at(".debug_line"), elf);
    decode_frames(debug.at(".debug_frame"), elf);
    return elf;
}

std::vector<DecodedSymbol> decode_perf_map(const std::string& text) {
    std::vector<DecodedSymbol> answer;
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
        DecodedSymbol symbol;
        int name = 0;
        unsigned long begin = 0;
        unsigned long bytes = 0;
        expect(std::sscanf(line.c_str(), "%lx %lx %n", &begin, &bytes, &name) == 2 && name > 0,
               "map: " + line);
        answer.push_back({line.substr(static_cast<size_t>(name)), begin, bytes});
    }
    return answer;
}

DecodedDump decode_jitdump(const std::string& file) {
    DecodedDump dump;
    Reader in(file);
    expect(in.u32() == 0x4a695444, "dump: magic");
    expect(in.u32() == 1, "dump: version");
    expect(in.u32() == 40, "dump: bytes of the header");
    dump.machine = in.u32();
    in.u32();
    dump.pid = in.u32();
    dump.time_ns = in.u64();
    expect(in.u64() == 0, "dump: flags");
    uint64_t last_time = dump.time_ns;
    std::vector<DecodedRow> rows;
    uint64_t rows_of = 0;
    while (in.left() != 0) {
        expect(!dump.closed, "dump: a record behind the last");
        const uint32_t kind = in.u32();
        const uint32_t bytes = in.u32();
        const uint64_t time = in.u64();
        expect(time >= last_time, "dump: time goes backwards");
        last_time = time;
        expect(bytes >= 16, "dump: bytes of a record");
        Reader body(in.take(bytes - 16));
        switch (kind) {
            case 0: {
                DecodedLoad load{};
                load.time_ns = time;
                load.pid = body.u32();
                load.tid = body.u32();
                expect(body.u64() == (load.address = body.u64()), "dump: two addresses");
                const uint64_t code_bytes = body.u64();
                load.code_index = body.u64();
                load.name = body.text();
                load.code = body.take(code_bytes);
                expect(rows.empty() || rows_of == load.address, "dump: lines of other code");
                load.rows = std::move(rows);
                rows.clear();
                dump.loads.push_back(std::move(load));
                break;
            }
            case 2: {
                rows_of = body.u64();
                const uint64_t count = body.u64();
                for (uint64_t i = 0; i < count; i++) {
                    DecodedRow row{};
                    row.address = body.u64();
                    row.line = body.u32();
                    expect(body.u32() == 0, "dump: discriminator");
                    row.file = body.text();
                    rows.push_back(row);
                }
                break;
            }
            case 3:
                dump.closed = true;
                break;
            default:
                wrong("dump: kind of a record");
        }
        expect(body.left() == 0, "dump: a record goes on behind its end");
    }
    return dump;
}

}  // namespace minivm::test
