// The native functions of OTP's modules prim_file and prim_buffer.
//
// Everything that may touch a disk runs on a dirty I/O scheduler. A file is an object that magic references
// hold; it is closed when the last of them goes, or when the process that opened it ends.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <deque>
#include <mutex>

#include "vm/bif/bif.hpp"
#include "vm/bif/ports/open_file.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/continuation.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/utf8.hpp"

namespace minivm {
namespace {

LOCAL_ATOM(am_acquired, "acquired")
LOCAL_ATOM(am_bof, "bof")
LOCAL_ATOM(am_busy, "busy")
LOCAL_ATOM(am_cur, "cur")
LOCAL_ATOM(am_device, "device")
LOCAL_ATOM(am_directory, "directory")
LOCAL_ATOM(am_file_info, "file_info")
LOCAL_ATOM(am_lock_order_violation, "lock_order_violation")
LOCAL_ATOM(am_not_found, "not_found")
LOCAL_ATOM(am_other, "other")
LOCAL_ATOM(am_read, "read")
LOCAL_ATOM(am_read_write, "read_write")
LOCAL_ATOM(am_regular, "regular")
LOCAL_ATOM(am_symlink, "symlink")
LOCAL_ATOM(am_warning, "warning")
LOCAL_ATOM(am_write, "write")

// ---- files ---------------------------------------------------------------------------------------------

// Begins every operation on a file: badarg if the term is no file, einval if the file is closed.
#define MINIVM_OPEN_FILE(file, term)     \
    OpenFile file(term);                 \
    if (!(file).is_file()) {             \
        return badarg(p);                \
    }                                    \
    if (!(file).is_open()) {             \
        return posix_error(p, EINVAL);   \
    }

Term ok_or_error(Process& p, bool ok) { return ok ? atoms::ok : posix_error(p, errno); }
Term ok_with(Process& p, Term value) { return make_tuple(p.heap, atoms::ok, value); }

// A path as encode_path() of prim_file makes it: a binary that ends in a zero.
bool get_path(Term t, std::string* path) {
    Bytes bytes;
    if (!is_bitstring(t) || !get_bytes(t, &bytes) || bytes.size == 0 ||
        bytes.data[bytes.size - 1] != 0) {
        return false;
    }
    path->assign(reinterpret_cast<const char*>(bytes.data), bytes.size - 1);
    return path->find('\0') == std::string::npos;
}

enum Mode : unsigned {
    kRead = 1,
    kWrite = 2,
    kAppend = 4,
    kExclusive = 8,
    kSync = 16,
    kDirectory = 32
};

// Returns 0 or errno.
int open_path(const std::string& path, unsigned mode, int* fd) {
    int flags = O_CLOEXEC;
    if (mode & kDirectory) {
        if (mode & ~(kRead | kDirectory)) {
            return EINVAL;
        }
        flags |= O_RDONLY | O_DIRECTORY;
    } else if ((mode & (kRead | kWrite)) == (kRead | kWrite)) {
        flags |= O_RDWR | O_CREAT;
    } else if (mode & kWrite) {
        flags |= O_WRONLY | O_CREAT | (mode & (kAppend | kExclusive) ? 0 : O_TRUNC);
    } else {
        flags |= O_RDONLY;
    }
    flags |= mode & kAppend ? O_APPEND : 0;
    flags |= mode & kExclusive ? O_EXCL : 0;
    flags |= mode & kSync ? O_SYNC : 0;
    do {
        *fd = open(path.c_str(), flags, 0666);
    } while (*fd < 0 && errno == EINTR);
    if (*fd < 0) {
        return errno;
    }
    struct stat st;
    if (!(mode & kDirectory) && fstat(*fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        ::close(*fd);
        return EISDIR;
    }
    return 0;
}

Term prim_file_open_nif_2(Process& p, const Term* a) {
    std::string path;
    if (!get_path(a[0], &path)) {
        return badarg(p);
    }
    unsigned mode = 0;
    Term list = a[1];
    for (; is_cons(list); list = tail(list)) {
        // Other modes (raw, binary, ...) concern only the Erlang modules above.
        const Term m = head(list);
        mode |= m == am_read()        ? kRead
                : m == am_write()     ? kWrite
                : m == atoms::append    ? kAppend | kWrite
                : m == atoms::exclusive ? kExclusive | kWrite
                : m == atoms::sync      ? kSync
                : m == am_directory() ? kDirectory
                                      : 0u;
    }
    if (!is_nil(list)) {
        return badarg(p);
    }
    if (!(mode & (kRead | kWrite))) {
        mode |= kRead;
    }
    int fd = -1;
    if (const int error = open_path(path, mode, &fd)) {
        return posix_error(p, error);
    }
    auto file = std::make_unique<File>(p, fd, mode & kRead, mode & kWrite);
    return ok_with(p, hold_state(p, std::move(file)));
}

// prim_file:file_desc_to_ref_nif(Descriptor) -> {ok, File} | {error, ebadf | emfile}
Term prim_file_file_desc_to_ref_nif_1(Process& p, const Term* a) {
    if (!is_small(a[0]) || small_value(a[0]) < 0 || small_value(a[0]) > INT_MAX) {
        return badarg(p);
    }
    int fd = static_cast<int>(small_value(a[0]));
    // Of two callers with the same number one gets it: the other's close would hit whatever file has it by then.
    static std::mutex taking;
    const std::lock_guard lock(taking);
    if (!is_descriptor_of_program(fd)) {
        return posix_error(p, EBADF);
    }
    const int access = fcntl(fd, F_GETFL) & O_ACCMODE;
    if (fd <= STDERR_FILENO) {
        // The VM writes there too: after a close, a file that takes the number would get that output.
        fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (fd < 0) {
            return posix_error(p, errno);
        }
    } else {
        fcntl(fd, F_SETFD, FD_CLOEXEC);  // from now on only this file owns it
    }
    auto file = std::make_unique<File>(p, fd, access != O_WRONLY, access != O_RDONLY);
    return ok_with(p, hold_state(p, std::move(file)));
}

Term prim_file_close_nif_1(Process& p, const Term* a) {
    MINIVM_OPEN_FILE(file, a[0]);
    const int error = file.close();
    return error == 0 ? atoms::ok : posix_error(p, error);
}
Term prim_file_delayed_close_nif_1(Process& p, const Term* a) {
    OpenFile file(a[0]);
    if (!file.is_file()) {
        return badarg(p);
    }
    if (file.is_open()) {
        file.close();
    }
    return atoms::ok;
}

// Reads `size` bytes, fewer at the end of the file. offset < 0: at the file's own position. Returns 0 or errno; an
// error after some bytes is an error too.
int read_bytes(int fd, int64_t offset, uint64_t size, ByteSink* sink) {
    constexpr uint64_t kChunk = 256 * 1024;  // so that a huge size costs nothing by itself
    std::unique_ptr<uint8_t[]> buffer(new uint8_t[size < kChunk ? size + 1 : kChunk]);
    while (size > 0) {
        const size_t wanted = size < kChunk ? size : kChunk;
        const ssize_t n = offset < 0 ? read(fd, buffer.get(), wanted)
                                     : pread(fd, buffer.get(), wanted, offset);
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            return errno;
        }
        if (n == 0) {
            break;
        }
        std::memcpy(sink->room(static_cast<size_t>(n)), buffer.get(), static_cast<size_t>(n));
        size -= static_cast<uint64_t>(n);
        offset += offset < 0 ? 0 : n;
    }
    return 0;
}

// eof | {ok, Binary} | {error, Reason}. offset: as for read_bytes().
Term read_result(Process& p, const OpenFile& file, int64_t offset, int64_t size) {
    if (!file.readable()) {
        return posix_error(p, EBADF);
    }
    ByteSink sink;
    if (const int error = read_bytes(file.fd(), offset, static_cast<uint64_t>(size), &sink)) {
        return posix_error(p, error);
    }
    return sink.size() == 0 ? atoms::eof : ok_with(p, sink.take(p.heap));
}

Term prim_file_read_nif_2(Process& p, const Term* a) {
    MINIVM_OPEN_FILE(file, a[0]);
    if (!is_number(a[1])) {
        return badarg(p);
    }
    int64_t size;
    if (!get_int64(a[1], &size) || size < 0) {
        return posix_error(p, EINVAL);
    }
    return read_result(p, file, -1, size);
}

Term prim_file_pread_nif_3(Process& p, const Term* a) {
    MINIVM_OPEN_FILE(file, a[0]);
    if (!is_number(a[1]) || !is_number(a[2])) {
        return badarg(p);
    }
    int64_t offset, size;
    if (!get_int64(a[1], &offset) || !get_int64(a[2], &size) || offset < 0 || size < 0) {
        return posix_error(p, EINVAL);
    }
    return read_result(p, file, offset, size);
}

// Writes the binaries of an iovec one after the other. offset < 0: at the file's own position.
Term write_iovec(Process& p, int fd, int64_t offset, Term iovec) {
    for (; is_cons(iovec); iovec = tail(iovec)) {
        Bytes bytes;
        if (!is_bitstring(head(iovec)) || !get_bytes(head(iovec), &bytes)) {
            return badarg(p);
        }
        const uint8_t* data = bytes.data;
        size_t left = bytes.size;
        while (left > 0) {
            const ssize_t n =
                offset < 0 ? write(fd, data, left) : pwrite(fd, data, left, offset);
            if (n < 0) {
                if (errno == EINTR) {
                    continue;
                }
                return posix_error(p, errno);
            }
            data += n;
            left -= static_cast<size_t>(n);
            offset += offset < 0 ? 0 : n;
        }
    }
    return is_nil(iovec) ? atoms::ok : badarg(p);
}
Term prim_file_write_nif_2(Process& p, const Term* a) {
    MINIVM_OPEN_FILE(file, a[0]);
    return file.writable() ? write_iovec(p, file.fd(), -1, a[1]) : posix_error(p, EBADF);
}
Term prim_file_pwrite_nif_3(Process& p, const Term* a) {
    int64_t offset;
    if (!get_int64(a[1], &offset)) {
        return badarg(p);
    }
    MINIVM_OPEN_FILE(file, a[0]);
    if (!file.writable()) {
        return posix_error(p, EBADF);
    }
    return offset < 0 ? posix_error(p, EINVAL) : write_iovec(p, file.fd(), offset, a[2]);
}

Term prim_file_seek_nif_3(Process& p, const Term* a) {
    int64_t offset;
    if (!get_int64(a[2], &offset) || (a[1] != am_bof() && a[1] != am_cur() && a[1] != atoms::eof)) {
        return badarg(p);
    }
    MINIVM_OPEN_FILE(file, a[0]);
    const int whence = a[1] == am_bof() ? SEEK_SET : a[1] == am_cur() ? SEEK_CUR : SEEK_END;
    const off_t at = lseek(file.fd(), offset, whence);
    return at < 0 ? posix_error(p, errno) : ok_with(p, make_integer(p.heap, at));
}

Term prim_file_sync_nif_2(Process& p, const Term* a) {
    if (!is_small(a[1])) {
        return badarg(p);
    }
    MINIVM_OPEN_FILE(file, a[0]);
    return ok_or_error(p, (small_value(a[1]) != 0 ? fdatasync(file.fd()) : fsync(file.fd())) == 0);
}
Term prim_file_truncate_nif_1(Process& p, const Term* a) {
    MINIVM_OPEN_FILE(file, a[0]);
    const off_t here = lseek(file.fd(), 0, SEEK_CUR);
    return ok_or_error(p, here >= 0 && ftruncate(file.fd(), here) == 0);
}
Term prim_file_allocate_nif_3(Process& p, const Term* a) {
    int64_t offset, length;
    if (!get_int64(a[1], &offset) || !get_int64(a[2], &length)) {
        return badarg(p);
    }
    MINIVM_OPEN_FILE(file, a[0]);
    const int error = posix_fallocate(file.fd(), offset, length);
    return error == 0 ? atoms::ok : posix_error(p, error);
}
Term prim_file_advise_nif_4(Process& p, const Term* a) {
    int64_t offset, length;
    if (!get_int64(a[1], &offset) || !get_int64(a[2], &length) || !is_atom(a[3])) {
        return badarg(p);
    }
    MINIVM_OPEN_FILE(file, a[0]);
    const std::string_view kind = atom_table::text(a[3]);
    const int advice = kind == "normal"       ? POSIX_FADV_NORMAL
                       : kind == "sequential" ? POSIX_FADV_SEQUENTIAL
                       : kind == "random"     ? POSIX_FADV_RANDOM
                       : kind == "no_reuse"   ? POSIX_FADV_NOREUSE
                       : kind == "will_need"  ? POSIX_FADV_WILLNEED
                       : kind == "dont_need"  ? POSIX_FADV_DONTNEED
                                              : -1;
    const int error = advice < 0 ? EINVAL : posix_fadvise(file.fd(), offset, length, advice);
    return error == 0 ? atoms::ok : posix_error(p, error);
}
Term prim_file_get_handle_nif_1(Process& p, const Term* a) {
    MINIVM_OPEN_FILE(file, a[0]);
    const int fd = file.fd();
    return make_binary(p.heap, &fd, sizeof(fd));
}

// For dets: the file holds a size and a place at Offset, 32 bits each. Returns both and the data at that place.
Term prim_file_ipread_s32bu_p32bu_nif_3(Process& p, const Term* a) {
    int64_t offset;
    uint64_t limit;
    if (!get_int64(a[1], &offset) || !get_uint64(a[2], &limit)) {
        return badarg(p);
    }
    MINIVM_OPEN_FILE(file, a[0]);
    if (!file.readable()) {
        return posix_error(p, EBADF);
    }
    if (offset < 0) {
        return posix_error(p, EINVAL);
    }
    ByteSink header;
    if (const int error = read_bytes(file.fd(), offset, 8, &header)) {
        return posix_error(p, error);
    }
    if (header.size() < 8) {
        return atoms::eof;
    }
    const uint64_t size = load_bits(header.data(), 0, 32);
    const uint64_t place = load_bits(header.data(), 32, 32);
    if (size > limit) {
        return atoms::eof;
    }
    ByteSink data;
    if (const int error = read_bytes(file.fd(), static_cast<int64_t>(place), size, &data)) {
        return posix_error(p, error);
    }
    const Term bytes = data.size() == 0 ? atoms::eof : data.take(p.heap);
    return ok_with(p, make_tuple(p.heap, make_small(static_cast<int64_t>(size)),
                                 make_small(static_cast<int64_t>(place)), bytes));
}

Term prim_file_read_file_nif_1(Process& p, const Term* a) {
    std::string path;
    if (!get_path(a[0], &path)) {
        return badarg(p);
    }
    int fd = -1;
    if (const int error = open_path(path, kRead, &fd)) {
        return posix_error(p, error);
    }
    ByteSink sink;
    const int error = read_bytes(fd, -1, UINT64_MAX, &sink);
    ::close(fd);
    return error != 0 ? posix_error(p, error) : ok_with(p, sink.take(p.heap));
}

// ---- the file system -----------------------------------------------------------------------------------

// From the year 1902 to 9999: what the calendar functions of OTP take.
Term file_time(Heap& h, int64_t seconds) {
    return make_integer(h, std::clamp<int64_t>(seconds, -2145916800, 253402300799));
}

// #file_info{}, its times in seconds since 1970.
Term file_info(Process& p, const struct stat& st, bool readable, bool writable) {
    const Term type = S_ISREG(st.st_mode)   ? am_regular()
                      : S_ISDIR(st.st_mode) ? am_directory()
                      : S_ISLNK(st.st_mode) ? am_symlink()
                      : S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) ? am_device()
                                                                   : am_other();
    const Term access = readable ? (writable ? am_read_write() : am_read())
                                 : (writable ? am_write() : atoms::none);
    Heap& h = p.heap;
    auto number = [&h](auto n) { return make_integer(h, static_cast<int64_t>(n)); };
    const Term fields[14] = {am_file_info(),
                             number(st.st_size),
                             type,
                             access,
                             file_time(h, st.st_atim.tv_sec),
                             file_time(h, st.st_mtim.tv_sec),
                             file_time(h, st.st_ctim.tv_sec),
                             number(st.st_mode),
                             number(st.st_nlink),
                             number(st.st_dev),
                             number(st.st_rdev),
                             number(st.st_ino),
                             number(st.st_uid),
                             number(st.st_gid)};
    Term* t = h.alloc(15);
    t[0] = Term{make_header(Kind::tuple, 14)};
    std::copy(fields, fields + 14, t + 1);
    return make_boxed(t);
}

Term prim_file_read_info_nif_2(Process& p, const Term* a) {
    std::string path;
    if (!get_path(a[0], &path) || !is_small(a[1])) {
        return badarg(p);
    }
    struct stat st;
    const bool follow = small_value(a[1]) != 0;
    if ((follow ? stat(path.c_str(), &st) : lstat(path.c_str(), &st)) != 0) {
        return posix_error(p, errno);
    }
    return file_info(p, st, access(path.c_str(), R_OK) == 0, access(path.c_str(), W_OK) == 0);
}
Term prim_file_read_handle_info_nif_1(Process& p, const Term* a) {
    MINIVM_OPEN_FILE(file, a[0]);
    struct stat st;
    if (fstat(file.fd(), &st) != 0) {
        return posix_error(p, errno);
    }
    // As OTP: what the mode says, even for root.
    const mode_t rights = st.st_uid == geteuid()   ? st.st_mode >> 6
                          : st.st_gid == getegid() ? st.st_mode >> 3
                                                   : st.st_mode;
    return file_info(p, st, (rights & S_IROTH) != 0, (rights & S_IWOTH) != 0);
}

Term prim_file_set_permissions_nif_2(Process& p, const Term* a) {
    std::string path;
    if (!get_path(a[0], &path) || !is_small(a[1]) || small_value(a[1]) < 0 || small_value(a[1]) > UINT32_MAX) {
        return badarg(p);
    }
    constexpr mode_t kSetIds = S_ISUID | S_ISGID;
    const mode_t mode = static_cast<mode_t>(small_value(a[1])) & (kSetIds | S_IRWXU | S_IRWXG | S_IRWXO);
    // Where the file system refuses the set-ID bits, the rest is set.
    return ok_or_error(p, chmod(path.c_str(), mode) == 0 || chmod(path.c_str(), mode & ~kSetIds) == 0);
}
bool is_int(Term t) { return is_small(t) && small_value(t) >= INT_MIN && small_value(t) <= INT_MAX; }
Term prim_file_set_owner_nif_3(Process& p, const Term* a) {
    std::string path;
    if (!get_path(a[0], &path) || !is_int(a[1]) || !is_int(a[2])) {
        return badarg(p);
    }
    const uid_t uid = static_cast<uid_t>(small_value(a[1]));
    const gid_t gid = static_cast<gid_t>(small_value(a[2]));
    return ok_or_error(p, chown(path.c_str(), uid, gid) == 0);
}
Term prim_file_set_time_nif_4(Process& p, const Term* a) {
    std::string path;
    int64_t accessed, modified, created;
    if (!get_path(a[0], &path) || !get_int64(a[1], &accessed) || !get_int64(a[2], &modified) ||
        !get_int64(a[3], &created)) {
        return badarg(p);
    }
    const utimbuf times{accessed, modified};
    return ok_or_error(p, utime(path.c_str(), &times) == 0);
}

Term prim_file_make_hard_link_nif_2(Process& p, const Term* a) {
    std::string existing, name;
    if (!get_path(a[0], &existing) || !get_path(a[1], &name)) {
        return badarg(p);
    }
    return ok_or_error(p, link(existing.c_str(), name.c_str()) == 0);
}
Term prim_file_make_soft_link_nif_2(Process& p, const Term* a) {
    std::string existing, name;
    if (!get_path(a[0], &existing) || !get_path(a[1], &name)) {
        return badarg(p);
    }
    return ok_or_error(p, symlink(existing.c_str(), name.c_str()) == 0);
}
Term prim_file_rename_nif_2(Process& p, const Term* a) {
    std::string from, to;
    if (!get_path(a[0], &from) || !get_path(a[1], &to)) {
        return badarg(p);
    }
    if (::rename(from.c_str(), to.c_str()) == 0) {
        return atoms::ok;
    }
    const int error = errno;
    return posix_error(p, error == ENOTEMPTY ? EEXIST : from == "/" ? EINVAL : error);
}
Term prim_file_make_dir_nif_1(Process& p, const Term* a) {
    std::string path;
    if (!get_path(a[0], &path)) {
        return badarg(p);
    }
    return ok_or_error(p, mkdir(path.c_str(), 0777) == 0);
}
Term prim_file_del_file_nif_1(Process& p, const Term* a) {
    std::string path;
    if (!get_path(a[0], &path)) {
        return badarg(p);
    }
    if (unlink(path.c_str()) == 0) {
        return atoms::ok;
    }
    return posix_error(p, errno == EISDIR ? EPERM : errno);  // POSIX has EPERM for directories
}
Term prim_file_del_dir_nif_1(Process& p, const Term* a) {
    std::string path;
    if (!get_path(a[0], &path)) {
        return badarg(p);
    }
    if (rmdir(path.c_str()) == 0) {
        return atoms::ok;
    }
    int error = errno == ENOTEMPTY ? EEXIST : errno;
    struct stat dir, here;
    if (error == EEXIST && stat(path.c_str(), &dir) == 0 && stat(".", &here) == 0 &&
        dir.st_ino == here.st_ino && dir.st_dev == here.st_dev) {
        error = EINVAL;  // as for an empty current directory
    }
    return posix_error(p, error);
}
Term prim_file_read_link_nif_1(Process& p, const Term* a) {
    std::string path;
    if (!get_path(a[0], &path)) {
        return badarg(p);
    }
    char target[PATH_MAX];
    const ssize_t n = readlink(path.c_str(), target, sizeof(target));
    return n < 0 ? posix_error(p, errno)
                 : ok_with(p, make_binary(p.heap, target, static_cast<size_t>(n)));
}
Term prim_file_list_dir_nif_1(Process& p, const Term* a) {
    std::string path;
    if (!get_path(a[0], &path)) {
        return badarg(p);
    }
    DIR* dir = opendir(path.c_str());
    if (dir == nullptr) {
        return posix_error(p, errno);
    }
    Term list = kNil;
    // readdir() leaves errno as it is at the end of the directory; whatever else is called here may not.
    for (errno = 0; const dirent* entry = readdir(dir); errno = 0) {
        const std::string_view name(entry->d_name);
        if (name != "." && name != "..") {
            list = cons(p.heap, make_binary(p.heap, name.data(), name.size()), list);
        }
    }
    const int error = errno;
    closedir(dir);
    return error != 0 ? posix_error(p, error) : ok_with(p, list);
}

Term prim_file_get_cwd_nif_0(Process& p, const Term*) {
    char path[PATH_MAX];
    return getcwd(path, sizeof(path)) == nullptr
               ? posix_error(p, errno)
               : ok_with(p, make_binary(p.heap, path, std::strlen(path)));
}
Term prim_file_set_cwd_nif_1(Process& p, const Term* a) {
    std::string path;
    if (!get_path(a[0], &path)) {
        return badarg(p);
    }
    return ok_or_error(p, chdir(path.c_str()) == 0);
}
// Only Windows has these.
Term not_supported(Process& p, const Term* a) {
    std::string path;
    return is_bitstring(a[0]) && !get_path(a[0], &path) ? badarg(p) : posix_error(p, ENOTSUP);
}

// ---- names ---------------------------------------------------------------------------------------------

Term prim_file_internal_name2native_1(Process& p, const Term* a) {
    std::string path;
    if (!get_file_name(a[0], &path)) {
        return badarg(p);
    }
    return make_binary(p.heap, path.c_str(), path.size() + 1);
}
Term prim_file_internal_native2name_1(Process& p, const Term* a) {
    Bytes bytes;
    if (!is_bitstring(a[0]) || !get_bytes(a[0], &bytes)) {
        return badarg(p);
    }
    const Term name =
        file_name_term(p.heap, std::string(reinterpret_cast<const char*>(bytes.data), bytes.size));
    return is_list(name) ? name : make_tuple(p.heap, atoms::error, am_warning());
}
// Whether the bytes of a raw name are text.
Term prim_file_is_translatable_1(Process& p, const Term* a) {
    std::string path;
    if (!is_bitstring(a[0]) || !get_file_name(a[0], &path)) {
        return badarg(p);
    }
    Heap scratch;
    const bool text = is_list(file_name_term(scratch, path));
    return make_bool(text);
}

// ---- buffers -------------------------------------------------------------------------------------------

// Bytes written at the back and read from the front, kept as the binaries they came in.
struct Buffer final : MagicObject {
    struct Part {
        RefBinary* bytes;
        size_t first;
        size_t size;
    };
    ~Buffer() override {
        for (const Part& part : parts) {
            part.bytes->release();
        }
    }
    // The caller has checked that the buffer holds n bytes.
    void skip(size_t n) {
        size -= n;
        while (n > 0) {
            Part& part = parts.front();
            const size_t now = n < part.size ? n : part.size;
            part.first += now;
            part.size -= now;
            n -= now;
            if (part.size == 0) {
                part.bytes->release();
                parts.pop_front();
            }
        }
    }

