#include "vm/nif/zstd.hpp"

#include "vm/nif/built_in.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/map.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace minivm::nif {

namespace zstd {

namespace {

// ---- the library (zstd.h, version 1.4 and later) ------------------------------------------------------------------

struct Output {
    void* bytes;
    size_t size;
    size_t used;
};
struct Input {
    const void* bytes;
    size_t size;
    size_t used;
};
struct FrameHeader {
    unsigned long long content_size;
    unsigned long long window_size;
    unsigned block_size;
    int kind;  // 0: a frame; 1: a skippable frame
    unsigned header_size;
    unsigned dictionary;
    unsigned checksum;
    unsigned reserved[2];
};
constexpr int kSkippedHeader = 8;  // bytes; libraries before 1.5.6 do not tell it
constexpr unsigned long long kUnknownSize = ~0ULL;
constexpr unsigned long long kNoSize = ~1ULL;
constexpr int kSessionOnly = 1;

struct Api {
    bool is_there = false;
    void* (*new_compressor)();
    size_t (*free_compressor)(void*);
    size_t (*reset_compressor)(void*, int);
    size_t (*set_compressor)(void*, int, int);
    size_t (*get_compressor)(const void*, int, int*);
    size_t (*set_size)(void*, unsigned long long);
    size_t (*load_compressor)(void*, const void*, size_t);
    size_t (*use_compressor)(void*, const void*);
    size_t (*compress)(void*, Output*, Input*, int);
    size_t (*compress_room)();
    void* (*new_decompressor)();
    size_t (*free_decompressor)(void*);
    size_t (*reset_decompressor)(void*, int);
    size_t (*set_decompressor)(void*, int, int);
    size_t (*get_decompressor)(void*, int, int*);
    size_t (*load_decompressor)(void*, const void*, size_t);
    size_t (*use_decompressor)(void*, const void*);
    size_t (*decompress)(void*, Output*, Input*);
    size_t (*decompress_room)();
    void* (*new_compress_dictionary)(const void*, size_t, int);
    size_t (*free_compress_dictionary)(void*);
    void* (*new_decompress_dictionary)(const void*, size_t);
    size_t (*free_decompress_dictionary)(void*);
    unsigned (*id_of_compress)(const void*);
    unsigned (*id_of_decompress)(const void*);
    unsigned (*id_of_bytes)(const void*, size_t);
    unsigned (*id_of_frame)(const void*, size_t);
    unsigned long long (*whole_size)(const void*, size_t);
    size_t (*frame_header)(FrameHeader*, const void*, size_t);
    unsigned (*is_error)(size_t);
    const char* (*error_name)(size_t);
};

// Opened and looked up once; stays open.
const Api& api() {
    static const Api found = [] {
        Api a{};
        void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
        bool all = library != nullptr;
        const auto take = [&](auto* to, const char* name) {
            void* const f = library != nullptr ? dlsym(library, name) : nullptr;
            all = all && f != nullptr;
            std::memcpy(to, &f, sizeof f);
        };
        take(&a.new_compressor, "ZSTD_createCCtx");
        take(&a.free_compressor, "ZSTD_freeCCtx");
        take(&a.reset_compressor, "ZSTD_CCtx_reset");
        take(&a.set_compressor, "ZSTD_CCtx_setParameter");
        take(&a.get_compressor, "ZSTD_CCtx_getParameter");
        take(&a.set_size, "ZSTD_CCtx_setPledgedSrcSize");
        take(&a.load_compressor, "ZSTD_CCtx_loadDictionary");
        take(&a.use_compressor, "ZSTD_CCtx_refCDict");
        take(&a.compress, "ZSTD_compressStream2");
        take(&a.compress_room, "ZSTD_CStreamOutSize");
        take(&a.new_decompressor, "ZSTD_createDCtx");
        take(&a.free_decompressor, "ZSTD_freeDCtx");
        take(&a.reset_decompressor, "ZSTD_DCtx_reset");
        take(&a.set_decompressor, "ZSTD_DCtx_setParameter");
        take(&a.get_decompressor, "ZSTD_DCtx_getParameter");
        take(&a.load_decompressor, "ZSTD_DCtx_loadDictionary");
        take(&a.use_decompressor, "ZSTD_DCtx_refDDict");
        take(&a.decompress, "ZSTD_decompressStream");
        take(&a.decompress_room, "ZSTD_DStreamOutSize");
        take(&a.new_compress_dictionary, "ZSTD_createCDict");
        take(&a.free_compress_dictionary, "ZSTD_freeCDict");
        take(&a.new_decompress_dictionary, "ZSTD_createDDict");
        take(&a.free_decompress_dictionary, "ZSTD_freeDDict");
        take(&a.id_of_compress, "ZSTD_getDictID_fromCDict");
        take(&a.id_of_decompress, "ZSTD_getDictID_fromDDict");
        take(&a.id_of_bytes, "ZSTD_getDictID_fromDict");
        take(&a.id_of_frame, "ZSTD_getDictID_fromFrame");
        take(&a.whole_size, "ZSTD_findDecompressedSize");
        take(&a.frame_header, "ZSTD_getFrameHeader");
        take(&a.is_error, "ZSTD_isError");
        take(&a.error_name, "ZSTD_getErrorName");
        a.is_there = all;
        return a;
    }();
    return found;
}

Term atom(const char* name) { return atom_table::intern(name); }

Word zstd_error(Env* env, const char* text) {
    return raise(env, make_tuple(heap_of(env), atom("zstd_error"), make_binary(heap_of(env), text, std::strlen(text))));
}
Word zstd_error(Env* env, size_t code) { return zstd_error(env, api().error_name(code)); }
Word ok_or_error(Env* env, size_t code) { return api().is_error(code) != 0 ? zstd_error(env, code) : atoms::ok.raw; }

Word bad_argument(Env* env, const char* what, Term t) {
    Heap& h = heap_of(env);
    return raise(env, make_tuple(h, atoms::badarg, make_tuple(h, atom(what), t)));
}

bool get_int(Term t, int* out) {
    if (!is_small(t) || small_value(t) < INT_MIN || small_value(t) > INT_MAX) {
        return false;
    }
    *out = static_cast<int>(small_value(t));
    return true;
}

// ---- contexts and dictionaries ------------------------------------------------------------------------------------

// A dictionary for compressing or for decompressing, which has its own copy of the bytes.
struct Dictionary {
    void* handle = nullptr;
};
struct Context {
    void* handle = nullptr;
    Dictionary* dictionary = nullptr;  // the one that it refers to; holds a reference
    Term owner = kNonValue;
    bool in_use = false;
};

// Written while the library is loaded, before any of its functions is called.
ResourceType* g_compressors = nullptr;
ResourceType* g_decompressors = nullptr;
ResourceType* g_compress_dictionaries = nullptr;
ResourceType* g_decompress_dictionaries = nullptr;

void use_dictionary(Context& c, Dictionary* d) {
    if (d != nullptr) {
        enif_keep_resource(d);
    }
    if (Dictionary* const before = std::exchange(c.dictionary, d)) {
        enif_release_resource(before);
    }
}
template <bool kCompresses>
void close_context(Context& c) {
    if (c.handle != nullptr) {
        (kCompresses ? api().free_compressor : api().free_decompressor)(std::exchange(c.handle, nullptr));
    }
    use_dictionary(c, nullptr);
}

template <bool kCompresses>
Word new_context(Env* env, int, const Word*) {
    if (!api().is_there) {
        return zstd_error(env, "libzstd.so.1 is not there");
    }
    ResourceType* const type = kCompresses ? g_compressors : g_decompressors;
    auto* const c = new (enif_alloc_resource(type, sizeof(Context))) Context;
    c->handle = (kCompresses ? api().new_compressor : api().new_decompressor)();
    c->owner = env->process->id;
    const Word ref = enif_make_resource(env, c);
    enif_release_resource(c);
    return ref;
}

// Null: *error is the word of the exception that has been raised.
template <bool kCompresses>
Context* context_of(Env* env, Word t, Word* error) {
    void* object = nullptr;
    if (enif_get_resource(env, t, kCompresses ? g_compressors : g_decompressors, &object) == 0 ||
        static_cast<Context*>(object)->handle == nullptr) {
        *error = raise_badarg(env);
        return nullptr;
    }
    auto* const c = static_cast<Context*>(object);
    if (c->owner != env->process->id) {
        *error = raise(env, atom("not_on_controlling_process"));
        return nullptr;
    }
    return c;
}

template <bool kCompresses>
Word load_dictionary(Env* env, int, const Word* a) {
    Word error = 0;
    Context* const c = context_of<kCompresses>(env, a[0], &error);
    std::string bytes;
    if (c == nullptr) {
        return error;
    }
    if (!iolist_to_bytes(Term{a[1]}, &bytes)) {
        return raise_badarg(env);
    }
    use_dictionary(*c, nullptr);
    const auto load = kCompresses ? api().load_compressor : api().load_decompressor;
    return ok_or_error(env, load(c->handle, bytes.data(), bytes.size()));
}

template <bool kCompresses>
Dictionary* dictionary_of(Env* env, Word t) {
    void* object = nullptr;
    return enif_get_resource(env, t, kCompresses ? g_compress_dictionaries : g_decompress_dictionaries, &object) != 0
               ? static_cast<Dictionary*>(object)
               : nullptr;
}

template <bool kCompresses>
Word refer_to_dictionary(Env* env, int, const Word* a) {
    Word error = 0;
    Context* const c = context_of<kCompresses>(env, a[0], &error);
    if (c == nullptr) {
        return error;
    }
    Dictionary* const d = dictionary_of<kCompresses>(env, a[1]);
    if (d == nullptr) {
        return raise_badarg(env);
    }
    const size_t code = (kCompresses ? api().use_compressor : api().use_decompressor)(c->handle, d->handle);
    if (api().is_error(code) != 0) {
        return zstd_error(env, code);
    }
    use_dictionary(*c, d);
    return atoms::ok.raw;
}

template <bool kCompresses>
Word new_dictionary(Env* env, int, const Word* a) {
    Bytes bytes;
    int level = 0;
    if (!is_binary(Term{a[0]}) || !get_bytes(Term{a[0]}, &bytes) || (kCompresses && !get_int(Term{a[1]}, &level))) {
        return raise_badarg(env);
    }
    if (!api().is_there) {
        return zstd_error(env, "libzstd.so.1 is not there");
    }
    void* const handle = kCompresses ? api().new_compress_dictionary(bytes.data, bytes.size, level)
                                     : api().new_decompress_dictionary(bytes.data, bytes.size);
    if (handle == nullptr) {
        return make_tuple(heap_of(env), atoms::error,
                          atom(kCompresses ? "invalid_compress_dict" : "invalid_decompress_dict"))
            .raw;
    }
    ResourceType* const type = kCompresses ? g_compress_dictionaries : g_decompress_dictionaries;
    auto* const d = new (enif_alloc_resource(type, sizeof(Dictionary))) Dictionary{handle};
    const Word ref = enif_make_resource(env, d);
    enif_release_resource(d);
    return ref;
}

template <bool kCompresses>
Word id_of_dictionary(Env* env, int, const Word* a) {
    const Dictionary* const d = dictionary_of<kCompresses>(env, a[0]);
    return d == nullptr ? raise_badarg(env)
                        : make_small((kCompresses ? api().id_of_compress : api().id_of_decompress)(d->handle)).raw;
}

template <bool kOfFrame>
Word id_in_bytes(Env* env, int, const Word* a) {
    std::string bytes;
    if (!iolist_to_bytes(Term{a[0]}, &bytes) || !api().is_there) {
        return raise_badarg(env);
    }
    return make_small((kOfFrame ? api().id_of_frame : api().id_of_bytes)(bytes.data(), bytes.size())).raw;
}

// ---- parameters ---------------------------------------------------------------------------------------------------

enum class Kind : uint8_t { number, flag, strategy };
struct Parameter {
    const char* name;
    int number;
    Kind kind = Kind::number;
};
constexpr Parameter kCompressing[] = {
    {"compressionLevel", 100}, {"windowLog", 101},      {"hashLog", 102},
    {"chainLog", 103},         {"searchLog", 104},      {"minMatch", 105},
    {"targetLength", 106},     {"strategy", 107, Kind::strategy}, {"targetCBlockSize", 130},
    {"enableLongDistanceMatching", 160, Kind::flag},    {"ldmHashLog", 161},
    {"ldmMinMatch", 162},      {"ldmBucketSizeLog", 163}, {"ldmHashRateLog", 164},
    {"contentSizeFlag", 200, Kind::flag}, {"checksumFlag", 201, Kind::flag}, {"dictIDFlag", 202, Kind::flag}};
constexpr Parameter kDecompressing[] = {{"windowLogMax", 100}};
constexpr const char* kStrategies[] = {"default", "fast",  "dfast",   "greedy",   "lazy",
                                       "lazy2",   "btlazy2", "btopt", "btultra", "btultra2"};

template <bool kCompresses>
const Parameter* find_parameter(Term name) {
    const std::span<const Parameter> all = kCompresses ? std::span<const Parameter>(kCompressing) : kDecompressing;
    const auto at = std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return atom(p.name) == name; });
    return at != all.end() ? &*at : nullptr;
}

