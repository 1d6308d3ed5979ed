// Export, fun, module, ranges and catch tables, and the code index.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "vm/code/generations.hpp"
#include "vm/code/loading.hpp"
#include "vm/code/module_table.hpp"
#include "vm/record/record.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/function_name.hpp"
#include "vm/util/atomics.hpp"
#include "vm/util/lock.hpp"

namespace minivm {
namespace {

StubWords g_stubs{};
NativeStubs g_native_stubs{};

constexpr size_t kExportBuckets = 1 << 14;
constexpr size_t kFunBuckets = 1 << 13;
constexpr size_t kModuleBuckets = 1 << 11;

// Buckets of chains that only ever grow at the front: readers need no lock.
std::atomic<Export*> g_exports[kExportBuckets];
std::atomic<FunEntry*> g_funs[kFunBuckets];
CountedMutex g_export_lock{LockKind::exports};  // writers
CountedMutex g_fun_lock{LockKind::funs};
uint32_t g_funs_from_outside = 0;  // entries that say so; under g_fun_lock

size_t export_bucket(Term m, Term f, uint32_t arity) {
    const uint64_t h = (m.raw * 0x9E3779B97F4A7C15u) ^ (f.raw * 0xC2B2AE3D27D4EB4Fu) ^ arity * 0x165667B1u;
    return (h >> 32 ^ h >> 15) % kExportBuckets;
}

Export* find_in(Export* e, Term m, Term f, uint32_t arity) {
    for (; e != nullptr; e = e->next_in_bucket) {
        if (e->function == f && e->module == m && e->arity == arity) {
            return e;
        }
    }
    return nullptr;
}

struct ModuleEntry {
    Term name;
    ModuleInstance* current[kCodeIndexes];
    ModuleInstance* old[kCodeIndexes];
    ModuleInstance* on_load[kCodeIndexes];  // its on_load function has not succeeded yet
    ModuleEntry* next;
};
std::atomic<ModuleEntry*> g_modules[kModuleBuckets];
CountedMutex g_module_lock{LockKind::modules};

ModuleEntry* find_module(Term name) {
    // acquire: the entry's fields were written before it was linked. Pairs with module_entry().
    ModuleEntry* e = g_modules[atom_index(name) % kModuleBuckets].load(std::memory_order_acquire);
    while (e != nullptr && e->name != name) {
        e = e->next;
    }
    return e;
}
ModuleEntry* module_entry(Term name) {
    ModuleEntry* e = find_module(name);
    if (e != nullptr) {
        return e;
    }
    std::lock_guard lock(g_module_lock);
    e = find_module(name);
    if (e == nullptr) {
        auto& bucket = g_modules[atom_index(name) % kModuleBuckets];
        // relaxed: only holders of g_module_lock write the bucket.
        e = new ModuleEntry{name, {}, {}, {}, bucket.load(std::memory_order_relaxed)};
        // release: publishes the fields above. Pairs with find_module().
        bucket.store(e, std::memory_order_release);
    }
    return e;
}

// The ranges table of one generation: ascending, not overlapping.
struct Range {
    Word begin, end;
    ModuleInstance* instance;
};
std::vector<Range> g_ranges[kCodeIndexes];

// How often staging has begun. What a thread found in g_ranges[i] is still true while this is the
// same: a generation only changes between a beginning and the commit that makes it active.
std::atomic<uint64_t> g_stagings{1};

// What a commit changes.
struct Changes {
    std::vector<Export*> exports;
    std::vector<FunEntry*> funs;
    std::vector<ModuleEntry*> modules;
    void clear() {
        exports.clear();
        funs.clear();
        modules.clear();
    }
};
Generations<Atomics, Changes, kCodeIndexes> g_generations{code_index::g_active};

template <typename T>
void copy_index(const std::vector<T*>& entries, int from, int to) {
    for (T* e : entries) {
        e->bytecode[to] = e->bytecode[from];
        e->native[to] = e->native[from];
        if constexpr (std::is_same_v<T, FunEntry>) {
            e->body[to] = e->body[from];
        } else if (e->original != nullptr) {
            e->original->bytecode[to] = e->original->bytecode[from];
            e->original->native[to] = e->original->native[from];
        }
    }
}

constexpr size_t kCatchChunk = 1024;
constexpr size_t kMaxCatchChunks = 1 << 15;
using CatchEntry = catch_table::Handler;
std::atomic<CatchEntry*> g_catches[kMaxCatchChunks];
uint32_t g_catch_count = 0;  // under the code modification permission

CatchEntry& catch_entry(uint32_t index) {
    // acquire: pairs with the release in allocate_catches(); the chunk is zeroed by then.
    return g_catches[index / kCatchChunk].load(std::memory_order_acquire)[index % kCatchChunk];
}

// Entries that purged modules have given back: first -> count. Neighbours are joined.
std::map<uint32_t, uint32_t> g_free_catches;  // under g_catch_lock
CountedMutex g_catch_lock{LockKind::catches};

uint32_t allocate_catches(uint32_t n) {
    if (n == 0) {
        return 0;
    }
    const std::lock_guard lock(g_catch_lock);
    for (auto piece = g_free_catches.begin(); piece != g_free_catches.end(); ++piece) {
        if (piece->second >= n) {
            const auto [first, count] = *piece;
            g_free_catches.erase(piece);
            if (count > n) {
                g_free_catches.emplace(first + n, count - n);
            }
            return first;
        }
    }
    const uint32_t first = g_catch_count;
    g_catch_count += n;
    MINIVM_CHECK(g_catch_count < kCatchChunk * kMaxCatchChunks);
    for (size_t c = first / kCatchChunk; c <= (first + n) / kCatchChunk; ++c) {
        // relaxed: only the holder of the permission allocates chunks.
        if (g_catches[c].load(std::memory_order_relaxed) == nullptr) {
            // release: pairs with catch_entry().
            g_catches[c].store(new CatchEntry[kCatchChunk]{}, std::memory_order_release);
        }
    }
    return first;
}

void free_catches(uint32_t first, uint32_t n) {
    if (n == 0) {
        return;
    }
    const std::lock_guard lock(g_catch_lock);
    auto next = g_free_catches.lower_bound(first);
    if (next != g_free_catches.end() && first + n == next->first) {
        n += next->second;
        next = g_free_catches.erase(next);
    }
    if (next != g_free_catches.begin()) {
        const auto previous = std::prev(next);
        if (previous->first + previous->second == first) {
            previous->second += n;
            return;
        }
    }
    g_free_catches.emplace(first, n);
}

// ---- where an entry leads to ----------------------------------------------------------------------

void init_stubs(Export* e) {
    for (int i = 0; i < kStubCount; ++i) {
        e->stub[i] = g_stubs.words[i];
    }
}
// enter_bytecode would come by the trace once more.
const void* original_native(const void* native) {
    return native == g_native_stubs.enter_bytecode ? g_native_stubs.enter_traced_bytecode : native;
}
const void* untraced_native(const void* native) {
    return native == g_native_stubs.enter_traced_bytecode ? g_native_stubs.enter_bytecode : native;
}
void point_export(Export* e, int ix, const Word* bytecode, const void* native) {
    if (e->original != nullptr) {
        e->original->bytecode[ix] = bytecode;
        e->original->native[ix] = original_native(native);
    }
    e->bytecode[ix] = e->traced ? &e->stub[kStubTrace] : bytecode;
    e->native[ix] = e->traced ? g_native_stubs.enter_traced : native;
}
void set_export(Export* e, int ix, const ModuleInstance& instance, uint32_t instr) {
    if (instance.code->is_native()) {
        point_export(e, ix, &e->stub[kStubNative], instance.code->native_at(instr));
    } else {
        point_export(e, ix, instance.code->bytecode_at(instr), g_native_stubs.enter_bytecode);
    }
}
void clear_export(Export* e, int ix) {
    point_export(e, ix, &e->stub[kStubUndefined], g_native_stubs.enter_bytecode);
}

void set_fun(FunEntry* fe, int ix, const ModuleInstance& instance, uint32_t lambda) {
    const uint32_t entry = instance.lowered.lambdas[lambda].entry;
    if (instance.code->is_native()) {
        fe->bytecode[ix] = &fe->stub[kFunStubNative];
        fe->native[ix] = instance.code->native_fun(lambda);
        fe->body[ix] = instance.code->native_at(entry);
    } else {
        fe->bytecode[ix] = instance.code->bytecode_at(entry);
        fe->native[ix] = g_native_stubs.enter_fun_bytecode;
    }
}
void clear_fun(FunEntry* fe, int ix) {
    fe->bytecode[ix] = &fe->stub[kFunStubUnloaded];
    fe->native[ix] = g_native_stubs.enter_fun_bytecode;
}
bool fun_leads_to(const FunEntry* fe, int ix, const ModuleInstance& instance, uint32_t lambda) {
    const uint32_t entry = instance.lowered.lambdas[lambda].entry;
    return instance.code->is_native()
               ? fe->bytecode[ix] == &fe->stub[kFunStubNative] &&
                     fe->body[ix] == instance.code->native_at(entry)
               : fe->bytecode[ix] == instance.code->bytecode_at(entry);
}

// A fun whose entry leads to `instance` is also in `other`, which was made from the same file: its
// place there, or -1.
int64_t place_in(const ModuleInstance* other, const FunEntry* fe) {
    if (other == nullptr) {
        return -1;
    }
    const auto found = std::find(other->fun_entries.begin(), other->fun_entries.end(), fe);
    return found == other->fun_entries.end() ? -1 : found - other->fun_entries.begin();
}

}  // namespace

void set_bytecode_stubs(const StubWords& stubs) { g_stubs = stubs; }
const StubWords& bytecode_stubs() { return g_stubs; }
void set_native_stubs(const NativeStubs& stubs) { g_native_stubs = stubs; }

// ---- exports ----------------------------------------------------------------------------------------

// Of a function that is not loaded.
static Export* new_export(Term module, Term function, uint32_t arity) {
    Export* e = new Export{};
    e->module = module;
    e->function = function;
    e->arity = arity;
    init_stubs(e);
    for (int i = 0; i < kCodeIndexes; ++i) {
        clear_export(e, i);
    }
    return e;
}

FunctionName name_of(const Export* entry) { return {entry->module, entry->function, entry->arity}; }
LambdaName name_of(const FunEntry* entry) {
    return {entry->module, entry->index, entry->old_uniq, entry->function, entry->arity};
}

namespace export_table {

Export* find(Term module, Term function, uint32_t arity) {
    // acquire: the entry's fields were written before it was linked. Pairs with get().
    Export* first = g_exports[export_bucket(module, function, arity)].load(std::memory_order_acquire);
    return find_in(first, module, function, arity);
}

Export* get(Term module, Term function, uint32_t arity) {
    if (Export* e = find(module, function, arity)) {
        return e;
    }
    std::lock_guard lock(g_export_lock);
    auto& bucket = g_exports[export_bucket(module, function, arity)];
    // relaxed: only holders of g_export_lock write the bucket.
    Export* first = bucket.load(std::memory_order_relaxed);
    if (Export* e = find_in(first, module, function, arity)) {
        return e;
    }
    Export* e = new_export(module, function, arity);
    e->next_in_bucket = first;
    // release: publishes the fields above. Pairs with find().
    bucket.store(e, std::memory_order_release);
    return e;
}

Export* make_hidden(Term module, Term function, uint32_t arity) {
    return new_export(module, function, arity);
}

bool is_loaded(const Export* e, int ix) {
    const Word* code = e->bytecode[ix];
    if (code == &e->stub[kStubTrace]) {
        code = e->original->bytecode[ix];
    }
    return code != &e->stub[kStubUndefined];
}

void for_each(void (*f)(Export*, void*), void* context) {
    for (auto& bucket : g_exports) {
        // acquire: pairs with get().
        for (Export* e = bucket.load(std::memory_order_acquire); e != nullptr; e = e->next_in_bucket) {
            f(e, context);
        }
    }
}

}  // namespace export_table

namespace fun_table {

static FunEntry* get_or_make(Term module, uint32_t index, uint32_t old_uniq, const uint8_t uniq[16],
                             uint32_t arity, uint32_t num_free, bool from_outside) {
    uint64_t digest[2];  // of the module: those who make up funs may keep all else the same
    std::memcpy(digest, uniq, sizeof digest);
    const uint64_t h = (atom_index(module) * 31 + index * 7 + old_uniq + digest[0]) * 0x9E3779B97F4A7C15u ^
                       digest[1] * 0xC2B2AE3D27D4EB4Fu;
    std::lock_guard lock(g_fun_lock);
    auto& bucket = g_funs[(h >> 32 ^ h >> 52) % kFunBuckets];
    // relaxed: only holders of g_fun_lock read or write the buckets.
    for (FunEntry* e = bucket.load(std::memory_order_relaxed); e != nullptr; e = e->next_in_bucket) {
        if (e->module == module && e->index == index && e->old_uniq == old_uniq &&
            e->arity == arity && e->num_free == num_free && std::memcmp(e->uniq, uniq, 16) == 0) {
            if (e->from_outside && !from_outside) {
                e->from_outside = false;
                g_funs_from_outside--;
            }
            return e;
        }
    }
    if (from_outside && g_funs_from_outside == kMostFromOutside) {
        return nullptr;
    }
    FunEntry* e = new FunEntry{};
    e->from_outside = from_outside;
    g_funs_from_outside += from_outside ? 1 : 0;
    e->module = module;
    e->index = index;
    e->old_uniq = old_uniq;
    std::memcpy(e->uniq, uniq, 16);
    e->arity = arity;
    e->num_free = num_free;
    e->function = kNonValue;
    for (int i = 0; i < 2; ++i) {
        e->stub[i] = g_stubs.fun[i];
    }
    for (int i = 0; i < kCodeIndexes; ++i) {
        clear_fun(e, i);
    }
    // relaxed: as above.
    e->next_in_bucket = bucket.load(std::memory_order_relaxed);
    bucket.store(e, std::memory_order_relaxed);  // relaxed: the lock orders it
    return e;
}

FunEntry* get(Term module, uint32_t index, uint32_t old_uniq, const uint8_t uniq[16], uint32_t arity,
              uint32_t num_free) {
    return get_or_make(module, index, old_uniq, uniq, arity, num_free, false);
}

FunEntry* get_from_outside(Term module, uint32_t index, uint32_t old_uniq, const uint8_t uniq[16],
                           uint32_t arity, uint32_t num_free) {
    return get_or_make(module, index, old_uniq, uniq, arity, num_free, true);
}

bool is_loaded(const FunEntry* e, int ix) { return e->bytecode[ix] != &e->stub[kFunStubUnloaded]; }

}  // namespace fun_table

// ---- modules, ranges, catches ---------------------------------------------------------------------

namespace module_table {

ModuleInstance* current(Term module, int code_ix) {
    const ModuleEntry* e = find_module(module);
    return e != nullptr ? e->current[code_ix] : nullptr;
}
ModuleInstance* old(Term module, int code_ix) {
    const ModuleEntry* e = find_module(module);
    return e != nullptr ? e->old[code_ix] : nullptr;
}

ModuleInstance* on_load(Term module, int code_ix) {
    const ModuleEntry* e = find_module(module);
    return e != nullptr ? e->on_load[code_ix] : nullptr;
}

bool is_known(Term module) { return find_module(module) != nullptr; }

static bool lookup_in_ranges(const void* address, int code_ix, bool is_return_address,
                             FunctionInfo* out) {
    const Word a = reinterpret_cast<Word>(address);
    const std::vector<Range>& ranges = g_ranges[code_ix];
    auto it = std::upper_bound(ranges.begin(), ranges.end(), a,
                               [](Word w, const Range& r) { return w < r.begin; });
    if (it == ranges.begin()) {
        return false;
    }
    --it;
    // A return address may be one past the last word.
    if (a > it->end || (a == it->end && !is_return_address)) {
        return false;
    }
    const ModuleInstance& instance = *it->instance;
    const CodeLocation l = instance.code->locate(address, is_return_address);
    const LoweredFunction& f = instance.lowered.functions[l.function];
    out->module = instance.name();
    out->function = f.name;
    out->arity = f.arity;
    out->instance = &instance;
    out->line = 0;
    out->file = kNil;
    if (l.line != kNoLine && l.line <= instance.lowered.lines.size()) {
        const LineEntry& entry = instance.lowered.lines[l.line - 1];
        out->line = entry.line;
        out->file = instance.file_atoms[entry.file];
    }
    return true;
}

bool lookup(const void* address, int code_ix, bool is_return_address, FunctionInfo* out) {
    // Exceptions ask for the same few places again and again.
    struct Known {
        Word key;
        uint64_t staging;
        FunctionInfo info;  // instance: null if the address is in no code
    };
    constexpr size_t kKnown = 128;
    static thread_local Known known[kKnown];
    const Word a = reinterpret_cast<Word>(address);
    // Addresses have at most 57 bits.
    const Word key = a << 3 | static_cast<Word>(code_ix) << 1 | (is_return_address ? 1 : 0);
    // relaxed: thread progress passes between the beginning of a staging and the use of its result,
    // so whoever reads a new generation reads this number or a later one.
    const uint64_t staging = g_stagings.load(std::memory_order_relaxed);
    Known& k = known[(a >> 3 ^ a >> 10 ^ a >> 17) % kKnown];
    if (k.key != key || k.staging != staging) {
        k = {key, staging, {}};
        if (!lookup_in_ranges(address, code_ix, is_return_address, &k.info)) {
            k.info.instance = nullptr;
        }
    }
    if (k.info.instance == nullptr) {
        return false;
    }
    *out = k.info;
    return true;
}

void for_each_loaded(int code_ix, void (*f)(ModuleInstance*, ModuleInstance*, void*), void* context) {
    for (auto& bucket : g_modules) {
        // acquire: pairs with module_entry().
        for (ModuleEntry* e = bucket.load(std::memory_order_acquire); e != nullptr; e = e->next) {
            if (e->current[code_ix] != nullptr || e->old[code_ix] != nullptr) {
                f(e->current[code_ix], e->old[code_ix], context);
            }
        }
    }
}

}  // namespace module_table

namespace catch_table {
Handler get(uint32_t index) { return catch_entry(index); }
}  // namespace catch_table

// ---- staging and commit ------------------------------------------------------------------------------

namespace code_index {
#ifdef MINIVM_DEBUG
std::atomic<uint32_t> g_left_out{0};
#endif
std::atomic<int> g_active{0};

void commit_staging() { g_generations.commit(); }
}  // namespace code_index

namespace staging {

void begin() {
    // relaxed: see module_table::lookup().
    g_stagings.fetch_add(1, std::memory_order_relaxed);
    g_generations.begin([](const Changes& c, int from, int to) {
        copy_index(c.exports, from, to);
        copy_index(c.funs, from, to);
        for (ModuleEntry* m : c.modules) {
            m->current[to] = m->current[from];
            m->old[to] = m->old[from];
            m->on_load[to] = m->on_load[from];
        }
    });
    g_ranges[code_index::staging()] = g_ranges[code_index::active()];
}

static void undefine_exports(const ModuleInstance& instance) {
    const int ix = code_index::staging();
    for (const LoweredExport& x : instance.lowered.exports) {
        Export* e = x.callable;
        if (e->bif == nullptr) {
            clear_export(e, ix);
        }
        g_generations.changes().exports.push_back(e);
    }
}

static void define_exports(const ModuleInstance& instance) {
    const int ix = code_index::staging();
    for (const LoweredExport& x : instance.lowered.exports) {
        Export* e = x.callable;
        if (e->bif == nullptr) {
            set_export(e, ix, instance, x.entry);
        }
        g_generations.changes().exports.push_back(e);
    }
}

void delete_module(Term module) {
    const int ix = code_index::staging();
    ModuleEntry* entry = module_entry(module);
    MINIVM_ASSERT(entry->old[ix] == nullptr);
    if (entry->current[ix] != nullptr) {
        undefine_exports(*entry->current[ix]);
    }
    entry->old[ix] = entry->current[ix];
    entry->current[ix] = nullptr;
    g_generations.changes().modules.push_back(entry);
}

// Catches, funs and address range: what the code needs to run.
static void add_code(ModuleInstance* instance) {
    const int ix = code_index::staging();
    LoweredModule& m = instance->lowered;
    instance->first_catch = allocate_catches(m.catch_count);
    for (uint32_t n = 0; n < m.catch_count; ++n) {
        catch_entry(instance->first_catch + n) = {instance->code->catch_handler(n),
                                                  instance->code->is_native()};
    }
    instance->fun_entries.clear();
    for (const LoweredLambda& l : m.lambdas) {
        FunEntry* fe = fun_table::get(m.name, l.index, l.old_uniq, m.md5, l.arity - l.num_free,
                                      l.num_free);
        fe->function = l.function;
        set_fun(fe, ix, *instance, static_cast<uint32_t>(&l - m.lambdas.data()));
        g_generations.changes().funs.push_back(fe);
        instance->fun_entries.push_back(fe);
    }
    instance->file_atoms.clear();
    for (const std::string& f : m.files) {
        const bool short_enough = f.size() <= kMaxAtomChars && atom_table::is_valid(f);
        instance->file_atoms.push_back(
            atom_table::intern(short_enough ? std::string_view(f)
                                            : std::string_view("long_file_name")));
    }
    // Entries of that table never go away.
    for (LoweredExport& x : instance->lowered.exports) {
        x.callable = export_table::get(instance->name(), x.function, x.arity);
    }
    instance->engine->install(*instance);
    const Range r{reinterpret_cast<Word>(instance->code->begin()),
                  reinterpret_cast<Word>(instance->code->end()), instance};
    auto& ranges = g_ranges[ix];
    ranges.insert(std::upper_bound(ranges.begin(), ranges.end(), r,
                                   [](const Range& a, const Range& b) { return a.begin < b.begin; }),
                  r);
}

// `instance` becomes current, what was current becomes old. Exports of that disappear unless the new
// one has them too; its funs go on in its code.
static void make_current(ModuleEntry* entry, ModuleInstance* instance) {
    const int ix = code_index::staging();
    if (const ModuleInstance* previous = entry->current[ix]) {
        MINIVM_ASSERT(entry->old[ix] == nullptr);
        if (previous->engine != instance->engine) {
            MINIVM_EVENT(code_engine, records::atom(entry->name), previous->code->is_native(),
                         instance->code->is_native());
        }
        undefine_exports(*previous);
        entry->old[ix] = entry->current[ix];
    }
    define_exports(*instance);
    entry->current[ix] = instance;
    g_generations.changes().modules.push_back(entry);
}

void add_module(ModuleInstance* instance) {
    add_code(instance);
    make_current(module_entry(instance->name()), instance);
}

void add_pending(ModuleInstance* instance) {
    add_code(instance);
    instance->on_load_entry = std::make_unique<Export>();
    Export& e = *instance->on_load_entry;
    e.module = instance->name();
    e.bif = nullptr;
    for (const LoweredFunction& f : instance->lowered.functions) {
        if (f.entry == instance->lowered.on_load) {
            e.function = f.name;
        }
    }
    init_stubs(&e);
    for (int ix = 0; ix < kCodeIndexes; ++ix) {
        set_export(&e, ix, *instance, instance->lowered.on_load);
    }
    ModuleEntry* entry = module_entry(instance->name());
    MINIVM_ASSERT(entry->on_load[code_index::staging()] == nullptr);
    entry->on_load[code_index::staging()] = instance;
    g_generations.changes().modules.push_back(entry);
}

void accept_pending(Term module) {
    const int ix = code_index::staging();
    ModuleEntry* entry = module_entry(module);
    ModuleInstance* instance = entry->on_load[ix];
    entry->on_load[ix] = nullptr;
    make_current(entry, instance);
}

bool close_funs(const ModuleInstance& instance, std::vector<const FunEntry*>* closed) {
    const int ix = code_index::staging();
    const ModuleEntry* entry = module_entry(instance.name());
    bool any = false;
    for (uint32_t i = 0; i < instance.fun_entries.size(); ++i) {
        FunEntry* fe = instance.fun_entries[i];
        if (!fun_leads_to(fe, ix, instance, i)) {
            continue;
        }
        any = true;
        g_generations.changes().funs.push_back(fe);
        const ModuleInstance* heir = nullptr;
        int64_t place = -1;
        for (const ModuleInstance* other : {entry->current[ix], entry->old[ix]}) {
            if (place < 0 && other != &instance) {
                heir = other;
                place = place_in(other, fe);
            }
        }
        if (place >= 0) {
            set_fun(fe, ix, *heir, static_cast<uint32_t>(place));
        } else {
            clear_fun(fe, ix);
            closed->push_back(fe);
        }
    }
    return any;
}

void reopen_funs(const ModuleInstance& instance, const std::vector<const FunEntry*>& closed) {
    const int ix = code_index::staging();
    for (uint32_t i = 0; i < instance.fun_entries.size(); ++i) {
        FunEntry* fe = instance.fun_entries[i];
        // A load of the same file may have given it code meanwhile.
        if (std::find(closed.begin(), closed.end(), fe) != closed.end() &&
            !fun_table::is_loaded(fe, ix)) {
            set_fun(fe, ix, instance, i);
            g_generations.changes().funs.push_back(fe);
        }
    }
}

void remove_module(ModuleInstance* instance) {
    const int ix = code_index::staging();
    ModuleEntry* entry = module_entry(instance->name());
    if (entry->old[ix] == instance) {
        entry->old[ix] = nullptr;
    }
    if (entry->on_load[ix] == instance) {
        entry->on_load[ix] = nullptr;
    }
    MINIVM_ASSERT(entry->current[ix] != instance);
    g_generations.changes().modules.push_back(entry);
    auto& ranges = g_ranges[ix];
    ranges.erase(std::remove_if(ranges.begin(), ranges.end(),
                                [instance](const Range& r) { return r.instance == instance; }),
                 ranges.end());
}

void trace_export(Export* e, bool on) {
    if (e->traced == on) {
        return;
    }
    const int ix = code_index::staging();
    if (e->original == nullptr) {
        auto* original = new ExportTarget;
        for (int i = 0; i < kCodeIndexes; ++i) {
            original->bytecode[i] = e->bytecode[i];
            original->native[i] = original_native(e->native[i]);
        }
        e->original = original;  // kept for good: readers may come by at any time
    }
    e->traced = on;
    point_export(e, ix, e->original->bytecode[ix], untraced_native(e->original->native[ix]));
    g_generations.changes().exports.push_back(e);
}

void give_back_catches(const ModuleInstance& instance) {
    free_catches(instance.first_catch, instance.lowered.catch_count);
}

}  // namespace staging

}  // namespace minivm