    std::mutex lock;  // nobody should share a buffer, but somebody might
    std::deque<Part> parts;
    size_t size = 0;
    bool taken = false;  // by try_lock
};

// Begins every operation on a buffer.
#define MINIVM_BUFFER(buffer, term)                 \
    Buffer* const buffer = object_of<Buffer>(term); \
    if (buffer == nullptr) {                        \
        return badarg(p);                           \
    }                                               \
    std::lock_guard buffer_guard((buffer)->lock)

Term prim_buffer_new_0(Process& p, const Term*) {
    return hold_state(p, std::make_unique<Buffer>());
}
Term prim_buffer_size_1(Process& p, const Term* a) {
    MINIVM_BUFFER(buffer, a[0]);
    return make_small(static_cast<int64_t>(buffer->size));
}
Term prim_buffer_peek_head_1(Process& p, const Term* a) {
    MINIVM_BUFFER(buffer, a[0]);
    if (buffer->parts.empty()) {
        return badarg(p);
    }
    const Buffer::Part& part = buffer->parts.front();
    part.bytes->retain();
    const Term orig = make_bin_ref(p.heap, part.bytes);
    return part_of_storage(p.heap, orig, 8 * uint64_t{part.first}, 8 * uint64_t{part.size});
}
Term prim_buffer_copying_read_2(Process& p, const Term* a) {
    uint64_t wanted;
    MINIVM_BUFFER(buffer, a[0]);
    if (!get_uint64(a[1], &wanted) || wanted > buffer->size) {
        return badarg(p);
    }
    uint8_t* to = nullptr;
    const Term result = new_bits(p.heap, 8 * wanted, &to);
    size_t left = wanted;
    for (auto part = buffer->parts.begin(); left > 0; ++part) {
        const size_t now = left < part->size ? left : part->size;
        std::memcpy(to, part->bytes->data() + part->first, now);
        to += now;
        left -= now;
    }
    buffer->skip(wanted);
    consume(p, static_cast<int64_t>(wanted / 1024));
    return result;
}
Term prim_buffer_write_2(Process& p, const Term* a) {
    MINIVM_BUFFER(buffer, a[0]);
    for (Term t = a[1]; !is_nil(t); t = tail(t)) {
        if (!is_cons(t) || !is_bitstring(head(t)) || !is_binary(head(t))) {
            return badarg(p);
        }
    }
    for (Term t = a[1]; is_cons(t); t = tail(t)) {
        const BitView view = bit_view(head(t));
        const size_t n = static_cast<size_t>(view.size / 8);
        if (n == 0) {
            continue;
        }
        const Term* object = boxed_ptr(head(t));
        RefBinary* bytes = nullptr;
        size_t first = 0;
        if (view.byte_aligned() && header_kind(object->raw) == Kind::sub_bits &&
            kind_of(object[1]) == Kind::bin_ref) {
            bytes = reinterpret_cast<RefBinary*>(boxed_ptr(object[1])[1].raw);
            bytes->retain();
            first = static_cast<size_t>(view.offset / 8);
        } else {
            bytes = RefBinary::create(n);
            copy_bits(view.bytes, view.offset, bytes->data(), 0, view.size);
            consume(p, static_cast<int64_t>(n / 1024));
        }
        buffer->parts.push_back({bytes, first, n});
        buffer->size += n;
    }
    return atoms::ok;
}
Term prim_buffer_skip_2(Process& p, const Term* a) {
    uint64_t n;
    MINIVM_BUFFER(buffer, a[0]);
    if (!get_uint64(a[1], &n) || n > buffer->size) {
        return badarg(p);
    }
    buffer->skip(n);
    return atoms::ok;
}
Term prim_buffer_find_byte_index_2(Process& p, const Term* a) {
    MINIVM_BUFFER(buffer, a[0]);
    if (!is_small(a[1]) || small_value(a[1]) < 0 || small_value(a[1]) > 255) {
        return badarg(p);
    }
    size_t before = 0;
    for (const Buffer::Part& part : buffer->parts) {
        const uint8_t* data = part.bytes->data() + part.first;
        const void* at = std::memchr(data, static_cast<int>(small_value(a[1])), part.size);
        if (at != nullptr) {
            const size_t index = before + static_cast<size_t>(static_cast<const uint8_t*>(at) - data);
            return ok_with(p, make_small(static_cast<int64_t>(index)));
        }
        before += part.size;
        consume(p, static_cast<int64_t>(part.size / 8192));
    }
    return am_not_found();
}
Term prim_buffer_try_lock_1(Process& p, const Term* a) {
    MINIVM_BUFFER(buffer, a[0]);
    if (buffer->taken) {
        return am_busy();
    }
    buffer->taken = true;
    return am_acquired();
}
Term prim_buffer_unlock_1(Process& p, const Term* a) {
    MINIVM_BUFFER(buffer, a[0]);
    if (!buffer->taken) {
        return error(p, am_lock_order_violation());
    }
    buffer->taken = false;
    return atoms::ok;
}

// prim_file:internal_normalize_utf8(Utf8): the characters, composed; for names that macOS has decomposed.
Term prim_file_internal_normalize_utf8_1(Process& p, const Term* a) {
    Bytes bytes;
    if (!is_binary(a[0]) || !get_bytes(a[0], &bytes)) {
        return badarg(p);
    }
    for (size_t i = 0; i < bytes.size;) {
        uint32_t c;
        bool more;
        const unsigned n = utf8_decode(bytes.data + i, bytes.size - i, &c, &more);
        if (n == 0) {
            return badarg(p);
        }
        i += n;
    }
    static const Export* const compose =
        export_table::get(atom_table::intern("unicode"), atom_table::intern("characters_to_nfc_list"), 1);
    return trap(p, compose, {a[0]});
}

// ---- dynamic tracing -----------------------------------------------------------------------------------

// The module file asks for the tags of dynamic trace probes. These answer as an OTP without such probes does.
Term erlang_dt_spread_tag_1(Process& p, const Term* a) { return is_bool(a[0]) ? atoms::true_ : badarg(p); }
// Takes what dt_spread_tag/1 returned.
Term erlang_dt_restore_tag_1(Process& p, const Term* a) { return a[0] == atoms::true_ ? a[0] : badarg(p); }
Term dt_undefined(Process&, const Term*) { return atoms::undefined; }
Term dt_argument(Process&, const Term* a) { return a[0]; }

}  // namespace

