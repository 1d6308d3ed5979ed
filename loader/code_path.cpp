#include "loader/code_path.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "loader/beam_file.hpp"
#include "loader/emulator_atoms.hpp"
#include "loader/emulator_modules.hpp"
#include "loader/prepare.hpp"
#include "vm/code_change/code_change.hpp"
#include "vm/code/permission.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm::loader {
namespace {

constexpr off_t kMaxFileBytes = off_t{1} << 30;

// What stands for the path of a module that comes with the VM.
constexpr const char* kPreloaded = "preloaded";

bool is_directory(const std::string& path) {
    struct stat st;
    return stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

// A zip file, whatever stands before it: its end has a record of the directory, and a comment of at most 64 KiB.
bool is_archive(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    constexpr off_t kMost = 65535 + 22;
    std::string end(kMost, 0);
    const off_t size = lseek(fd, 0, SEEK_END);
    const ssize_t n = pread(fd, end.data(), end.size(), std::max<off_t>(size - kMost, 0));
    close(fd);
    end.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return end.rfind("PK\5\6") != std::string::npos;
}

// The names in a directory that do not begin with a dot, sorted. errno: why it cannot be read, or 0.
std::vector<std::string> names_in(const std::string& path) {
    std::vector<std::string> names;
    errno = 0;
    DIR* const dir = opendir(path.c_str());
    if (dir == nullptr) {
        return names;
    }
    while (const dirent* entry = readdir(dir)) {
        if (entry->d_name[0] != '.') {
            names.emplace_back(entry->d_name);
        }
    }
    closedir(dir);
    std::sort(names.begin(), names.end());
    errno = 0;
    return names;
}

// Makes a module like OTP's preloaded ones: they show no lines, attributes or compiler options, and the natives that
// their on_load functions would load are part of the VM.
void make_preloaded(ModuleInstance& instance) {
    instance.path = kPreloaded;
    instance.lowered.lines.clear();
    instance.lowered.attributes = kNil;
    instance.lowered.compile_info = kNil;
    instance.lowered.on_load = kNoLabel;
}

// OTP's boot calls on_load/0 of these modules with natives. Without that boot they run it as modules with an on_load
// function do, before other code can call them.
void runs_own_on_load(ModuleInstance& instance) {
    static const Term names[] = {atom_table::intern("prim_socket"), atom_table::intern("prim_net")};
    static const Term on_load = atom_table::intern("on_load");
    if (std::find(std::begin(names), std::end(names), instance.name()) != std::end(names)) {
        for (const LoweredFunction& f : instance.lowered.functions) {
            if (f.name == on_load && f.arity == 0) {
                instance.lowered.on_load = f.entry;
            }
        }
    }
}

// The caller holds the permission; it is given back.
void finish_and_wait(std::vector<std::unique_ptr<ModuleInstance>> set) {
    auto* op = new code_change::ForThread;
    op->retain();
    code_change::finish(std::move(set), op);
    op->wait();
    op->release();
}

// An archive, or a directory in one: then a prefix of the path is a file.
bool is_in_archive(const std::string& path) {
    struct stat st;
    return stat(path.c_str(), &st) != 0 ? errno == ENOTDIR : S_ISREG(st.st_mode) && is_archive(path);
}

// The root of the OTP whose `erl` would run: $ROOTDIR, or from `erl` in PATH, or the usual places.
std::string find_otp_root() {
    if (const char* root = std::getenv("ROOTDIR"); root != nullptr && is_directory(root)) {
        return root;
    }
    if (const char* path = std::getenv("PATH")) {
        const std::string_view all(path);
        for (size_t begin = 0; begin <= all.size();) {
            size_t end = all.find(':', begin);
            if (end == std::string_view::npos) {
                end = all.size();
            }
            const std::string erl = std::string(all.substr(begin, end - begin)) + "/erl";
            begin = end + 1;
            char resolved[PATH_MAX];
            if (access(erl.c_str(), X_OK) == 0 && realpath(erl.c_str(), resolved) != nullptr) {
                std::string root(resolved);
                for (int up = 0; up < 2; ++up) {  // root/bin/erl
                    root.erase(root.rfind('/'));
                }
                if (is_directory(root + "/lib")) {
                    return root;
                }
            }
        }
    }
    for (const char* root : {"/usr/lib/erlang", "/usr/local/lib/erlang"}) {
        if (is_directory(std::string(root) + "/lib")) {
            return root;
        }
    }
    return {};
}

// The files there in the order in which the emulators of all releases load them: the numbers of their atoms depend on
// it, and erlang:pre_loaded/0 tells it, the last one first. Other files come after those.
std::vector<std::string> preloaded_in(const std::string& directory) {
    constexpr std::string_view kOrder[] = {
        "erts_code_purger", "erl_init", "init", "prim_buffer", "prim_eval", "prim_inet", "prim_file", "zlib", "socket_registry",
        "prim_socket", "prim_net", "prim_zip", "erl_prim_loader", "erlang", "erts_internal", "erl_tracer",
        "erts_literal_area_collector", "erts_trace_cleaner", "erts_dirty_process_signal_handler", "atomics", "counters",
        "persistent_term"};
    constexpr std::string_view kSuffix = ".beam";
    std::vector<std::string> files = names_in(directory);
    std::erase_if(files, [](const std::string& name) { return !name.ends_with(kSuffix); });
    const auto place = [&](std::string_view name) {
        name.remove_suffix(kSuffix.size());
        return std::find(std::begin(kOrder), std::end(kOrder), name);
    };
    std::stable_sort(files.begin(), files.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    return files;
}

}  // namespace

bool read_file(const std::string& path, std::vector<uint8_t>* out, std::string* error) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        const int why = errno;
        *error = path + ": " + std::strerror(why);
        errno = why;
        return false;
    }
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        *error = path + ": not a regular file";
        close(fd);
        return false;
    }
    if (st.st_size > kMaxFileBytes) {
        *error = path + ": " + std::to_string(st.st_size) + " bytes are too many for a module";
        close(fd);
        return false;
    }
    out->resize(static_cast<size_t>(st.st_size));
    size_t have = 0;
    while (have < out->size()) {
        const ssize_t n = read(fd, out->data() + have, out->size() - have);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            *error = path + ": " + (n < 0 ? std::strerror(errno) : "shrank while it was read");
            close(fd);
            return false;
        }
        have += static_cast<size_t>(n);
    }
    close(fd);
    return true;
}

