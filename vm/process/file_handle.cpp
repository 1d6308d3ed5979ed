#include "vm/process/file_handle.hpp"

#include "vm/process/process_life.hpp"
#include "vm/process/state.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace minivm::file_owners {

namespace {

struct Owners {
    std::mutex lock;
    std::unordered_map<Word, std::vector<FileHandle*>> files;  // by pid
};
Owners& owners() {
    static Owners all;
    return all;
}

// False: the last reference is gone, and the destructor waits for the lock in remove().
bool try_retain(FileHandle& f) {
    // relaxed: the compare-exchange decides.
    size_t n = f.refs.load(std::memory_order_relaxed);
    do {
        if (n == 0) {
            return false;
        }
        // relaxed: the lock keeps the file's memory and orders the rest.
    } while (!f.refs.compare_exchange_weak(n, n + 1, std::memory_order_relaxed));
    return true;
}

void process_ends(Process& p) {
    // relaxed: the bit is set if p opened a file before its end began. A file that p's dirty function opens afterwards
    // (p was left in it) is freed with the function's result.
    if ((p.state.load(std::memory_order_relaxed) & process_state::kOwnsFiles) == 0) {
        return;
    }
    std::vector<FileHandle*> left;
    {
        Owners& all = owners();
        const std::lock_guard lock(all.lock);
        const auto at = all.files.find(p.id.raw);
        if (at == all.files.end()) {
            return;
        }
        std::copy_if(at->second.begin(), at->second.end(), std::back_inserter(left), [](FileHandle* f) { return try_retain(*f); });
        all.files.erase(at);
    }
    for (FileHandle* const f : left) {
        f->owner_ended();
        f->release();
    }
}

}  // namespace

void add(Process& p, FileHandle* file) {
    static std::once_flag once;
    std::call_once(once, [] { at_process_exit(process_ends); });
    // relaxed: see process_ends(). An atomic word, because another thread may end p meanwhile (end_dirty_process()).
    p.state.fetch_or(process_state::kOwnsFiles, std::memory_order_relaxed);
    Owners& all = owners();
    const std::lock_guard lock(all.lock);
    all.files[p.id.raw].push_back(file);
}

void remove(Term owner, FileHandle* file) {
    Owners& all = owners();
    const std::lock_guard lock(all.lock);
    const auto at = all.files.find(owner.raw);
    if (at != all.files.end() && std::erase(at->second, file) != 0 && at->second.empty()) {
        all.files.erase(at);
    }
}

}  // namespace minivm::file_owners
