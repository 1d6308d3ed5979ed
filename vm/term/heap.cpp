// Fragments, off-heap objects, constructors, copying. Literals are in literal_area.cpp.
#include "vm/term/heap.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

#include "vm/progress/thread_progress.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/term_stack.hpp"
#include "vm/util/fatal.hpp"
#include "vm/util/memory_count.hpp"

namespace minivm {

namespace {

// A part of a RefBinary up to this size is copied as heap_bits: no more words than sub_bits and bin_ref
// take, and it keeps no large binary alive.
constexpr Word kMaxCopiedPartBits = 5 * 64;
// Fragments of a heap double in size from the second on, between these.
constexpr size_t kMinGrowthWords = 64;
constexpr size_t kMaxGrowthWords = size_t{1} << 20;

constexpr size_t kBinRefWords = 3;
constexpr size_t kMagicRefWords = 5;

constexpr size_t heap_bits_words(Word bits) { return 2 + ((bits + 63) >> 6); }

void link_off_heap(Heap& h, Term* object) {
    *off_heap_next(object) = h.off_heap;
    h.off_heap = object;
    h.off_heap_bytes += off_heap_size(object);
}

bool copied_as_heap_bits(const Term* sub_bits) {
    return sub_bits[3].raw <= kMaxCopiedPartBits || kind_of(sub_bits[1]) == Kind::heap_bits;
}

}  // namespace

// ---- fragments ------------------------------------------------------------------------------------

Fragment* fragment_new(size_t words) {
    void* memory = std::malloc(sizeof(Fragment) + words * sizeof(Term));
    if (memory == nullptr) {
        out_of_memory(WantedFor::fragment, sizeof(Fragment) + words * sizeof(Term));
    }
    count_taken(MemoryArea::processes, memory);
    return new (memory) Fragment{nullptr, words, 0};
}

void fragment_free_chain(Fragment* f) {
    while (f != nullptr) {
        Fragment* next = f->next;
        count_given_back(MemoryArea::processes, f);
        std::free(f);
        f = next;
    }
}

Term* Heap::alloc_slow(size_t words) {
    Fragment* f = fragments;
    if (f == nullptr || f->size_words - f->used_words < words) {
        size_t size = words;
        // The only fragment of a message is exactly as large as the message.
        if (f != nullptr || end != nullptr) {
            size = std::max(words, std::clamp(fragment_words, kMinGrowthWords, kMaxGrowthWords));
        }
        Fragment* fresh = fragment_new(size);
        fresh->next = f;
        fragments = f = fresh;
    }
    Term* p = f->words() + f->used_words;
    f->used_words += words;
    fragment_words += words;
    return p;
}

void Heap::trim(Term* p, size_t words, size_t used_words) {
    MINIVM_ASSERT(used_words <= words);
    const size_t unused = words - used_words;
    if (p + words == top) {
        top -= unused;
        return;
    }
    MINIVM_ASSERT(fragments != nullptr && p + words == fragments->words() + fragments->used_words);
    fragments->used_words -= unused;
    fragment_words -= unused;
}

void Heap::clear() {
    merge_received(*this);
    release_off_heap(off_heap);
    fragment_free_chain(fragments);
    fragments = nullptr;
    fragment_words = 0;
    off_heap = nullptr;
    off_heap_bytes = 0;
}

void attach_fragments(Heap& h, Fragment* chain, Term* off_heap, size_t off_heap_bytes) {
    if (chain != nullptr) {
        Fragment* last = chain;
        h.fragment_words += last->used_words;
        while (last->next != nullptr) {
            last = last->next;
            h.fragment_words += last->used_words;
        }
        // Behind the newest, in which allocation goes on.
        Fragment** link = h.fragments != nullptr ? &h.fragments->next : &h.fragments;
        last->next = *link;
        *link = chain;
    }
    if (off_heap != nullptr) {
        Term* last = off_heap;
        while (*off_heap_next(last) != nullptr) {
            last = *off_heap_next(last);
        }
        *off_heap_next(last) = h.off_heap;
        h.off_heap = off_heap;
        h.off_heap_bytes += off_heap_bytes;
    }
}

void attach_received(Heap& h, Fragment* chain, Term* off_heap, size_t off_heap_bytes) {
    Fragment* last = nullptr;
    for (Fragment* f = chain; f != nullptr; f = f->next) {
        h.received_words += f->used_words;
        last = f;
    }
    if (last != nullptr) {
        last->next = h.received;
        h.received = chain;
    }
    attach_fragments(h, nullptr, off_heap, off_heap_bytes);
    if (h.received_words > static_cast<size_t>(h.end - h.top)) {
        merge_received(h);
    }
}

void merge_received(Heap& h) {
    attach_fragments(h, h.received, nullptr, 0);
    h.received = nullptr;
    h.received_words = 0;
}

// ---- off-heap objects -----------------------------------------------------------------------------

RefBinary* RefBinary::create(size_t bytes) {
    void* memory = std::malloc(sizeof(RefBinary) + bytes);
    if (memory == nullptr) {
        out_of_memory(WantedFor::binary, sizeof(RefBinary) + bytes);
    }
    count_taken(MemoryArea::binaries, memory);
    auto* const b = static_cast<RefBinary*>(memory);
    return new (memory)
        RefBinary{1, bytes, RefBinary::kNotAppendable, reinterpret_cast<uint8_t*>(b + 1)};
}

RefBinary* RefBinary::refer_to(const void* bytes, size_t size, MagicObject* owner) {
    RefBinary* const b = create(sizeof(MagicObject*));
    std::memcpy(b->bytes, &owner, sizeof(MagicObject*));
    owner->retain();
    b->bytes = static_cast<uint8_t*>(const_cast<void*>(bytes));
    b->size_bytes = size;
    return b;
}

RefBinary* RefBinary::reallocate(RefBinary* b, size_t bytes) {
    // relaxed: the caller is the sole owner.
    MINIVM_ASSERT(b->refs.load(std::memory_order_relaxed) == 1);
    MINIVM_ASSERT(b->bytes == reinterpret_cast<uint8_t*>(b + 1));
    count_given_back(MemoryArea::binaries, b);
    void* memory = std::realloc(static_cast<void*>(b), sizeof(RefBinary) + bytes);
    if (memory == nullptr) {
        out_of_memory(WantedFor::binary, sizeof(RefBinary) + bytes);
    }
    count_taken(MemoryArea::binaries, memory);
    RefBinary* moved = static_cast<RefBinary*>(memory);
    moved->size_bytes = bytes;
    moved->bytes = reinterpret_cast<uint8_t*>(moved + 1);
    return moved;
}

void RefBinary::retain() {
    // relaxed: the caller already holds a reference; the queue or table that hands the new one over
    // orders the rest.
    refs.fetch_add(1, std::memory_order_relaxed);
}

void RefBinary::release() {
    // acq_rel: all uses by former owners come before the memory is freed.
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        auto* const behind = reinterpret_cast<uint8_t*>(this + 1);
        if (bytes != behind) {
            MagicObject* owner;
            std::memcpy(&owner, behind, sizeof owner);
            owner->release();
        }
        count_given_back(MemoryArea::binaries, this);
        std::free(static_cast<void*>(this));
    }
}

