// The loader on damaged .beam files: each input ends in an error with a text or in a module.
//
// An input is loaded three times: as it is; with its chunk sizes made right again, so that what
// lies behind the first check is reached; and so with more changes in the instructions alone.
#include "vm/bif/bif.hpp"
#include "vm/util/assert.hpp"
#include "loader/loader.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using Bytes = std::vector<uint8_t>;

uint32_t get_u32(const uint8_t* p) {
    return static_cast<uint32_t>(p[0]) << 24 | static_cast<uint32_t>(p[1]) << 16 |
           static_cast<uint32_t>(p[2]) << 8 | p[3];
}
void put_u32(uint8_t* p, uint32_t v) {
    for (int i = 0; i < 4; ++i) {
        p[i] = static_cast<uint8_t>(v >> (24 - 8 * i));
    }
}

void load(const Bytes& file) {
    minivm::LoweredModule m;
    minivm::loader::LoadError error;
    if (!minivm::loader::load(file.data(), file.size(), &m, &error)) {
        MINIVM_CHECK(!error.what.empty());
        return;
    }
    for (const minivm::Instr& i : m.code) {
        MINIVM_CHECK(i.first_operand + i.operand_count <= m.operands.size());
        for (uint32_t n = 0; n < i.operand_count; ++n) {
            const minivm::Operand& o = m.operands_of(i)[n];
            MINIVM_CHECK(o.kind != minivm::Operand::Kind::label || o.index == minivm::kNoLabel ||
                         o.index < m.code.size());
        }
    }
}

// Puts the file together again from the chunks it can find. `code` is where the instructions are.
Bytes rebuilt(const uint8_t* data, size_t size, size_t* code, size_t* code_size) {
    Bytes out = {'F', 'O', 'R', '1', 0, 0, 0, 0, 'B', 'E', 'A', 'M'};
    *code = *code_size = 0;
    for (size_t at = 12; at + 8 <= size;) {
        const size_t room = size - at - 8;
        const size_t length = std::min<size_t>(get_u32(data + at + 4), room);
        const size_t start = out.size();
        out.insert(out.end(), data + at, data + at + 8 + length);
        put_u32(out.data() + start + 4, static_cast<uint32_t>(length));
        if (std::memcmp(data + at, "Code", 4) == 0 && length > 20) {
            *code = start + 8 + 20;
            *code_size = length - 20;
        }
        out.resize((out.size() + 3) / 4 * 4);
        at += 8 + (length + 3) / 4 * 4;
    }
    put_u32(out.data() + 4, static_cast<uint32_t>(out.size() - 8));
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const bool ready = [] {
        minivm::bif_registry::init();
        return true;
    }();
    static_cast<void>(ready);
    load(Bytes(data, data + size));
    size_t code, code_size;
    Bytes file = rebuilt(data, size, &code, &code_size);
    load(file);
    if (code_size == 0) {
        return 0;
    }
    uint64_t random = 0xCBF29CE484222325;  // from the input, so that it can be repeated
    for (size_t i = 0; i < size; ++i) {
        random = (random ^ data[i]) * 0x100000001B3;
    }
    for (int round = 0; round < 8; ++round) {
        const size_t at = code + (random >> 20) % code_size;
        const uint8_t before = file[at];
        file[at] = static_cast<uint8_t>((random & 1) != 0 ? random >> 8 : before + 16);
        load(file);
        if ((random & 6) != 0) {
            file[at] = before;
        }
        random = random * 6364136223846793005 + 1442695040888963407;
    }
    return 0;
}
