// See atom_table.hpp.
//
// Entries live in chunks that never move; the first one, with everything in atoms.def, is laid out by
// the compiler, so start-up only enters those indices into the hash table. The hash table is open
// addressing over indices: a lookup probes the current table without a lock, and only a miss takes
// the lock, probes again and inserts. A table that has grown too full is replaced by one of twice
// the size; the old one is never freed, since a reader may still be probing it (all old ones
// together are smaller than the current one).
#include "vm/term/atom_table.hpp"

#include "vm/util/fatal.hpp"
#include "vm/util/lock.hpp"
#include "vm/util/memory_count.hpp"
#include "vm/util/recorded_words.hpp"
#include "vm/util/utf8.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace minivm::atom_table {
namespace {

struct Entry {
    const char* text;
    uint32_t size;  // bytes
    uint32_t hash;
    uint64_t prefix;  // first_bytes(): decides most comparisons
};

// The first eight bytes as a number: they sort as the bytes do. A shorter text ends in zeros.
constexpr uint64_t first_bytes(const char* text, size_t size) {
    uint64_t prefix = 0;
    for (size_t i = 0; i < 8; ++i) {
        prefix = prefix << 8 | (i < size ? static_cast<uint8_t>(text[i]) : 0);
    }
    return prefix;
}

constexpr uint32_t kChunkBits = 12;
constexpr uint32_t kChunkEntries = 1u << kChunkBits;
constexpr uint32_t kChunks = (kMostLimit >> kChunkBits) + 1;
static_assert(atoms::kPredefinedCount <= kChunkEntries);

// OTP's atom hash: P. J. Weinberger's over characters. Two-byte UTF-8 sequences of the Latin-1
// range count as the one character they are, others byte by byte.
constexpr uint32_t text_hash(const char* text, size_t size) {
    uint32_t h = 0;
    for (size_t i = 0; i < size; ++i) {
        uint8_t c = static_cast<uint8_t>(text[i]);
        if ((c & 0xFE) == 0xC2 && i + 1 < size &&
            (static_cast<uint8_t>(text[i + 1]) & 0xC0) == 0x80) {
            ++i;
            c = static_cast<uint8_t>((c << 6) | (static_cast<uint8_t>(text[i]) & 0x3F));
        }
        h = (h << 4) + c;
        const uint32_t overflow = h & 0xF0000000;
        h ^= overflow >> 24;
        h ^= overflow;
    }
    return h;
}

consteval Entry predefined(const char* text) {
    const size_t size = std::char_traits<char>::length(text);
    return {text, static_cast<uint32_t>(size), text_hash(text, size), first_bytes(text, size)};
}

struct Chunk {
    Entry entries[kChunkEntries];
};
constinit Chunk first_chunk = {{
#define ATOM(name, text) predefined(text),
#include "vm/term/atoms.def"
#undef ATOM
}};

// Written under the lock, read by any thread: acquire loads pair with release stores. A thread that holds
// an atom has also seen its entry, by the way it got the atom. first_chunk is not in here, so the array is
// zero at start-up, and only the pages in use are ever touched.
constinit std::array<std::atomic<Chunk*>, kChunks> chunks{};
constinit uint32_t g_limit = kDefaultLimit;
constinit std::atomic<uint32_t> used{atoms::kPredefinedCount};

struct HashTable {
    uint32_t mask;
    std::atomic<uint32_t>* slots;  // index + 1; 0: free
    const HashTable* previous;  // the table this one replaced; readers may still probe it
};
constinit std::atomic<HashTable*> current{nullptr};
constinit CountedMutex mutex{LockKind::atoms};
// Where the texts of new atoms go; under the lock.
constinit char* text_free = nullptr;
constinit size_t text_left = 0;
constexpr size_t kTextBlockBytes = 64 * 1024;

const Entry& entry_at(uint32_t index) {
    if (index < kChunkEntries) {
        return first_chunk.entries[index];
    }
    // acquire: pairs with the release store in add_locked().
    return chunks[index >> kChunkBits]
        .load(std::memory_order_acquire)
        ->entries[index & (kChunkEntries - 1)];
}

HashTable* new_table(uint32_t slots, const HashTable* previous) {
    auto* t = new HashTable;
    t->mask = slots - 1;
    t->previous = nullptr;
    t->previous = previous;
    t->slots =
        static_cast<std::atomic<uint32_t>*>(std::calloc(slots, sizeof(std::atomic<uint32_t>)));
    MINIVM_CHECK(t->slots != nullptr);
    count_taken(MemoryArea::atoms, t->slots);
    count_taken(MemoryArea::atoms_used, t->slots);
    return t;
}

// Weinberger's hash leaves its high bits poor: spread it before masking.
uint32_t first_slot(const HashTable& t, uint32_t hash) {
    return static_cast<uint32_t>((hash * 0x9E3779B97F4A7C15ull) >> 32) & t.mask;
}

void enter(HashTable& t, uint32_t index, uint32_t hash) {
    uint32_t slot = first_slot(t, hash);
    // relaxed: only the holder of the lock writes slots.
    while (t.slots[slot].load(std::memory_order_relaxed) != 0) {
        slot = (slot + 1) & t.mask;
    }
    // release: a reader that finds the index reads the entry behind it. Pairs with lookup().
    t.slots[slot].store(index + 1, std::memory_order_release);
}

Term lookup(const HashTable& t, std::string_view text, uint32_t hash) {
    for (uint32_t slot = first_slot(t, hash);; slot = (slot + 1) & t.mask) {
        // acquire: pairs with enter().
        const uint32_t found = t.slots[slot].load(std::memory_order_acquire);
        if (found == 0) {
            return kNonValue;
        }
        const Entry& e = entry_at(found - 1);
        if (e.hash == hash && e.size == text.size() &&
            std::memcmp(e.text, text.data(), text.size()) == 0) {
            return make_atom(found - 1);
        }
    }
}

// The table; made from the predefined atoms when it is first asked for.
HashTable& table() {
    // acquire: pairs with the release stores here and in grow_locked().
    if (HashTable* t = current.load(std::memory_order_acquire); MINIVM_LIKELY(t != nullptr)) {
        return *t;
    }
    const std::lock_guard lock(mutex);
    // relaxed: whoever wrote it held the lock.
    HashTable* t = current.load(std::memory_order_relaxed);
    if (t == nullptr) {
        t = new_table(16384, nullptr);
        for (uint32_t i = 0; i < atoms::kPredefinedCount; ++i) {
            enter(*t, i, first_chunk.entries[i].hash);
        }
        // release: the entries are there for whoever sees the table.
        current.store(t, std::memory_order_release);
    }
    return *t;
}

const char* store_text_locked(std::string_view text) {
    if (text_left < text.size()) {
        text_free = static_cast<char*>(std::malloc(kTextBlockBytes));
        MINIVM_CHECK(text_free != nullptr);
        count_taken(MemoryArea::atoms, text_free);
        text_left = kTextBlockBytes;
    }
    char* p = text_free;
    std::memcpy(p, text.data(), text.size());
    text_free += text.size();
    text_left -= text.size();
    count_memory(MemoryArea::atoms_used, static_cast<int64_t>(text.size() + sizeof(Entry)));
    return p;
}

HashTable& grow_locked(const HashTable& old) {
    HashTable* t = new_table((old.mask + 1) * 2, &old);
    // relaxed: only the holder of the lock writes it.
    const uint32_t n = used.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < n; ++i) {
        enter(*t, i, entry_at(i).hash);
    }
    // release: pairs with table().
    current.store(t, std::memory_order_release);
    return *t;
}

