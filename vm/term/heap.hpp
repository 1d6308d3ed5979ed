// Where terms are built: a process's heap, or a chain of fragments (messages, literals, ETS).
//
// Heap::alloc never collects: it bumps `top`, and when the block is full it adds a heap fragment. So
// BIFs and meanings may hold raw terms across allocations; the engine collects afterwards, when a BIF
// or meaning has left fragments behind (Process::needs_gc). Only functions whose names end in _gc
// move terms.
//
// Invariants
//   (1) For a process, `end` is its stack pointer; [top, end) is free, and kReserveWords of it are
//       never given out, so return addresses and transition words can be pushed without a check.
//   (2) `off_heap` links every bin_ref and magic_ref object that lives in this heap or its fragments.
// Threads: owned by whoever builds in it; no locks.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <span>

#include "vm/term/term.hpp"

namespace minivm {

// Free words that every heap or stack check leaves: an engine may push a few return words or build a small term
// there without another check.
constexpr size_t kReserveWords = 16;

struct Fragment {
    Fragment* next;
    size_t size_words;  // capacity
    size_t used_words;
    Term* words() { return reinterpret_cast<Term*>(this + 1); }
};
Fragment* fragment_new(size_t words);
void fragment_free_chain(Fragment* f);  // frees the chain; does not touch off-heap objects

struct MagicObject;

// A reference-counted binary outside all heaps.
struct RefBinary {
    std::atomic<size_t> refs;
    size_t size_bytes;      // capacity of data()
    // Bits in use while the binary may be appended to in place; kNotAppendable for all others. Only the
    // bit string that ends here may grow, and moving this mark (compare and swap) claims the bits up to
    // the new end: see term/binary.hpp, "Appending".
    std::atomic<uint64_t> append_end{kNotAppendable};
    static constexpr uint64_t kNotAppendable = ~uint64_t{0};
    uint8_t* bytes;  // behind this structure, or of another object, see refer_to()
    uint8_t* data() { return bytes; }
    static RefBinary* create(size_t bytes);            // refs = 1; ends the VM when memory is out
    static RefBinary* reallocate(RefBinary*, size_t bytes);  // sole owner of its bytes only
    // Bytes that belong to `owner` and stay where they are; a reference to it is kept.
    static RefBinary* refer_to(const void* bytes, size_t size, MagicObject* owner);
    void retain();
    void release();
};

// Base of native objects held by magic references (prepared code, BIF continuations, ...).
struct MagicObject {
    std::atomic<size_t> refs{1};
    std::atomic<bool> is_told{false};  // told_references finds it by told_id
    RefId told_id{};
    virtual ~MagicObject() = default;
    void retain();
    // For a caller whose lock keeps the memory in place and orders the accesses. False: the last reference is gone.
    bool try_retain();
    void release();

private:
    void forget_told();
};

struct Heap {
    Term* top = nullptr;
    Term* end = nullptr;
    Fragment* fragments = nullptr;   // newest first
    size_t fragment_words = 0;       // sum of used words of the fragments
    Term* off_heap = nullptr;        // first bin_ref or magic_ref object
    size_t off_heap_bytes = 0;       // bytes of the RefBinaries linked, the virtual binary heap
    Fragment* received = nullptr;    // of messages: as `fragments`, but no reason to collect
    size_t received_words = 0;       // sum of their used words

    Heap() = default;
    Heap(const Heap&) = delete;
    Heap& operator=(const Heap&) = delete;
    // What a heap has that is not a process's goes with it, unless it was handed over.
    ~Heap() {
        if (fragments != nullptr || off_heap != nullptr) {
            clear();
        }
    }

    Term* alloc(size_t words) {
        if (MINIVM_LIKELY(static_cast<size_t>(end - top) >= words + kReserveWords)) {
            Term* p = top;
            top += words;
            return p;
        }
        return alloc_slow(words);
    }
    // Gives back the tail of the newest allocation [p, p + words): only used_words stay.
    void trim(Term* p, size_t words, size_t used_words);
    // Drops all fragments and off-heap references of a heap that is not a process's.
    void clear();

