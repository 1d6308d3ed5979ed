// The collector proper: Cheney's algorithm with two destinations.
//
// Forwarding: in an object that has been copied, the boxed pointer to the copy replaces the header; in a
// cons cell the head becomes the non-value and the tail the pointer to the copy.
#include "vm/heap/collector.hpp"

#include <algorithm>

#include "vm/heap/address_range.hpp"
#include "vm/heap/block_pool.hpp"

namespace minivm {

namespace {

// Off-heap bytes that a process may always have before they trigger a collection (as OTP's default
// min_bin_vheap_size, 46422 words).
constexpr size_t kMinVirtualHeapBytes = 46422 * sizeof(Term);
// A block up to this size is not shrunk by a minor collection: small enough for the nearest cache.
constexpr size_t kKeepBlockWords = 4185;

Term* allocate_block(size_t words) {
    return static_cast<Term*>(heap_block_alloc(words));
}
void free_block(Term* start, const Term* end) {
    heap_block_free(start, static_cast<size_t>(end - start));
}

// Which pointers lead to objects that have to move.
enum class From {
    block,            // those into the block: no fragments, no old generation to empty
    block_fragments,  // all but old generation and literals
    everything        // all but literals
};

class Collector {
public:
    // Objects below `promote_below` in the block go to old_free, others to young_to. A major collection
    // passes the start of the block as promote_below, so it promotes nothing.
    Collector(const ProcessHeap& p, Term* promote_below, Term* young_to, Term* old_free)
        : block_(p.heap_start, p.heap.top),
          mature_bytes_(AddressRange(p.heap_start, promote_below).bytes),
          old_(p.old_start, p.old_end),
          young_begin_(young_to),
          young_free_(young_to),
          old_begin_(old_free),
          old_free_(old_free) {}

    // Updates the roots and everything they reach.
    template <From kFrom>
    void run(ProcessHeap& p, const Roots& roots, Term* new_stack_base);

    Term* young_free() const { return young_free_; }
    Term* old_free() const { return old_free_; }

private:
    template <From kFrom, bool kAllToOld>
    void update(Term* slot) {
        const Term t = *slot;
        if (is_cons(t)) {
            update_cons<kFrom, kAllToOld>(slot, t);
        } else if (is_boxed(t)) {
            update_boxed<kFrom, kAllToOld>(slot, t);
        }
    }

    // True if t, a pointer, leads to an object that has to move; *mature: to the old generation.
    template <From kFrom>
    [[gnu::always_inline]] bool moves(Term t, bool* mature) const {
        const Word offset = t.raw - block_.begin;
        if (MINIVM_LIKELY(offset < block_.bytes)) {
            *mature = offset < mature_bytes_;
            return true;
        }
        *mature = false;
        switch (kFrom) {
            case From::block:
                return false;
            case From::block_fragments:
                return !is_literal(t) && !old_.has(t) && !is_new(t);
            case From::everything:
                return !is_literal(t) && !is_new(t);
        }
        return false;
    }
    bool is_new(Term t) const { return AddressRange(young_begin_, young_free_).has(t); }

    template <From kFrom, bool kAllToOld>
    [[gnu::always_inline]] void update_cons(Term* slot, Term t) {
        bool mature;
        if (!moves<kFrom>(t, &mature)) {
            return;
        }
        Term* from = cons_ptr(t);
        const Term hd = from[0];
        if (hd == kNonValue) {
            *slot = from[1];
            return;
        }
        Term*& free = kAllToOld || mature ? old_free_ : young_free_;
        Term* to = free;
        free = to + kConsWords;
        to[0] = hd;
        to[1] = from[1];
        const Term moved = make_cons(to);
        from[0] = kNonValue;
        from[1] = moved;
        *slot = moved;
    }

    template <From kFrom, bool kAllToOld>
    [[gnu::always_inline]] void update_boxed(Term* slot, Term t) {
        bool mature;
        if (!moves<kFrom>(t, &mature)) {
            return;
        }
        Term* from = boxed_ptr(t);
        const Term header = *from;
        if (!is_header(header.raw)) {
            MINIVM_ASSERT(is_boxed(header));
            *slot = header;
            return;
        }
        Term*& free = kAllToOld || mature ? old_free_ : young_free_;
        Term* to = free;
        const size_t arity = header_arity(header.raw);
        free = to + 1 + arity;
        const Term moved = make_boxed(to);
        to[0] = header;
        for (size_t i = 1; i <= arity; i++) {
            to[i] = from[i];
        }
        *from = moved;
        *slot = moved;
    }

