// What the VM takes a library's structures for is what OTP's own header says, and each function that
// header declares is there.
#include "vm/nif/abi.hpp"

#include <catch2/catch.hpp>

#include <cstddef>
#include <vector>

#include "vm/nif/api.hpp"

using namespace minivm;

#if __has_include(<erl_nif.h>)
#include <erl_nif.h>

#define SAME_SIZE(theirs, ours) static_assert(sizeof(theirs) == sizeof(nif::ours))
#define SAME_PLACE(theirs, field, ours, our_field) \
    static_assert(offsetof(theirs, field) == offsetof(nif::ours, our_field))

static_assert(sizeof(ERL_NIF_TERM) == sizeof(Term));
static_assert(nif::kMajorVersion == ERL_NIF_MAJOR_VERSION);
static_assert(nif::kMinorVersion >= ERL_NIF_MINOR_VERSION || ERL_NIF_MINOR_VERSION > 16);
SAME_SIZE(ErlNifFunc, LibraryFunction);
SAME_PLACE(ErlNifFunc, arity, LibraryFunction, arity);
SAME_PLACE(ErlNifFunc, fptr, LibraryFunction, code);
SAME_PLACE(ErlNifFunc, flags, LibraryFunction, flags);
SAME_SIZE(ErlNifEntry, Entry);
SAME_PLACE(ErlNifEntry, name, Entry, name);
SAME_PLACE(ErlNifEntry, num_of_funcs, Entry, function_count);
SAME_PLACE(ErlNifEntry, funcs, Entry, functions);
SAME_PLACE(ErlNifEntry, load, Entry, load);
SAME_PLACE(ErlNifEntry, upgrade, Entry, upgrade);
SAME_PLACE(ErlNifEntry, unload, Entry, unload);
SAME_PLACE(ErlNifEntry, vm_variant, Entry, vm_variant);
SAME_PLACE(ErlNifEntry, options, Entry, options);
SAME_PLACE(ErlNifEntry, sizeof_ErlNifResourceTypeInit, Entry, sizeof_resource_type_init);
SAME_PLACE(ErlNifEntry, min_erts, Entry, min_erts);
SAME_SIZE(ErlNifBinary, Binary);
SAME_PLACE(ErlNifBinary, data, Binary, data);
SAME_PLACE(ErlNifBinary, ref_bin, Binary, ref_bin);
SAME_SIZE(ErlNifPid, Pid);
SAME_SIZE(ErlNifPort, Port);
SAME_SIZE(ErlNifMonitor, MonitorId);
SAME_SIZE(ErlNifResourceTypeInit, ResourceTypeInit);
SAME_PLACE(ErlNifResourceTypeInit, stop, ResourceTypeInit, stop);
SAME_PLACE(ErlNifResourceTypeInit, down, ResourceTypeInit, down);
SAME_PLACE(ErlNifResourceTypeInit, members, ResourceTypeInit, members);
SAME_PLACE(ErlNifResourceTypeInit, dyncall, ResourceTypeInit, dynamic_call);
SAME_SIZE(ErlNifSysInfo, SystemInfo);
SAME_PLACE(ErlNifSysInfo, otp_release, SystemInfo, otp_release);
SAME_PLACE(ErlNifSysInfo, scheduler_threads, SystemInfo, scheduler_threads);
SAME_PLACE(ErlNifSysInfo, nif_minor_version, SystemInfo, nif_minor_version);
SAME_PLACE(ErlNifSysInfo, dirty_scheduler_support, SystemInfo, dirty_scheduler_support);
SAME_SIZE(ErlNifThreadOpts, ThreadOptions);
SAME_SIZE(ErlNifMapIterator, MapIterator);
SAME_SIZE(ErlNifIOVec, IoVec);
SAME_PLACE(ErlNifIOVec, size, IoVec, size);
SAME_PLACE(ErlNifIOVec, iov, IoVec, iov);
static_assert(ERL_NIF_DIRTY_JOB_CPU_BOUND == static_cast<int>(nif::kDirtyCpu));
static_assert(ERL_NIF_DIRTY_JOB_IO_BOUND == static_cast<int>(nif::kDirtyIo));
static_assert(ERL_NIF_RT_CREATE == static_cast<int>(nif::kCreate));
static_assert(ERL_NIF_RT_TAKEOVER == static_cast<int>(nif::kTakeover));
static_assert(ERL_NIF_LATIN1 == static_cast<int>(nif::kLatin1));
static_assert(ERL_NIF_MAP_ITERATOR_FIRST == static_cast<int>(nif::kFirst));
static_assert(ERL_NIF_MAP_ITERATOR_LAST == static_cast<int>(nif::kLast));
static_assert(ERL_NIF_UNIQUE_POSITIVE == static_cast<int>(nif::kPositive));
static_assert(ERL_NIF_UNIQUE_MONOTONIC == static_cast<int>(nif::kMonotonic));
static_assert(ERL_NIF_BIN2TERM_SAFE == nif::kBinaryToTermSafe);
static_assert(ERL_NIF_INTERNAL_HASH == static_cast<int>(nif::kInternalHash));
static_assert(ERL_NIF_PHASH2 == static_cast<int>(nif::kPhash2));
static_assert(ERL_NIF_NSEC == static_cast<int>(nif::kNanosecond));
static_assert(ERL_NIF_TIME_ERROR == nif::kTimeError);
static_assert(ERL_NIF_TERM_TYPE_ATOM == static_cast<int>(nif::kTypeAtom));
static_assert(ERL_NIF_TERM_TYPE_MAP == static_cast<int>(nif::kTypeMap));
static_assert(ERL_NIF_TERM_TYPE_TUPLE == static_cast<int>(nif::kTypeTuple));
static_assert(ERL_NIF_THR_DIRTY_IO_SCHEDULER == static_cast<int>(nif::kThreadDirtyIo));
static_assert(ERL_NIF_SELECT_STOP == static_cast<int>(nif::kSelectStop));
static_assert(ERL_NIF_SELECT_ERROR == static_cast<int>(nif::kSelectError));
static_assert(ERL_NIF_SELECT_NOTSUP == static_cast<int>(nif::kSelectNotSupported));

// The header's list of declarations is also a list of names. It has inline functions too, so it is
// read again in a namespace, not in a function.
namespace declared {
std::vector<const char*>& names() {
    static std::vector<const char*> all;
    return all;
}
bool note(const char* name) {
    names().push_back(name);
    return true;
}
#undef ERL_NIF_API_FUNC_MACRO
#define ERL_NIF_API_FUNC_DECL(type, name, args) [[maybe_unused]] const bool noted_##name = note(#name)
#include <erl_nif_api_funcs.h>
#undef ERL_NIF_API_FUNC_DECL
}  // namespace declared

TEST_CASE("every function that erl_nif.h declares is there") {
    CHECK(declared::names().size() > 150);
    for (const char* name : declared::names()) {
        INFO(name);
        CHECK(nif::api_function(name) != nullptr);
    }
}
#endif

TEST_CASE("a function that the interface does not have is not found") {
    CHECK(nif::api_function("enif_alloc") != nullptr);
    CHECK(nif::api_function("enif_no_such_function") == nullptr);
}
