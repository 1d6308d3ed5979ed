// Old code: erlang:check_old_code/1, delete_module/1, purge_module/1.
//
// Purging forgets the old version, and its memory stays: processes that still run it go on
// (docs/differences_with_beam.md).
#include "vm/bif/bif.hpp"
#include "vm/code/loading.hpp"
#include "vm/term/atom_table.hpp"

namespace minivm {
namespace {

Term erlang_check_old_code_1(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return badarg(p);
    }
    return make_bool(module_table::old(a[0], code_index::active()) != nullptr);
}

// -> true, or undefined if the module is not loaded; badarg while there is old code.
Term erlang_delete_module_1(Process& p, const Term* a) {
    if (!is_atom(a[0]) || g_module_source == nullptr) {
        return badarg(p);
    }
    switch (g_module_source->delete_module(a[0])) {
        case ModuleSource::Removal::done:
            return atoms::true_;
        case ModuleSource::Removal::not_loaded:
            return atoms::undefined;
        case ModuleSource::Removal::has_old:
            break;
    }
    return badarg(p);
}

Term erlang_purge_module_1(Process& p, const Term* a) {
    if (!is_atom(a[0]) || g_module_source == nullptr || !g_module_source->purge_module(a[0])) {
        return badarg(p);
    }
    return atoms::true_;
}

}  // namespace

MINIVM_BIF_TABLE(code) = {
    {"erlang", "check_old_code", 1, erlang_check_old_code_1, kBifPlain, nullptr},
    {"erlang", "delete_module", 1, erlang_delete_module_1, kBifDirtyIo, nullptr},
    {"erlang", "purge_module", 1, erlang_purge_module_1, kBifDirtyIo, nullptr},
};

}  // namespace minivm
