// Builds .beam files for tests, down to what no compiler at hand writes: a small assembler.
#pragma once

#include "loader/loader.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace minivm::test {

using Bytes = std::vector<uint8_t>;

// One argument of a generic instruction, encoded.
struct Arg {
    Bytes bytes;
};

inline void put_u32(Bytes& out, uint32_t v) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        out.push_back(static_cast<uint8_t>(v >> shift));
    }
}

// A tagged number as beam_asm:encode/2 writes it.
inline Bytes compact(unsigned tag, uint64_t v) {
    if (v < 16) {
        return {static_cast<uint8_t>(v << 4 | tag)};
    }
    if (v < 2048) {
        return {static_cast<uint8_t>((v >> 3 & 0xE0) | 8 | tag), static_cast<uint8_t>(v)};
    }
    Bytes big;
    for (; v != 0; v >>= 8) {
        big.insert(big.begin(), static_cast<uint8_t>(v));
    }
    if ((big[0] & 0x80) != 0 || big.size() < 2) {
        big.insert(big.begin(), 0);
    }
    Bytes out;
    if (big.size() <= 8) {
        out.push_back(static_cast<uint8_t>((big.size() - 2) << 5 | 0x18 | tag));
    } else {
        out = {static_cast<uint8_t>(0xF8 | tag), static_cast<uint8_t>((big.size() - 9) << 4)};
    }
    out.insert(out.end(), big.begin(), big.end());
    return out;
}

inline Arg u(uint64_t v) {
    return {compact(0, v)};
}
inline Arg x(uint32_t n) {
    return {compact(3, n)};
}
inline Arg y(uint32_t n) {
    return {compact(4, n)};
}
inline Arg label(uint32_t n) {
    return {compact(5, n)};
}
inline Arg nil() {
    return {compact(2, 0)};
}
inline Arg joined(Bytes head, const std::vector<Arg>& items) {
    for (const Arg& item : items) {
        head.insert(head.end(), item.bytes.begin(), item.bytes.end());
    }
    return {head};
}
inline Arg integer(int64_t v) {
    if (v >= 0) {
        return {compact(1, static_cast<uint64_t>(v))};
    }
    Bytes out = {6 << 5 | 0x18 | 1};
    for (int shift = 56; shift >= 0; shift -= 8) {
        out.push_back(static_cast<uint8_t>(static_cast<uint64_t>(v) >> shift));
    }
    return {out};
}
inline Arg fr(uint32_t n) {
    return joined(compact(7, 2), {u(n)});
}
inline Arg literal(uint32_t n) {
    return joined(compact(7, 4), {u(n)});
}
inline Arg typed(const Arg& reg, uint32_t type) {
    return joined(compact(7, 5), {reg, u(type)});
}
inline Arg list(const std::vector<Arg>& items) {
    Bytes head = compact(7, 1);
    const Bytes count = compact(0, items.size());
    head.insert(head.end(), count.begin(), count.end());
    return joined(head, items);
}
inline Arg alloc(uint32_t words, uint32_t floats, uint32_t funs) {
    return joined(compact(7, 3), {u(3), u(0), u(words), u(1), u(floats), u(2), u(funs)});
}

class BeamBuilder {
public:
    bool long_atoms = false;  // as OTP 28 writes them
    uint32_t max_opcode = 181;
    uint32_t label_count = 32;
    Bytes types;     // contents of the Type chunk, or empty
    Bytes lines;     // contents of the Line chunk, or empty
    Bytes literals;  // contents of the LitT chunk, or empty
    Bytes strings;
    std::vector<std::pair<std::string, Bytes>> more_chunks;

    explicit BeamBuilder(const std::string& module) { atom_number(module); }

    uint32_t atom_number(const std::string& text) {
        for (size_t i = 0; i < atoms_.size(); ++i) {
            if (atoms_[i] == text) {
                return static_cast<uint32_t>(i + 1);
            }
        }
        atoms_.push_back(text);
        return static_cast<uint32_t>(atoms_.size());
    }
    Arg atom(const std::string& text) { return {compact(2, atom_number(text))}; }
    Arg import(const std::string& m, const std::string& f, uint32_t arity) {
        for (const uint32_t v : {atom_number(m), atom_number(f), arity}) {
            put_u32(imports_, v);
        }
        return u(import_count_++);
    }
    void export_function(const std::string& f, uint32_t arity, uint32_t at) {
        for (const uint32_t v : {atom_number(f), arity, at}) {
            put_u32(exports_, v);
        }
        ++export_count_;
    }
    Arg fun(const std::string& f, uint32_t arity, uint32_t at, uint32_t num_free) {
        for (const uint32_t v : {atom_number(f), arity, at, fun_count_, num_free, 0u}) {
            put_u32(funs_, v);
        }
        return u(fun_count_++);
    }