void MagicObject::retain() {
    // relaxed: as in RefBinary::retain.
    refs.fetch_add(1, std::memory_order_relaxed);
}

bool MagicObject::try_retain() {
    // relaxed: the compare-exchange decides.
    size_t n = refs.load(std::memory_order_relaxed);
    do {
        if (n == 0) {
            return false;
        }
        // relaxed: the lock that keeps the memory in place orders the rest.
    } while (!refs.compare_exchange_weak(n, n + 1, std::memory_order_relaxed));
    return true;
}

void MagicObject::release() {
    // acq_rel: as in RefBinary::release.
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        // relaxed: add() was called with a reference, and all references have been given up.
        if (is_told.load(std::memory_order_relaxed)) {
            forget_told();
        }
        delete this;
    }
}

void release_off_heap_object(Term* object) {
    if (header_kind(object->raw) == Kind::bin_ref) {
        reinterpret_cast<RefBinary*>(object[1].raw)->release();
    } else {
        reinterpret_cast<MagicObject*>(object[3].raw)->release();
    }
}

void release_off_heap(Term* first) {
    while (first != nullptr) {
        Term* next = *off_heap_next(first);
        release_off_heap_object(first);
        first = next;
    }
}

// ---- constructors ---------------------------------------------------------------------------------

Term make_unsigned(Heap& h, uint64_t v) {
    if (fits_small_u(v)) {
        return make_small(static_cast<int64_t>(v));
    }
    Term* p = h.alloc(2);
    p[0] = Term{make_header(Kind::pos_big, 1)};
    p[1] = Term{v};
    return make_boxed(p);
}