    // Updates the words from `scan` on until it meets the free pointer, which moves on meanwhile.
    template <From kFrom, bool kAllToOld>
    Term* scan_until_free(Term* scan, Term* const& free) {
        while (scan < free) {
            const Term t = *scan;
            switch (t.raw & kTagMask) {
                case kTagCons:
                    update_cons<kFrom, kAllToOld>(scan++, t);
                    break;
                case kTagBoxed:
                    update_boxed<kFrom, kAllToOld>(scan++, t);
                    break;
                case kTagHeader:
                    switch (header_kind(t.raw)) {
                        case Kind::tuple:
                        case Kind::flat_map:
                        case Kind::map_collision:
                        case Kind::record:
                            scan++;
                            break;
                        case Kind::fun:
                        case Kind::hash_map:
                        case Kind::map_node:
                            scan += 2;
                            break;
                        case Kind::sub_bits:
                        case Kind::match_context:
                            update<kFrom, kAllToOld>(scan + 1);
                            [[fallthrough]];
                        default:
                            scan += 1 + header_arity(t.raw);
                            break;
                    }
                    break;
                default:
                    scan++;
                    break;
            }
        }
        return scan;
    }

    AddressRange block_;
    Word mature_bytes_;
    AddressRange old_;
    Term* young_begin_;
    Term* young_free_;
    Term* old_begin_;
    Term* old_free_;
};

template <From kFrom>
void Collector::run(ProcessHeap& p, const Roots& roots, Term* new_stack_base) {
    const auto root = [this](Term* slot) { update<kFrom, false>(slot); };
    roots.for_each(root);
    // Return addresses are tagged as headers, catches as immediates: neither is a pointer.
    Term* to = new_stack_base;
    for (Term* s = p.stack_base; s > p.heap.end;) {
        *--to = *--s;
        root(to);
    }

    Term* young_scan = young_begin_;
    Term* old_scan = old_begin_;
    do {
        young_scan = scan_until_free<kFrom, false>(young_scan, young_free_);
        old_scan = scan_until_free<kFrom, true>(old_scan, old_free_);
    } while (young_scan != young_free_);
}

// Links the objects of an off-heap list that have been copied to the front of the lists of the generations where the
// copies are, in their old order, and gives up the references of the others.
void sweep_off_heap(ProcessHeap& p, Term* list, const AddressRange& old) {
    Term* young_first = nullptr;
    Term* old_first = nullptr;
    Term** young_last = &young_first;
    Term** old_last = &old_first;
    while (list != nullptr) {
        Term* object = list;
        if (is_header(object->raw)) {
            list = *off_heap_next(object);
            release_off_heap_object(object);
            continue;
        }
        Term* copy = boxed_ptr(*object);
        list = *off_heap_next(copy);  // copied along with it
        if (old.has(make_boxed(copy))) {
            *old_last = copy;
            old_last = off_heap_next(copy);
            p.old_off_heap_bytes += off_heap_size(copy);
        } else {
            *young_last = copy;
            young_last = off_heap_next(copy);
            p.heap.off_heap_bytes += off_heap_size(copy);
        }
    }
    *young_last = p.heap.off_heap;
    p.heap.off_heap = young_first;
    *old_last = p.old_off_heap;
    p.old_off_heap = old_first;
}

// The stack has been moved: moves each frame pointer by as much.
void move_frame_pointers(ProcessHeap& p, const Term* old_base, Term* new_base) {
    const auto moved = [&](const Term* at) { return new_base - (old_base - at); };
    if (p.frame_pointer == nullptr) {
        return;
    }
    Term* at = p.frame_pointer = moved(p.frame_pointer);
    while (at->raw != 0) {
        Term* const next = moved(reinterpret_cast<const Term*>(at->raw));
        at->raw = reinterpret_cast<Word>(next);
        at = next;
    }
}

// Moves the live objects of the block (and the fragments, and for `empty_old` the old generation) into a
// new block of new_words. Objects below promote_below go to the old generation, which has room for
// them.
void evacuate(ProcessHeap& p, const Roots& roots, size_t new_words, Term* promote_below,
              bool empty_old) {
    Term* new_start = allocate_block(new_words);
    Term* new_stack_base = new_start + new_words;
    const size_t stack = p.stack_words();
    Collector collector(p, promote_below, new_start, p.old_top);
    if (empty_old && (p.old_start != nullptr || p.heap.fragments != nullptr)) {
        collector.run<From::everything>(p, roots, new_stack_base);
    } else if (p.heap.fragments != nullptr) {
        collector.run<From::block_fragments>(p, roots, new_stack_base);
    } else {
        collector.run<From::block>(p, roots, new_stack_base);
    }
    MINIVM_CHECK(collector.young_free() + kReserveWords <= new_stack_base - stack);
    MINIVM_ASSERT(collector.old_free() <= p.old_end);

    Term* young_list = p.heap.off_heap;
    p.heap.off_heap = nullptr;
    p.heap.off_heap_bytes = 0;
    if (empty_old) {
        Term* old_list = p.old_off_heap;
        p.old_off_heap = nullptr;
        p.old_off_heap_bytes = 0;
        sweep_off_heap(p, old_list, AddressRange());
        sweep_off_heap(p, young_list, AddressRange());
        free_block(p.old_start, p.old_end);
        p.old_start = p.old_top = p.old_end = nullptr;
    } else {
        sweep_off_heap(p, young_list, AddressRange(p.old_start, p.old_end));
        p.old_top = collector.old_free();
    }
    fragment_free_chain(p.heap.fragments);
    p.heap.fragments = nullptr;
    p.heap.fragment_words = 0;
    move_frame_pointers(p, p.stack_base, new_stack_base);
    free_block(p.heap_start, p.stack_base);
    p.heap_start = new_start;
    p.heap.top = p.high_water = collector.young_free();
    p.heap.end = new_stack_base - stack;
    p.stack_base = new_stack_base;
}

// Whether the old generation has room for all that may be promoted. Makes an old generation if there is
// none.
bool has_room_for_mature(ProcessHeap& p) {
    const size_t mature = static_cast<size_t>(p.high_water - p.heap_start);
    if (mature == 0) {
        return true;
    }
    if (p.old_start == nullptr) {
        // Twice what there is now: the next major collection comes when the old generation has
        // doubled.
        const size_t used = p.young_words() + p.heap.fragment_words;
        const size_t words = next_heap_size(2 * used);
        p.old_start = p.old_top = allocate_block(words);
        p.old_end = p.old_start + words;
        return true;
    }
    return mature <= static_cast<size_t>(p.old_end - p.old_top);
}

void collect_major(ProcessHeap& p, const Roots& roots) {
    const size_t bound = p.stack_words() + p.used_words() + kReserveWords;
    evacuate(p, roots, next_heap_size(std::max<size_t>(bound, p.min_heap_words)), p.heap_start,
             true);
    p.gc_minor_since_full = 0;
    p.old_virtual_heap_bytes = std::max(kMinVirtualHeapBytes, 2 * p.heap.off_heap_bytes);
}

void collect_minor(ProcessHeap& p, const Roots& roots) {
    // Mature objects leave the block, and count all the same: as in OTP, a process that builds much outside of
    // its block gets a larger one.
    const size_t bound = p.stack_words() + p.young_words() +
                         p.heap.fragment_words + kReserveWords;
    size_t words = p.block_words();
    if (p.grow_heap) {
        words = next_heap_size(words + 1);
    }
    if (words < bound) {
        words = next_heap_size(bound);
    }
    evacuate(p, roots, words, p.high_water, false);
    p.gc_minor_since_full++;
}

// Gives the block the size that fits its live objects.
void adjust_block(ProcessHeap& p, const Roots& roots, size_t need_words, bool major) {
    const size_t block = p.block_words();
    const size_t needed = p.stack_words() + p.young_words() +
                          need_words + kReserveWords;
    p.grow_heap = false;
    size_t wanted = block;
    if (needed > block) {
        wanted = next_heap_size(needed);
    } else if (4 * needed < block &&
               (major || block > std::max(kKeepBlockWords, p.old_words()))) {
        const size_t least = std::max<size_t>(p.min_heap_words, major ? 0 : kKeepBlockWords);
        wanted = next_heap_size(std::max(3 * needed, least));
        if (wanted * 10 > block * 9) {
            wanted = block;
        }
    }
    if (wanted != block) {
        // No object is promoted here, and none dies: it is a plain move. A major collection that
        // finds little alive copies it twice, but it is little.
        evacuate(p, roots, wanted, p.heap_start, false);
    }
    if (needed * 4 > p.block_words() * 3) {
        p.grow_heap = true;
    }
}

}  // namespace

// ---- sizes --------------------------------------------------------------------------------------

namespace {

// 12, 38, then each the sum of the two before and one more, up to 833026 words; 20 % steps from
// there.
struct HeapSizes {
    size_t words[128];
    int count = 0;
    constexpr HeapSizes() : words{} {
        words[count++] = 12;
        words[count++] = 38;
        while (words[count - 1] < 800000) {
            words[count] = words[count - 1] + words[count - 2] + 1;
            count++;
        }
        while (count < 128) {
            words[count] = words[count - 1] + words[count - 1] / 5;
            count++;
        }
    }
};
constexpr HeapSizes kHeapSizes;
static_assert(kHeapSizes.words[5] == 233 && kHeapSizes.words[23 - 1] == 833026);

}  // namespace

size_t next_heap_size(size_t words) {
    const size_t* end = kHeapSizes.words + kHeapSizes.count;
    const size_t* found = std::lower_bound(kHeapSizes.words, end, words);
    return found != end ? *found : words;
}

size_t heap_capacity_words(const ProcessHeap& p) {
    size_t words = p.block_words() + static_cast<size_t>(p.old_end - p.old_start);
    for (const Fragment* chain : {p.heap.fragments, p.heap.received}) {
        for (const Fragment* f = chain; f != nullptr; f = f->next) {
            words += f->size_words;
        }
    }
    return words;
}

// ---- collecting ---------------------------------------------------------------------------------

bool minor_is_enough(ProcessHeap& p) {
    return p.gc_minor_since_full < p.fullsweep_after && p.old_off_heap_bytes <= p.old_virtual_heap_bytes &&
           has_room_for_mature(p);
}

size_t collect(ProcessHeap& p, const Roots& roots, size_t need_words, bool major) {
    if (major) {
        collect_major(p, roots);
    } else {
        collect_minor(p, roots);
    }
    const size_t used = p.used_words();
    adjust_block(p, roots, need_words, major);
    p.force_gc = false;
    p.virtual_heap_bytes = std::max(kMinVirtualHeapBytes, 2 * p.heap.off_heap_bytes);
    MINIVM_ASSERT(static_cast<size_t>(p.heap.end - p.heap.top) >= need_words + kReserveWords);
    MINIVM_ASSERT(p.heap.fragments == nullptr);
    return used;
}

void shrink_block(ProcessHeap& p, const Roots& roots) {
    const size_t needed = p.stack_words() + p.young_words() + kReserveWords;
    if (needed < p.block_words()) {
        evacuate(p, roots, needed, p.heap_start, false);
    }
}

void heap_init(ProcessHeap& p, size_t min_words) {
    MINIVM_ASSERT(p.heap_start == nullptr);
    const size_t words = next_heap_size(std::max<size_t>(min_words, p.min_heap_words));
    p.heap_start = p.high_water = p.heap.top = allocate_block(words);
    p.heap.end = p.stack_base = p.heap_start + words;
    p.virtual_heap_bytes = p.old_virtual_heap_bytes = kMinVirtualHeapBytes;
}

void heap_release(ProcessHeap& p) {
    p.heap.clear();
    release_off_heap(p.old_off_heap);
    p.old_off_heap = nullptr;
    p.old_off_heap_bytes = 0;
    free_block(p.old_start, p.old_end);
    p.old_start = p.old_top = p.old_end = nullptr;
    free_block(p.heap_start, p.stack_base);
    p.heap_start = p.high_water = p.heap.top = nullptr;
    p.heap.end = p.stack_base = nullptr;
}

}  // namespace minivm
