// The collector proper: Cheney's algorithm with two destinations.
//
// Forwarding: the header of an object that has been copied is replaced by the boxed pointer to the
// copy; of a cons cell the head becomes the non-value and the tail the pointer to the copy.
#include "vm/heap/gc.hpp"

#include "recorder/clock.hpp"
#include "recorder/recorder.hpp"
#include "vm/heap/block_pool.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/report.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/system_monitor.hpp"
#include "vm/process/tracing.hpp"
#include "vm/record/record.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/term_stack.hpp"
#include "vm/util/activity.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <unordered_set>
#include <utility>

namespace minivm {

namespace {

// Off-heap bytes that a process may always have before they trigger a collection (as OTP's default
// min_bin_vheap_size, 46422 words).
constexpr size_t kMinVirtualHeapBytes = 46422 * sizeof(Term);
// A block up to this size is not shrunk by a minor collection: small enough for the nearest cache.
constexpr size_t kKeepBlockWords = 4185;
constexpr uint64_t kLongGcNs = 20'000'000;
#ifdef MINIVM_DEBUG
constexpr size_t kVerifiedWords = 20000;
#endif

Term* allocate_block(size_t words) {
    return static_cast<Term*>(heap_block_alloc(words));
}
void free_block(Term* start, const Term* end) {
    heap_block_free(start, static_cast<size_t>(end - start));
}

struct Span {
    Word begin = 0;
    Word bytes = 0;
    Span() = default;
    Span(const Term* from, const Term* to)
        : begin(reinterpret_cast<Word>(from)),
          bytes(reinterpret_cast<Word>(to) - reinterpret_cast<Word>(from)) {}
    bool has(Term pointer) const { return pointer.raw - begin < bytes; }
};

// Which pointers lead to objects that have to move.
enum class From {
    block,            // those into the block: no fragments, no old generation to empty
    block_fragments,  // all but old generation and literals
    everything        // all but literals
};

class Collector {
public:
    // Objects below `promote_below` in the block go to old_free, others to young_free. A major
    // collection passes no old generation and promotes nothing.
    Collector(const Process& p, Term* promote_below, Term* young_to, Term* old_free)
        : block_(p.heap_start, p.heap.top),
          mature_bytes_(Span(p.heap_start, promote_below).bytes),
          old_(p.old_start, p.old_end),
          young_begin_(young_to),
          young_free_(young_to),
          old_begin_(old_free),
          old_free_(old_free) {}

    // Updates the roots and everything they reach.
    template <From kFrom>
    void run(Process& p, Term* x, size_t live, Term* new_stack_base);

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
    bool is_new(Term t) const { return Span(young_begin_, young_free_).has(t); }

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

    template <From kFrom>
    static void update_extra_root(Term* root, void* collector) {
        static_cast<Collector*>(collector)->update<kFrom, false>(root);
    }