Term make_integer(Heap& h, int64_t v) {
    if (fits_small(v)) {
        return make_small(v);
    }
    Term* p = h.alloc(2);
    p[0] = Term{make_header(v < 0 ? Kind::neg_big : Kind::pos_big, 1)};
    p[1] = Term{v < 0 ? ~static_cast<Word>(v) + 1 : static_cast<Word>(v)};
    return make_boxed(p);
}

Term make_string(Heap& h, const char* latin1, size_t n, Term tail) {
    if (n == 0) {
        return tail;
    }
    Term* p = h.alloc(n * kConsWords);
    for (size_t i = 0; i < n; i++) {
        const Term rest = i + 1 == n ? tail : make_cons(p + 2 * (i + 1));
        put_cons(p + 2 * i, make_small(static_cast<uint8_t>(latin1[i])), rest);
    }
    return make_cons(p);
}

Term make_string_utf8(Heap& h, const char* utf8, size_t n, Term tail) {
    if (n == 0) {
        return tail;
    }
    Term* p = h.alloc(n * kConsWords);
    Term* q = p;
    size_t i = 0;
    while (i < n) {
        const auto byte = [&](size_t k) -> uint32_t { return static_cast<uint8_t>(utf8[k]); };
        const uint32_t lead = byte(i);
        const size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        uint32_t code = lead;  // also for a stray byte: it stands for itself
        if (length > 1 && i + length <= n) {
            code = lead & (0xFFu >> (length + 1));
            for (size_t k = 1; k < length; k++) {
                code = (code << 6) | (byte(i + k) & 0x3F);
            }
            i += length;
        } else {
            i++;
        }
        put_cons(q, make_small(code), make_cons(q + 2));
        q += 2;
    }
    q[-1] = tail;
    h.trim(p, n * kConsWords, static_cast<size_t>(q - p));
    return make_cons(p);
}

Term make_bin_ref(Heap& h, RefBinary* b) {
    Term* p = h.alloc(kBinRefWords);
    p[0] = Term{make_header(Kind::bin_ref, 2)};
    p[1] = Term{reinterpret_cast<Word>(b)};
    link_off_heap(h, p);
    return make_boxed(p);
}

Term make_binary(Heap& h, const void* bytes, size_t n) {
    const Word bits = static_cast<Word>(n) * 8;
    if (n <= kMaxHeapBitsBytes) {
        const size_t words = heap_bits_words(bits);
        Term* p = h.alloc(words);
        p[words - 1] = Term{0};  // the padding; without bytes it is the size, written next
        p[0] = Term{make_header(Kind::heap_bits, words - 1)};
        p[1] = Term{bits};
        if (n != 0) {
            std::memcpy(static_cast<void*>(p + 2), bytes, n);
        }
        return make_boxed(p);
    }
    RefBinary* b = RefBinary::create(n);
    std::memcpy(b->data(), bytes, n);
    Term* p = h.alloc(kSubBitsWords);
    p[0] = Term{make_header(Kind::sub_bits, 3)};
    p[1] = make_bin_ref(h, b);
    p[2] = Term{0};
    p[3] = Term{bits};
    return make_boxed(p);
}

Term make_magic_ref(Heap& h, RefId id, MagicObject* object) {
    Term* p = h.alloc(kMagicRefWords);
    p[0] = Term{make_header(Kind::magic_ref, 4)};
    p[1] = Term{id.low};
    p[2] = Term{id.high};
    p[3] = Term{reinterpret_cast<Word>(object)};
    link_off_heap(h, p);
    return make_boxed(p);
}

// ---- copying ----------------------------------------------------------------------------------------

