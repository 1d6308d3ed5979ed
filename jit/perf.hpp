// Names and lines of native code for Linux perf: the map and the dump. docs/jit.md shows how to use
// them.
//
// The map (DIRECTORY/perf-PID.map) is text that `perf report` reads when it is started; it holds
// names only and knows no time, so where code was freed and its addresses reused, the samples of
// both go to one of them. perf looks for it only in /tmp, and only for code in memory without a
// file (CodeMemory::Options::nameless).
//
// The dump (DIRECTORY/jit-PID.dump, version 1 of perf's jitdump format) holds names, lines and the
// code itself with the time at which it was loaded; `perf inject --jit` turns it into one small
// shared object for each function, which `perf annotate` can show. perf finds it because its first
// page is mapped as executable: that mapping is an event in the recording. Times are of
// CLOCK_MONOTONIC, hence `perf record -k mono`.
//
// Threads: add() from any thread.
#pragma once

#include "vm/util/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace minivm {

struct NativeModule;
struct NativeRange;

struct PerfOptions {
    bool map = false;
    bool dump = false;
    std::string directory = "/tmp";
};

class Perf {
public:
    // Creates the files. Fails with the name of the file and what is wrong with it.
    static Result<std::unique_ptr<Perf>, std::string> open(const PerfOptions& options);
    ~Perf() { finish(); }
    Perf(const Perf&) = delete;
    Perf& operator=(const Perf&) = delete;

    // Call it after the Writer of the module's code is closed and before any thread runs the code,
    // since samples from before its record have no name. A write that fails (a full disk) ends that
    // file with a message on standard error; the VM goes on.
    void add(const NativeModule& module);

    // Writes the dump's last record and closes the files, which stay; add() does nothing from then on.
    void finish();

    const std::string& map_path() const { return map_.path; }    // empty: no map
    const std::string& dump_path() const { return dump_.path; }  // empty: no dump

private:
    struct File {
        int fd = -1;
        std::string path;
        std::string create(const std::string& directory, const std::string& name);
        void write(const std::string& bytes);
    };

    Perf() = default;
    std::string start_dump();
    std::string load_records(const NativeModule& module, const NativeRange& range);

    std::mutex mutex_;  // one writer at a time, so that records stay whole; guards all that follows
    File map_;
    File dump_;
    void* marker_ = nullptr;  // the mapping by which perf finds the dump
    size_t marker_bytes_ = 0;
    uint64_t code_index_ = 0;
};

}  // namespace minivm
