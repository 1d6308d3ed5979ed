// erlang:load_nif/2, and the calls that native functions schedule.
#include "vm/bif/bif.hpp"
#include "vm/code/module_table.hpp"
#include "vm/nif/scheduled.hpp"
#include "vm/process/posix.hpp"
#include "vm/sched/scheduler.hpp"

namespace minivm {
namespace {

Term erlang_load_nif_2(Process& p, const Term* a) {
    std::string name;
    if (!get_file_name(a[0], &name)) {
        return badarg(p);
    }
    FunctionInfo caller{};
    if (!module_table::lookup(p.pc, code_index::active(), false, &caller) ||
        caller.instance->lowered.nifs.empty()) {
        return nif::load_called_by_apply(p);
    }
    return nif::load(p, const_cast<ModuleInstance&>(*caller.instance), name, a[1]);
}

Term minivm_call_nif_3(Process& p, const Term* a) {
    return nif::call_scheduled(p, a[0], a[1], a[2]);
}

}  // namespace

MINIVM_BIF_TABLE(nif) = {
    {"erlang", "load_nif", 2, erlang_load_nif_2, kBifPlain, nullptr},
    {"minivm", "call_nif", 3, minivm_call_nif_3, kBifHidden, nullptr},
    {"minivm", "call_nif_dirty_cpu", 3, minivm_call_nif_3, kBifHidden | kBifDirtyCpu | kBifLeavable, nullptr},
    {"minivm", "call_nif_dirty_io", 3, minivm_call_nif_3, kBifHidden | kBifDirtyIo | kBifLeavable, nullptr},
};

}  // namespace minivm