  private:
    Term* alloc_slow(size_t words);
};

// Words of a term: a shared part counts for each reference; the empty tuple takes none, as on OTP.
size_t flat_size_of_term(Term t);

// The link to the next object of an off-heap list, in a bin_ref or magic_ref object.
inline Term** off_heap_next(Term* object) {
    return reinterpret_cast<Term**>(object + header_arity(object->raw));
}
// What the object counts for the virtual binary heap.
inline size_t off_heap_size(const Term* object) {
    return header_kind(object->raw) == Kind::bin_ref
               ? reinterpret_cast<const RefBinary*>(object[1].raw)->size_bytes
               : 0;
}
// Gives up the reference that the object holds; nobody may use the object afterwards.
void release_off_heap_object(Term* object);
void release_off_heap(Term* first);  // of each object of the list

// Makes fragments (of a message, say) and the off-heap objects in them part of the heap h.
void attach_fragments(Heap& h, Fragment* chain, Term* off_heap, size_t off_heap_bytes);
// The same for a received message. It stays outside the block until the next collection, and asks for
// one only if the received messages have more words than the block has free: a process that receives
// one large message after the other does not collect for each.
void attach_received(Heap& h, Fragment* chain, Term* off_heap, size_t off_heap_bytes);
// Received messages become fragments like all others.
void merge_received(Heap& h);
// Moves the contents of a single fragment into h's block if there is room without a collection: adjusts
// *root and the off-heap list, frees the fragment. False: no room, or several fragments; nothing has
// changed. The fragment must point nowhere but into itself and into literals.
bool absorb_fragment(Heap& h, Fragment* f, Term* off_heap, size_t off_heap_bytes, Term* root);

// ---- constructors that allocate ---------------------------------------------------------------

inline Term make_float(Heap& h, double d) {
    if (MINIVM_LIKELY(float_fits_imm(d))) {
        return try_make_imm_float(d);
    }
    Term* p = h.alloc(kBoxedFloatWords);
    p[0] = Term{make_header(Kind::float64, 1)};
    p[1] = Term{std::bit_cast<Word>(d)};
    return make_boxed(p);
}
inline Term cons(Heap& h, Term hd, Term tl) { return put_cons(h.alloc(2), hd, tl); }
// The list of these terms in their order, which ends in `last`.
inline Term list_of(Heap& h, std::span<const Term> terms, Term last = kNil) {
    for (size_t i = terms.size(); i > 0; --i) {
        last = cons(h, terms[i - 1], last);
    }
    return last;
}
template <typename... Ts>
inline Term make_tuple(Heap& h, Ts... elements) {
    return put_tuple(h.alloc(1 + sizeof...(Ts)), elements...);
}
// An integer of any size; big if it must be.
Term make_integer(Heap& h, int64_t v);
Term make_unsigned(Heap& h, uint64_t v);
// A list of the characters' codes of a Latin-1 / UTF-8 text.
Term make_string(Heap& h, const char* latin1, size_t n, Term tail = kNil);
Term make_string_utf8(Heap& h, const char* utf8, size_t n, Term tail = kNil);
// A binary with a copy of these bytes: on the heap up to 64 bytes, else reference-counted.
Term make_binary(Heap& h, const void* bytes, size_t n);
// A magic reference; takes over one reference of `object`.
Term make_magic_ref(Heap& h, RefId id, MagicObject* object);
inline MagicObject* magic_object(Term t) {
    return reinterpret_cast<MagicObject*>(boxed_ptr(t)[3].raw);
}
// Wraps a RefBinary (takes over one reference) as the bin_ref object that sub_bits point to.
Term make_bin_ref(Heap& h, RefBinary* b);

// ---- copying ------------------------------------------------------------------------------------

// Words that a flat copy of t takes; literals count nothing if share_literals.
size_t size_of_term(Term t, bool share_literals);
// A deep copy of t in `to`, one allocation; it points to nothing outside of it but shared literals.
// Sharing inside t is not kept (as OTP). Not recursive on the C++ stack. Literals that are being
// released (below) are copied even if literals are shared.
Term copy_term(Term t, Heap& to, bool share_literals);
// The same for terms that are kept for long: each object is counted and copied once, for all references
// to it. Literals are copied too. The copies replace the roots. ranges: where most of the objects lie,
// for speed.
struct HeapRange {
    const Term* begin;
    const Term* end;
};
struct SharedSize {
    size_t words = 0;
    bool any_shared = false;  // false: `words` is a flat copy's size
};
SharedSize size_of_shared_terms(const Term* roots, size_t count, std::span<const HeapRange> ranges);
void copy_shared_terms(Term* roots, size_t count, size_t words, Heap& to);

// ---- literals ------------------------------------------------------------------------------------

// All literal areas lie in one reserved address range, so that one comparison tells a literal.
extern Word g_literal_base;
constexpr Word kLiteralRangeBytes = Word{1} << 34;
inline bool is_literal(Term pointer) { return pointer.raw - g_literal_base < kLiteralRangeBytes; }

// The literals of one module (or one persistent term): immutable terms, flat in one block.
struct LiteralArea {
    Term* start = nullptr;
    size_t words = 0;
    Term* off_heap = nullptr;
    // Copies the terms of `roots` into a new area and updates the roots. create() makes flat copies; in
    // create_shared() what they share stays shared (ranges: as for size_of_shared_terms()).
    static std::unique_ptr<LiteralArea> create(Term* roots, size_t count);
    static std::unique_ptr<LiteralArea> create_shared(Term* roots, size_t count,
                                                      std::span<const HeapRange> ranges);
    ~LiteralArea();
};

// Literals that are being released (vm/process/literal_release.hpp). Marks are set before the switch
// is turned on, and cleared after thread progress has passed since it was turned off, so they do not
// change while it is on.
extern std::atomic<bool> g_literals_released;
void set_literals_released(bool on);
void mark_literals(const LiteralArea& area, bool released);
// t is a literal. Only while the switch is on.
bool is_released_literal(Term t);

}  // namespace minivm
