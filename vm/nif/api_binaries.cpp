// Binaries, the external term format, I/O queues.
#include "vm/external/external_term.hpp"
#include "vm/nif/api.hpp"
#include "vm/term/binary.hpp"
#include "vm/util/memory_count.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

namespace minivm::nif {

namespace {

struct TemporaryBytes final : Temporary {
    std::unique_ptr<uint8_t[]> bytes;
};
struct TemporaryText final : Temporary {
    std::string text;
};

RefBinary* owned(const Binary& b) {
    return static_cast<RefBinary*>(b.ref_bin);
}

// No machine has more than this.
constexpr size_t kMaxBinaryBytes = size_t{1} << 47;

// As RefBinary::create() and RefBinary::reallocate(), which end the VM when memory is out. A library may take a size
// from its input, and is told: null, and the binary is as it was.
RefBinary* try_reallocate(RefBinary* b, size_t size) {
    if (size > kMaxBinaryBytes) {
        return nullptr;
    }
    if (b != nullptr) {
        count_given_back(MemoryArea::binaries, b);
    }
    void* const memory = std::realloc(static_cast<void*>(b), sizeof(RefBinary) + size);
    if (memory == nullptr) {
        if (b != nullptr) {
            count_taken(MemoryArea::binaries, b);
        }
        return nullptr;
    }
    count_taken(MemoryArea::binaries, memory);
    auto* const bytes = reinterpret_cast<uint8_t*>(static_cast<RefBinary*>(memory) + 1);
    return new (memory) RefBinary{1, size, RefBinary::kNotAppendable, bytes};
}

bool allocate(size_t size, Binary* out) {
    RefBinary* const b = try_reallocate(nullptr, size);
    if (b == nullptr) {
        return false;
    }
    *out = Binary{size, b->data(), b, {}};
    return true;
}

void inspect(Env* env, Bytes& bytes, Binary* out) {
    *out = Binary{bytes.size, const_cast<uint8_t*>(bytes.data), nullptr, {}};
    if (bytes.copy != nullptr) {
        auto kept = std::make_unique<TemporaryBytes>();
        kept->bytes = std::move(bytes.copy);
        env->temporaries.push_back(std::move(kept));
    }
}

}  // namespace

extern "C" {

int enif_alloc_binary(size_t size, Binary* out) {
    return allocate(size, out);
}

int enif_realloc_binary(Binary* b, size_t size) {
    if (b->ref_bin != nullptr) {
        RefBinary* const moved = try_reallocate(owned(*b), size);
        if (moved == nullptr) {
            return 0;
        }
        *b = Binary{size, moved->data(), moved, {}};
        return 1;
    }
    // A binary that was inspected becomes a copy.
    const Binary old = *b;
    if (!allocate(size, b)) {
        return 0;
    }
    std::memcpy(b->data, old.data, old.size < size ? old.size : size);
    return 1;
}

void enif_release_binary(Binary* b) {
    if (b->ref_bin != nullptr) {
        owned(*b)->release();
        b->ref_bin = nullptr;
    }
}

int enif_inspect_binary(Env* env, Word t, Binary* out) {
    Bytes bytes;
    if (!is_bitstring(term_of(t)) || !get_bytes(term_of(t), &bytes)) {
        return 0;
    }
    inspect(env, bytes, out);
    return 1;
}

int enif_inspect_iolist_as_binary(Env* env, Word t, Binary* out) {
    if (is_bitstring(term_of(t))) {
        return enif_inspect_binary(env, t, out);
    }
    auto kept = std::make_unique<TemporaryText>();
    if (!is_list(term_of(t)) || !iolist_to_bytes(term_of(t), &kept->text)) {
        return 0;
    }
    *out = Binary{kept->text.size(), reinterpret_cast<uint8_t*>(kept->text.data()), nullptr, {}};
    env->temporaries.push_back(std::move(kept));
    return 1;
}

Word enif_make_binary(Env* env, Binary* b) {
    if (b->ref_bin == nullptr) {
        return make_binary(heap_of(env), b->data, b->size).raw;
    }
    RefBinary* const own = owned(*b);
    b->ref_bin = nullptr;
    return wrap_ref_binary(heap_of(env), own, 8 * static_cast<uint64_t>(own->size_bytes)).raw;
}

unsigned char* enif_make_new_binary(Env* env, size_t size, Word* out) {
    uint8_t* bytes = nullptr;
    *out = new_bits(heap_of(env), 8 * static_cast<uint64_t>(size), &bytes).raw;
    return bytes;
}

Word enif_make_sub_binary(Env* env, Word t, size_t position, size_t size) {
    return sub_bitstring(heap_of(env), term_of(t), 8 * static_cast<uint64_t>(position),
                         8 * static_cast<uint64_t>(size))
        .raw;
}

int enif_term_to_binary(Env*, Word t, Binary* out) {
    std::string bytes;
    external::encode(term_of(t), {}, &bytes);
    if (!allocate(bytes.size(), out)) {
        return 0;
    }
    std::memcpy(out->data, bytes.data(), bytes.size());
    return 1;
}

size_t enif_binary_to_term(Env* env, const unsigned char* data, size_t size, Word* out,
                           unsigned options) {
    // As in OTP, which decodes no compressed terms here.
    constexpr uint8_t kCompressed = 80;
    if ((options & ~kBinaryToTermSafe) != 0 || (size > 1 && data[1] == kCompressed)) {
        return 0;
    }
    external::DecodeOptions decode;
    decode.safe = (options & kBinaryToTermSafe) != 0;
    size_t used = 0;
    const Term t = external::decode(heap_of(env), data, size, decode, &used);
    if (!is_value(t)) {
        return 0;
    }
    *out = word_of(t);
    return used;
}

}  // extern "C"

// ---- I/O queues ---------------------------------------------------------------------------------

// Pieces of binaries, first in first out; each holds a reference of its binary.
struct IoQueue {
    struct Piece {
        RefBinary* owner;
        uint8_t* bytes;
        size_t size;
    };
    std::vector<Piece> pieces;
    size_t first = 0;  // pieces before it have been taken out
    size_t size = 0;
    std::vector<iovec> view;  // what enif_ioq_peek() returned last

