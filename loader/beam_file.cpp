#include "loader/beam_file.hpp"

#include "loader/byte_reader.hpp"
#include "loader/compact_term.hpp"
#include "vm/external/external_term.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/native_record.hpp"
#include "vm/util/md5.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace minivm::loader {

namespace {

using Code = LoadError::Code;

constexpr size_t kMaxInflatedBytes = size_t{1} << 30;
// zlib cannot do better than this, so a larger size in a header is a lie.
constexpr size_t kMaxInflateRatio = 1040;
constexpr size_t kMaxLabelsPerByte = 64;
constexpr uint32_t kCodeFormat = 0;  // "version" in the Code chunk, unchanged since 1997

struct Chunks {
    Span atoms_utf8, atoms_latin1, code, strings, imports, exports, lambdas, literals, lines, types,
        attributes, compile_info, meta, records;
};

Span* chunk_slot(Chunks& c, const uint8_t* id) {
    const struct {
        const char* id;
        Span* slot;
    } known[] = {{"AtU8", &c.atoms_utf8}, {"Atom", &c.atoms_latin1}, {"Code", &c.code},
                 {"StrT", &c.strings},    {"ImpT", &c.imports},      {"ExpT", &c.exports},
                 {"FunT", &c.lambdas},    {"LitT", &c.literals},     {"Line", &c.lines},
                 {"Type", &c.types},      {"Attr", &c.attributes},   {"CInf", &c.compile_info},
                 {"Meta", &c.meta},       {"Recs", &c.records}};
    for (const auto& k : known) {
        if (std::memcmp(k.id, id, 4) == 0) {
            return k.slot;
        }
    }
    return nullptr;
}

bool inflate_gzip(const uint8_t* bytes, size_t size, std::vector<uint8_t>* out, ErrorSink& error) {
    z_stream stream{};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) {
        return error.fail(Code::no_memory, "", 0, "no memory to decompress the file");
    }
    stream.next_in = const_cast<Bytef*>(bytes);
    stream.avail_in = static_cast<uInt>(size);
    int status = Z_OK;
    out->resize(size * 4 + 1024);
    while (status == Z_OK) {
        if (stream.total_out == out->size()) {
            if (out->size() >= kMaxInflatedBytes) {
                break;
            }
            out->resize(out->size() * 2);
        }
        stream.next_out = out->data() + stream.total_out;
        stream.avail_out = static_cast<uInt>(out->size() - stream.total_out);
        status = inflate(&stream, Z_NO_FLUSH);
        if (status == Z_BUF_ERROR) {
            break;
        }
    }
    out->resize(stream.total_out);
    inflateEnd(&stream);
    if (status != Z_STREAM_END) {
        return error.fail(Code::truncated, "", 0,
                          "the gzip stream of the file is damaged or cut off");
    }
    return true;
}

bool find_chunks(const uint8_t* bytes, size_t size, Chunks* out, ErrorSink& error) {
    ByteReader in(bytes, size);
    const uint8_t* id;
    uint32_t form_size;
    if (!in.bytes(4, &id) || std::memcmp(id, "FOR1", 4) != 0) {
        return error.fail(Code::not_beam, "", 0, "not a BEAM file: it does not begin with FOR1");
    }
    if (!in.u32(&form_size) || form_size > in.left()) {
        return error.fail(Code::truncated, "", 4,
                          "the file is cut off: %zu bytes, its header promises more", size);
    }
    ByteReader form(bytes + 8, form_size);
    if (!form.bytes(4, &id) || std::memcmp(id, "BEAM", 4) != 0) {
        return error.fail(Code::not_beam, "", 8, "not a BEAM file: an IFF form of another type");
    }
    while (!form.at_end()) {
        const size_t at = form.offset() + 8;
        uint32_t chunk_size;
        const uint8_t* data;
        if (!form.bytes(4, &id) || !form.u32(&chunk_size) || !form.bytes(chunk_size, &data)) {
            return error.fail(Code::truncated, "", at,
                              "a chunk at offset 0x%zx of the file is cut off", at);
        }
        const size_t padding = (4 - chunk_size % 4) % 4;
        const uint8_t* ignored;
        if (!form.bytes(padding, &ignored)) {
            return error.fail(Code::truncated, "", at,
                              "the padding of the chunk at offset 0x%zx of the file is cut off",
                              at);
        }
        Span* slot = chunk_slot(*out, id);
        if (slot != nullptr) {
            *slot = Span{data, chunk_size, true};  // the last one counts, as in OTP
        }
    }
    return true;
}