bool get_value(Kind kind, Term t, int* out) {
    switch (kind) {
        case Kind::number:
            return get_int(t, out);
        case Kind::flag:
            *out = t == atoms::true_ ? 1 : 0;
            return t == atoms::true_ || t == atoms::false_;
        case Kind::strategy:
            for (int i = 0; i < static_cast<int>(std::size(kStrategies)); ++i) {
                if (atom(kStrategies[i]) == t) {
                    *out = i;
                    return true;
                }
            }
            return false;
    }
    return false;
}

template <bool kCompresses>
Word set_parameter(Env* env, int, const Word* a) {
    Word error = 0;
    int value = 0;
    Context* const c = context_of<kCompresses>(env, a[0], &error);
    if (c == nullptr) {
        return error;
    }
    if (!kCompresses && !get_int(Term{a[2]}, &value)) {
        return raise_badarg(env);
    }
    const Parameter* const p = find_parameter<kCompresses>(Term{a[1]});
    if (p == nullptr) {
        return bad_argument(env, "invalid_key", Term{a[1]});
    }
    if (!get_value(p->kind, Term{a[2]}, &value)) {
        return bad_argument(env, "invalid_value", Term{a[2]});
    }
    return ok_or_error(env, (kCompresses ? api().set_compressor : api().set_decompressor)(c->handle, p->number, value));
}

