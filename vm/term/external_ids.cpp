#include "vm/term/external_ids.hpp"

namespace minivm {

Term put_external_pid(Heap& h, Node node, uint32_t number, uint32_t serial) {
    Term* object = h.alloc(5);
    object[0] = Term{make_header(Kind::ext_pid, 4)};
    object[1] = node.name;
    object[2] = Term{number};
    object[3] = Term{serial};
    object[4] = Term{node.creation};
    return make_boxed(object);
}

Term put_external_port(Heap& h, Node node, uint64_t number) {
    Term* object = h.alloc(4);
    object[0] = Term{make_header(Kind::ext_port, 3)};
    object[1] = node.name;
    object[2] = Term{number};
    object[3] = Term{node.creation};
    return make_boxed(object);
}

Term put_external_ref(Heap& h, Node node, std::span<const uint32_t> words) {
    const size_t pairs = (words.size() + 1) / 2;
    Term* object = h.alloc(4 + pairs);
    object[0] = Term{make_header(Kind::ext_ref, 3 + pairs)};
    object[1] = node.name;
    object[2] = Term{node.creation};
    object[3] = Term{words.size()};
    for (size_t i = 0; i < pairs; i++) {
        const uint64_t high = 2 * i + 1 < words.size() ? words[2 * i + 1] : 0;
        object[4 + i] = Term{words[2 * i] | high << 32};
    }
    return make_boxed(object);
}

}  // namespace minivm