// The common shape of the table chunks: a count, then `row_bytes` a row.
bool read_count(ByteReader& in, const char* chunk, size_t row_bytes, uint32_t* count,
                ErrorSink& error) {
    if (!in.u32(count)) {
        return error.fail(Code::truncated, chunk, 0, "the chunk is too short for its count");
    }
    if (*count > in.left() / row_bytes) {
        return error.fail(Code::truncated, chunk, 0, "%u rows of %zu bytes do not fit in %zu bytes",
                          *count, row_bytes, in.left());
    }
    return true;
}

bool read_atoms(const Chunks& chunks, BeamFile* out, ErrorSink& error) {
    const char* name = chunks.atoms_utf8.present ? "AtU8" : "Atom";
    const Span& chunk = chunks.atoms_utf8.present ? chunks.atoms_utf8 : chunks.atoms_latin1;
    if (!chunk.present) {
        return error.fail(Code::bad_chunk, "", 0, "the file has no atom table (chunk AtU8)");
    }
    ByteReader in(chunk.data, chunk.size);
    uint32_t raw;
    if (!in.u32(&raw)) {
        return error.fail(Code::truncated, name, 0, "the chunk is too short for its count");
    }
    // OTP 28 writes the count negated if the lengths are tagged numbers, for atoms of over 255
    // bytes.
    const bool long_lengths = static_cast<int32_t>(raw) < 0;
    const uint32_t count = long_lengths ? 0 - raw : raw;
    if (count > in.left()) {
        return error.fail(Code::truncated, name, 0, "%u atoms do not fit in %zu bytes", count,
                          in.left());
    }
    if (count == 0) {
        return error.fail(Code::bad_chunk, name, 0, "no atoms: the first one names the module");
    }
    out->atoms.reserve(count + 1);
    out->atoms.push_back(kNil);
    for (uint32_t i = 1; i <= count; ++i) {
        const size_t at = in.offset();
        size_t length;
        if (long_lengths) {
            CompactNumber n;
            if (read_compact(in, &n) != CompactResult::ok || n.tag != CompactTag::u) {
                return error.fail(Code::bad_chunk, name, at, "atom %u has no valid length", i);
            }
            length = static_cast<size_t>(n.value);
        } else {
            uint8_t n;
            if (!in.u8(&n)) {
                return error.fail(Code::truncated, name, at, "cut off before atom %u of %u", i,
                                  count);
            }
            length = n;
        }
        const uint8_t* text;
        if (!in.bytes(length, &text)) {
            return error.fail(Code::truncated, name, at, "atom %u of %u is cut off", i, count);
        }
        const std::string_view view(reinterpret_cast<const char*>(text), length);
        Term atom;
        if (chunks.atoms_utf8.present) {
            if (!atom_table::is_valid(view)) {
                return error.fail(Code::bad_chunk, name, at,
                                  "atom %u is no UTF-8 of at most %zu characters", i,
                                  kMaxAtomChars);
            }
            atom = atom_table::intern(view);
        } else {
            atom = atom_table::intern_latin1(view);
        }
        out->atoms.push_back(atom);
    }
    return true;
}

bool atom_at(const BeamFile& file, const char* chunk, size_t at, uint32_t index, Term* out,
             ErrorSink& error) {
    if (index == 0 || index >= file.atoms.size()) {
        return error.fail(Code::bad_chunk, chunk, at, "atom %u does not exist (there are %zu)",
                          index, file.atoms.size() - 1);
    }
    *out = file.atoms[index];
    return true;
}

bool check_arity(const char* chunk, size_t at, uint32_t arity, ErrorSink& error) {
    return arity <= kMaxArity ||
           error.fail(Code::bad_chunk, chunk, at, "arity %u is over %u", arity, kMaxArity);
}