template <bool kCompresses>
Word get_parameter(Env* env, int, const Word* a) {
    Word error = 0;
    int value = 0;
    Context* const c = context_of<kCompresses>(env, a[0], &error);
    if (c == nullptr) {
        return error;
    }
    const Parameter* const p = find_parameter<kCompresses>(Term{a[1]});
    if (p == nullptr) {
        return bad_argument(env, "invalid_key", Term{a[1]});
    }
    const size_t code = kCompresses ? api().get_compressor(c->handle, p->number, &value)
                                    : api().get_decompressor(c->handle, p->number, &value);
    if (api().is_error(code) != 0) {
        return zstd_error(env, code);
    }
    switch (p->kind) {
        case Kind::flag:
            return atoms::false_.raw;  // as on erl, whatever was set
        case Kind::strategy:
            return value >= 0 && value < static_cast<int>(std::size(kStrategies)) ? atom(kStrategies[value]).raw
                                                                                  : raise_badarg(env);
        case Kind::number:
            break;
    }
    return make_small(value).raw;
}

Word set_size(Env* env, int, const Word* a) {
    Word error = 0;
    Context* const c = context_of<true>(env, a[0], &error);
    if (c == nullptr) {
        return error;
    }
    if (!is_small(Term{a[1]}) || small_value(Term{a[1]}) < 0) {
        return raise_badarg(env);
    }
    return ok_or_error(env, api().set_size(c->handle, static_cast<unsigned long long>(small_value(Term{a[1]}))));
}