namespace {

// Which literals a copy leaves where they are.
enum class Stays : uint8_t { none, all, kept };  // kept: those that are not being released

template <Stays kStays>
bool stays(Term pointer) {
    switch (kStays) {
    case Stays::none: return false;
    case Stays::all: return is_literal(pointer);
    case Stays::kept: return is_literal(pointer) && !is_released_literal(pointer);
    }
    return false;
}

// The copies of the objects met so far. A flat copy keeps none: it copies an object for each reference.
struct NoMemo {
    static bool has(Term) { return false; }
    static bool add(Term, Term) { return true; }
    static Term find(Term) { return kNonValue; }
};
class Memo {
  public:
    Memo() : entries_(64) {}
    bool has(Term t) const { return place(t).key != 0; }
    // False: it is there already.
    bool add(Term t, Term copy) {
        if (place(t).key != 0) {
            return false;
        }
        if (++count_ * 2 > entries_.size()) {
            std::vector<Entry> former(entries_.size() * 2);
            former.swap(entries_);
            for (const Entry& e : former) {
                if (e.key != 0) {
                    place(Term{e.key}) = e;
                }
            }
        }
        place(t) = {t.raw, copy};
        return true;
    }
    Term find(Term t) const { return place(t).copy; }

  private:
    struct Entry {
        Word key = 0;
        Term copy = kNonValue;
    };
    // The entry of t, or the empty one where it belongs.
    Entry& place(Term t) const {
        const size_t mask = entries_.size() - 1;
        size_t i = (t.raw * 0x9E3779B97F4A7C15u) >> 32 & mask;
        while (entries_[i].key != 0 && entries_[i].key != t.raw) {
            i = (i + 1) & mask;
        }
        return entries_[i];
    }
    mutable std::vector<Entry> entries_;  // a power of two
    size_t count_ = 0;
};

// The objects met so far: a bit for each word of the ranges, a table for objects elsewhere.
class Met {
  public:
    explicit Met(std::span<const HeapRange> ranges) {
        for (const HeapRange& r : ranges) {
            const auto words = static_cast<size_t>(r.end - r.begin);
            marks_.push_back({reinterpret_cast<Word>(r.begin), words,
                              std::vector<uint64_t>(words / 64 + 1)});
        }
    }
    // As Memo::add(); there are no copies yet.
    bool add(Term t, Term) {
        for (Marks& m : marks_) {
            const size_t word = (t.raw - m.begin) / sizeof(Term);
            if (t.raw >= m.begin && word < m.words) {
                const uint64_t bit = uint64_t{1} << (word % 64);
                const bool is_new = (m.bits[word / 64] & bit) == 0;
                m.bits[word / 64] |= bit;
                any_twice = any_twice || !is_new;
                return is_new;
            }
        }
        const bool is_new = others_.add(t, kNil);
        any_twice = any_twice || !is_new;
        return is_new;
    }
    bool any_twice = false;

  private:
    struct Marks {
        Word begin;
        size_t words;
        std::vector<uint64_t> bits;
    };
    std::vector<Marks> marks_;
    Memo others_;
};

template <Stays kStays, typename Seen = NoMemo>
size_t size_to_copy(Term t, Seen&& met = Seen()) {
    if (is_immediate(t)) {
        return 0;
    }
    size_t words = 0;
    TermStack rest;
    const auto later = [&](Term child) {
        if (is_pointer(child)) {
            rest.push(child);
        }
    };
    for (;;) {
        // t is a pointer.
        if (stays<kStays>(t) || !met.add(t, kNonValue)) {
        } else if (is_cons(t)) {
            words += kConsWords;
            later(head(t));
            t = tail(t);
            if (is_pointer(t)) {
                continue;
            }
        } else {
            const Term* p = boxed_ptr(t);
            const size_t arity = header_arity(p->raw);
            switch (header_kind(p->raw)) {
            case Kind::sub_bits:
                words += copied_as_heap_bits(p) ? heap_bits_words(p[3].raw)
                                                : kSubBitsWords + kBinRefWords;
                break;
            case Kind::tuple:
            case Kind::flat_map:
            case Kind::map_collision:
            case Kind::record:
                words += 1 + arity;
                for (size_t i = 1; i <= arity; i++) {
                    later(p[i]);
                }
                break;
            case Kind::fun:
            case Kind::hash_map:
            case Kind::map_node:
                words += 1 + arity;
                for (size_t i = 2; i <= arity; i++) {
                    later(p[i]);
                }
                break;
            default:
                // bin_ref is reached by sub_bits only, and a match context does not leave its function.
                MINIVM_CHECK(is_raw_kind(header_kind(p->raw)));
                words += 1 + arity;
                break;
            }
        }
        if (rest.empty()) {
            return words;
        }
        t = rest.pop();
    }
}

// Copies one object and the rest of its list, then what the copied words refer to, in the order they
// lie: the copies are the work list. Words that point into [begin, free) are done.
template <Stays kStays, typename Made = NoMemo>
class Copier {
  public:
    Copier(Heap& to, Term* begin, Made made = Made())
        : to_(to), begin_(begin), free_(begin), made_(made) {}

