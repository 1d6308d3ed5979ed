// What the natives that are part of the VM (prim_tty, prim_socket, prim_net, zstd) have in common: an entry such as a
// library's nif_init returns, and declarations of the interface's functions that they call.
//
// These natives take and return terms as they are, not by word_of(); the functions declared here convert all the same.
// That does no harm: conversion changes only 0 and the non-value, and neither is a resource, a message or a list.
#pragma once

#include "vm/nif/library.hpp"

#include <cstddef>

namespace minivm::nif {

extern "C" {
void* enif_alloc_resource(ResourceType* type, size_t size);
int enif_compare_monitors(const MonitorId* a, const MonitorId* b);
int enif_consume_timeslice(Env* env, int percent);
int enif_demonitor_process(Env* env, void* object, const MonitorId* monitor);
void enif_free_iovec(IoVec* v);
int enif_get_resource(Env* env, Word t, ResourceType* type, void** object);
int enif_inspect_iovec(Env* env, size_t max_elements, Word t, Word* rest, IoVec** out);
void enif_keep_resource(void* object);
Word enif_make_resource(Env* env, void* object);
int enif_monitor_process(Env* env, void* object, const Pid* target, MonitorId* out);
ResourceType* enif_open_resource_type_x(Env* env, const char* name, const ResourceTypeInit* init, int flags, int* tried);
void enif_release_resource(void* object);
int enif_select(Env* env, int fd, int mode, void* object, const Pid* pid, Word message);
int enif_send(Env* env, const Pid* to, Env* message_env, Word message);
}

// `module` and `functions` must stay valid. The library is never unloaded.
template <size_t kCount>
Entry entry_of(const char* module, LibraryFunction (&functions)[kCount], decltype(Entry::load) load,
               decltype(Entry::upgrade) upgrade) {
    Entry e{};
    e.major = kMajorVersion;
    e.minor = kMinorVersion;
    e.name = module;
    e.function_count = static_cast<int>(kCount);
    e.functions = functions;
    e.load = load;
    e.upgrade = upgrade;
    e.vm_variant = kVmVariant;
    e.options = 1;  // functions have flags: ERL_NIF_ENTRY_OPTIONS
    e.sizeof_resource_type_init = sizeof(ResourceTypeInit);
    e.min_erts = "erts-13";
    return e;
}

}  // namespace minivm::nif