    BeamBuilder& op(uint8_t opcode, const std::vector<Arg>& args = {}) {
        code.push_back(opcode);
        for (const Arg& a : args) {
            code.insert(code.end(), a.bytes.begin(), a.bytes.end());
        }
        return *this;
    }
    // Begins an exported function: labels `first` (func_info) and `first + 1` (entry).
    BeamBuilder& function(const std::string& name, uint32_t arity, uint32_t first) {
        export_function(name, arity, first + 1);
        ++functions_;
        return op(1, {u(first)})
            .op(2, {atom(atoms_[0]), atom(name), u(arity)})
            .op(1, {u(first + 1)});
    }

    Bytes build() const {
        Bytes form = {'B', 'E', 'A', 'M'};
        Bytes atom_chunk;
        const auto count = static_cast<uint32_t>(atoms_.size());
        put_u32(atom_chunk, long_atoms ? 0 - count : count);
        for (const std::string& a : atoms_) {
            const Bytes length =
                long_atoms ? compact(0, a.size()) : Bytes{static_cast<uint8_t>(a.size())};
            atom_chunk.insert(atom_chunk.end(), length.begin(), length.end());
            atom_chunk.insert(atom_chunk.end(), a.begin(), a.end());
        }
        add_chunk(form, "AtU8", atom_chunk);
        Bytes code_chunk;
        for (const uint32_t v : {16u, 0u, max_opcode, label_count, functions_}) {
            put_u32(code_chunk, v);
        }
        code_chunk.insert(code_chunk.end(), code.begin(), code.end());
        code_chunk.push_back(3);  // int_code_end
        add_chunk(form, "Code", code_chunk);
        add_chunk(form, "StrT", strings);
        add_chunk(form, "ImpT", counted(import_count_, imports_));
        add_chunk(form, "ExpT", counted(export_count_, exports_));
        if (fun_count_ != 0) {
            add_chunk(form, "FunT", counted(fun_count_, funs_));
        }
        for (const auto& [name, contents] : {std::pair<const char*, const Bytes&>{"LitT", literals},
                                             {"Line", lines},
                                             {"Type", types}}) {
            if (!contents.empty()) {
                add_chunk(form, name, contents);
            }
        }
        for (const auto& [name, contents] : more_chunks) {
            add_chunk(form, name.c_str(), contents);
        }
        Bytes file = {'F', 'O', 'R', '1'};
        put_u32(file, static_cast<uint32_t>(form.size()));
        file.insert(file.end(), form.begin(), form.end());
        return file;
    }

    Bytes code;

private:
    static Bytes counted(uint32_t count, const Bytes& rows) {
        Bytes out;
        put_u32(out, count);
        out.insert(out.end(), rows.begin(), rows.end());
        return out;
    }
    static void add_chunk(Bytes& form, const char* name, const Bytes& contents) {
        form.insert(form.end(), name, name + 4);
        put_u32(form, static_cast<uint32_t>(contents.size()));
        form.insert(form.end(), contents.begin(), contents.end());
        form.resize((form.size() + 3) / 4 * 4);
    }

    std::vector<std::string> atoms_;
    Bytes imports_, exports_, funs_;
    uint32_t import_count_ = 0, export_count_ = 0, fun_count_ = 0, functions_ = 0;
};

struct Loaded {
    bool ok = false;
    LoweredModule module;
    loader::LoadError error;

    // The instructions of the first function's body as text, one a line.
    std::string body() const {
        std::string s;
        const LoweredFunction& f = module.functions.at(0);
        for (uint32_t at = f.entry; at < f.end; ++at) {
            s += format_instr(module, module.code[at]) + "\n";
        }
        return s;
    }
    const Instr& at_body(uint32_t n) const {
        return module.code.at(module.functions.at(0).entry + n);
    }
};

inline Loaded load(const Bytes& file) {
    Loaded l;
    l.ok = loader::load(file.data(), file.size(), &l.module, &l.error);
    return l;
}
inline Loaded load(const BeamBuilder& b) {
    return load(b.build());
}

// The BIFs, which other tests may have registered already.
void register_bifs();

}  // namespace minivm::test