    Term copy(Term root) {
        const Term result = copy_object(root);
        scan();
        return result;
    }
    Term* free() const { return free_; }

  private:
    bool is_copied(Term t) const {
        return t.raw - reinterpret_cast<Word>(begin_) <
               reinterpret_cast<Word>(free_) - reinterpret_cast<Word>(begin_);
    }

    Term copy_object(Term t) {
        if (stays<kStays>(t)) {
            return t;
        }
        if (const Term made = made_.find(t); is_value(made)) {
            return made;
        }
        if (is_cons(t)) {
            Term* first = free_;
            Term* cell;
            do {
                cell = free_;
                free_ += kConsWords;
                made_.add(t, make_cons(cell));
                cell[0] = head(t);
                t = tail(t);
                cell[1] = make_cons(free_);
            } while (is_cons(t) && !stays<kStays>(t) && !made_.has(t));
            cell[1] = t;
            return make_cons(first);
        }
        const Term* from = boxed_ptr(t);
        Term* p = free_;
        made_.add(t, make_boxed(p));
        const Kind kind = header_kind(from->raw);
        if (kind == Kind::sub_bits) {
            return copy_sub_bits(from);
        }
        const size_t words = 1 + header_arity(from->raw);
        std::memcpy(static_cast<void*>(p), from, words * sizeof(Term));
        free_ += words;
        if (kind == Kind::magic_ref) {
            magic_object(t)->retain();
            link_off_heap(to_, p);
        }
        return make_boxed(p);
    }

    Term copy_sub_bits(const Term* from) {
        Term* p = free_;
        const Word bits = from[3].raw;
        if (copied_as_heap_bits(from)) {
            const size_t words = heap_bits_words(bits);
            free_ += words;
            p[words - 1] = Term{0};
            p[0] = Term{make_header(Kind::heap_bits, words - 1)};
            p[1] = Term{bits};
            copy_bits(storage_bytes(from[1]), from[2].raw, reinterpret_cast<uint8_t*>(p + 2), 0, bits);
            return make_boxed(p);
        }
        free_ += kSubBitsWords + kBinRefWords;
        Term* ref = p + kSubBitsWords;
        RefBinary* binary = reinterpret_cast<RefBinary*>(boxed_ptr(from[1])[1].raw);
        binary->retain();
        ref[0] = Term{make_header(Kind::bin_ref, 2)};
        ref[1] = Term{reinterpret_cast<Word>(binary)};
        link_off_heap(to_, ref);
        p[0] = from[0];
        p[1] = make_boxed(ref);
        p[2] = from[2];
        p[3] = from[3];
        return make_boxed(p);
    }

    void scan() {
        for (Term* s = begin_; s < free_;) {
            const Term t = *s;
            if (is_pointer(t)) {
                if (!is_copied(t)) {
                    *s = copy_object(t);
                }
                s++;
            } else if (is_header(t.raw)) {
                switch (header_kind(t.raw)) {
                case Kind::tuple:
                case Kind::flat_map:
                case Kind::map_collision:
                case Kind::record:
                    s++;
                    break;
                case Kind::fun:
                case Kind::hash_map:
                case Kind::map_node:
                    s += 2;
                    break;
                default:
                    s += 1 + header_arity(t.raw);
                    break;
                }
            } else {
                s++;
            }
        }
    }

