// What a native library and the VM agree on in memory: the structures of OTP 25's erl_nif.h,
// version 2.16 of the interface. Versions up to 2.18 (OTP 29) added functions and changed none of these;
// which version the VM names goes by release.
//
// A library is compiled against OTP's own header, so sizes, offsets and values here must be that
// header's; tests/vm/nif/abi_test.cpp compares them. A term is one opaque word to a library: see word_of().
// Threads: plain data.
#pragma once

#include "vm/term/term.hpp"

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace minivm::nif {

struct Env;           // ErlNifEnv
struct ResourceType;  // ErlNifResourceType

constexpr int kMajorVersion = 2;
constexpr int kMinorVersion = 16;
constexpr const char* kVmVariant = "beam.vanilla";

// A library's word for a term, and back. It is the term's own word, but to libraries zero is no term, as in OTP, which
// they use ("not set", "failed"): small 0 and the non-value change places. The VM's own natives take terms as they are.
constexpr Word swap_zero(Word w) { return w == 0 || w == kNonValue.raw ? w ^ kNonValue.raw : w; }
constexpr Word word_of(Term t) { return swap_zero(t.raw); }
constexpr Term term_of(Word w) { return Term{swap_zero(w)}; }

using Callable = Word (*)(Env* env, int argc, const Word* argv);

struct LibraryFunction {  // ErlNifFunc
    const char* name;
    unsigned arity;
    Callable code;
    unsigned flags;  // since 2.7
};
struct OldLibraryFunction {  // before 2.7
    const char* name;
    unsigned arity;
    Callable code;
};

struct Entry {  // ErlNifEntry
    int major;
    int minor;
    const char* name;
    int function_count;
    LibraryFunction* functions;
    int (*load)(Env*, void** priv_data, Word info);
    int (*reload)(Env*, void** priv_data, Word info);
    int (*upgrade)(Env*, void** priv_data, void** old_priv_data, Word info);
    void (*unload)(Env*, void* priv_data);
    const char* vm_variant;            // since 2.1
    unsigned options;                  // since 2.7
    size_t sizeof_resource_type_init;  // since 2.12
    const char* min_erts;              // since 2.14
};

struct Binary {  // ErlNifBinary
    size_t size;
    unsigned char* data;
    void* ref_bin;  // the RefBinary that this structure owns a reference of, or null
    void* spare[2];
};

enum DirtyFlags : unsigned { kDirtyCpu = 1, kDirtyIo = 2 };

enum ResourceFlags : int { kCreate = 1, kTakeover = 2 };

enum Encoding : int { kLatin1 = 1, kUtf8 = 2 };  // UTF-8 came with a later version

struct Pid {  // ErlNifPid
    Word id;
};
struct Port {  // ErlNifPort
    Word id;
};
struct MonitorId {  // ErlNifMonitor
    unsigned char data[4 * sizeof(void*)];
};

using Destructor = void (*)(Env*, void* object);
using StopCallback = void (*)(Env*, void* object, int event, int is_direct_call);
using DownCallback = void (*)(Env*, void* object, Pid*, MonitorId*);
using DynamicCall = void (*)(Env*, void* object, void* data);

struct ResourceTypeInit {  // ErlNifResourceTypeInit
    Destructor destructor;
    StopCallback stop;
    DownCallback down;
    int members;
    DynamicCall dynamic_call;
};

struct SystemInfo {  // ErlNifSysInfo
    int driver_major_version;
    int driver_minor_version;
    char* erts_version;
    char* otp_release;
    int thread_support;
    int smp_support;
    int async_threads;
    int scheduler_threads;
    int nif_major_version;
    int nif_minor_version;
    int dirty_scheduler_support;
};

struct ThreadOptions {         // ErlNifThreadOpts
    int suggested_stack_size;  // kilowords; negative: the default
};

struct MapIterator {  // ErlNifMapIterator; all but its size is up to us
    Word map;
    Word size;
    Word index;    // 0: before the first pair; size + 1: after the last
    Term* keys;    // of a flat map: its keys; else null
    Term* values;  // of a flat map: its values; else the pairs, key and value in turn, which the iterator owns
    void* spare[2];
};

enum MapEntry : int { kFirst = 1, kLast = 2 };

enum UniqueFlags : int { kPositive = 1, kMonotonic = 2 };

constexpr unsigned kBinaryToTermSafe = 0x20000000;

enum HashKind : int { kInternalHash = 1, kPhash2 = 2 };

enum TimeUnit : int { kSecond = 0, kMillisecond = 1, kMicrosecond = 2, kNanosecond = 3 };
constexpr int64_t kTimeError = INT64_MIN;

constexpr int kSmallIoVec = 16;
struct IoVec {  // ErlNifIOVec
    int count;
    size_t size;
    iovec* iov;
    void** ref_bins;
    int flags;
    iovec small_iov[kSmallIoVec];
    void* small_ref_bins[kSmallIoVec];
};

enum TermType : int {
    kTypeAtom = 1,
    kTypeBitstring = 2,
    kTypeFloat = 3,
    kTypeFun = 4,
    kTypeInteger = 5,
    kTypeList = 6,
    kTypeMap = 7,
    kTypePid = 8,
    kTypePort = 9,
    kTypeReference = 10,
    kTypeTuple = 11
};

enum ThreadType : int {
    kThreadUndefined = 0,
    kThreadNormal = 1,
    kThreadDirtyCpu = 2,
    kThreadDirtyIo = 3
};

enum SelectFlags : int {
    kSelectRead = 1,
    kSelectWrite = 2,
    kSelectStop = 4,
    kSelectCancel = 8,
    kSelectCustomMessage = 16,
    kSelectError = 32
};
enum SelectResult : int {
    kStopCalled = 1,
    kStopScheduled = 2,
    kInvalidEvent = 4,
    kSelectFailed = 8,
    kReadCancelled = 16,
    kWriteCancelled = 32,
    kErrorCancelled = 64,
    kSelectNotSupported = 128
};

}  // namespace minivm::nif