Term add_locked(HashTable& t, std::string_view text, uint32_t hash) {
    // relaxed: only the holder of the lock writes it.
    const uint32_t index = used.load(std::memory_order_relaxed);
    if (index >= g_limit) {
        return kNonValue;
    }
    records::note_use_rarely(records::Word::atoms, index, g_limit);
    // relaxed: chunks too are made under the lock.
    Chunk* chunk = index < kChunkEntries
                       ? &first_chunk
                       : chunks[index >> kChunkBits].load(std::memory_order_relaxed);
    if (chunk == nullptr) {
        chunk = static_cast<Chunk*>(std::malloc(sizeof(Chunk)));
        MINIVM_CHECK(chunk != nullptr);
        count_taken(MemoryArea::atoms, chunk);
        // release: pairs with entry_at().
        chunks[index >> kChunkBits].store(chunk, std::memory_order_release);
    }
    chunk->entries[index & (kChunkEntries - 1)] = {store_text_locked(text),
                                                   static_cast<uint32_t>(text.size()), hash,
                                                   first_bytes(text.data(), text.size())};
    // release: count() promises that every index below it can be read.
    used.store(index + 1, std::memory_order_release);
    HashTable* target = &t;
    if (index + 1 > (t.mask + 1) / 2) {
        target = &grow_locked(t);  // enters the new atom too
    } else {
        enter(*target, index, hash);
    }
    return make_atom(index);
}

constexpr size_t kMaxAtomBytes = 4 * kMaxAtomChars;

// The numbers of the atoms that existed when number_first() ended. A later atom's number is g_first + its index.
// Written before other threads start.
std::vector<uint32_t>& numbers() {
    static std::vector<uint32_t> those;
    return those;
}
constinit uint32_t g_first = 0;  // how many atoms number_first() put first

