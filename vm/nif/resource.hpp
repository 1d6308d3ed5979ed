// Resources: a library's own objects, which terms may refer to.
//
// Terms hold a resource by magic references that all carry the same id, so they are equal. The
// object lives until the last reference, a library's or a term's, is given up. Threads: any.
#pragma once

#include "vm/nif/library.hpp"
#include "vm/term/heap.hpp"

#include <cstdlib>

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
};

inline Resource* resource_of(void* object) {
    return static_cast<Resource*>(object) - 1;
}
// Null: the term is none.
Resource* resource_of(Term t);

}  // namespace minivm::nif
