// Memory, mutexes, threads, shared libraries, the environment: what OTP wraps of the system.
#include "vm/instr/bif_def.hpp"
#include "vm/nif/api.hpp"
#include "vm/nif/library.hpp"
#include "vm/process/posix.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/util/environment.hpp"
#include "vm/util/otp_release.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace minivm::nif {

struct Mutex {
    pthread_mutex_t handle = PTHREAD_MUTEX_INITIALIZER;
    std::string name;
};
struct Cond {
    pthread_cond_t handle = PTHREAD_COND_INITIALIZER;
    std::string name;
};
struct RwLock {
    pthread_rwlock_t handle = PTHREAD_RWLOCK_INITIALIZER;
    std::string name;
};
struct Thread {
    pthread_t handle{};
    void* (*run)(void*) = nullptr;
    void* argument = nullptr;
    std::string name;
};

namespace {

thread_local Thread* t_thread = nullptr;
thread_local std::vector<void*> t_data;  // by key

std::mutex g_keys_lock;
std::vector<bool> g_keys;  // under the lock: whether a key is taken; a new key gets the lowest free number

std::string name_or_empty(const char* name) {
    return name != nullptr ? name : "";
}

void* thread_main(void* data) {
    t_thread = static_cast<Thread*>(data);
    return t_thread->run(t_thread->argument);
}

}  // namespace

extern "C" {

// ---- memory -------------------------------------------------------------------------------------

void* enif_alloc(size_t size) {
    return std::malloc(size > 0 ? size : 1);
}
void* enif_realloc(void* p, size_t size) {
    return std::realloc(p, size > 0 ? size : 1);
}
void enif_free(void* p) {
    std::free(p);
}

// ---- locks --------------------------------------------------------------------------------------

Mutex* enif_mutex_create(char* name) {
    auto* const m = new Mutex;
    m->name = name_or_empty(name);
    return m;
}
void enif_mutex_destroy(Mutex* m) {
    if (m != nullptr) {
        pthread_mutex_destroy(&m->handle);
        delete m;
    }
}
int enif_mutex_trylock(Mutex* m) {
    return pthread_mutex_trylock(&m->handle);
}
void enif_mutex_lock(Mutex* m) {
    pthread_mutex_lock(&m->handle);
}
void enif_mutex_unlock(Mutex* m) {
    pthread_mutex_unlock(&m->handle);
}
char* enif_mutex_name(Mutex* m) {
    return m->name.data();
}

Cond* enif_cond_create(char* name) {
    auto* const c = new Cond;
    c->name = name_or_empty(name);
    return c;
}
void enif_cond_destroy(Cond* c) {
    if (c != nullptr) {
        pthread_cond_destroy(&c->handle);
        delete c;
    }
}
void enif_cond_signal(Cond* c) {
    pthread_cond_signal(&c->handle);
}
void enif_cond_broadcast(Cond* c) {
    pthread_cond_broadcast(&c->handle);
}
void enif_cond_wait(Cond* c, Mutex* m) {
    pthread_cond_wait(&c->handle, &m->handle);
}
char* enif_cond_name(Cond* c) {
    return c->name.data();
}

RwLock* enif_rwlock_create(char* name) {
    auto* const l = new RwLock;
    l->name = name_or_empty(name);
    return l;
}
void enif_rwlock_destroy(RwLock* l) {
    if (l != nullptr) {
        pthread_rwlock_destroy(&l->handle);
        delete l;
    }
}
int enif_rwlock_tryrlock(RwLock* l) {
    return pthread_rwlock_tryrdlock(&l->handle);
}
void enif_rwlock_rlock(RwLock* l) {
    pthread_rwlock_rdlock(&l->handle);
}
void enif_rwlock_runlock(RwLock* l) {
    pthread_rwlock_unlock(&l->handle);
}
int enif_rwlock_tryrwlock(RwLock* l) {
    return pthread_rwlock_trywrlock(&l->handle);
}
void enif_rwlock_rwlock(RwLock* l) {
    pthread_rwlock_wrlock(&l->handle);
}
void enif_rwlock_rwunlock(RwLock* l) {
    pthread_rwlock_unlock(&l->handle);
}
char* enif_rwlock_name(RwLock* l) {
    return l->name.data();
}

// ---- data of a thread ---------------------------------------------------------------------------

int enif_tsd_key_create(char*, int* key) {
    const std::lock_guard lock(g_keys_lock);
    size_t n = 0;
    while (n < g_keys.size() && g_keys[n]) {
        ++n;
    }
    if (n == g_keys.size()) {
        g_keys.push_back(false);
    }
    g_keys[n] = true;
    *key = static_cast<int>(n);
    return 0;
}
void enif_tsd_key_destroy(int key) {
    const std::lock_guard lock(g_keys_lock);
    g_keys[static_cast<size_t>(key)] = false;
}
void enif_tsd_set(int key, void* data) {
    const auto n = static_cast<size_t>(key);
    if (t_data.size() <= n) {
        t_data.resize(n + 1);
    }
    t_data[n] = data;
}
void* enif_tsd_get(int key) {
    const auto n = static_cast<size_t>(key);
    return n < t_data.size() ? t_data[n] : nullptr;
}

// ---- threads ------------------------------------------------------------------------------------

ThreadOptions* enif_thread_opts_create(char*) {
    return new ThreadOptions{-1};
}
void enif_thread_opts_destroy(ThreadOptions* o) {
    delete o;
}

int enif_thread_create(char* name, Thread** id, void* (*run)(void*), void* argument,
                       ThreadOptions* options) {
    auto* const t = new Thread;
    t->run = run;
    t->argument = argument;
    t->name = name_or_empty(name);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (options != nullptr && options->suggested_stack_size >= 0) {
        // In kilowords; no less than the system needs.
        const size_t least = size_t{64} * 1024;
        const size_t wanted =
            static_cast<size_t>(options->suggested_stack_size) * 1024 * sizeof(Word);
        pthread_attr_setstacksize(&attributes, wanted > least ? wanted : least);
    }
    const int error = pthread_create(&t->handle, &attributes, thread_main, t);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        delete t;
        return error;
    }
    *id = t;
    return 0;
}
Thread* enif_thread_self() {
    if (t_thread == nullptr) {
        // A thread of the VM. Its description is never freed, since other threads may have its address.
        t_thread = new Thread;
        t_thread->handle = pthread_self();
    }
    return t_thread;
}
int enif_equal_tids(Thread* a, Thread* b) {
    return a == b;
}
void enif_thread_exit(void* result) {
    pthread_exit(result);
}
int enif_thread_join(Thread* t, void** result) {
    const int error = pthread_join(t->handle, result);
    if (error == 0) {
        delete t;
    }
    return error;
}
char* enif_thread_name(Thread* t) {
    return t->name.data();
}