    ~IoQueue() {
        for (size_t i = first; i < pieces.size(); ++i) {
            pieces[i].owner->release();
        }
    }
    void push(RefBinary* owner, uint8_t* bytes, size_t n) {
        pieces.push_back({owner, bytes, n});
        size += n;
    }
    void drop(size_t n) {
        size -= n;
        while (n > 0) {
            Piece& p = pieces[first];
            if (n < p.size) {
                p.bytes += n;
                p.size -= n;
                break;
            }
            n -= p.size;
            p.owner->release();
            ++first;
        }
        if (first == pieces.size()) {
            pieces.clear();
            first = 0;
        } else if (first > 64 && first > pieces.size() / 2) {
            pieces.erase(pieces.begin(), pieces.begin() + static_cast<ptrdiff_t>(first));
            first = 0;
        }
    }
};

namespace {

enum IoVecFlags : int { kOwnStruct = 1, kOwnArrays = 2 };

void free_io_vec(IoVec* v) {
    for (int i = 0; i < v->count; ++i) {
        static_cast<RefBinary*>(v->ref_bins[i])->release();
    }
    if ((v->flags & kOwnArrays) != 0) {
        delete[] v->iov;
        delete[] v->ref_bins;
    }
    if ((v->flags & kOwnStruct) != 0) {
        delete v;
    }
}

// Frees an IoVec's parts: the structure itself may be the caller's, and gone by the time the environment ends.
struct TemporaryIoVec final : Temporary {
    explicit TemporaryIoVec(IoVec* v)
        : owners(v->ref_bins, v->ref_bins + v->count),
          own_struct((v->flags & kOwnStruct) != 0 ? v : nullptr),
          own_iov((v->flags & kOwnArrays) != 0 ? v->iov : nullptr),
          own_ref_bins((v->flags & kOwnArrays) != 0 ? v->ref_bins : nullptr) {}
    ~TemporaryIoVec() override {
        for (void* owner : owners) {
            static_cast<RefBinary*>(owner)->release();
        }
        delete[] own_iov;
        delete[] own_ref_bins;
        delete own_struct;
    }
    std::vector<void*> owners;
    IoVec* own_struct;
    iovec* own_iov;
    void** own_ref_bins;
};

// The bytes of a binary, with a reference of their own to its storage or to a copy.
IoQueue::Piece piece_of(Term binary) {
    Bytes bytes;
    get_bytes(binary, &bytes);
    const Term* object = boxed_ptr(binary);
    if (bytes.copy == nullptr && header_kind(object->raw) == Kind::sub_bits &&
        kind_of(object[1]) == Kind::bin_ref) {
        auto* const owner = reinterpret_cast<RefBinary*>(boxed_ptr(object[1])[1].raw);
        owner->retain();
        return {owner, const_cast<uint8_t*>(bytes.data), bytes.size};
    }
    RefBinary* const copy = RefBinary::create(bytes.size);
    if (bytes.size > 0) {
        std::memcpy(copy->data(), bytes.data, bytes.size);
    }
    return {copy, copy->data(), bytes.size};
}

}  // namespace

extern "C" {

IoQueue* enif_ioq_create(int) {
    return new IoQueue;
}
void enif_ioq_destroy(IoQueue* q) {
    delete q;
}
size_t enif_ioq_size(IoQueue* q) {
    return q->size;
}

int enif_ioq_enq_binary(IoQueue* q, Binary* b, size_t skip) {
    if (skip > b->size) {
        return 0;
    }
    if (b->ref_bin == nullptr) {
        RefBinary* const copy = RefBinary::create(b->size);
        std::memcpy(copy->data(), b->data, b->size);
        *b = Binary{b->size, copy->data(), copy, {}};
    }
    if (skip == b->size) {
        enif_release_binary(b);
        return 1;
    }
    q->push(owned(*b), b->data + skip, b->size - skip);
    b->ref_bin = nullptr;
    return 1;
}

int enif_ioq_enqv(IoQueue* q, IoVec* v, size_t skip) {
    if (skip > v->size) {
        return 0;
    }
    for (int i = 0; i < v->count; ++i) {
        const size_t n = v->iov[i].iov_len;
        if (skip >= n) {
            skip -= n;
            continue;
        }
        auto* const owner = static_cast<RefBinary*>(v->ref_bins[i]);
        owner->retain();
        q->push(owner, static_cast<uint8_t*>(v->iov[i].iov_base) + skip, n - skip);
        skip = 0;
    }
    return 1;
}

int enif_ioq_deq(IoQueue* q, size_t count, size_t* size) {
    if (count > q->size) {
        return 0;
    }
    q->drop(count);
    if (size != nullptr) {
        *size = q->size;
    }
    return 1;
}

iovec* enif_ioq_peek(IoQueue* q, int* n) {
    q->view.clear();
    for (size_t i = q->first; i < q->pieces.size(); ++i) {
        q->view.push_back({q->pieces[i].bytes, q->pieces[i].size});
    }
    *n = static_cast<int>(q->view.size());
    q->view.reserve(1);  // never null
    return q->view.data();
}

int enif_ioq_peek_head(Env* env, IoQueue* q, size_t* size, Word* out) {
    if (q->first == q->pieces.size()) {
        return 0;
    }
    const IoQueue::Piece& p = q->pieces[q->first];
    if (size != nullptr) {
        *size = p.size;
    }
    p.owner->retain();
    const Term storage = make_bin_ref(heap_of(env), p.owner);
    *out =
        part_of_storage(heap_of(env), storage, 8 * static_cast<uint64_t>(p.bytes - p.owner->data()),
                        8 * static_cast<uint64_t>(p.size))
            .raw;
    return 1;
}

int enif_inspect_iovec(Env* env, size_t max_elements, Word t, Word* rest, IoVec** out) {
    size_t n = 0;
    Term end = term_of(t);
    for (; n < max_elements && is_cons(end) && is_binary(head(end)); end = tail(end)) {
        ++n;
    }
    if (!is_nil(end) && (n < max_elements || !is_cons(end))) {
        return 0;  // no list of binaries
    }
    IoVec* v = *out;
    int flags = 0;
    if (v == nullptr) {
        v = new IoVec;
        flags = kOwnStruct;
    }
    if (n <= kSmallIoVec) {
        v->iov = v->small_iov;
        v->ref_bins = v->small_ref_bins;
    } else {
        v->iov = new iovec[n];
        v->ref_bins = new void*[n];
        flags |= kOwnArrays;
    }
    v->flags = flags;
    v->count = static_cast<int>(n);
    v->size = 0;
    Term list = term_of(t);
    for (size_t i = 0; i < n; ++i, list = tail(list)) {
        const IoQueue::Piece p = piece_of(head(list));
        v->iov[i] = {p.bytes, p.size};
        v->ref_bins[i] = p.owner;
        v->size += p.size;
    }
    if (env != nullptr) {
        env->temporaries.push_back(std::make_unique<TemporaryIoVec>(v));
    }
    *rest = word_of(end);
    *out = v;
    return 1;
}
void enif_free_iovec(IoVec* v) {
    free_io_vec(v);
}

}  // extern "C"

}  // namespace minivm::nif