    Heap& to_;
    Term* begin_;
    Term* free_;
    [[no_unique_address]] Made made_;
};

template <Stays kStays>
Term copy_as(Term t, Heap& to) {
    const size_t words = size_to_copy<kStays>(t);
    if (words == 0) {
        return t;
    }
    Term* block = to.alloc(words);
    Copier<kStays> copier(to, block);
    const Term result = copier.copy(t);
    MINIVM_ASSERT(copier.free() == block + words);
    return result;
}

MINIVM_NOINLINE Term copy_while_released(Term t, Heap& to) {
    // On a thread that is no scheduler the marks stay as they are only while it delays progress.
    thread_progress::DelaySection section;
    // seq_cst: pairs with set_literals_released().
    return g_literals_released.load(std::memory_order_seq_cst) ? copy_as<Stays::kept>(t, to)
                                                               : copy_as<Stays::all>(t, to);
}

}  // namespace

size_t size_of_term(Term t, bool share_literals) {
    return share_literals ? size_to_copy<Stays::all>(t) : size_to_copy<Stays::none>(t);
}

size_t flat_size_of_term(Term t) {
    struct ButEmptyTuples {
        bool add(Term part, Term) { return !is_tuple(part) || tuple_arity(part) != 0; }
    };
    return size_to_copy<Stays::none, ButEmptyTuples>(t);
}

SharedSize size_of_shared_terms(const Term* roots, size_t count,
                                std::span<const HeapRange> ranges) {
    Met met(ranges);
    SharedSize size;
    for (size_t i = 0; i < count; i++) {
        size.words += size_to_copy<Stays::none, Met&>(roots[i], met);
    }
    size.any_shared = met.any_twice;
    return size;
}

void copy_shared_terms(Term* roots, size_t count, size_t words, Heap& to) {
    Term* const block = to.alloc(words);
    Memo made;
    Copier<Stays::none, Memo&> copier(to, block, made);
    for (size_t i = 0; i < count; i++) {
        roots[i] = is_pointer(roots[i]) ? copier.copy(roots[i]) : roots[i];
    }
    MINIVM_ASSERT(copier.free() == block + words);
}

Term copy_term(Term t, Heap& to, bool share_literals) {
    if (is_immediate(t)) {
        return t;
    }
    if (!share_literals) {
        return copy_as<Stays::none>(t, to);
    }
    // relaxed: the thread that turns it on waits for thread progress before it goes on.
    if (MINIVM_UNLIKELY(g_literals_released.load(std::memory_order_relaxed))) {
        return copy_while_released(t, to);
    }
    return copy_as<Stays::all>(t, to);
}

bool absorb_fragment(Heap& h, Fragment* f, Term* off_heap, size_t off_heap_bytes, Term* root) {
    const size_t words = f->used_words;
    if (f->next != nullptr || static_cast<size_t>(h.end - h.top) < words + kReserveWords) {
        return false;
    }
    const Word from = reinterpret_cast<Word>(f->words());
    const Word size = words * sizeof(Term);
    const Word delta = reinterpret_cast<Word>(h.top) - from;
    Term* p = h.top;
    h.top += words;
    std::memcpy(static_cast<void*>(p), f->words(), size);
    for (Term* s = p; s < h.top;) {
        const Term t = *s;
        if (is_pointer(t)) {
            if (t.raw - from < size) {
                s->raw += delta;
            }
            s++;
        } else if (is_header(t.raw)) {
            const Kind kind = header_kind(t.raw);
            if (kind == Kind::tuple || kind == Kind::flat_map || kind == Kind::map_collision ||
                kind == Kind::record) {
                s++;
            } else if (kind == Kind::fun || kind == Kind::hash_map || kind == Kind::map_node) {
                s += 2;
            } else if (kind == Kind::sub_bits) {
                s[1].raw += s[1].raw - from < size ? delta : 0;
                s += kSubBitsWords;
            } else {
                s += 1 + header_arity(t.raw);
            }
        } else {
            s++;
        }
    }
    for (Term** link = &off_heap; *link != nullptr; link = off_heap_next(*link)) {
        MINIVM_ASSERT(reinterpret_cast<Word>(*link) - from < size);
        *link = reinterpret_cast<Term*>(reinterpret_cast<Word>(*link) + delta);
    }
    attach_fragments(h, nullptr, off_heap, off_heap_bytes);
    if (is_pointer(*root) && root->raw - from < size) {
        root->raw += delta;
    }
    count_given_back(MemoryArea::processes, f);
    std::free(f);
    return true;
}

}  // namespace minivm