int enif_thread_type() {
    const Scheduler* const s = this_scheduler();
    if (s == nullptr) {
        return kThreadUndefined;
    }
    if (s->number != 0) {
        return kThreadNormal;
    }
    const BifDef* const bif = s->process != nullptr ? s->process->dirty_bif : nullptr;
    return bif != nullptr && bif->has_any(kBifDirtyIo) ? kThreadDirtyIo : kThreadDirtyCpu;
}

// ---- the system ---------------------------------------------------------------------------------

void* enif_dlopen(const char* library, void (*on_error)(void*, const char*), void* argument) {
    // As OTP, which adds the suffix; null stands for the program itself.
    void* const handle = library != nullptr
                             ? dlopen((std::string(library) + ".so").c_str(), RTLD_NOW)
                             : dlopen(nullptr, RTLD_NOW);
    if (handle == nullptr && on_error != nullptr) {
        on_error(argument, dlerror());
    }
    return handle;
}
void* enif_dlsym(void* handle, const char* symbol, void (*on_error)(void*, const char*),
                 void* argument) {
    void* const address = dlsym(handle, symbol);
    if (address == nullptr && on_error != nullptr) {
        on_error(argument, dlerror());
    }
    return address;
}

// 0: done; 1: the buffer is too small, *size is what it takes; -1: there is no such variable.
int enif_getenv(const char* key, char* value, size_t* size) {
    const auto text = environment_variable(key);
    if (!text) {
        return -1;
    }
    const size_t n = text->size();
    if (n >= *size) {
        *size = n + 1;
        return 1;
    }
    std::memcpy(value, text->c_str(), n + 1);
    *size = n;
    return 0;
}

