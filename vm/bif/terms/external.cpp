// term_to_binary, binary_to_term and their relatives.
#include "vm/bif/bif.hpp"
#include "vm/external/external_term.hpp"
#include "vm/process/continuation.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"

#include <memory>
#include <utility>

namespace minivm {

namespace {


constexpr int64_t kTermsPerReduction = 40;
// Up to this many bytes are decoded at once, in the process's heap.
constexpr size_t kDecodeAtOnceBytes = 4096;

// ---- encoding ----------------------------------------------------------------------------------

enum class Result : uint8_t { binary, iovec, size };

struct EncodeState : MagicObject {
    EncodeState(Heap& scratch, const external::EncodeOptions& options, Result r)
        : encoder(scratch, options, r == Result::size), result(r) {}
    external::Encoder encoder;
    Result result;
    bool is_encoded = false;
};

// Runs one slice of `state`; `held` is its reference if it has one already.
Term encode_slice(Process& p, EncodeState& state, std::unique_ptr<EncodeState> fresh, Term held) {
    const int64_t given = slice_budget(p, kTermsPerReduction);
    int64_t left = given;
    external::Encoder& encoder = state.encoder;
    state.is_encoded = state.is_encoded || encoder.run(&left);
    const bool done = state.is_encoded && (state.result == Result::size || encoder.compress(&left));
    charge_slice(p, given, left, kTermsPerReduction);
    if (!done) {
        static const Export* to = bif_export("erts_internal", "term_to_binary_trap", 1);
        if (fresh != nullptr) {
            held = hold_state(p, std::move(fresh));
        }
        const Term saved = encoder.save(p.heap);
        const Term all = make_tuple(p.heap, held, saved);
        return yield(p, to, {all});
    }
    switch (state.result) {
        case Result::binary:
            return encoder.take(p.heap);
        case Result::iovec:
            return cons(p.heap, encoder.take(p.heap), kNil);
        case Result::size:
            return make_unsigned(p.heap, encoder.size());
    }
    return kNonValue;
}

Term encode(Process& p, Term t, const external::EncodeOptions& options, Result result) {
    auto state = std::make_unique<EncodeState>(p.heap, options, result);
    state->encoder.start(t);
    EncodeState& s = *state;
    return encode_slice(p, s, std::move(state), kNonValue);
}

Term term_to_binary_trap_1(Process& p, const Term* a) {
    const Term held = tuple_element(a[0], 0);
    EncodeState* state = held_state<EncodeState>(held);
    state->encoder.restore(p.heap, tuple_element(a[0], 1));
    return encode_slice(p, *state, nullptr, held);
}

LOCAL_ATOM(atom_local, "local")

bool encode_options(Term list, external::EncodeOptions* out) {
    for (; is_cons(list); list = tail(list)) {
        const Term option = head(list);
        if (option == atoms::compressed) {
            out->compressed = true;
            out->level = 6;
        } else if (option == atoms::deterministic) {
            out->deterministic = true;
        } else if (option == atom_local() && by_release::terms_may_be_local()) {
            out->local = true;
        } else if (is_tuple_of(option, 2) && is_small(tuple_element(option, 1))) {
            const Term name = tuple_element(option, 0);
            const int64_t v = small_value(tuple_element(option, 1));
            if (name == atoms::minor_version && v >= 0 && v <= 2) {
                out->minor_version = static_cast<int>(v);
            } else if (name == atoms::compressed && v >= 0 && v <= 9) {
                out->compressed = true;
                out->level = static_cast<int>(v);
            } else {
                return false;
            }
        } else {
            return false;
        }
    }
    return is_nil(list);
}

Term erlang_term_to_binary_1(Process& p, const Term* a) {
    return encode(p, a[0], {}, Result::binary);
}
Term erlang_term_to_binary_2(Process& p, const Term* a) {
    external::EncodeOptions options;
    return encode_options(a[1], &options) ? encode(p, a[0], options, Result::binary) : badarg(p);
}
Term erlang_term_to_iovec_1(Process& p, const Term* a) {
    return encode(p, a[0], {}, Result::iovec);
}
Term erlang_term_to_iovec_2(Process& p, const Term* a) {
    external::EncodeOptions options;
    return encode_options(a[1], &options) ? encode(p, a[0], options, Result::iovec) : badarg(p);
}
Term erlang_external_size_1(Process& p, const Term* a) {
    return encode(p, a[0], {}, Result::size);
}
Term erlang_external_size_2(Process& p, const Term* a) {
    external::EncodeOptions options;
    if (by_release::size_takes_all_options()) {
        if (!encode_options(a[1], &options)) {
            return badarg(p);
        }
        options.compressed = false;
        return encode(p, a[0], options, Result::size);
    }
    Term list = a[1];
    for (; is_cons(list); list = tail(list)) {
        const Term option = head(list);
        if (!is_tuple_of(option, 2) || tuple_element(option, 0) != atoms::minor_version ||
            (tuple_element(option, 1) != make_small(0) &&
             tuple_element(option, 1) != make_small(1))) {
            return badarg(p);
        }
        options.minor_version = static_cast<int>(small_value(tuple_element(option, 1)));
    }
    return is_nil(list) ? encode(p, a[0], options, Result::size) : badarg(p);
}

// ---- decoding ----------------------------------------------------------------------------------

// Decodes into a heap of its own, whose fragments the process takes over in the end: collections between
// the slices would move terms in the process's heap.
struct DecodeState : MagicObject {
    explicit DecodeState(const external::DecodeOptions& options) : decoder(heap, options) {}
    Heap heap;
    external::Decoder decoder;
    HeldBytes bytes;
    bool want_used = false;
};

Term decoded(Process& p, Term t, size_t used, bool want_used) {
    return want_used ? make_tuple(p.heap, t, make_unsigned(p.heap, used)) : t;
}

Term decode_slice(Process& p, DecodeState& state, std::unique_ptr<DecodeState> fresh, Term held,
                  Term args) {
    const int64_t given = slice_budget(p, kTermsPerReduction);
    int64_t left = given;
    const auto status = state.decoder.run(&left);
    charge_slice(p, given, left, kTermsPerReduction);
    switch (status) {
        case external::Decoder::Status::done:
            attach_fragments(p.heap, std::exchange(state.heap.fragments, nullptr),
                             std::exchange(state.heap.off_heap, nullptr), state.heap.off_heap_bytes);
            return decoded(p, state.decoder.result(), state.decoder.used(), state.want_used);
        case external::Decoder::Status::more: {
            static const Export* to = bif_export("erts_internal", "binary_to_term_trap", 1);
            if (fresh != nullptr) {
                held = hold_state(p, std::move(fresh));
            }
            const Term all = make_tuple(p.heap, held, args);
            return yield(p, to, {all});
        }
        case external::Decoder::Status::malformed:
            break;
    }
    static const Export* one = bif_export("erlang", "binary_to_term", 1);
    static const Export* two = bif_export("erlang", "binary_to_term", 2);
    return badarg_as(p, is_nil(tail(args)) ? one : two, args);
}

Term binary_to_term_trap_1(Process& p, const Term* a) {
    const Term held = tuple_element(a[0], 0);
    return decode_slice(p, *held_state<DecodeState>(held), nullptr, held, tuple_element(a[0], 1));
}

Term decode(Process& p, const Term* a, size_t arity, const external::DecodeOptions& options,
            bool want_used) {
    const Term binary = a[0];
    Bytes bytes;
    if (!get_bytes(binary, &bytes)) {
        return badarg(p);
    }
    constexpr uint8_t kCompressedTag = 80;
    if (bytes.size <= kDecodeAtOnceBytes && (bytes.size < 2 || bytes.data[1] != kCompressedTag)) {
        size_t used;
        const Term t = external::decode(p.heap, bytes.data, bytes.size, options, &used);
        consume(p, static_cast<int64_t>(bytes.size) / kTermsPerReduction + 1);
        return is_value(t) ? decoded(p, t, used, want_used) : badarg(p);
    }
    auto state = std::make_unique<DecodeState>(options);
    state->want_used = want_used;
    state->bytes.hold(binary);
    if (!state->decoder.start(state->bytes.data(), state->bytes.size())) {
        return badarg(p);
    }
    const Term args =
        arity == 1 ? cons(p.heap, a[0], kNil) : cons(p.heap, a[0], cons(p.heap, a[1], kNil));
    DecodeState& s = *state;
    return decode_slice(p, s, std::move(state), kNonValue, args);
}

Term erlang_binary_to_term_1(Process& p, const Term* a) {
    return decode(p, a, 1, {}, false);
}
Term erlang_binary_to_term_2(Process& p, const Term* a) {
    external::DecodeOptions options;
    bool used = false;
    Term list = a[1];
    for (; is_cons(list); list = tail(list)) {
        if (head(list) == atoms::safe) {
            options.safe = true;
        } else if (head(list) == atoms::used) {
            used = true;
        } else {
            return badarg_cause(p, atoms::badopt);
        }
    }
    return is_nil(list) ? decode(p, a, 2, options, used) : badarg_cause(p, atoms::badopt);
}

}  // namespace

MINIVM_BIF_TABLE(external) = {
    {"erlang", "term_to_binary", 1, erlang_term_to_binary_1, kBifPlain, nullptr},
    {"erlang", "term_to_binary", 2, erlang_term_to_binary_2, kBifPlain, nullptr},
    {"erlang", "term_to_iovec", 1, erlang_term_to_iovec_1, kBifPlain, nullptr},
    {"erlang", "term_to_iovec", 2, erlang_term_to_iovec_2, kBifPlain, nullptr},
    {"erlang", "external_size", 1, erlang_external_size_1, kBifPlain, nullptr},
    {"erlang", "external_size", 2, erlang_external_size_2, kBifPlain, nullptr},
    {"erlang", "binary_to_term", 1, erlang_binary_to_term_1, kBifPlain, nullptr},
    {"erlang", "binary_to_term", 2, erlang_binary_to_term_2, kBifPlain, nullptr},
    // By the names of OTP's, which tracers and process_info/2 show.
    {"erts_internal", "term_to_binary_trap", 1, term_to_binary_trap_1, kBifHidden, nullptr},
    {"erts_internal", "binary_to_term_trap", 1, binary_to_term_trap_1, kBifHidden, nullptr},
};

}  // namespace minivm
