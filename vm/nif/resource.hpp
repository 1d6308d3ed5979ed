// Resources: a library's own objects, which terms may refer to.
//
// Terms refer to a resource by magic references that all have the same id, so they are equal. The
// object lives until the library and all terms have given up their references. Threads: any.
#pragma once

#include "vm/nif/library.hpp"
#include "vm/term/heap.hpp"

#include <cstdlib>
#include <vector>

namespace minivm::nif {

struct alignas(16) Resource final : MagicObject {
    Resource(ResourceType* t, size_t bytes);
    ~Resource() override;
    static void operator delete(void* memory) { std::free(memory); }
    void* data() { return this + 1; }

    ResourceType* const type;
    const size_t size;
    const RefId id;
    std::atomic<uint32_t> monitors{0};
    std::vector<Word> watched;  // the pids of the monitors, under their lock
};

inline Resource* resource_of(void* object) {
    return static_cast<Resource*>(object) - 1;
}
// Of a magic reference, or of a binary of enif_make_resource_binary(). Null: the term refers to no resource.
Resource* resource_of(Term t);

}  // namespace minivm::nif
