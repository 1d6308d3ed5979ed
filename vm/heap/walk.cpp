// Walks over all that a term reaches: to count its words, and to verify that a heap is well-formed.
#include <span>
#include <unordered_set>

#include "vm/heap/address_range.hpp"
#include "vm/heap/collector.hpp"
#include "vm/term/term_stack.hpp"

namespace minivm {

namespace {

// The terms in a boxed object.
std::span<const Term> parts_of(Term boxed) {
    const Term* object = boxed_ptr(boxed);
    const Kind kind = header_kind(object->raw);
    const size_t arity = header_arity(object->raw);
    if (kind == Kind::fun || kind == Kind::hash_map || kind == Kind::map_node) {
        return {object + 2, arity - 1};
    }
    if (kind == Kind::sub_bits || kind == Kind::match_context) {
        return {object + 1, 1};
    }
    return {object + 1, is_raw_kind(kind) ? 0 : arity};
}

class Verifier {
public:
    explicit Verifier(const ProcessHeap& p)
        : p_(p), block_(p.heap_start, p.heap.top), old_(p.old_start, p.old_top) {}

    void root(Term t) {
        later(t, false);
        while (!rest_.empty()) {
            object(rest_.pop());
        }
    }

private:
    void later(Term t, bool from_old) {
        if (!is_pointer(t) || is_literal(t)) {
            return;
        }
        MINIVM_CHECK(t.raw != kTagCons && t.raw != kTagBoxed);
        if (!old_.has(t)) {
            MINIVM_CHECK(!from_old);
            MINIVM_CHECK(block_.has(t) || in_fragment(t));
        }
        if (seen_.insert(t.raw).second) {
            rest_.push(t);
        }
    }

    bool in_fragment(Term t) const {
        for (Fragment* chain : {p_.heap.fragments, p_.heap.received}) {
            for (Fragment* f = chain; f != nullptr; f = f->next) {
                if (AddressRange(f->words(), f->words() + f->used_words).has(t)) {
                    return true;
                }
            }
        }
        return false;
    }

    void object(Term t) {
        const bool in_old = old_.has(t);
        if (is_cons(t)) {
            MINIVM_CHECK(!is_header(head(t).raw) && !is_header(tail(t).raw));
            MINIVM_CHECK(head(t) != kNonValue && tail(t) != kNonValue);
            later(head(t), in_old);
            later(tail(t), in_old);
            return;
        }
        const Term* from = boxed_ptr(t);
        MINIVM_CHECK(is_header(from->raw));
        const Kind kind = header_kind(from->raw);
        const size_t arity = header_arity(from->raw);
        MINIVM_CHECK(kind <= Kind::record);
        MINIVM_CHECK(arity == 0 || block_.has(make_boxed(from + arity)) ||
                     old_.has(make_boxed(from + arity)) || in_fragment(make_boxed(from + arity)));
        if (kind == Kind::sub_bits || kind == Kind::match_context) {
            MINIVM_CHECK(is_kind(from[1], Kind::heap_bits) || is_kind(from[1], Kind::bin_ref));
        }
        for (const Term part : parts_of(t)) {
            MINIVM_CHECK(!is_header(part.raw));
            later(part, in_old);
        }
    }

    const ProcessHeap& p_;
    AddressRange block_;
    AddressRange old_;
    TermStack rest_;
    std::unordered_set<Word> seen_;
};

void verify_off_heap_list(const ProcessHeap& p, Term* list, const AddressRange& where) {
    for (Term* object = list; object != nullptr; object = *off_heap_next(object)) {
        const Kind kind = header_kind(object->raw);
        MINIVM_CHECK(is_header(object->raw) && (kind == Kind::bin_ref || kind == Kind::magic_ref));
        MINIVM_CHECK(p.heap.fragments != nullptr || p.heap.received != nullptr ||
                     where.has(make_boxed(object)));
    }
}

}  // namespace

size_t size_with_sharing(Term root) {
    size_t words = 0;
    TermStack rest;
    std::unordered_set<Word> seen;
    const auto later = [&](Term t) {
        if (is_pointer(t) && !is_literal(t) && seen.insert(t.raw).second) {
            rest.push(t);
        }
    };
    later(root);
    while (!rest.empty()) {
        const Term t = rest.pop();
        if (is_cons(t)) {
            words += kConsWords;
            later(head(t));
            later(tail(t));
            continue;
        }
        words += 1 + header_arity(boxed_ptr(t)->raw);
        for (const Term part : parts_of(t)) {
            later(part);
        }
    }
    return words;
}

void verify_heap(const ProcessHeap& p, const Roots& roots) {
    MINIVM_CHECK(p.heap_start <= p.high_water && p.high_water <= p.heap.top);
    MINIVM_CHECK(p.heap.top <= p.heap.end && p.heap.end <= p.stack_base);
    Verifier verifier(p);
    for (const Term* s = p.heap.end; s < p.stack_base; s++) {
        verifier.root(*s);
    }
    roots.for_each([&verifier](const Term* root) { verifier.root(*root); });
    verify_off_heap_list(p, p.heap.off_heap, AddressRange(p.heap_start, p.heap.top));
    verify_off_heap_list(p, p.old_off_heap, AddressRange(p.old_start, p.old_top));
}

}  // namespace minivm
