#include "loader/prepare.hpp"

#include "recorder/recorder.hpp"
#include "vm/record/record.hpp"
#include "vm/term/atom_table.hpp"

#include <new>

namespace minivm::loader {

// The engine has read these; the rest serves stack traces and module_info. `v = {}` would keep a vector's memory.
static void free_what_engines_have_read(LoweredModule& m) {
    std::vector<Operand>().swap(m.operands);
    std::vector<Instr>().swap(m.code);
    std::vector<TypeInfo>().swap(m.types);
    m.functions.shrink_to_fit();
    m.exports.shrink_to_fit();
    m.lambdas.shrink_to_fit();
    m.lines.shrink_to_fit();
    m.imports.shrink_to_fit();
}

static std::unique_ptr<ModuleInstance> prepare_with_memory(const uint8_t* bytes, size_t size, Engine* engine,
                                                           LoadError* error) {
    auto instance = std::make_unique<ModuleInstance>();
    if (!load(bytes, size, &instance->lowered, error)) {
        return nullptr;
    }
    instance->engine = engine != nullptr ? engine : &engine_for(instance->lowered);
    instance->code = instance->engine->compile(instance->lowered);
    if (instance->code == nullptr) {
        instance->engine = g_engines.bytecode;
        instance->code = instance->engine->compile(instance->lowered);
    }
    free_what_engines_have_read(instance->lowered);
    MINIVM_EVENT(code_prepare, records::atom(instance->name()), size,
                 instance->lowered.functions.size());
    return instance;
}

std::unique_ptr<ModuleInstance> prepare(const uint8_t* bytes, size_t size, Engine* engine, LoadError* error) {
    // A file may ask for more than there is. Whatever was made so far belongs to an object that frees it.
    try {
        return prepare_with_memory(bytes, size, engine, error);
    } catch (const std::bad_alloc&) {
        error->code = LoadError::Code::no_memory;
        error->chunk.clear();
        error->what = "out of memory";  // short enough to need none
        return nullptr;
    }
}

}  // namespace minivm::loader
