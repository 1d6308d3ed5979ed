// The external term format: bytes are refused, or they are a term that survives being encoded and
// decoded again, at once and in slices, plain and compressed, in memory that its size accounts for.
//
// external_term_fuzz.corpus holds terms that OTP encoded.
#include "vm/external/external_term.hpp"
#include "vm/term/compare.hpp"
#include "vm/util/assert.hpp"
#include "vm/util/otp_release.hpp"

#include <cstdint>
#include <memory>
#include <string>

using namespace minivm;
using namespace minivm::external;

namespace {

struct ScratchHeap : Heap {
    ~ScratchHeap() { clear(); }
};

Term decode_all(Heap& h, const std::string& bytes) {
    size_t used = 0;
    const Term t =
        decode(h, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), {}, &used);
    MINIVM_CHECK(is_value(t) && used == bytes.size());
    return t;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // The release that knows all tags.
    [[maybe_unused]] static const bool newest = (set_otp_release({29, "17.0"}), true);
    // Exactly as many bytes as there are, for the sanitizer.
    std::unique_ptr<uint8_t[]> input(new uint8_t[size]);
    std::copy(data, data + size, input.get());

    ScratchHeap h;
    size_t used = 0;
    const Term t = decode(h, input.get(), size, {}, &used);
    const bool is_compressed = size > 1 && input[1] == 80;
    if (!is_compressed) {
        constexpr size_t kMaxHeapBytesPerByte = 128;
        MINIVM_CHECK(h.fragment_words * sizeof(Term) <= kMaxHeapBytesPerByte * (size + 512));
    }

    ScratchHeap sliced;
    Decoder decoder(sliced, {});
    Decoder::Status status = Decoder::Status::malformed;
    if (decoder.start(input.get(), size)) {
        do {
            int64_t budget = 7;
            status = decoder.run(&budget);
        } while (status == Decoder::Status::more);
    }
    MINIVM_CHECK((status == Decoder::Status::done) == is_value(t));
    if (!is_value(t)) {
        return 0;
    }
    MINIVM_CHECK(used <= size && decoder.used() == used);
    MINIVM_CHECK(exact_equal(t, decoder.result()));

    for (const int minor_version : {0, 1, 2}) {
        EncodeOptions options;
        options.minor_version = minor_version;
        std::string bytes;
        encode(t, options, &bytes);
        MINIVM_CHECK(encoded_size(t, options) >= bytes.size());
        ScratchHeap again;
        const Term copy = decode_all(again, bytes);
        // A float loses nothing in 20 decimals.
        MINIVM_CHECK(exact_equal(t, copy));
        std::string bytes_again;
        options.deterministic = true;
        encode(t, options, &bytes);
        encode(copy, options, &bytes_again);
        MINIVM_CHECK(bytes == bytes_again);
        options.compressed = true;
        encode(t, options, &bytes);
        ScratchHeap inflated;
        MINIVM_CHECK(exact_equal(t, decode_all(inflated, bytes)));
    }
    return 0;
}
