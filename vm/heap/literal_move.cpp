// Moving what a process refers to of literals that are being given back into its own heap.
//
// The process is collected first: its block then holds nothing but live objects, one after another, and
// there is neither an old generation nor a fragment. The walk goes over the block once; each literal
// object that is met is copied once, whoever refers to it.
#include <cstring>
#include <unordered_map>
#include <vector>

#include "vm/heap/gc.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/signal.hpp"
#include "vm/util/assert.hpp"

namespace minivm {

namespace {

bool is_released(Term t) { return is_pointer(t) && is_literal(t) && is_released_literal(t); }

bool any_released(const Term* begin, const Term* end) {
    for (const Term* t = begin; t < end; t++) {
        if (is_released(*t)) {
            return true;
        }
    }
    return false;
}

bool any_released(const Fragment* fragments) {
    for (const Fragment* f = fragments; f != nullptr; f = f->next) {
        const Term* words = const_cast<Fragment*>(f)->words();
        if (any_released(words, words + f->used_words)) {
            return true;
        }
    }
    return false;
}

class Mover {
  public:
    explicit Mover(Heap& heap) : heap_(heap) {}

    void update(Term* slot) {
        if (is_released(*slot)) {
            *slot = moved(*slot);
        }
    }
    // The objects between begin and end.
    void update_objects(Term* begin, const Term* end) {
        for (Term* at = begin; at < end;) {
            at = update_object(at, is_header(at->raw) ? 1 + header_arity(at->raw) : kConsWords);
        }
    }
    // Updates what has been copied; that may copy more.
    void finish() {
        while (!copies_.empty()) {
            const Copy c = copies_.back();
            copies_.pop_back();
            update_object(c.at, c.words);
        }
    }

  private:
    struct Copy {
        Term* at;
        size_t words;
    };

    Term* update_object(Term* at, size_t words) {
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

    Term moved(Term t) {
        Term& copy = moved_[t.raw];
        if (copy.raw != 0) {
            return copy;
        }
        const Term* from = is_cons(t) ? cons_ptr(t) : boxed_ptr(t);
        const size_t words = is_cons(t) ? kConsWords : 1 + header_arity(from->raw);
        Term* to = heap_.alloc(words);
        std::memcpy(static_cast<void*>(to), from, words * sizeof(Term));
        copy = is_cons(t) ? make_cons(to) : make_boxed(to);
        if (!is_cons(t)) {
            keep_off_heap(to);
        }
        copies_.push_back({to, words});
        return copy;
    }

    // The copy of an object that holds a reference to something outside holds one of its own.
    void keep_off_heap(Term* object) {
        const Kind kind = header_kind(object->raw);
        if (kind == Kind::bin_ref) {
            reinterpret_cast<RefBinary*>(object[1].raw)->retain();
        } else if (kind == Kind::magic_ref) {
            magic_object(make_boxed(object))->retain();
        } else {
            return;
        }
        *off_heap_next(object) = heap_.off_heap;
        heap_.off_heap = object;
        heap_.off_heap_bytes += off_heap_size(object);
    }

    Heap& heap_;
    std::unordered_map<Word, Term> moved_;  // by the raw word of the pointer to the literal
    std::vector<Copy> copies_;              // not yet updated
};

template <typename F>
void for_each_plain_root(Process& p, F f) {
    for (Term* root : {&p.dictionary, &p.group_leader, &p.initial_args_parent, &p.exception.reason,
                       &p.exception.trace, &p.exception.args, &p.exception.error_info}) {
        f(root);
    }
    for (size_t i = 0; p.saved_x != nullptr && i < p.live_x; i++) {
        f(&p.saved_x[i]);
    }
}

}  // namespace

bool refers_to_released_literals(Process& p) {
    if (any_released(p.heap_start, p.heap.top) || any_released(p.old_start, p.old_top) ||
        any_released(p.heap.fragments) || any_released(p.heap.received) ||
        any_released(p.heap.end, p.stack_base)) {
        return true;
    }
    bool any = false;
    for_each_plain_root(p, [&any](Term* t) { any = any || is_released(*t); });
    visit_extra_roots(
        p,
        [](Term* t, void* context) {
            bool* found = static_cast<bool*>(context);
            *found = *found || is_released(*t);
        },
        &any);
    for (const Signal* m = p.mailbox.first; m != nullptr && !any; m = m->next) {
        any = is_released(m->term) || any_released(m->fragments);
    }
    return any;
}

void move_released_literals_gc(Process& p) {
    // Takes the message under examination into the heap as well.
    collect_gc(p, 0, p.saved_x, p.live_x, true);
    MINIVM_ASSERT(p.old_start == nullptr && p.heap.fragments == nullptr);
    Mover mover(p.heap);
    mover.update_objects(p.heap_start, p.heap.top);
    for (Term* t = p.heap.end; t < p.stack_base; t++) {
        mover.update(t);
    }
    for_each_plain_root(p, [&mover](Term* t) { mover.update(t); });
    visit_extra_roots(
        p, [](Term* t, void* m) { static_cast<Mover*>(m)->update(t); }, &mover);
    for (Signal* m = p.mailbox.first; m != nullptr; m = m->next) {
        if (m->on_heap) {
            mover.update(&m->term);
        } else if (is_released(m->term) || any_released(m->fragments)) {
            replace_message_term(*m);
        }
    }
    mover.finish();
    // Objects that were below it may refer to fragments now, which only the young generation may.
    p.high_water = p.heap_start;
    // A process may wait with them for ever, but not with more than it may have.
    if (p.extra != nullptr && p.extra->max_heap_words != 0) {
        collect_gc(p, 0, p.saved_x, p.live_x, false);
    }
}

}  // namespace minivm
