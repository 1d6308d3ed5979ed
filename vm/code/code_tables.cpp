// Export, fun, module, ranges and catch tables, and the code index.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "vm/bif/bif.hpp"
#include "vm/code/loading.hpp"
#include "vm/code/module_table.hpp"
#include "vm/record/record.hpp"
#include "vm/term/atom_table.hpp"

namespace minivm {
namespace {

StubWords g_stubs{};
NativeStubs g_native_stubs{};

constexpr size_t kExportBuckets = 1 << 14;
constexpr size_t kFunBuckets = 1 << 12;
constexpr size_t kModuleBuckets = 1 << 11;

// Buckets of chains that only ever grow at the front: readers need no lock.
std::atomic<Export*> g_exports[kExportBuckets];
std::atomic<FunEntry*> g_funs[kFunBuckets];
std::mutex g_export_lock;  // writers
std::mutex g_fun_lock;

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
    ModuleEntry* next;
};
std::atomic<ModuleEntry*> g_modules[kModuleBuckets];
std::mutex g_module_lock;

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
        e = new ModuleEntry{name, {}, {}, bucket.load(std::memory_order_relaxed)};
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

// What the last two commits changed: the staging generation lacks just these.
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
Changes g_changes[2];  // [0]: being staged now or by the last commit, [1]: by the one before

template <typename T>
void copy_index(const std::vector<T*>& entries, int from, int to) {
    for (T* e : entries) {
        e->bytecode[to] = e->bytecode[from];
        e->native[to] = e->native[from];
        if constexpr (std::is_same_v<T, FunEntry>) {
            e->body[to] = e->body[from];
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

uint32_t allocate_catches(uint32_t n) {
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

}  // namespace

void set_bytecode_stubs(const StubWords& stubs) { g_stubs = stubs; }
const StubWords& bytecode_stubs() { return g_stubs; }
void set_native_stubs(const NativeStubs& stubs) { g_native_stubs = stubs; }

// ---- exports ----------------------------------------------------------------------------------------

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
    Export* e = new Export{};
    e->module = module;
    e->function = function;
    e->arity = arity;
    e->bif = nullptr;
    for (int i = 0; i < kStubCount; ++i) {
        e->stub[i] = g_stubs.words[i];
    }
    for (int i = 0; i < kCodeIndexes; ++i) {
        e->bytecode[i] = &e->stub[kStubUndefined];
        e->native[i] = g_native_stubs.enter_bytecode;
    }
    e->next_in_bucket = first;
    // release: publishes the fields above. Pairs with find().
    bucket.store(e, std::memory_order_release);
    return e;
}

bool is_loaded(const Export* e, int ix) { return e->bytecode[ix] != &e->stub[kStubUndefined]; }

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

FunEntry* get(Term module, uint32_t index, uint32_t old_uniq, const uint8_t uniq[16], uint32_t arity,
              uint32_t num_free) {
    std::lock_guard lock(g_fun_lock);
    auto& bucket = g_funs[(atom_index(module) * 31 + index * 7 + old_uniq) % kFunBuckets];
    // relaxed: only holders of g_fun_lock read or write the buckets.
    for (FunEntry* e = bucket.load(std::memory_order_relaxed); e != nullptr; e = e->next_in_bucket) {
        if (e->module == module && e->index == index && e->old_uniq == old_uniq &&
            e->arity == arity && std::memcmp(e->uniq, uniq, 16) == 0) {
            return e;
        }
    }
    FunEntry* e = new FunEntry{};
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
        e->bytecode[i] = &e->stub[kFunStubUnloaded];
        e->native[i] = g_native_stubs.enter_fun_bytecode;
    }
    // relaxed: as above.
    e->next_in_bucket = bucket.load(std::memory_order_relaxed);
    bucket.store(e, std::memory_order_relaxed);  // relaxed: the lock orders it
    return e;
}

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

bool lookup(const void* address, int code_ix, bool is_return_address, FunctionInfo* out) {
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

void for_each_current(int code_ix, void (*f)(ModuleInstance*, void*), void* context) {
    for (auto& bucket : g_modules) {
        // acquire: pairs with module_entry().
        for (ModuleEntry* e = bucket.load(std::memory_order_acquire); e != nullptr; e = e->next) {
            if (e->current[code_ix] != nullptr) {
                f(e->current[code_ix], context);
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
std::atomic<int> g_active{0};

void commit_staging() {
    // release: for readers that learn of the new code through memory rather than thread progress.
    g_active.store(staging(), std::memory_order_release);
}
}  // namespace code_index

namespace staging {

void begin() {
    const int from = code_index::active();
    const int to = code_index::staging();
    for (const Changes& c : g_changes) {
        copy_index(c.exports, from, to);
        copy_index(c.funs, from, to);
        for (ModuleEntry* m : c.modules) {
            m->current[to] = m->current[from];
            m->old[to] = m->old[from];
        }
    }
    g_ranges[to] = g_ranges[from];
    g_changes[1] = std::move(g_changes[0]);
    g_changes[0].clear();
}

static void undefine_exports(const ModuleInstance& instance) {
    const int ix = code_index::staging();
    for (const LoweredExport& x : instance.lowered.exports) {
        Export* e = export_table::get(instance.name(), x.function, x.arity);
        if (e->bif == nullptr) {
            e->bytecode[ix] = &e->stub[kStubUndefined];
            e->native[ix] = g_native_stubs.enter_bytecode;
        }
        g_changes[0].exports.push_back(e);
    }
}

void delete_module(Term module) {
    const int ix = code_index::staging();
    ModuleEntry* entry = module_entry(module);
    MINIVM_ASSERT(entry->current[ix] != nullptr && entry->old[ix] == nullptr);
    undefine_exports(*entry->current[ix]);
    entry->old[ix] = entry->current[ix];
    entry->current[ix] = nullptr;
    g_changes[0].modules.push_back(entry);
}

void forget_old(Term module) {
    ModuleEntry* entry = module_entry(module);
    entry->old[code_index::staging()] = nullptr;
    g_changes[0].modules.push_back(entry);
}

void add_module(ModuleInstance* instance) {
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
        if (instance->code->is_native()) {
            fe->bytecode[ix] = &fe->stub[kFunStubNative];
            fe->native[ix] = instance->code->native_fun(
                static_cast<uint32_t>(&l - instance->lowered.lambdas.data()));
            fe->body[ix] = instance->code->native_at(l.entry);
        } else {
            fe->bytecode[ix] = instance->code->bytecode_at(l.entry);
            fe->native[ix] = g_native_stubs.enter_fun_bytecode;
        }
        g_changes[0].funs.push_back(fe);
        instance->fun_entries.push_back(fe);
    }
    instance->file_atoms.clear();
    for (const std::string& f : m.files) {
        const bool short_enough = f.size() <= kMaxAtomChars && atom_table::is_valid(f);
        instance->file_atoms.push_back(
            atom_table::intern(short_enough ? std::string_view(f)
                                            : std::string_view("long_file_name")));
    }
    instance->engine->install(*instance);
    // Exports of the version that becomes old disappear unless the new one has them too. Its funs go on
    // in its code.
    ModuleEntry* entry = module_entry(m.name);
    if (const ModuleInstance* previous = entry->current[ix]) {
        if (previous->engine != instance->engine) {
            recorder::record(recorder::EventId::code_engine, records::atom(m.name),
                             previous->code->is_native(), instance->code->is_native());
        }
        undefine_exports(*previous);
    }
    for (const LoweredExport& x : m.exports) {
        Export* e = export_table::get(m.name, x.function, x.arity);
        if (e->bif == nullptr) {
            if (instance->code->is_native()) {
                e->bytecode[ix] = &e->stub[kStubNative];
                e->native[ix] = instance->code->native_at(x.entry);
            } else {
                e->bytecode[ix] = instance->code->bytecode_at(x.entry);
                e->native[ix] = g_native_stubs.enter_bytecode;
            }
        }
        g_changes[0].exports.push_back(e);
    }
    entry->old[ix] = entry->current[ix];
    entry->current[ix] = instance;
    g_changes[0].modules.push_back(entry);
    const Range r{reinterpret_cast<Word>(instance->code->begin()),
                  reinterpret_cast<Word>(instance->code->end()), instance};
    auto& ranges = g_ranges[ix];
    ranges.insert(std::upper_bound(ranges.begin(), ranges.end(), r,
                                   [](const Range& a, const Range& b) { return a.begin < b.begin; }),
                  r);
}

}  // namespace staging

}  // namespace minivm