bool check_label(const BeamFile& file, const char* chunk, size_t at, uint32_t label,
                 ErrorSink& error) {
    return (label != 0 && label < file.label_count) ||
           error.fail(Code::bad_chunk, chunk, at, "label %u does not exist (they are below %u)",
                      label, file.label_count);
}

bool read_imports(const Span& chunk, BeamFile* out, ErrorSink& error) {
    ByteReader in(chunk.data, chunk.size);
    uint32_t count;
    if (!read_count(in, "ImpT", 12, &count, error)) {
        return false;
    }
    for (uint32_t i = 0; i < count; ++i) {
        const size_t at = in.offset();
        uint32_t module = 0, function = 0;
        BeamFile::Import import{};
        in.u32(&module);
        in.u32(&function);
        in.u32(&import.arity);
        if (!atom_at(*out, "ImpT", at, module, &import.module, error) ||
            !atom_at(*out, "ImpT", at, function, &import.function, error) ||
            !check_arity("ImpT", at, import.arity, error)) {
            return false;
        }
        out->imports.push_back(import);
    }
    return true;
}

bool read_exports(const Span& chunk, BeamFile* out, ErrorSink& error) {
    ByteReader in(chunk.data, chunk.size);
    uint32_t count;
    if (!read_count(in, "ExpT", 12, &count, error)) {
        return false;
    }
    for (uint32_t i = 0; i < count; ++i) {
        const size_t at = in.offset();
        uint32_t function = 0;
        BeamFile::ExportEntry entry{};
        in.u32(&function);
        in.u32(&entry.arity);
        in.u32(&entry.label);
        if (!atom_at(*out, "ExpT", at, function, &entry.function, error) ||
            !check_arity("ExpT", at, entry.arity, error) ||
            !check_label(*out, "ExpT", at, entry.label, error)) {
            return false;
        }
        out->exports.push_back(entry);
    }
    return true;
}

bool read_lambdas(const Span& chunk, BeamFile* out, ErrorSink& error) {
    ByteReader in(chunk.data, chunk.size);
    uint32_t count;
    if (!read_count(in, "FunT", 24, &count, error)) {
        return false;
    }
    for (uint32_t i = 0; i < count; ++i) {
        const size_t at = in.offset();
        uint32_t function = 0;
        BeamFile::Lambda l{};
        in.u32(&function);
        in.u32(&l.arity);
        in.u32(&l.label);
        in.u32(&l.index);
        in.u32(&l.num_free);
        in.u32(&l.old_uniq);
        if (!atom_at(*out, "FunT", at, function, &l.function, error) ||
            !check_arity("FunT", at, l.arity, error) ||
            !check_label(*out, "FunT", at, l.label, error)) {
            return false;
        }
        if (l.num_free > l.arity) {
            return error.fail(Code::bad_chunk, "FunT", at,
                              "fun %u has %u free variables but its function only %u arguments", i,
                              l.num_free, l.arity);
        }
        out->lambdas.push_back(l);
    }
    return true;
}

bool read_literals(const Span& chunk, BeamFile* out, ErrorSink& error) {
    ByteReader head(chunk.data, chunk.size);
    uint32_t plain_size;
    if (!head.u32(&plain_size)) {
        return error.fail(Code::truncated, "LitT", 0, "the chunk is too short for its size");
    }
    const uint8_t* plain = chunk.data + 4;
    size_t size = chunk.size - 4;
    std::vector<uint8_t> buffer;
    if (plain_size != 0) {  // 0: not compressed, as OTP 28 writes it
        if (plain_size > size * kMaxInflateRatio) {
            return error.fail(Code::bad_chunk, "LitT", 0,
                              "%zu compressed bytes cannot hold the %u bytes promised", size,
                              plain_size);
        }
        buffer.resize(plain_size);
        uLongf inflated = plain_size;
        if (uncompress(buffer.data(), &inflated, plain, size) != Z_OK || inflated != plain_size) {
            return error.fail(Code::bad_chunk, "LitT", 4,
                              "the compressed literals are damaged (they should give %u bytes)",
                              plain_size);
        }
        plain = buffer.data();
        size = plain_size;
    }
    ByteReader in(plain, size);
    uint32_t count;
    if (!read_count(in, "LitT", 4, &count, error)) {
        return false;
    }
    out->literals.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
        const size_t at = in.offset();
        uint32_t length;
        const uint8_t* bytes;
        if (!in.u32(&length) || !in.bytes(length, &bytes)) {
            return error.fail(Code::truncated, "LitT", at, "literal %u of %u is cut off", i, count);
        }
        size_t used = 0;
        const Term t = external::decode(out->heap, bytes, length, {}, &used);
        if (!is_value(t)) {
            return error.fail(Code::bad_chunk, "LitT", at,
                              "literal %u is not valid in the external term format", i);
        }
        out->literals.push_back(t);
    }
    return true;
}