// ---- streams ------------------------------------------------------------------------------------------------------

// One step: {continue, Rest, Output}, {continue, Output}, {flush, Output} or {done, Output}.
template <bool kCompresses>
Word step(Env* env, Context& c, const Word* a, const Bytes& bytes, size_t room) {
    static const Term go_on = atom("continue");
    static const Term flush_name = atom("flush");
    static const Term done = atom("done");
    int flush = 0;
    if (!get_int(Term{a[2]}, &flush)) {
        return raise_badarg(env);
    }
    // The thread's buffer, of the size that libzstd advises: the output of a step is mostly smaller, and is copied.
    thread_local std::vector<char> buffer;
    buffer.resize(std::max({room, buffer.size(), size_t{1}}));
    Output out{buffer.data(), room, 0};
    Input in{bytes.data, bytes.size, 0};
    size_t left = 0;
    do {
        left = kCompresses ? api().compress(c.handle, &out, &in, flush) : api().decompress(c.handle, &out, &in);
        if (api().is_error(left) != 0) {
            return zstd_error(env, left);
        }
    } while (in.used < in.size && out.used < out.size);
    constexpr size_t kBytesPerPercent = 1024;
    enif_consume_timeslice(env, static_cast<int>(std::clamp<size_t>(in.used / kBytesPerPercent, 1, 100)));
    Heap& h = heap_of(env);
    const Term output = make_binary(h, buffer.data(), out.used);
    if (flush != 0 && in.used == in.size) {
        return make_tuple(h, out.used == out.size && left > 0 ? flush_name : done, output).raw;
    }
    if (in.used < in.size) {
        return make_tuple(h, go_on, make_binary(h, bytes.data + in.used, in.size - in.used), output).raw;
    }
    return make_tuple(h, go_on, output).raw;
}

