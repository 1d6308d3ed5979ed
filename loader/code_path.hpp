// Finding and loading modules that nobody has loaded yet: the code path.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "vm/code/loading.hpp"

namespace minivm::loader {

// A file descriptor in reserve. A module that is needed for the first time while the program has no descriptor
// left (a server with all its sockets open, whose first error wants io_lib) is read through this one.
class SpareDescriptor {
  public:
    SpareDescriptor();
    ~SpareDescriptor();
    SpareDescriptor(const SpareDescriptor&) = delete;
    SpareDescriptor& operator=(const SpareDescriptor&) = delete;
    // The whole file, as read_file(). Any thread; one at a time reads through the spare one.
    bool read_file(const std::string& path, std::vector<uint8_t>* out, std::string* error);

  private:
    std::mutex lock_;
    int fd_;  // -1: another thread took the descriptor while it was lent
};

// Directories are searched in order; modules embedded in the program come before them all, except those
// added with if_missing, which count where no directory has them.
// Threads: add_* before the VM starts; everything else from any dirty scheduler.
class CodePath final : public ModuleSource {
  public:

    void add_directory(std::string dir);
    void add_embedded(std::string_view module, const uint8_t* bytes, size_t size,
                      bool if_missing = false);
    // The ebin directories of the OTP installed here. False: there is none; *error says what to do.
    bool add_otp(std::string* error);
    // Prepares for OTP's preloaded modules, and adds no directory. They are files of the tree, or, in a release with an
    // ERTS of its own, in that one's beam.smp. Call load_preloaded() afterwards, when schedulers run.
    bool add_preloaded(std::string* error);
    bool load_preloaded(std::string* error);
    const std::vector<Term>& preloaded() const override { return preloaded_; }
    const std::string& otp_root() const override { return otp_root_; }
    std::vector<std::string> directories() const override { return *snapshot(); }
    bool set_directories(std::vector<std::string> directories) override;

    Loaded load(Term module, std::string* error) override;
    // The file of a module, or empty.
    std::string find(std::string_view module) const override;
    std::unique_ptr<ModuleInstance> prepare(const uint8_t* bytes, size_t size, Engine* engine,
                                            std::string* error) override;
    std::unique_ptr<ModuleInstance> prepare_file(const std::string& path,
                                                 std::string* error) override;
    bool module_md5(const uint8_t* bytes, size_t size, uint8_t (&digest)[16]) const override;

  private:
    using Directories = std::vector<std::string>;
    // The list as it is now; a change makes a new one, so that nobody searches under the lock.
    std::shared_ptr<const Directories> snapshot() const;
    Loaded load_bytes(const uint8_t* bytes, size_t size, const std::string& path, Term module,
                      std::string* error);

    // The file of a module, or empty; *in_archive: an archive comes before it in the path.
    std::string find(std::string_view module, bool* in_archive) const;
    bool prepare_preloaded(std::vector<std::unique_ptr<ModuleInstance>>* set, std::string* error);
    // True for modules that reading an archive may need: they cannot come out of one.
    bool opens_archives(const std::string& path) const;

    struct Embedded {
        std::string module;
        const uint8_t* bytes;
        size_t size;
        bool if_missing;
    };
    mutable std::mutex directories_lock_;
    std::shared_ptr<const Directories> directories_ = std::make_shared<Directories>();
    std::vector<Embedded> embedded_;
    std::string otp_root_;
    std::vector<Term> preloaded_;
    std::string preloaded_place_;  // a directory, or the emulator that contains them; empty in a bare boot
    std::mutex lock_;
    std::condition_variable loaded_;
    std::set<Word> loading_;  // modules being loaded now
    SpareDescriptor spare_;
};

// The whole file. False: *error says why, and errno is the open's where the file could not be opened.
bool read_file(const std::string& path, std::vector<uint8_t>* out, std::string* error);

}  // namespace minivm::loader