// Line numbers by file: an atom-tagged number switches the file, an integer is the next entry.
bool read_lines(const Span& chunk, BeamFile* out, ErrorSink& error) {
    out->files.push_back(std::string(atom_table::text(out->module())) + ".erl");
    if (!chunk.present || chunk.size == 0) {
        return true;
    }
    ByteReader in(chunk.data, chunk.size);
    uint32_t version, flags, instructions, line_count, file_count;
    if (!in.u32(&version)) {
        return error.fail(Code::truncated, "Line", 0, "the chunk is too short for its version");
    }
    if (version != 0) {
        return true;  // of a later format: do without, as OTP does
    }
    if (!in.u32(&flags) || !in.u32(&instructions) || !in.u32(&line_count) || !in.u32(&file_count)) {
        return error.fail(Code::truncated, "Line", 4, "the header is cut off");
    }
    if (line_count > in.left() || file_count > in.left() / 2) {
        return error.fail(Code::truncated, "Line", 12,
                          "%u lines and %u file names do not fit in %zu bytes", line_count,
                          file_count, in.left());
    }
    out->has_lines = true;
    uint32_t file = 0;
    out->lines.reserve(line_count);
    while (out->lines.size() < line_count) {
        const size_t at = in.offset();
        CompactNumber n;
        if (read_compact(in, &n) != CompactResult::ok) {
            return error.fail(Code::truncated, "Line", at, "cut off at line %zu of %u",
                              out->lines.size(), line_count);
        }
        if (n.tag == CompactTag::a && n.value <= file_count) {
            file = static_cast<uint32_t>(n.value);
        } else if (n.tag == CompactTag::i && !n.is_big && n.value >= 0 && n.value <= UINT32_MAX) {
            out->lines.push_back({file, static_cast<uint32_t>(n.value)});
        } else {
            return error.fail(Code::bad_chunk, "Line", at,
                              "neither a file number (up to %u) nor a line number", file_count);
        }
    }
    for (uint32_t i = 0; i < file_count; ++i) {
        const size_t at = in.offset();
        uint16_t length;
        const uint8_t* text;
        if (!in.u16(&length) || !in.bytes(length, &text)) {
            return error.fail(Code::truncated, "Line", at, "file name %u of %u is cut off", i + 1,
                              file_count);
        }
        out->files.emplace_back(reinterpret_cast<const char*>(text), length);
        if (length == 0) {
            out->files.back() = out->files[0];
        }
    }
    return true;
}

// The bits of the kinds changed over the releases. Each row: the version, which TypeInfo bit each
// bit of the file stands for, and where the flags for what follows a type begin (version 1 has
// none, a range always follows). 0: of a kind that has no bit of ours, so nothing is known.
struct TypeFormat {
    uint32_t version;
    uint16_t bits[13];
    int extra_shift;
};
using T = TypeInfo;
constexpr TypeFormat kTypeFormats[] = {
    // OTP 25
    {1,
     {T::atom, T::bitstring, T::bs_matchable, T::cons, T::float_, T::fun, T::integer, T::map,
      T::nil, T::pid, T::port, T::reference, T::tuple},
     -1},
    // OTP 26
    {2,
     {T::atom, T::bitstring, T::bs_matchable, T::cons, T::float_, T::fun, T::integer, T::map,
      T::nil, T::pid, T::port, T::reference, T::tuple},
     13},
    // OTP 27 and 28: contexts are no values any more
    {3,
     {T::atom, T::bitstring, T::cons, T::float_, T::fun, T::integer, T::map, T::nil, T::pid,
      T::port, T::reference, T::tuple, 0},
     12},
    // OTP 29: native records
    {4,
     {T::atom, T::bitstring, T::cons, T::float_, T::fun, T::integer, T::map, T::nil, T::pid,
      T::port, T::reference, T::tuple, 0},
     13},
};