Word compress(Env* env, int, const Word* a) {
    Word error = 0;
    Bytes bytes;
    Context* const c = context_of<true>(env, a[0], &error);
    if (c == nullptr) {
        return error;
    }
    const Word result = is_binary(Term{a[1]}) && get_bytes(Term{a[1]}, &bytes)
                            ? step<true>(env, *c, a, bytes, api().compress_room())
                            : raise_badarg(env);
    if (env->exception) {
        api().reset_compressor(c->handle, kSessionOnly);
    }
    return result;
}

Word decompress(Env* env, int, const Word* a) {
    Word error = 0;
    Bytes bytes;
    Context* const c = context_of<false>(env, a[0], &error);
    if (c == nullptr) {
        return error;
    }
    if (!is_binary(Term{a[1]}) || !get_bytes(Term{a[1]}, &bytes)) {
        return raise_badarg(env);
    }
    size_t room = api().decompress_room();
    if (!c->in_use) {
        if (bytes.size == 0 && Term{a[2]} == atoms::true_) {
            return make_tuple(heap_of(env), atom("done"), Term{a[1]}).raw;
        }
        const unsigned long long whole = api().whole_size(bytes.data, bytes.size);
        if (whole != kUnknownSize && whole != kNoSize && whole < room) {
            room = static_cast<size_t>(whole);
        }
        c->in_use = true;
    }
    const Word result = step<false>(env, *c, a, bytes, room);
    if (env->exception) {
        api().reset_decompressor(c->handle, kSessionOnly);
        c->in_use = false;
    }
    return result;
}

template <bool kCompresses>
Word reset(Env* env, int, const Word* a) {
    Word error = 0;
    if (Context* const c = context_of<kCompresses>(env, a[0], &error)) {
        (kCompresses ? api().reset_compressor : api().reset_decompressor)(c->handle, kSessionOnly);
        c->in_use = false;
        return atoms::ok.raw;
    }
    return error;
}
template <bool kCompresses>
Word close(Env* env, int, const Word* a) {
    Word error = 0;
    if (Context* const c = context_of<kCompresses>(env, a[0], &error)) {
        close_context<kCompresses>(*c);
        return atoms::ok.raw;
    }
    return error;
}

