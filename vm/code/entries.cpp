// The tables of export and fun entries, and the addresses in these entries.
#include "vm/code/entries.hpp"
#include "vm/term/function_name.hpp"
#include "vm/util/lock.hpp"

#include <atomic>
#include <cstring>
#include <mutex>

namespace minivm {
namespace {

StubWords g_stubs{};
NativeStubs g_native_stubs{};

constexpr size_t kExportBuckets = 1 << 14;
constexpr size_t kFunBuckets = 1 << 13;

// Buckets of chains that only grow, at the front: readers need no lock.
std::atomic<Export*> g_exports[kExportBuckets];
std::atomic<FunEntry*> g_funs[kFunBuckets];
CountedMutex g_export_lock{LockKind::exports};  // writers
CountedMutex g_fun_lock{LockKind::funs};
uint32_t g_funs_from_outside = 0;  // entries with from_outside; under g_fun_lock

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

// enter_bytecode would go through bytecode[] of the entry, which leads to the trace again.
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

}  // namespace

void set_bytecode_stubs(const StubWords& stubs) { g_stubs = stubs; }
const StubWords& bytecode_stubs() { return g_stubs; }
void set_native_stubs(const NativeStubs& stubs) { g_native_stubs = stubs; }

namespace entries {

void init_stubs(Export* e) {
    for (int i = 0; i < kStubCount; ++i) {
        e->stub[i] = g_stubs.words[i];
    }
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

void set_traced(Export* e, int ix, bool on) {
    if (e->original == nullptr) {
        auto* original = new ExportTarget;
        for (int i = 0; i < kCodeIndexes; ++i) {
            original->bytecode[i] = e->bytecode[i];
            original->native[i] = original_native(e->native[i]);
        }
        e->original = original;  // never freed: readers may use it at any time
    }
    e->traced = on;
    point_export(e, ix, e->original->bytecode[ix], untraced_native(e->original->native[ix]));
}

}  // namespace entries

// ---- exports ----------------------------------------------------------------------------------------

// Makes the entry of a function that is not loaded.
static Export* new_export(Term module, Term function, uint32_t arity) {
    Export* e = new Export{};
    e->module = module;
    e->function = function;
    e->arity = arity;
    entries::init_stubs(e);
    for (int i = 0; i < kCodeIndexes; ++i) {
        entries::clear_export(e, i);
    }
    return e;
}

FunctionName name_of(const Export* entry) { return {entry->module, entry->function, entry->arity}; }
LambdaName name_of(const FunEntry* entry) {
    return {entry->module, entry->index, entry->old_uniq, entry->function(), entry->arity};
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
    uint64_t digest[2];  // of the module: a sender of made-up funs may keep all other fields the same
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
    e->set_function(kNonValue);
    for (int i = 0; i < 2; ++i) {
        e->stub[i] = g_stubs.fun[i];
    }
    for (int i = 0; i < kCodeIndexes; ++i) {
        entries::clear_fun(e, i);
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

}  // namespace minivm
