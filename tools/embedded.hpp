// Modules compiled from tools/boot and kept in the program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minivm::tools {

struct EmbeddedModule {
    const char* name;
    const uint8_t* bytes;
    size_t size;
};
extern const EmbeddedModule kEmbeddedModules[];
extern const size_t kEmbeddedModuleCount;

}  // namespace minivm::tools
