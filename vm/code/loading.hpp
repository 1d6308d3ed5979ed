// Staging of code: how prepared modules become the code that everybody runs.
//
// The sequence (docs/protocols/code_loading.md): seize the permission, begin(), add_module() for each,
// thread progress, code_index::commit_staging(), release. It never stops a scheduler.
// Threads: only the holder of the code modification permission.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vm/code/module_table.hpp"

namespace minivm::staging {

// Brings the staging generation up to date with the active one; copies only what changed since.
void begin();
// Makes `instance` the current version of its module in the staging generation; what was current
// becomes old.
void add_module(ModuleInstance* instance);
// In the staging generation the current version of the module becomes old and its functions undefined.
// There must be a current version and no old one.
void delete_module(Term module);
// The staging generation forgets the old version. Its code stays where it is, for processes that still
// run it.
void forget_old(Term module);

}  // namespace minivm::staging

namespace minivm {

// How the VM gets at modules that nobody has loaded yet; the program sets it at start-up.
struct ModuleSource {
    virtual ~ModuleSource() = default;
    // Finds, prepares and finishes `module`. False: not found, or *error says why it cannot be loaded.
    // May block; called on a dirty scheduler, possibly for one module by several at once.
    virtual bool load(Term module, std::string* error) = 0;
    // Loads a file whatever its module is called; *module is its name. May block.
    virtual bool load_file(const std::string& path, Term* module, std::string* error) = 0;
    // The file that load() would take, or empty.
    virtual std::string find(std::string_view module) const = 0;
    virtual const std::string& otp_root() const = 0;
    // Loads bytes that must hold `module`. May block.
    virtual bool load_binary(Term module, const uint8_t* bytes, size_t size, std::string* error) = 0;

    // The directories that find() searches, in order.
    virtual std::vector<std::string> directories() const = 0;
    // False: one that is new in the list is no directory; nothing has changed then.
    virtual bool set_directories(std::vector<std::string> directories) = 0;

    // erlang:delete_module/1. May block.
    enum class Removal : uint8_t { done, not_loaded, has_old };
    virtual Removal delete_module(Term module) = 0;
    // erlang:purge_module/1. False: there is no old code. May block.
    virtual bool purge_module(Term module) = 0;
};
extern ModuleSource* g_module_source;
// Tells the user that a module was found but could not be loaded: the log is the program's, which
// sets this beside g_module_source.
extern void (*g_report_load_failure)(const std::string& why);

}  // namespace minivm