// The options are callbacks for the end of the VM and of its threads, and a halt that waits for native functions.
// None of them exists here, and the answer says so.
int enif_set_option(Env* env, int option, ...) {
    constexpr int kOptions = 3;
    const bool loading = env != nullptr && env->library != nullptr && env->library->loading;
    return loading && option >= 1 && option <= kOptions ? ENOTSUP : EINVAL;
}

void enif_system_info(SystemInfo* out, size_t size) {
    static const std::string release = std::to_string(otp_release().number);
    SystemInfo info{};
    info.driver_major_version = 3;
    info.driver_minor_version = 3;
    info.erts_version = const_cast<char*>(otp_release().erts_version.c_str());
    info.otp_release = const_cast<char*>(release.c_str());
    info.thread_support = 1;
    info.smp_support = 1;
    info.async_threads = 1;
    info.scheduler_threads = vm::scheduler_count();
    info.nif_major_version = kMajorVersion;
    info.nif_minor_version = by_release::nif_minor_version();
    info.dirty_scheduler_support = 1;
    std::memcpy(static_cast<void*>(out), &info, size < sizeof info ? size : sizeof info);
}

// ---- what erl_driver.h has for every thread -------------------------------------------------------

// Libraries of NIFs use these as well (bitcask: erl_errno_id), because OTP's emulator has them. Those of ports are missing:
// there are no linked-in drivers.
char* erl_errno_id(int error) {
    return const_cast<char*>(posix_error_name(error));
}
int erl_drv_putenv(const char* key, char* value) {
    const std::lock_guard lock(environment_lock());
    return setenv(key, value, 1);
}

#define SAME(driver_name, nif_name) decltype(nif_name) driver_name __attribute__((alias(#nif_name)));
SAME(driver_alloc, enif_alloc)
SAME(driver_realloc, enif_realloc)
SAME(driver_free, enif_free)
SAME(driver_system_info, enif_system_info)
SAME(erl_drv_cond_broadcast, enif_cond_broadcast)
SAME(erl_drv_cond_create, enif_cond_create)
SAME(erl_drv_cond_destroy, enif_cond_destroy)
SAME(erl_drv_cond_name, enif_cond_name)
SAME(erl_drv_cond_signal, enif_cond_signal)
SAME(erl_drv_cond_wait, enif_cond_wait)
SAME(erl_drv_equal_tids, enif_equal_tids)
SAME(erl_drv_getenv, enif_getenv)
SAME(erl_drv_mutex_create, enif_mutex_create)
SAME(erl_drv_mutex_destroy, enif_mutex_destroy)
SAME(erl_drv_mutex_lock, enif_mutex_lock)
SAME(erl_drv_mutex_name, enif_mutex_name)
SAME(erl_drv_mutex_trylock, enif_mutex_trylock)
SAME(erl_drv_mutex_unlock, enif_mutex_unlock)
SAME(erl_drv_rwlock_create, enif_rwlock_create)
SAME(erl_drv_rwlock_destroy, enif_rwlock_destroy)
SAME(erl_drv_rwlock_name, enif_rwlock_name)
SAME(erl_drv_rwlock_rlock, enif_rwlock_rlock)
SAME(erl_drv_rwlock_runlock, enif_rwlock_runlock)
SAME(erl_drv_rwlock_rwlock, enif_rwlock_rwlock)
SAME(erl_drv_rwlock_rwunlock, enif_rwlock_rwunlock)
SAME(erl_drv_rwlock_tryrlock, enif_rwlock_tryrlock)
SAME(erl_drv_rwlock_tryrwlock, enif_rwlock_tryrwlock)
SAME(erl_drv_thread_create, enif_thread_create)
SAME(erl_drv_thread_exit, enif_thread_exit)
SAME(erl_drv_thread_join, enif_thread_join)
SAME(erl_drv_thread_name, enif_thread_name)
SAME(erl_drv_thread_opts_create, enif_thread_opts_create)
SAME(erl_drv_thread_opts_destroy, enif_thread_opts_destroy)
SAME(erl_drv_thread_self, enif_thread_self)
SAME(erl_drv_tsd_get, enif_tsd_get)
SAME(erl_drv_tsd_key_create, enif_tsd_key_create)
SAME(erl_drv_tsd_key_destroy, enif_tsd_key_destroy)
SAME(erl_drv_tsd_set, enif_tsd_set)
#undef SAME

}  // extern "C"

}  // namespace minivm::nif