SpareDescriptor::SpareDescriptor() : fd_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

SpareDescriptor::~SpareDescriptor() {
    if (fd_ >= 0) {
        close(fd_);
    }
}

bool SpareDescriptor::read_file(const std::string& path, std::vector<uint8_t>* out, std::string* error) {
    errno = 0;
    if (loader::read_file(path, out, error)) {
        return true;
    }
    if (errno != EMFILE && errno != ENFILE) {
        return false;
    }
    std::lock_guard lock(lock_);
    if (fd_ >= 0) {
        close(fd_);
    }
    const bool ok = loader::read_file(path, out, error);
    fd_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return ok;
}

void CodePath::add_embedded(std::string_view module, const uint8_t* bytes, size_t size,
                            bool if_missing) {
    embedded_.push_back({std::string(module), bytes, size, if_missing});
}

void CodePath::add_directory(std::string dir) {
    Directories all = directories();
    all.push_back(std::move(dir));
    directories_ = std::make_shared<const Directories>(std::move(all));
}

std::shared_ptr<const CodePath::Directories> CodePath::snapshot() const {
    std::lock_guard lock(directories_lock_);
    return directories_;
}

bool CodePath::set_directories(Directories wanted) {
    const auto before = snapshot();
    for (const std::string& dir : wanted) {
        // What is in the path already may have gone away since.
        const bool known = std::find(before->begin(), before->end(), dir) != before->end();
        if (!known && !is_directory(dir) && !is_in_archive(dir)) {
            return false;
        }
    }
    auto after = std::make_shared<const Directories>(std::move(wanted));
    std::lock_guard lock(directories_lock_);
    directories_ = std::move(after);
    return true;
}

bool CodePath::add_preloaded(std::string* error) {
    if (!add_otp(error)) {
        return false;
    }
    const Directories all = directories();
    const auto place = std::find_if(all.begin(), all.end(), [&](const std::string& dir) {
        return dir.starts_with(otp_root_ + "/lib/erts-");
    });
    directories_ = std::make_shared<const Directories>();
    if (place != all.end()) {
        preloaded_place_ = *place;
        return true;
    }
    preloaded_place_ = otp_root_ + "/erts-" + otp_release().erts_version + "/bin/beam.smp";
    if (access(preloaded_place_.c_str(), R_OK) != 0) {
        *error = "the modules that OTP starts with are neither in " + otp_root_ + "/lib/erts-*/ebin nor, as in a release, in " +
                 preloaded_place_ + ": " + std::strerror(errno);
        return false;
    }
    return true;
}

