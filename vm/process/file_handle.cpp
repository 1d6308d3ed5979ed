#include "vm/process/file_handle.hpp"

#include "vm/process/extra.hpp"
#include "vm/process/process_life.hpp"

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

// False: its last reference is gone; it waits for the lock, to be removed.
bool try_retain(FileHandle& f) {
    // relaxed: the compare-exchange decides.
    size_t n = f.refs.load(std::memory_order_relaxed);
    do {
        if (n == 0) {
            return false;
        }
        // relaxed: the lock that keeps the file's memory orders the rest.
    } while (!f.refs.compare_exchange_weak(n, n + 1, std::memory_order_relaxed));
    return true;
}

void process_ends(Process& p) {
    if (p.extra == nullptr || !p.extra->owns_files) {
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
    extra_of(p).owns_files = true;
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
