#include "loader/loader.hpp"

#include "loader/beam_file.hpp"
#include "loader/unverified_module.hpp"
#include "loader/verifier.hpp"

#include <algorithm>
#include <iterator>

namespace minivm::loader {

namespace {

// Moves every constant into the module's literal area and puts the final terms into the operands.
void move_literals(UnverifiedModule& unverified, BeamFile& file) {
    LoweredModule& m = *unverified.module;
    const size_t attributes = unverified.roots.size();
    unverified.roots.push_back(file.attributes);
    unverified.roots.push_back(file.compile_info);
    unverified.roots.push_back(file.records);
    m.literals = LiteralArea::create(unverified.roots.data(), unverified.roots.size());
    m.attributes = unverified.roots[attributes];
    m.compile_info = unverified.roots[attributes + 1];
    m.records = unverified.roots[attributes + 2];
    for (Operand& o : m.operands) {
        if (o.kind == Operand::Kind::constant && o.index != 0) {
            o.term = unverified.roots[o.index - 1];
            o.index = 0;
        }
    }
}

}  // namespace

bool load(const uint8_t* bytes, size_t size, LoweredModule* out, LoadError* error) {
    ErrorSink sink(error);
    BeamFile file;
    if (!read_beam_file(bytes, size, &file, sink)) {
        return false;
    }
    LoweredModule m;
    m.name = file.module();
    m.types = file.types;
    m.strings = file.strings;
    m.lines = file.lines;
    m.files = file.files;
    m.file_bytes = size;
    std::copy(std::begin(file.md5), std::end(file.md5), m.md5);
    UnverifiedModule unverified{&file, &m, {}, {}};
    if (!lower_code(unverified, file, sink)) {
        return false;
    }
    move_literals(unverified, file);
    if (!verify(unverified, sink)) {
        return false;
    }
    for (const Instr& i : m.code) {
        m.catch_count += i.op == Op::catch_ || i.op == Op::try_;
    }
    *out = std::move(m);
    return true;
}

Term module_name(const uint8_t* bytes, size_t size) {
    return read_module_name(bytes, size);
}

}  // namespace minivm::loader
