#include "vm/process/extra.hpp"

#include "vm/heap/gc.hpp"

namespace minivm {

void visit_extra_roots(Process& p, void (*visit)(Term* root, void* context), void* context) {
    if (p.extra == nullptr) {
        return;
    }
    for (Dictionary::Pair& pair : p.extra->dictionary.pairs()) {
        visit(&pair.key, context);
        visit(&pair.value, context);
    }
    for (auto& [ref, monitor] : p.extra->monitors) {
        if (is_value(monitor.tag)) {
            visit(&monitor.tag, context);
        }
    }
}

}  // namespace minivm