Word frame_header(Env* env, int, const Word* a) {
    std::string bytes;
    FrameHeader f{};
    if (!iolist_to_bytes(Term{a[0]}, &bytes)) {
        return raise_badarg(env);
    }
    if (!api().is_there) {
        return zstd_error(env, "libzstd.so.1 is not there");
    }
    const size_t code = api().frame_header(&f, bytes.data(), bytes.size());
    if (api().is_error(code) != 0) {
        return zstd_error(env, code);
    }
    Heap& h = heap_of(env);
    Term keys[] = {atom("frameContentSize"), atom("windowSize"), atom("blockSizeMax"), atom("frameType"),
                   atom("headerSize"),       atom("dictID"),     atom("checksumFlag")};
    Term values[] = {f.content_size == kUnknownSize ? atoms::undefined : make_unsigned(h, f.content_size),
                     make_unsigned(h, f.window_size),
                     make_small(f.block_size),
                     atom(f.kind == 0 ? "ZSTD_frame" : "ZSTD_skippableFrame"),
                     make_small(f.kind == 0 ? f.header_size : kSkippedHeader),
                     make_small(f.dictionary),
                     f.checksum != 0 ? atoms::true_ : atoms::false_};
    return make_tuple(h, atoms::ok, map::from_pairs(h, keys, values, std::size(keys))).raw;
}

// ---- the library's own -------------------------------------------------------------------------------------------

template <bool kCompresses>
void context_ended(Env*, void* object) {
    close_context<kCompresses>(*static_cast<Context*>(object));
}
template <bool kCompresses>
void dictionary_ended(Env*, void* object) {
    void* const handle = static_cast<Dictionary*>(object)->handle;
    (kCompresses ? api().free_compress_dictionary : api().free_decompress_dictionary)(handle);
}

int open_types(Env* env, ResourceFlags flags) {
    const auto open = [&](const char* name, Destructor ended) {
        const ResourceTypeInit callbacks = {ended, nullptr, nullptr, 3, nullptr};
        return enif_open_resource_type_x(env, name, &callbacks, flags, nullptr);
    };
    g_compressors = open("ZstdCompressContext", context_ended<true>);
    g_decompressors = open("ZstdDecompressContext", context_ended<false>);
    g_compress_dictionaries = open("ZstdCompressDict", dictionary_ended<true>);
    g_decompress_dictionaries = open("ZstdDecompressDict", dictionary_ended<false>);
    return 0;
}
int load(Env* env, void**, Word) { return open_types(env, kCreate); }
int upgrade(Env* env, void**, void**, Word) { return open_types(env, kTakeover); }

LibraryFunction g_functions[] = {
    {"init_compress_nif", 0, new_context<true>, 0},
    {"init_decompress_nif", 0, new_context<false>, 0},
    {"load_compress_dictionary_nif", 2, load_dictionary<true>, kDirtyCpu},
    {"load_decompress_dictionary_nif", 2, load_dictionary<false>, kDirtyCpu},
    {"ref_compress_dictionary_nif", 2, refer_to_dictionary<true>, 0},
    {"ref_decompress_dictionary_nif", 2, refer_to_dictionary<false>, 0},
    {"set_compress_parameter_nif", 3, set_parameter<true>, 0},
    {"set_decompress_parameter_nif", 3, set_parameter<false>, 0},
    {"get_compress_parameter_nif", 2, get_parameter<true>, 0},
    {"get_decompress_parameter_nif", 2, get_parameter<false>, 0},
    {"set_pledged_src_size_nif", 2, set_size, 0},
    {"compress_stream_nif", 3, compress, 0},
    {"decompress_stream_nif", 3, decompress, 0},
    {"compress_reset_nif", 1, reset<true>, 0},
    {"decompress_reset_nif", 1, reset<false>, 0},
    {"compress_close_nif", 1, close<true>, 0},
    {"decompress_close_nif", 1, close<false>, 0},
    {"create_cdict_nif", 2, new_dictionary<true>, kDirtyCpu},
    {"create_ddict_nif", 1, new_dictionary<false>, kDirtyCpu},
    {"getDictId_fromCDict_nif", 1, id_of_dictionary<true>, 0},
    {"getDictId_fromDDict_nif", 1, id_of_dictionary<false>, 0},
    {"getDictId_fromDict_nif", 1, id_in_bytes<false>, 0},
    {"getDictId_fromFrame_nif", 1, id_in_bytes<true>, 0},
    {"get_frame_header_nif", 1, frame_header, 0},
};

}  // namespace

}  // namespace zstd

const Entry& zstd_entry() {
    static const Entry entry = entry_of("zstd", zstd::g_functions, zstd::load, zstd::upgrade);
    return entry;
}

}  // namespace minivm::nif