uint32_t number_of(Term atom) {
    const uint32_t index = atom_index(atom);
    return index < numbers().size() ? numbers()[index] : g_first + index;
}

}  // namespace

Term intern(std::string_view utf8) {
    MINIVM_ASSERT(is_valid(utf8));
    MINIVM_CHECK(utf8.size() <= kMaxAtomBytes);
    const uint32_t hash = text_hash(utf8.data(), utf8.size());
    if (const Term known = lookup(table(), utf8, hash); is_value(known)) {
        return known;
    }
    Term atom;
    {
        const std::lock_guard lock(mutex);
        // relaxed: replaced only under the lock.
        HashTable& t = *current.load(std::memory_order_relaxed);
        atom = lookup(t, utf8, hash);
        if (!is_value(atom)) {
            atom = add_locked(t, utf8, hash);
        }
    }
    if (MINIVM_UNLIKELY(!is_value(atom))) {
        char why[80];
        std::snprintf(why, sizeof why, "no more index entries in atom_tab (max=%u)", g_limit);
        fault::end_vm(why);
    }
    return atom;
}

Term intern_latin1(std::string_view latin1) {
    char utf8[2 * kMaxAtomChars];
    MINIVM_CHECK(latin1.size() <= kMaxAtomChars);
    return intern({utf8, utf8_of_latin1(latin1, utf8)});
}

Term find(std::string_view utf8) {
    if (utf8.size() > kMaxAtomBytes) {
        return kNonValue;
    }
    return lookup(table(), utf8, text_hash(utf8.data(), utf8.size()));
}

std::string_view text(Term atom) {
    MINIVM_ASSERT(is_atom(atom));
    const Entry& e = entry_at(atom_index(atom));
    return {e.text, e.size};
}

uint32_t limit() { return g_limit; }
void set_limit(uint32_t atoms) { g_limit = atoms; }

uint32_t count() {
    // acquire: pairs with add_locked().
    return used.load(std::memory_order_acquire);
}

int compare_numbers(Term a, Term b) {
    const uint32_t of_a = number_of(a);
    const uint32_t of_b = number_of(b);
    return of_a < of_b ? -1 : of_a > of_b ? 1 : 0;
}

void number_first(std::span<const std::string_view> texts) {
    if (!numbers().empty()) {
        return;  // maps may already be in the present order
    }
    std::vector<uint32_t> first;
    for (const std::string_view text : texts) {
        first.push_back(atom_index(intern(text)));
    }
    g_first = static_cast<uint32_t>(first.size());
    numbers().resize(count());
    for (uint32_t index = 0; index < numbers().size(); ++index) {
        numbers()[index] = g_first + index;
    }
    for (uint32_t i = g_first; i-- > 0;) {  // a text listed twice gets its first place
        numbers()[first[i]] = i;
    }
}

bool is_valid(std::string_view utf8) {
    size_t chars = 0;
    for (size_t i = 0; i < utf8.size(); ++chars) {
        const auto byte = [&](size_t k) { return static_cast<uint8_t>(utf8[k]); };
        const uint8_t c = byte(i);
        if (c < 0x80) {
            ++i;
            continue;
        }
        const size_t more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
        if (c < 0xC2 || c > 0xF4 || i + more >= utf8.size()) {
            return false;
        }
        uint32_t code = c & (0x3F >> more);
        for (size_t k = 1; k <= more; ++k) {
            if ((byte(i + k) & 0xC0) != 0x80) {
                return false;
            }
            code = (code << 6) | (byte(i + k) & 0x3F);
        }
        constexpr uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
        if (code < kSmallest[more] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
            return false;
        }
        i += more + 1;
    }
    return chars <= kMaxAtomChars;
}

int compare(Term a, Term b) {
    if (a == b) {
        return 0;
    }
    MINIVM_ASSERT(is_atom(a) && is_atom(b));
    const Entry& of_a = entry_at(atom_index(a));
    const Entry& of_b = entry_at(atom_index(b));
    if (of_a.prefix != of_b.prefix) {
        return of_a.prefix < of_b.prefix ? -1 : 1;
    }
    const std::string_view x{of_a.text, of_a.size};
    const std::string_view y{of_b.text, of_b.size};
    const int c = std::memcmp(x.data(), y.data(), x.size() < y.size() ? x.size() : y.size());
    return c != 0 ? c : x.size() < y.size() ? -1 : 1;
}

uint32_t hash_value(Term atom) {
    MINIVM_ASSERT(is_atom(atom));
    return entry_at(atom_index(atom)).hash;
}

}  // namespace minivm::atom_table