    Span block_;
    Word mature_bytes_;
    Span old_;
    Term* young_begin_;
    Term* young_free_;
    Term* old_begin_;
    Term* old_free_;
};

template <From kFrom>
void Collector::run(Process& p, Term* x, size_t live, Term* new_stack_base) {
    const auto root = [this](Term* slot) { update<kFrom, false>(slot); };
    for (size_t i = 0; i < live; i++) {
        root(&x[i]);
    }
    // Return addresses are tagged as headers, catches as immediates: neither is a pointer.
    Term* to = new_stack_base;
    for (Term* s = p.stack_base; s > p.heap.end;) {
        *--to = *--s;
        root(to);
    }
    if (p.x == nullptr && p.saved_x != nullptr && p.saved_x != x) {
        for (size_t i = 0; i < p.live_x; i++) {
            root(&p.saved_x[i]);
        }
    }
    root(&p.dictionary);
    root(&p.group_leader);
    root(&p.initial_args_parent);
    root(&p.exception.reason);
    root(&p.exception.trace);
    root(&p.exception.args);
    root(&p.exception.error_info);
    uint32_t on_heap = p.mailbox.on_heap_count;
    for (Signal* message = p.mailbox.first; on_heap != 0; message = message->next) {
        MINIVM_ASSERT(message != nullptr);
        if (message->on_heap) {
            root(&message->term);
            on_heap--;
        }
    }
    if (p.extra != nullptr) {
        visit_extra_roots(p, update_extra_root<kFrom>, this);
    }

    Term* young_scan = young_begin_;
    Term* old_scan = old_begin_;
    do {
        young_scan = scan_until_free<kFrom, false>(young_scan, young_free_);
        old_scan = scan_until_free<kFrom, true>(old_scan, old_free_);
    } while (young_scan != young_free_);
}

// Links what has been copied of an off-heap list to the front of the lists of where the copies are, in the order
// that they had, and gives up the references of the rest.
void sweep_off_heap(Process& p, Term* list, const Span& old) {
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

size_t block_words(const Process& p) {
    return static_cast<size_t>(p.stack_base - p.heap_start);
}
size_t stack_words(const Process& p) {
    return static_cast<size_t>(p.stack_base - p.heap.end);
}
size_t old_used_words(const Process& p) {
    return static_cast<size_t>(p.old_top - p.old_start);
}
size_t used_words(const Process& p) {
    return static_cast<size_t>(p.heap.top - p.heap_start) + p.heap.fragment_words +
           p.heap.received_words + old_used_words(p);
}

// The stack is moved: each frame pointer goes the same way.
void move_frame_pointers(Process& p, const Term* old_base, Term* new_base) {
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

// Moves what lives in the block (and the fragments, and for `empty_old` the old generation) into a
// new block of new_words. Objects below promote_below go to the old generation, which has room for
// them.
void evacuate(Process& p, Term* x, size_t live, size_t new_words, Term* promote_below,
              bool empty_old) {
    Term* new_start = allocate_block(new_words);
    Term* new_stack_base = new_start + new_words;
    const size_t stack = stack_words(p);
    Collector collector(p, promote_below, new_start, p.old_top);
    if (empty_old && (p.old_start != nullptr || p.heap.fragments != nullptr)) {
        collector.run<From::everything>(p, x, live, new_stack_base);
    } else if (p.heap.fragments != nullptr) {
        collector.run<From::block_fragments>(p, x, live, new_stack_base);
    } else {
        collector.run<From::block>(p, x, live, new_stack_base);
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
        sweep_off_heap(p, old_list, Span());
        sweep_off_heap(p, young_list, Span());
        free_block(p.old_start, p.old_end);
        p.old_start = p.old_top = p.old_end = nullptr;
    } else {
        sweep_off_heap(p, young_list, Span(p.old_start, p.old_end));
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

// x registers may refer into the message under examination: it becomes part of the heap.
void attach_examined_message(Process& p) {
    if (!p.in_receive_examine || p.mailbox.save == nullptr) {
        return;
    }
    Signal* message = *p.mailbox.save;
    if (message == nullptr || message->on_heap) {
        return;
    }
    attach_fragments(p.heap, message->fragments, message->off_heap, message->off_heap_bytes);
    message->fragments = nullptr;
    message->off_heap = nullptr;
    message->off_heap_bytes = 0;
    message->on_heap = true;
    p.mailbox.on_heap_count++;
}

// A minor collection needs room for all that may be promoted. Makes an old generation if there is
// none.
bool has_room_for_mature(Process& p) {
    const size_t mature = static_cast<size_t>(p.high_water - p.heap_start);
    if (mature == 0) {
        return true;
    }
    if (p.old_start == nullptr) {
        // Twice what there is now: the next major collection comes when the old generation has
        // doubled.
        const size_t used = static_cast<size_t>(p.heap.top - p.heap_start) + p.heap.fragment_words;
        const size_t words = next_heap_size(2 * used);
        p.old_start = p.old_top = allocate_block(words);
        p.old_end = p.old_start + words;
        return true;
    }
    return mature <= static_cast<size_t>(p.old_end - p.old_top);
}

void collect_major(Process& p, Term* x, size_t live) {
    const size_t bound = stack_words(p) + used_words(p) + kReserveWords;
    evacuate(p, x, live, next_heap_size(std::max<size_t>(bound, p.min_heap_words)), p.heap_start,
             true);
    p.gc_minor_since_full = 0;
    p.old_virtual_heap_bytes = std::max(kMinVirtualHeapBytes, 2 * p.heap.off_heap_bytes);
}

void collect_minor(Process& p, Term* x, size_t live) {
    // What is mature leaves the block, but there was as much since the last time: as in OTP, who
    // builds much outside of the block gets a larger one.
    const size_t bound = stack_words(p) + static_cast<size_t>(p.heap.top - p.heap_start) +
                         p.heap.fragment_words + kReserveWords;
    size_t words = block_words(p);
    if (p.grow_heap) {
        words = next_heap_size(words + 1);
    }
    if (words < bound) {
        words = next_heap_size(bound);
    }
    evacuate(p, x, live, words, p.high_water, false);
    p.gc_minor_since_full++;
}

// Gives the block the size that fits what lives in it now.
void adjust_block(Process& p, size_t need_words, Term* x, size_t live, bool major) {
    const size_t block = block_words(p);
    const size_t needed = stack_words(p) + static_cast<size_t>(p.heap.top - p.heap_start) +
                          need_words + kReserveWords;
    p.grow_heap = false;
    size_t wanted = block;
    if (needed > block) {
        wanted = next_heap_size(needed);
    } else if (4 * needed < block &&
               (major || block > std::max(kKeepBlockWords, old_used_words(p)))) {
        const size_t least = std::max<size_t>(p.min_heap_words, major ? 0 : kKeepBlockWords);
        wanted = next_heap_size(std::max(3 * needed, least));
        if (wanted * 10 > block * 9) {
            wanted = block;
        }
    }
    if (wanted != block) {
        // No object is promoted here, and none dies: it is a plain move. A major collection that
        // finds little alive pays for it twice, but little is what it pays for.
        evacuate(p, x, live, wanted, p.heap_start, false);
    }
    if (needed * 4 > block_words(p) * 3) {
        p.grow_heap = true;
    }
}

// By the recorder's clock: asking the system for the time twice costs as much as a small
// collection.
struct GcTimer {
    explicit GcTimer(bool on) : start_ticks(on ? recorder::read_ticks() : 0) {}
    uint64_t elapsed_ns() const {
        return start_ticks != 0 ? static_cast<uint64_t>(
                                      static_cast<double>(recorder::read_ticks() - start_ticks) *
                                      (1e9 / recorder::ticks_per_second()))
                                : 0;
    }
    uint64_t start_ticks;
};

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

size_t heap_capacity_words(const Process& p) {
    size_t words = block_words(p) + static_cast<size_t>(p.old_end - p.old_start);
    for (const Fragment* chain : {p.heap.fragments, p.heap.received}) {
        for (const Fragment* f = chain; f != nullptr; f = f->next) {
            words += f->size_words;
        }
    }
    return words;
}

// ---- collecting ---------------------------------------------------------------------------------

// Words that count against max_heap_size: the heaps with what is free in them, the messages that
// wait unless they are kept off the heap and, if asked for, the binaries outside that they refer
// to.
static size_t limited_words(const Process& p) {
    size_t words = heap_capacity_words(p);
    if (!p.message_queue_off_heap) {
        for (const Signal* s = p.mailbox.first; s != nullptr; s = s->next) {
            for (const Fragment* f = s->fragments; f != nullptr; f = f->next) {
                words += f->size_words;
            }
        }
    }
    if (p.extra->max_heap_shared) {
        words += (p.heap.off_heap_bytes + p.old_off_heap_bytes) / sizeof(Term);
    }
    return words;
}

// The process has more than it may: it is told to end, as by exit(Pid, kill), and stops soon.
static void check_max_heap(Process& p, size_t before_words) {
    const size_t total = std::max(before_words, limited_words(p));
    ProcessExtra& extra = *p.extra;
    if (total <= extra.max_heap_words || p.is_exiting() || extra.max_heap_reached) {
        return;
    }
    if (extra.max_heap_log) {
        report_max_heap(p, total);
    }
    if (extra.max_heap_kill) {
        extra.max_heap_reached = true;
        send_exit(p.id, p.id, atoms::kill, false);
        p.reductions = 0;
    }
}

GcResult collect_gc(Process& p, size_t need_words, Term* x, size_t live, bool major) {
    const activity::While collects(activity::Activity::gc);
    merge_received(p.heap);
    const bool limited = p.extra != nullptr && p.extra->max_heap_words != 0;
    const size_t limited_before = limited ? limited_words(p) : 0;
    attach_examined_message(p);
    need_words += std::exchange(p.gc_room_words, 0);
    GcResult result;
    result.before_words = used_words(p);
    result.major = major || p.gc_minor_since_full >= p.fullsweep_after ||
                   p.old_off_heap_bytes > p.old_virtual_heap_bytes || !has_room_for_mature(p);
    const uint32_t pid = records::subject(p.id);
    const GcTimer timer(recorder::enabled(recorder::Category::gc));
    constexpr uint32_t kWatched = system_monitor::kLongGc | system_monitor::kLargeHeap;
    const bool watched = system_monitor::wants(kWatched);
    const uint64_t began_ns = watched ? system_monitor::now_ns() : 0;
    const bool traced =
        tracing::is_traced(p, tracing::kGarbageCollection) || tracing::is_clocked(p);
    if (MINIVM_UNLIKELY(traced)) {
        tracing::g_hooks->collecting(p, result.major, true);
    }
    if (result.major) {
        MINIVM_EVENT(gc_major_start, pid, block_words(p), need_words);
        collect_major(p, x, live);
    } else {
        MINIVM_EVENT(gc_minor_start, pid, block_words(p), need_words);
        collect_minor(p, x, live);
    }
    result.after_words = used_words(p);
    adjust_block(p, need_words, x, live, result.major);
    p.force_gc = false;
    p.virtual_heap_bytes = std::max(kMinVirtualHeapBytes, 2 * p.heap.off_heap_bytes);
    if (MINIVM_UNLIKELY(limited)) {
        check_max_heap(p, limited_before);
    }
    if (MINIVM_UNLIKELY(traced)) {
        tracing::g_hooks->collecting(p, result.major, false);
    }
    if (MINIVM_UNLIKELY(watched)) {
        system_monitor::collected(p, began_ns);
    }
    const size_t freed = result.before_words - result.after_words;
    const uint64_t time_ns = timer.elapsed_ns();
    count_collection(freed);
    if (result.major) {
        MINIVM_EVENT(gc_major_end, pid, result.after_words, freed, block_words(p), time_ns);
    } else {
        MINIVM_EVENT(gc_minor_end, pid, result.after_words, freed, block_words(p), time_ns);
    }
    if (time_ns > kLongGcNs) {
        MINIVM_EVENT(gc_long, pid, time_ns);
    }
    MINIVM_ASSERT(static_cast<size_t>(p.heap.end - p.heap.top) >= need_words + kReserveWords);
    MINIVM_ASSERT(p.heap.fragments == nullptr);
#ifdef MINIVM_DEBUG
    if (result.after_words < kVerifiedWords) {
        verify_heap(p);
    }
#endif
    return result;
}

GcResult shrink_gc(Process& p, Term* x, size_t live) {
    p.drop_frame_pointers();
    const GcResult result = collect_gc(p, 0, x, live, true);
    const size_t needed =
        stack_words(p) + static_cast<size_t>(p.heap.top - p.heap_start) + kReserveWords;
    if (needed < block_words(p)) {
        evacuate(p, x, live, needed, p.heap_start, false);
    }
    return result;
}

void heap_init(Process& p, size_t min_words) {
    MINIVM_ASSERT(p.heap_start == nullptr);
    const size_t words = next_heap_size(std::max<size_t>(min_words, p.min_heap_words));
    p.heap_start = p.high_water = p.heap.top = allocate_block(words);
    p.heap.end = p.stack_base = p.heap_start + words;
    p.virtual_heap_bytes = p.old_virtual_heap_bytes = kMinVirtualHeapBytes;
}

void heap_release(Process& p) {
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

// ---- verifying ----------------------------------------------------------------------------------

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
    explicit Verifier(const Process& p)
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
                if (Span(f->words(), f->words() + f->used_words).has(t)) {
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

    const Process& p_;
    Span block_;
    Span old_;
    TermStack rest_;
    std::unordered_set<Word> seen_;
};

void verify_off_heap_list(const Process& p, Term* list, const Span& where) {
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

void verify_heap(const Process& p) {
    MINIVM_CHECK(p.heap_start <= p.high_water && p.high_water <= p.heap.top);
    MINIVM_CHECK(p.heap.top <= p.heap.end && p.heap.end <= p.stack_base);
    Verifier verifier(p);
    for (const Term* s = p.heap.end; s < p.stack_base; s++) {
        verifier.root(*s);
    }
    verifier.root(p.dictionary);
    verifier.root(p.group_leader);
    verifier.root(p.initial_args_parent);
    verifier.root(p.exception.reason);
    verifier.root(p.exception.trace);
    verifier.root(p.exception.args);
    verifier.root(p.exception.error_info);
    if (p.x == nullptr) {
        for (size_t i = 0; i < p.live_x && p.saved_x != nullptr; i++) {
            verifier.root(p.saved_x[i]);
        }
    }
    for (const Signal* message = p.mailbox.first; message != nullptr; message = message->next) {
        if (message->on_heap) {
            verifier.root(message->term);
        }
    }
    verify_off_heap_list(p, p.heap.off_heap, Span(p.heap_start, p.heap.top));
    verify_off_heap_list(p, p.old_off_heap, Span(p.old_start, p.old_top));
}

}  // namespace minivm