bool CodePath::prepare_preloaded(std::vector<std::unique_ptr<ModuleInstance>>* set, std::string* error) {
    if (is_directory(preloaded_place_)) {
        for (const std::string& name : preloaded_in(preloaded_place_)) {
            set->push_back(prepare_file(preloaded_place_ + "/" + name, error));
            if (set->back() == nullptr) {
                return false;
            }
        }
        return true;
    }
    std::vector<uint8_t> emulator;
    if (!read_file(preloaded_place_, &emulator, error)) {
        return false;
    }
    for (const std::span<const uint8_t> file : beam_files_in(emulator)) {
        set->push_back(prepare(file.data(), file.size(), nullptr, error));
        if (set->back() == nullptr) {
            error->insert(0, preloaded_place_ + ", at byte " + std::to_string(file.data() - emulator.data()) + ": ");
            return false;
        }
    }
    return true;
}

bool CodePath::load_preloaded(std::string* error) {
    std::vector<std::unique_ptr<ModuleInstance>> set;
    if (!prepare_preloaded(&set, error)) {
        return false;
    }
    if (set.empty()) {
        *error = preloaded_place_ + ": no modules there";
        return false;
    }
    for (const std::unique_ptr<ModuleInstance>& instance : set) {
        make_preloaded(*instance);
        preloaded_.push_back(instance->name());
    }
    code_permission::seize_blocking();
    finish_and_wait(std::move(set));
    return true;
}

bool CodePath::add_otp(std::string* error) {
    otp_root_ = find_otp_root();
    if (otp_root_.empty()) {
        *error = "no Erlang/OTP library tree found (looked at ROOTDIR, `erl` in PATH and the usual "
                 "places): install Debian's package erlang-base, or set ROOTDIR";
        return false;
    }
    set_otp_release(read_otp_release(otp_root_));
    if (by_release::atom_keys_have_numbers()) {
        number_emulator_atoms((otp_root_ + "/erts-" + otp_release().erts_version + "/bin/beam.smp").c_str());
    }
    std::vector<std::string> first;
    std::vector<std::string> rest;
    const std::string lib = otp_root_ + "/lib";
    const std::vector<std::string> names = names_in(lib);
    if (errno != 0) {
        *error = lib + ": " + std::strerror(errno);
        return false;
    }
    for (const std::string& name : names) {
        std::string ebin = lib + "/" + name + "/ebin";
        const bool common = name.starts_with("kernel-") || name.starts_with("stdlib-") ||
                            name.starts_with("erts-");
        (common ? first : rest).push_back(std::move(ebin));
    }
    std::sort(first.begin(), first.end(), std::greater<>());  // stdlib, kernel, erts
    std::sort(rest.begin(), rest.end());
    for (auto* dirs : {&first, &rest}) {
        for (std::string& d : *dirs) {
            if (is_directory(d)) {
                add_directory(std::move(d));
            }
        }
    }
    return true;
}

std::string CodePath::find(std::string_view module) const {
    bool in_archive = false;
    return find(module, &in_archive);
}

std::string CodePath::find(std::string_view module, bool* in_archive) const {
    const auto directories = snapshot();
    for (const std::string& dir : *directories) {
        std::string path = dir + "/" + std::string(module) + ".beam";
        if (access(path.c_str(), R_OK) == 0) {
            return path;
        }
        if (errno == ENOTDIR) {
            *in_archive = true;
        }
    }
    return {};
}

bool CodePath::opens_archives(const std::string& path) const {
    for (const char* app : {"/lib/kernel-", "/lib/stdlib-", "/lib/erts-"}) {
        if (path.starts_with(otp_root_ + app)) {
            return true;
        }
    }
    return false;
}

std::unique_ptr<ModuleInstance> CodePath::prepare(const uint8_t* bytes, size_t size, Engine* engine,
                                                  std::string* error) {
    LoadError why;
    std::unique_ptr<ModuleInstance> instance = loader::prepare(bytes, size, engine, &why);
    if (instance == nullptr) {
        *error = why.text();
    } else if (preloaded_place_.empty()) {
        runs_own_on_load(*instance);
    }
    return instance;
}

