#include "vm/heap/literal_move.hpp"

#include <cstring>

#include "vm/util/assert.hpp"

namespace minivm {

namespace {

bool any_released(const Term* begin, const Term* end) {
    for (const Term* t = begin; t < end; t++) {
        if (is_released(*t)) {
            return true;
        }
    }
    return false;
}

}  // namespace

bool is_released(Term t) { return is_pointer(t) && is_literal(t) && is_released_literal(t); }

bool any_released(const Fragment* fragments) {
    for (const Fragment* f = fragments; f != nullptr; f = f->next) {
        const Term* words = const_cast<Fragment*>(f)->words();
        if (any_released(words, words + f->used_words)) {
            return true;
        }
    }
    return false;
}

bool any_released(const ProcessHeap& p, const Roots& roots) {
    if (any_released(p.heap_start, p.heap.top) || any_released(p.old_start, p.old_top) ||
        any_released(p.heap.fragments) || any_released(p.heap.received) ||
        any_released(p.heap.end, p.stack_base)) {
        return true;
    }
    bool any = false;
    roots.for_each([&any](const Term* root) { any = any || is_released(*root); });
    return any;
}

void LiteralMover::move(const Roots& roots) {
    MINIVM_ASSERT(p_.old_start == nullptr && p_.heap.fragments == nullptr);
    const Term* const end = p_.heap.top;  // the copies come after it
    for (Term* at = p_.heap_start; at < end;) {
        at = update_object(at, is_header(at->raw) ? 1 + header_arity(at->raw) : kConsWords);
    }
    for (Term* t = p_.heap.end; t < p_.stack_base; t++) {
        update(t);
    }
    roots.for_each([this](Term* root) { update(root); });
    while (!copies_.empty()) {
        const Copy c = copies_.back();
        copies_.pop_back();
        update_object(c.at, c.words);
    }
    // Objects below the old high_water may refer to fragments now, which no object may when it is promoted.
    p_.high_water = p_.heap_start;
}

void LiteralMover::update(Term* slot) {
    if (is_released(*slot)) {
        *slot = moved(*slot);
    }
}

Term* LiteralMover::update_object(Term* at, size_t words) {
    size_t first = 0;
    size_t end = words;
    if (is_header(at->raw)) {
        first = 1;
        switch (header_kind(at->raw)) {
        case Kind::tuple:
        case Kind::flat_map:
        case Kind::map_collision:
        case Kind::record:
            break;
        case Kind::fun:
        case Kind::hash_map:
        case Kind::map_node:
            first = 2;
            break;
        case Kind::sub_bits:
        case Kind::match_context:
            end = 2;  // the bytes, then raw words
            break;
        default:
            end = 0;
            break;
        }
    }
    for (size_t i = first; i < end; i++) {
        update(at + i);
    }
    return at + words;
}

Term LiteralMover::moved(Term t) {
    Term& copy = moved_[t.raw];
    if (copy.raw != 0) {
        return copy;
    }
    const Term* from = is_cons(t) ? cons_ptr(t) : boxed_ptr(t);
    const size_t words = is_cons(t) ? kConsWords : 1 + header_arity(from->raw);
    Term* to = p_.heap.alloc(words);
    std::memcpy(static_cast<void*>(to), from, words * sizeof(Term));
    copy = is_cons(t) ? make_cons(to) : make_boxed(to);
    if (!is_cons(t)) {
        keep_off_heap(to);
    }
    copies_.push_back({to, words});
    return copy;
}

// The copy of an off-heap object takes a reference of its own.
void LiteralMover::keep_off_heap(Term* object) {
    const Kind kind = header_kind(object->raw);
    if (kind == Kind::bin_ref) {
        reinterpret_cast<RefBinary*>(object[1].raw)->retain();
    } else if (kind == Kind::magic_ref) {
        magic_object(make_boxed(object))->retain();
    } else {
        return;
    }
    *off_heap_next(object) = p_.heap.off_heap;
    p_.heap.off_heap = object;
    p_.heap.off_heap_bytes += off_heap_size(object);
}

}  // namespace minivm