bool read_type(ByteReader& in, const TypeFormat& format, TypeInfo* out) {
    uint16_t raw;
    if (!in.u16(&raw)) {
        return false;
    }
    const int kinds = format.extra_shift == 12 ? 12 : 13;
    uint16_t bits = 0;
    bool unknown = false;
    for (int i = 0; i < kinds; ++i) {
        if ((raw >> i & 1) != 0) {
            bits |= format.bits[i];
            unknown |= format.bits[i] == 0;
        }
    }
    const uint16_t all = static_cast<uint16_t>((1 << kinds) - 1);
    out->bits = bits;
    if (unknown || (raw & all) == all) {
        out->bits = TypeInfo::any;
    }
    uint64_t low, high;
    if (format.extra_shift < 0) {
        if (!in.u64(&low) || !in.u64(&high)) {
            return false;
        }
        out->lower = static_cast<int64_t>(low);
        out->upper = static_cast<int64_t>(high);
        out->has_lower = out->has_upper = out->lower <= out->upper;
        return true;
    }
    const int extra = raw >> format.extra_shift;
    if ((extra & 1) != 0) {
        if (!in.u64(&low)) {
            return false;
        }
        out->has_lower = true;
        out->lower = static_cast<int64_t>(low);
    }
    if ((extra & 2) != 0) {
        if (!in.u64(&high)) {
            return false;
        }
        out->has_upper = true;
        out->upper = static_cast<int64_t>(high);
    }
    if ((extra & 4) != 0) {
        uint8_t unit;
        if (!in.u8(&unit)) {
            return false;
        }
        out->unit = unit == 255 ? 0 : static_cast<uint8_t>(unit + 1);
    }
    return true;
}

bool read_types(const Span& chunk, BeamFile* out, ErrorSink& error) {
    if (!chunk.present || chunk.size == 0) {
        return true;
    }
    ByteReader in(chunk.data, chunk.size);
    uint32_t version, count;
    if (!in.u32(&version)) {
        return error.fail(Code::truncated, "Type", 0, "the chunk is too short for its version");
    }
    const TypeFormat* format = nullptr;
    for (const TypeFormat& f : kTypeFormats) {
        if (f.version == version) {
            format = &f;
        }
    }
    if (format == nullptr) {
        return true;  // of another release: types only help, do without, as OTP does
    }
    if (!in.u32(&count) || count > in.left() / 2) {
        return error.fail(Code::truncated, "Type", 4, "the types do not fit in %zu bytes",
                          chunk.size);
    }
    out->types.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
        const size_t at = in.offset();
        if (!read_type(in, *format, &out->types[i])) {
            return error.fail(Code::truncated, "Type", at, "type %u of %u is cut off", i, count);
        }
    }
    out->has_types = true;
    return true;
}

bool read_term_chunk(const Span& chunk, const char* name, BeamFile* file, Term* out,
                     ErrorSink& error) {
    if (!chunk.present || chunk.size == 0) {
        return true;
    }
    size_t used = 0;
    *out = external::decode(file->heap, chunk.data, chunk.size, {}, &used);
    if (!is_value(*out)) {
        return error.fail(Code::bad_chunk, name, 0, "not valid in the external term format");
    }
    return true;
}

bool read_code_header(const Span& chunk, BeamFile* out, ErrorSink& error) {
    if (!chunk.present) {
        return error.fail(Code::bad_chunk, "", 0, "the file has no Code chunk");
    }
    ByteReader in(chunk.data, chunk.size);
    uint32_t head_size, version = 0, max_opcode = 0;
    if (!in.u32(&head_size) || head_size < 16 || head_size > in.left()) {
        return error.fail(Code::truncated, "Code", 0, "the header is cut off");
    }
    in.u32(&version);
    in.u32(&max_opcode);
    in.u32(&out->label_count);
    in.u32(&out->function_count);
    if (version != kCodeFormat) {
        return error.fail(Code::unsupported, "Code", 4, "instruction format %u; %u is known",
                          version, kCodeFormat);
    }
    if (max_opcode > kMaxOpcode) {
        return error.fail(Code::too_new, "Code", 8,
                          "the file was compiled for a later release: it uses instruction %u, the "
                          "newest that is known is %u",
                          max_opcode, kMaxOpcode);
    }
    out->code_offset = 4 + size_t{head_size};
    out->code = Span{chunk.data + out->code_offset, chunk.size - out->code_offset, true};
    // Labels need not be used, so their number only has to be plausible.
    if (out->label_count > kMaxLabelsPerByte * out->code.size ||
        out->function_count > out->code.size) {
        return error.fail(Code::bad_chunk, "Code", 12,
                          "%u labels and %u functions cannot be in %zu bytes of code",
                          out->label_count, out->function_count, out->code.size);
    }
    return true;
}

