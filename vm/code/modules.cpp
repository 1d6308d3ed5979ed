#include "vm/code/modules.hpp"

#include "vm/util/lock.hpp"

#include <algorithm>
#include <mutex>

namespace minivm {
namespace modules {

namespace {
constexpr size_t kModuleBuckets = 1 << 11;
std::atomic<ModuleEntry*> g_modules[kModuleBuckets];
CountedMutex g_module_lock{LockKind::modules};
}  // namespace

std::vector<Range> g_ranges[kCodeIndexes];
std::atomic<uint64_t> g_stagings{1};

ModuleEntry* find(Term name) {
    // acquire: the entry's fields were written before it was linked. Pairs with get().
    ModuleEntry* e = g_modules[atom_index(name) % kModuleBuckets].load(std::memory_order_acquire);
    while (e != nullptr && e->name != name) {
        e = e->next;
    }
    return e;
}
ModuleEntry* get(Term name) {
    ModuleEntry* e = find(name);
    if (e != nullptr) {
        return e;
    }
    std::lock_guard lock(g_module_lock);
    e = find(name);
    if (e == nullptr) {
        auto& bucket = g_modules[atom_index(name) % kModuleBuckets];
        // relaxed: only holders of g_module_lock write the bucket.
        e = new ModuleEntry{name, {}, {}, {}, bucket.load(std::memory_order_relaxed)};
        // release: publishes the fields above. Pairs with find().
        bucket.store(e, std::memory_order_release);
    }
    return e;
}

}  // namespace modules

namespace module_table {

using namespace modules;

ModuleInstance* current(Term module, int code_ix) {
    const ModuleEntry* e = find(module);
    return e != nullptr ? e->current[code_ix] : nullptr;
}
ModuleInstance* old(Term module, int code_ix) {
    const ModuleEntry* e = find(module);
    return e != nullptr ? e->old[code_ix] : nullptr;
}

ModuleInstance* on_load(Term module, int code_ix) {
    const ModuleEntry* e = find(module);
    return e != nullptr ? e->on_load[code_ix] : nullptr;
}

bool is_known(Term module) { return find(module) != nullptr; }

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
    // Exceptions look up the same few addresses again and again. Two ways a set, so that two addresses of one set
    // do not evict each other.
    struct Known {
        Word key;
        uint64_t staging;
        FunctionInfo info;  // instance: null if the address is in no code
    };
    constexpr int kSetBits = 7;
    static thread_local Known known[1 << kSetBits][2];
    const Word a = reinterpret_cast<Word>(address);
    // Addresses have at most 57 bits.
    const Word key = a << 3 | static_cast<Word>(code_ix) << 1 | (is_return_address ? 1 : 0);
    // relaxed: thread progress passes between staging::begin() and the first use of its generation, so
    // a thread that reads the new generation reads this number or a later one.
    const uint64_t staging = g_stagings.load(std::memory_order_relaxed);
    constexpr Word kGoldenRatio = 0x9E3779B97F4A7C15;
    Known* const set = known[key * kGoldenRatio >> (64 - kSetBits)];
    const auto is_it = [&](const Known& k) { return k.key == key && k.staging == staging; };
    const Known& k = is_it(set[0]) || !is_it(set[1]) ? set[0] : set[1];
    if (!is_it(k)) {
        set[1] = set[0];
        set[0] = {key, staging, {}};
        if (!lookup_in_ranges(address, code_ix, is_return_address, &set[0].info)) {
            set[0].info.instance = nullptr;
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
        // acquire: pairs with modules::get().
        for (ModuleEntry* e = bucket.load(std::memory_order_acquire); e != nullptr; e = e->next) {
            if (e->current[code_ix] != nullptr || e->old[code_ix] != nullptr) {
                f(e->current[code_ix], e->old[code_ix], context);
            }
        }
    }
}

}  // namespace module_table

}  // namespace minivm