bool CodePath::module_md5(const uint8_t* bytes, size_t size, uint8_t (&digest)[16]) const {
    LoadError why;
    ErrorSink sink(&why);
    BeamFile file;
    if (!read_beam_file(bytes, size, &file, sink)) {
        return false;
    }
    std::copy(std::begin(file.md5), std::end(file.md5), digest);
    return true;
}

std::unique_ptr<ModuleInstance> CodePath::prepare_file(const std::string& path, std::string* error) {
    std::vector<uint8_t> bytes;
    if (!spare_.read_file(path, &bytes, error)) {
        return nullptr;
    }
    std::unique_ptr<ModuleInstance> instance = prepare(bytes.data(), bytes.size(), nullptr, error);
    if (instance == nullptr) {
        error->insert(0, path + ": ");
        return nullptr;
    }
    char absolute[PATH_MAX];
    instance->path = realpath(path.c_str(), absolute) != nullptr ? absolute : path;
    return instance;
}

ModuleSource::Loaded CodePath::load_bytes(const uint8_t* bytes, size_t size, const std::string& path,
                                          Term module, std::string* error) {
    std::unique_ptr<ModuleInstance> instance = prepare(bytes, size, nullptr, error);
    if (instance == nullptr) {
        error->insert(0, path + ": ");
        return Loaded::failed;
    }
    if (instance->name() != module) {
        *error = path + ": holds module " + std::string(atom_table::text(instance->name())) +
                 ", not " + std::string(atom_table::text(module));
        return Loaded::failed;
    }
    instance->path = path;
    if (path == kPreloaded || path.find("/erts-") != std::string::npos) {
        make_preloaded(*instance);
        runs_own_on_load(*instance);  // again: make_preloaded() has cleared it
    }
    if (instance->has_on_load()) {
        // prim_socket's on_load spawns the registry and does not wait for its module, which OTP preloads.
        static const Term prim_socket = atom_table::intern("prim_socket");
        static const Term registry = atom_table::intern("socket_registry");
        if (module == prim_socket && load(registry, error) == Loaded::failed) {
            return Loaded::failed;
        }
        return Loaded::wants_on_load;
    }
    code_permission::seize_blocking();
    const int ix = code_index::active();
    if (module_table::current(module, ix) != nullptr || module_table::on_load(module, ix) != nullptr) {
        // Another process was first.
        const bool current = module_table::current(module, ix) != nullptr;
        code_permission::release();
        return current ? Loaded::yes : Loaded::wants_on_load;
    }
    std::vector<std::unique_ptr<ModuleInstance>> set;
    set.push_back(std::move(instance));
    finish_and_wait(std::move(set));
    return Loaded::yes;
}

ModuleSource::Loaded CodePath::load(Term module, std::string* error) {
    const std::string name(atom_table::text(module));
    if (name.empty() || name.find('/') != std::string::npos || name.find('\0') != std::string::npos) {
        return Loaded::not_found;
    }
    std::unique_lock lock(lock_);
    loaded_.wait(lock, [&] { return loading_.count(module.raw) == 0; });
    {
        // Within the section the active code index may be read: it is not reused.
        const thread_progress::DelaySection section;
        if (module_table::current(module, code_index::active()) != nullptr) {
            return Loaded::yes;  // another process was first
        }
        if (module_table::on_load(module, code_index::active()) != nullptr) {
            return Loaded::wants_on_load;
        }
    }
    loading_.insert(module.raw);
    lock.unlock();
    Loaded result = Loaded::not_found;
    bool in_archive = false;
    const auto embedded = std::find_if(embedded_.begin(), embedded_.end(),
                                       [&](const Embedded& e) { return e.module == name; });
    const bool is_there = embedded != embedded_.end();
    if (const std::string path =
            is_there && !embedded->if_missing ? "" : find(name, &in_archive);
        in_archive && !is_there && !opens_archives(path)) {
        result = Loaded::wants_on_load;  // code_server reads archives
    } else if (!path.empty()) {
        std::vector<uint8_t> bytes;
        result = spare_.read_file(path, &bytes, error)
                     ? load_bytes(bytes.data(), bytes.size(), path, module, error)
                     : Loaded::failed;
    } else if (is_there) {
        result = load_bytes(embedded->bytes, embedded->size, kPreloaded, module, error);
    }
    lock.lock();
    loading_.erase(module.raw);
    loaded_.notify_all();
    return result;
}

}  // namespace minivm::loader
