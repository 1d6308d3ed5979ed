// The files of prim_file: the object that a reference refers to, and how one operation locks it.
#pragma once

#include "vm/process/continuation.hpp"
#include "vm/process/file_handle.hpp"
#include "vm/util/assert.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

namespace minivm {

struct File final : FileHandle {
    File(Process& p, int descriptor, bool reads, bool writes)
        : fd(descriptor), readable(reads), writable(writes), owner(p.id) {
        file_owners::add(p, this);
    }
    ~File() override {
        file_owners::remove(owner, this);
        close();
    }
    int duplicate() override {
        lock.lock();
        const int copy = fd < 0 ? -EINVAL : fcntl(fd, F_DUPFD_CLOEXEC, 0);
        const int result = copy == -1 ? -errno : copy;
        unlock();
        return result;
    }
    void owner_ended() override {
        // seq_cst: before the try_lock. Whoever has the lock loads it after the unlock, in unlock(): one of the two
        // closes.
        is_orphan.store(true, std::memory_order_seq_cst);
        close_orphan();
    }
    void close_orphan() {
        if (lock.try_lock()) {
            close();
            lock.unlock();
        }
    }
    void unlock() {
        lock.unlock();
        // seq_cst: after the unlock; see owner_ended().
        std::atomic_thread_fence(std::memory_order_seq_cst);
        // seq_cst: as above.
        if (MINIVM_UNLIKELY(is_orphan.load(std::memory_order_seq_cst))) {
            close_orphan();
        }
    }
    // Returns 0 or errno. The caller holds the lock.
    int close() {
        const int descriptor = std::exchange(fd, -1);
        // After EINTR the descriptor is gone all the same.
        return descriptor < 0 || ::close(descriptor) == 0 || errno == EINTR ? 0 : errno;
    }
    std::mutex lock;  // one operation at a time
    int fd;           // -1: closed
    const bool readable;
    const bool writable;
    const Term owner;
    std::atomic<bool> is_orphan{false};
};

// A file for the time of one operation, locked and retained.
class OpenFile {
  public:
    explicit OpenFile(Term ref) : file_(object_of<File>(ref)) {
        if (file_ != nullptr) {
            file_->retain();
            file_->lock.lock();
        }
    }
    ~OpenFile() {
        if (file_ != nullptr) {
            file_->unlock();
            file_->release();
        }
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    bool is_file() const { return file_ != nullptr; }
    bool is_open() const { return file_->fd >= 0; }
    int fd() const { return file_->fd; }
    bool readable() const { return file_->readable; }
    bool writable() const { return file_->writable; }
    int close() { return file_->close(); }

  private:
    File* file_;
};

}  // namespace minivm