// Recs: version 0, the number of records, of fields, and then each as an instruction would be written:
// the opcode of call_last, name, whether it is exported, and a list of fields and defaults, where a plain
// number stands for no default.
class RecordReader {
public:
    RecordReader(const Span& chunk, BeamFile& file, ErrorSink& error)
        : in_(chunk.data, chunk.size), file_(file), error_(error) {}

    bool read() {
        uint32_t version = 0, count = 0, fields = 0;
        if (!in_.u32(&version) || version != 0 || !in_.u32(&count) || !in_.u32(&fields)) {
            return bad("no valid header");
        }
        std::vector<Term> records;
        for (uint32_t i = 0; i < count; ++i) {
            Term record = kNonValue;
            if (!read_record(&record)) {
                return false;
            }
            records.push_back(record);
        }
        for (size_t i = records.size(); i-- > 0;) {
            file_.records = cons(file_.heap, records[i], file_.records);
        }
        return true;
    }

private:
    static constexpr uint8_t kCallLast = 5;

    bool bad(const char* what) {
        return error_.fail(Code::bad_chunk, "Recs", in_.offset(), "%s", what);
    }
    bool read_record(Term* out) {
        uint8_t opcode = 0;
        CompactNumber list, size;
        Term name = kNonValue;
        Term exported = kNonValue;
        if (!in_.u8(&opcode) || opcode != kCallLast || !read_atom(&name) || !read_atom(&exported) ||
            !is_bool(exported)) {
            return bad("expected a record: its name and whether it is exported");
        }
        if (read_compact(in_, &list) != CompactResult::ok || list.tag != CompactTag::z ||
            list.value != 1 || read_compact(in_, &size) != CompactResult::ok ||
            size.tag != CompactTag::u || size.value % 2 != 0 ||
            static_cast<uint64_t>(size.value) > in_.left()) {
            return bad("expected a list of fields and defaults");
        }
        const auto n = static_cast<size_t>(size.value / 2);
        std::vector<Term> fields(n, kNil);
        std::vector<Term> defaults(n, kNil);
        for (size_t i = 0; i < n; ++i) {
            if (!read_atom(&fields[i]) || !read_default(&defaults[i])) {
                return bad("expected a field and its default");
            }
        }
        if (native_record::any_twice(fields.data(), n)) {
            return bad("a field comes twice in a record");
        }
        const Term definition = native_record::make_definition(
            file_.heap, file_.module(), name, exported == atoms::true_, fields.data(), n);
        Term* t = file_.heap.alloc(1 + n);
        t[0] = Term{make_header(Kind::tuple, n)};
        std::copy(defaults.begin(), defaults.end(), t + 1);
        *out = cons(file_.heap, definition, make_boxed(t));
        return true;
    }
    bool read_atom(Term* out) {
        CompactNumber n;
        if (read_compact(in_, &n) != CompactResult::ok || n.tag != CompactTag::a || n.value == 0 ||
            static_cast<size_t>(n.value) >= file_.atoms.size()) {
            return false;
        }
        *out = file_.atoms[static_cast<size_t>(n.value)];
        return true;
    }
    // [] or [Value]
    bool read_default(Term* out) {
        CompactNumber n;
        if (read_compact(in_, &n) != CompactResult::ok) {
            return false;
        }
        Term value = kNonValue;
        if (n.tag == CompactTag::u) {
            *out = kNil;
            return true;
        }
        if (n.tag == CompactTag::a && static_cast<size_t>(n.value) < file_.atoms.size()) {
            value = file_.atoms[static_cast<size_t>(n.value)];
        } else if (n.tag == CompactTag::i) {
            value = integer_term(file_.heap, n);
        } else if (n.tag == CompactTag::z && n.value == 4) {
            CompactNumber literal;
            if (read_compact(in_, &literal) != CompactResult::ok ||
                literal.tag != CompactTag::u ||
                static_cast<uint64_t>(literal.value) >= file_.literals.size()) {
                return false;
            }
            value = file_.literals[static_cast<size_t>(literal.value)];
        } else {
            return false;
        }
        *out = cons(file_.heap, value, kNil);
        return is_value(value);
    }

