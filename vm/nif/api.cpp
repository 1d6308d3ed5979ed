#include "vm/nif/api.hpp"

#include <cstring>

// Only the addresses matter here: the types are those of the definitions.
#define API(name) extern "C" void name();
#include "vm/nif/api.def"
#undef API

namespace minivm::nif {

namespace {

struct NamedFunction {
    const char* name;
    void (*address)();
};
const NamedFunction kFunctions[] = {
#define API(name) {#name, name},
#include "vm/nif/api.def"
#undef API
};

}  // namespace

void api_is_linked() {
    const NamedFunction* const table = kFunctions;
    asm volatile("" : : "r"(table));
}

const void* api_function(const char* name) {
    for (const NamedFunction& f : kFunctions) {
        if (std::strcmp(f.name, name) == 0) {
            return reinterpret_cast<const void*>(f.address);
        }
    }
    return nullptr;
}

}  // namespace minivm::nif