// An exit signal can end a process that waits for a file (a pipe, a disk that does not answer).
constexpr uint8_t kIo = kBifDirtyIo | kBifLeavable;

MINIVM_BIF_TABLE(files) = {
    {"erlang", "dt_spread_tag", 1, erlang_dt_spread_tag_1, kBifPlain, nullptr},
    {"erlang", "dt_restore_tag", 1, erlang_dt_restore_tag_1, kBifPlain, nullptr},
    {"erlang", "dt_put_tag", 1, dt_undefined, kBifPlain, nullptr},
    {"erlang", "dt_get_tag", 0, dt_undefined, kBifPlain, nullptr},
    {"erlang", "dt_get_tag_data", 0, dt_undefined, kBifPlain, nullptr},
    {"erlang", "dt_append_vm_tag_data", 1, dt_argument, kBifPlain, nullptr},
    {"erlang", "dt_prepend_vm_tag_data", 1, dt_argument, kBifPlain, nullptr},
    {"prim_file", "internal_normalize_utf8", 1, prim_file_internal_normalize_utf8_1, kBifPlain, nullptr},
    {"prim_file", "open_nif", 2, prim_file_open_nif_2, kIo, nullptr},
    {"prim_file", "file_desc_to_ref_nif", 1, prim_file_file_desc_to_ref_nif_1, kIo, nullptr},
    {"prim_file", "close_nif", 1, prim_file_close_nif_1, kIo, nullptr},
    {"prim_file", "delayed_close_nif", 1, prim_file_delayed_close_nif_1, kIo, nullptr},
    {"prim_file", "read_nif", 2, prim_file_read_nif_2, kIo, nullptr},
    {"prim_file", "pread_nif", 3, prim_file_pread_nif_3, kIo, nullptr},
    {"prim_file", "write_nif", 2, prim_file_write_nif_2, kIo, nullptr},
    {"prim_file", "pwrite_nif", 3, prim_file_pwrite_nif_3, kIo, nullptr},
    {"prim_file", "seek_nif", 3, prim_file_seek_nif_3, kIo, nullptr},
    {"prim_file", "sync_nif", 2, prim_file_sync_nif_2, kIo, nullptr},
    {"prim_file", "truncate_nif", 1, prim_file_truncate_nif_1, kIo, nullptr},
    {"prim_file", "allocate_nif", 3, prim_file_allocate_nif_3, kIo, nullptr},
    {"prim_file", "advise_nif", 4, prim_file_advise_nif_4, kIo, nullptr},
    {"prim_file", "get_handle_nif", 1, prim_file_get_handle_nif_1, kIo, nullptr},
    {"prim_file", "ipread_s32bu_p32bu_nif", 3, prim_file_ipread_s32bu_p32bu_nif_3, kIo, nullptr},
    {"prim_file", "read_file_nif", 1, prim_file_read_file_nif_1, kIo, nullptr},
    {"prim_file", "read_info_nif", 2, prim_file_read_info_nif_2, kIo, nullptr},
    {"prim_file", "read_handle_info_nif", 1, prim_file_read_handle_info_nif_1, kIo, nullptr},
    {"prim_file", "set_permissions_nif", 2, prim_file_set_permissions_nif_2, kIo, nullptr},
    {"prim_file", "set_owner_nif", 3, prim_file_set_owner_nif_3, kIo, nullptr},
    {"prim_file", "set_time_nif", 4, prim_file_set_time_nif_4, kIo, nullptr},
    {"prim_file", "make_hard_link_nif", 2, prim_file_make_hard_link_nif_2, kIo, nullptr},
    {"prim_file", "make_soft_link_nif", 2, prim_file_make_soft_link_nif_2, kIo, nullptr},
    {"prim_file", "rename_nif", 2, prim_file_rename_nif_2, kIo, nullptr},
    {"prim_file", "make_dir_nif", 1, prim_file_make_dir_nif_1, kIo, nullptr},
    {"prim_file", "del_file_nif", 1, prim_file_del_file_nif_1, kIo, nullptr},
    {"prim_file", "del_dir_nif", 1, prim_file_del_dir_nif_1, kIo, nullptr},
    {"prim_file", "read_link_nif", 1, prim_file_read_link_nif_1, kIo, nullptr},
    {"prim_file", "list_dir_nif", 1, prim_file_list_dir_nif_1, kIo, nullptr},
    {"prim_file", "get_cwd_nif", 0, prim_file_get_cwd_nif_0, kIo, nullptr},
    {"prim_file", "set_cwd_nif", 1, prim_file_set_cwd_nif_1, kIo, nullptr},
    {"prim_file", "get_device_cwd_nif", 1, not_supported, kBifPlain, nullptr},
    {"prim_file", "altname_nif", 1, not_supported, kBifPlain, nullptr},
    {"prim_file", "internal_name2native", 1, prim_file_internal_name2native_1, kBifPlain, nullptr},
    {"prim_file", "internal_native2name", 1, prim_file_internal_native2name_1, kBifPlain, nullptr},
    {"prim_file", "is_translatable", 1, prim_file_is_translatable_1, kBifPlain, nullptr},
    {"prim_buffer", "new", 0, prim_buffer_new_0, kBifPlain, nullptr},
    {"prim_buffer", "size", 1, prim_buffer_size_1, kBifPlain, nullptr},
    {"prim_buffer", "peek_head", 1, prim_buffer_peek_head_1, kBifPlain, nullptr},
    {"prim_buffer", "copying_read", 2, prim_buffer_copying_read_2, kBifPlain, nullptr},
    {"prim_buffer", "write", 2, prim_buffer_write_2, kBifPlain, nullptr},
    {"prim_buffer", "skip", 2, prim_buffer_skip_2, kBifPlain, nullptr},
    {"prim_buffer", "find_byte_index", 2, prim_buffer_find_byte_index_2, kBifPlain, nullptr},
    {"prim_buffer", "try_lock", 1, prim_buffer_try_lock_1, kBifPlain, nullptr},
    {"prim_buffer", "unlock", 1, prim_buffer_unlock_1, kBifPlain, nullptr},
};

}  // namespace minivm