    ByteReader in_;
    BeamFile& file_;
    ErrorSink& error_;
};

bool read_records(const Span& chunk, BeamFile* out, ErrorSink& error) {
    return !chunk.present || chunk.size == 0 || RecordReader(chunk, *out, error).read();
}

// As code:module_md5/1 and beam_lib:md5/1: over what decides how the module behaves. The old
// uniques of funs count as 0, because they are made from this very checksum.
void digest_essentials(const Chunks& c, uint8_t digest[16]) {
    Md5 md5;
    const auto add = [&md5](const Span& s) { md5.update(s.data, s.size); };
    add(c.atoms_latin1);
    for (const Span* s : {&c.atoms_utf8, &c.code, &c.strings, &c.imports, &c.exports}) {
        add(*s);
    }
    if (c.lambdas.present) {
        static constexpr uint8_t kZero[4] = {};
        md5.update(c.lambdas.data, 4);
        for (size_t at = 4; at + 24 <= c.lambdas.size; at += 24) {
            md5.update(c.lambdas.data + at, 20);
            md5.update(kZero, 4);
        }
    }
    add(c.literals);
    add(c.meta);
    add(c.records);
    md5.final(digest);
}

bool is_gzip(const uint8_t* bytes, size_t size) {
    return size >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B;
}

bool open_file(const uint8_t* bytes, size_t size, std::vector<uint8_t>* inflated, Chunks* chunks,
               ErrorSink& error) {
    if (is_gzip(bytes, size)) {
        if (!inflate_gzip(bytes, size, inflated, error)) {
            return false;
        }
        bytes = inflated->data();
        size = inflated->size();
    }
    return find_chunks(bytes, size, chunks, error);
}

}  // namespace

bool read_beam_file(const uint8_t* bytes, size_t size, BeamFile* out, ErrorSink& error) {
    Chunks chunks;
    if (!open_file(bytes, size, &out->inflated, &chunks, error) ||
        !read_code_header(chunks.code, out, error) || !read_atoms(chunks, out, error)) {
        return false;
    }
    if (!chunks.imports.present || !chunks.exports.present) {
        return error.fail(Code::bad_chunk, "", 0, "the file has no %s chunk",
                          chunks.imports.present ? "ExpT" : "ImpT");
    }
    if (!read_imports(chunks.imports, out, error) || !read_exports(chunks.exports, out, error) ||
        (chunks.lambdas.present && !read_lambdas(chunks.lambdas, out, error)) ||
        (chunks.literals.present && !read_literals(chunks.literals, out, error)) ||
        !read_lines(chunks.lines, out, error) || !read_types(chunks.types, out, error) ||
        !read_term_chunk(chunks.attributes, "Attr", out, &out->attributes, error) ||
        !read_term_chunk(chunks.compile_info, "CInf", out, &out->compile_info, error) ||
        !read_records(chunks.records, out, error)) {
        return false;
    }
    if (chunks.strings.size != 0) {
        out->strings.assign(chunks.strings.data, chunks.strings.data + chunks.strings.size);
    }
    digest_essentials(chunks, out->md5);
    return true;
}

Term read_module_name(const uint8_t* bytes, size_t size) {
    LoadError ignored;
    ErrorSink error(&ignored);
    std::vector<uint8_t> inflated;
    Chunks chunks;
    BeamFile file;
    if (!open_file(bytes, size, &inflated, &chunks, error) || !read_atoms(chunks, &file, error)) {
        return kNonValue;
    }
    return file.module();
}

}  // namespace minivm::loader
