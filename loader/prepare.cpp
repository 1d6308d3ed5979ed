#include "loader/prepare.hpp"

#include "recorder/recorder.hpp"
#include "vm/record/record.hpp"
#include "vm/term/atom_table.hpp"

namespace minivm::loader {

std::unique_ptr<ModuleInstance> prepare(const uint8_t* bytes, size_t size, LoadError* error) {
    auto instance = std::make_unique<ModuleInstance>();
    if (!load(bytes, size, &instance->lowered, error)) {
        return nullptr;
    }
    instance->engine = &engine_for(instance->lowered);
    instance->code = instance->engine->compile(instance->lowered);
    if (instance->code == nullptr) {
        instance->engine = g_engines.bytecode;
        instance->code = instance->engine->compile(instance->lowered);
    }
    // Engines have what they need; what is left serves stack traces and module_info.
    instance->lowered.operands = {};
    instance->lowered.code = {};
    recorder::record(recorder::EventId::code_prepare, records::atom(instance->name()),
                     size, instance->lowered.functions.size());
    return instance;
}

}  // namespace minivm::loader
