// The external term format, byte for byte as OTP 25 reads and writes it.
// Threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vm/heap/heap.hpp"

namespace minivm::external {

struct EncodeOptions {
    bool compressed = false;
    int level = 6;              // zlib level when compressed
    int minor_version = 1;      // OTP 25's default; 0: old floats, 2: atoms as UTF-8
    bool deterministic = false; // large maps in term order of their keys
};
// The bytes of term_to_binary(t), version byte included. Not recursive on the C++ stack.
void encode(Term t, const EncodeOptions& options, std::string* out);
// external_size/1,2: what encode() would need at most. Not compressed.
uint64_t encoded_size(Term t, const EncodeOptions& options);

struct DecodeOptions {
    bool safe = false;   // no new atoms, no new external funs
};
// Decodes one term with its version byte; *used: bytes consumed, what follows is left alone. The
// non-value: malformed (or unsafe).
Term decode(Heap& h, const uint8_t* bytes, size_t size, const DecodeOptions& options, size_t* used);

// Decoding in slices. The heap must not move what is built in it between run() calls, so it is one of
// the caller's own, not a process's, unless there is but one call.
class Decoder {
  public:
    enum class Status : uint8_t { done, more, malformed };

    Decoder(Heap& heap, const DecodeOptions& options);
    ~Decoder();
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    // The bytes must stay where they are. Inflates them if they are compressed. False: malformed.
    bool start(const uint8_t* bytes, size_t size);
    // Goes on until *budget (about one a term) is used up.
    Status run(int64_t* budget);
    Term result() const { return root_; }
    size_t used() const;  // bytes consumed, once done

  private:
    struct Frame;

    size_t left() const { return static_cast<size_t>(end_ - p_); }
    bool inflate_rest();
    bool value(Term* slot, int64_t* budget);
    bool finish(Frame& f);
    void push_slots(Term* first, uint64_t n);
    bool big(uint8_t tag, Term* slot);
    bool atom(uint8_t tag, Term* slot);
    bool tagged_atom(Term* slot);
    bool tagged_small(int64_t* v);
    bool bit_binary(Term* slot, int64_t* budget);
    bool map(Term* slot);
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
    std::vector<Frame> frames_;
    std::unique_ptr<uint8_t[]> inflated_;
    size_t used_ = 0;
};

}  // namespace minivm::external
