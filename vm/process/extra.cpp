#include "vm/process/extra.hpp"

#include <algorithm>

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

std::vector<const MonitorsBy::value_type*> in_order_of_arrival(const MonitorsBy& monitors) {
    std::vector<const MonitorsBy::value_type*> all;
    all.reserve(monitors.size());
    for (const auto& monitor : monitors) {
        all.push_back(&monitor);
    }
    std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->second.number < b->second.number; });
    return all;
}

}  // namespace minivm
