// Staging of code: how prepared modules become current code, and how code goes away.
//
// The sequence (docs/protocols/code_loading.md): seize the permission, begin(), changes, thread
// progress, code_index::commit_staging(), release. It never stops a scheduler. vm/code_change/code_change.hpp
// does these steps for whole operations.
// Threads: only the holder of the code modification permission.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vm/code/module_table.hpp"

namespace minivm::staging {

// Brings the staging generation up to date with the active one; copies only what changed since. A
// commit must follow each begin().
void begin();
// Makes `instance` the current version of its module in the staging generation; the current version
// becomes old.
void add_module(ModuleInstance* instance);
// The same for a module with an on_load function: its code can run and its funs lead to it, but its
// exports do not and it is not current until accept_pending().
void add_pending(ModuleInstance* instance);
void accept_pending(Term module);
// The current version of the module becomes old and its functions undefined. There must be no old one.
void delete_module(Term module);
// Funs that lead to code of `instance` then lead nowhere (*closed gets them), or to another version of the
// module that has them too. True if there were any.
bool close_funs(const ModuleInstance& instance, std::vector<const FunEntry*>* closed);
// Undoes close_funs(), which gave `closed`.
void reopen_funs(const ModuleInstance& instance, const std::vector<const FunEntry*>& closed);
// Removes the old (or pending) version from all tables.
void remove_module(ModuleInstance* instance);

// Calls through the entry then go through tracing::Hooks::export_call(), or no longer.
void trace_export(Export* e, bool on);

// When no process can run the instance's code any more. Any thread.
void give_back_catches(const ModuleInstance& instance);

}  // namespace minivm::staging

namespace minivm {

// How the VM finds modules that are not loaded yet; the program sets it at start-up.
struct ModuleSource {
    virtual ~ModuleSource() = default;
    enum class Loaded : uint8_t {
        yes,
        not_found,
        failed,        // *error says why
        wants_on_load  // it has an on_load function: the code server is to load it
    };
    // Finds, prepares and finishes `module`, if it is not loaded. May block; called on dirty
    // schedulers, possibly on several at once for one module.
    virtual Loaded load(Term module, std::string* error) = 0;
    // The preloaded modules. If there are any the VM loads nothing else on demand: the process's error handler
    // does, as on OTP. Empty: the VM loads all modules on demand.
    virtual const std::vector<Term>& preloaded() const = 0;
    // The file that load() would read, or empty.
    virtual std::string find(std::string_view module) const = 0;
    virtual const std::string& otp_root() const = 0;
    // Reads, verifies and compiles bytes, with `engine` (null: with the one that engine_for() returns).
    // Null: *error says why not. Nothing is visible yet.
    virtual std::unique_ptr<ModuleInstance> prepare(const uint8_t* bytes, size_t size, Engine* engine,
                                                    std::string* error) = 0;
    virtual std::unique_ptr<ModuleInstance> prepare_file(const std::string& path,
                                                         std::string* error) = 0;

    // The result of code:module_md5/1 for the bytes. False: they are no module.
    virtual bool module_md5(const uint8_t* bytes, size_t size, uint8_t (&digest)[16]) const = 0;

    // The directories that find() searches, in order.
    virtual std::vector<std::string> directories() const = 0;
    // False: a new name in the list is no directory; the list is unchanged then.
    virtual bool set_directories(std::vector<std::string> directories) = 0;
};
extern ModuleSource* g_module_source;

}  // namespace minivm
