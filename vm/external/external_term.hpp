// The external term format, byte for byte as the OTP release in use reads and writes it.
// Threads: any.
#pragma once

#include "vm/term/heap.hpp"
#include "vm/util/otp_release.hpp"

#include <memory>
#include <string>
#include <vector>

struct z_stream_s;

namespace minivm::external {

struct EncodeOptions {
    bool compressed = false;
    int level = 6;               // zlib level when compressed
    int minor_version = by_release::external_minor_version();  // 0: old floats, 2: atoms as UTF-8
    bool deterministic = false;  // large maps in term order of their keys
    bool local = false;          // only this VM, while it runs, can decode it
};
// The mark of terms that were encoded with `local`: random in each VM.
constexpr size_t kLocalMarkBytes = 8;
const uint8_t* local_mark();
// The bytes of term_to_binary(t), version byte included. Not recursive on the C++ stack.
void encode(Term t, const EncodeOptions& options, std::string* out);
// The same, appended to *out.
void append(Term t, const EncodeOptions& options, std::string* out);
// external_size/1,2: the most bytes that encode() needs without compression.
uint64_t encoded_size(Term t, const EncodeOptions& options);

// Encoding in slices.
class Encoder {
public:
    // `scratch` gets the pairs of large maps. `count_only`: writes nothing, for size().
    Encoder(Heap& scratch, const EncodeOptions& options, bool count_only);
    ~Encoder();
    Encoder(const Encoder&) = delete;
    Encoder& operator=(const Encoder&) = delete;

    void start(Term t);
    // Goes on until *budget (about one a term) is used up; true: done.
    bool run(int64_t* budget);
    // After run(): compresses if the options ask for it and the result is not longer; true: done.
    bool compress(int64_t* budget);
    // The work that is left, as a term: terms may move between save() and restore(), not between other calls.
    Term save(Heap& h);
    void restore(Heap& scratch, Term saved);

    const uint8_t* bytes() const { return out_->data(); }
    size_t size() const { return used_; }
    Term take(Heap& h);  // the result as a binary; once

private:
    struct Frame {
        enum class Kind : uint8_t { value, tuple, list, flat_map, record, fun, fun_end };
        Term object;
        uint64_t index;  // of the next element; fun_end: where its size is written
        Kind kind;
    };

    uint8_t* room(size_t n);
    uint8_t* more_room(size_t n);
    void value(Term t, int64_t* budget);
    void boxed(Term t, int64_t* budget);
    void small(int64_t v);
    void big(Term t, int64_t* budget);
    void raw(const uint8_t* bytes, size_t n, int64_t* budget);
    void float_(double d);
    void atom(Term t);
    void list(Term t, int64_t* budget);
    void bits(Term t, int64_t* budget);
    void large_map(Term t, int64_t* budget);
    void record(Term t, int64_t* budget);
    void pid(Term t);
    void port(Term node, uint64_t number, uint32_t creation);
    void fun(Term t);

    Heap* scratch_;
    EncodeOptions options_;
    bool counting_;
    std::vector<Frame> frames_;
    RefBinary* out_ = nullptr;
    size_t used_ = 0;
    RefBinary* packed_ = nullptr;
    std::unique_ptr<z_stream_s> deflate_;
    uint8_t counted_[1100];  // count_only: room() returns it; longer than the longest atom
};

struct DecodeOptions {
    bool safe = false;  // no new atoms, no new external funs
};
// Decodes one term with its version byte; *used: bytes consumed, more may follow. The non-value:
// malformed (or unsafe).
Term decode(Heap& h, const uint8_t* bytes, size_t size, const DecodeOptions& options, size_t* used);

// Decoding in slices. The heap must not move the terms between run() calls, so it may be a process's
// heap only if there is a single call.
class Decoder {
public:
    enum class Status : uint8_t { done, more, malformed };

    Decoder(Heap& heap, const DecodeOptions& options);
    ~Decoder();
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    // The bytes must stay where they are. False: malformed.
    bool start(const uint8_t* bytes, size_t size);
    // Inflates and decodes until *budget (about one a term) is used up.
    Status run(int64_t* budget);
    Term result() const { return root_; }
    size_t used() const;  // bytes consumed, once done

private:
    struct Frame;

    size_t left() const { return static_cast<size_t>(end_ - p_); }
    bool skip_local_mark();
    bool start_inflating();
    Status inflate_some(int64_t* budget);
    void stop_inflating();
    bool value(Term* slot, int64_t* budget);
    bool finish(Frame& f);
    bool expect(uint64_t n);
    void push_slots(Term* first, uint64_t n);
    bool big(uint8_t tag, Term* slot);
    bool atom(uint8_t tag, Term* slot);
    bool tagged_atom(Term* slot);
    bool tagged_small(int64_t* v);
    bool bit_binary(Term* slot, int64_t* budget);
    bool map(Term* slot);
    bool record(Term* slot);
    bool creation(bool is_old, uint32_t* out);
    bool pid(uint8_t tag, Term* slot);
    bool port(uint8_t tag, Term* slot);
    bool reference(uint8_t tag, Term* slot);
    bool fun(Term* slot);
    bool export_fun(Term* slot);

    Heap& heap_;
    const uint8_t* begin_ = nullptr;
    const uint8_t* p_ = nullptr;
    const uint8_t* end_ = nullptr;
    bool safe_;
    Term root_ = kNonValue;
    Term definition_ = kNonValue;  // of the native record that was decoded last
    std::vector<Frame> frames_;
    uint64_t expected_ = 1;  // values still to come, each at least one byte; see expect()
    std::unique_ptr<z_stream_s> inflate_;  // while p_ is in compressed bytes
    std::unique_ptr<uint8_t[]> inflated_;
    uint64_t inflated_size_ = 0;
    size_t used_ = 0;
};

}  // namespace minivm::external
