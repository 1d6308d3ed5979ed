#include "trace/tracer_recorder.hpp"

#include "recorder/recorder.hpp"
#include "vm/record/record.hpp"

namespace minivm::trace::to_recorder {
namespace {

using recorder::ValueTag;
using recorder::ValueWriter;

// Words of a record: the function, where the arguments and the extra term lie, then these.
constexpr unsigned kHead = 3;
constexpr unsigned kArgumentWords =
    kMostArguments + 2;  // their tuple, and the mark that more follows
constexpr unsigned kExtraWords = 8;
constexpr unsigned kValueWords = 20;
static_assert(kHead + kArgumentWords + kExtraWords <= recorder::kMaxPayloadWords);

bool is_on() {
    return recorder::enabled(recorder::Category::trace);
}

void put_term(ValueWriter& to, Term t, unsigned depth) {
    if (!records::terms_are_on()) {
        records::hide_term(to);
    } else if (is_small(t) && recorder::fits_value_integer(small_value(t))) {
        to.integer(small_value(t));
    } else {
        records::copy_term_words(to, t, depth);
    }
}
void put_arguments(ValueWriter& to, const Term* x, uint32_t count) {
    if (!records::terms_are_on()) {
        records::hide_term(to);
        return;
    }
    to.put(ValueTag::tuple, count);
    for (uint32_t i = 0; i < count && !to.is_full(); ++i) {
        put_term(to, x[i], 1);
    }
}

}  // namespace

void call(const Breakpoint& b, uint32_t session, const Term* x, bool arity_only, Term extra,
          bool framed) {
    if (!is_on()) {
        return;
    }
    const uint64_t function = records::in_session(b.record_id, session);
    using recorder::detail::event_word;
    if (arity_only && !is_value(extra)) {
        MINIVM_EVENT_PLACE(here, call_arity);
        MINIVM_EVENT_PLACE(here_framed, call_arity_framed);
        recorder::detail::write1(framed ? event_word(here_framed) : event_word(here), function);
        return;
    }
    recorder::detail::Word words[kHead + kArgumentWords + kExtraWords];
    words[0] = function;
    if (!is_value(extra)) {
        ValueWriter arguments(words + 2, kArgumentWords);
        put_arguments(arguments, x, b.arity);
        words[1] = recorder::pack_text(2 * 8, arguments.count() * 8);
        MINIVM_EVENT_PLACE(here, call);
        MINIVM_EVENT_PLACE(here_framed, call_framed);
        recorder::detail::write_words(framed ? event_word(here_framed) : event_word(here), 0, words,
                                      2 + arguments.count());
        return;
    }
    ValueWriter arguments(words + kHead, kArgumentWords);
    put_arguments(arguments, x, arity_only ? 0 : b.arity);
    const unsigned used = kHead + arguments.count();
    ValueWriter more(words + used, kExtraWords);
    put_term(more, extra, 0);
    words[1] = recorder::pack_text(kHead * 8, arguments.count() * 8);
    words[2] = recorder::pack_text(used * 8, more.count() * 8);
    MINIVM_EVENT_PLACE(here, call_extra);
    MINIVM_EVENT_PLACE(here_framed, call_extra_framed);
    recorder::detail::write_words(framed ? event_word(here_framed) : event_word(here), 0, words,
                                  used + more.count());
}

void return_from(uint32_t session, Term module, Term function, uint32_t arity, Term value) {
    if (!is_on()) {
        return;
    }
    constexpr unsigned kHeadWords = 2;
    recorder::detail::Word words[kHeadWords + kValueWords];
    ValueWriter copy(words + kHeadWords, kValueWords);
    put_term(copy, value, 0);
    // Known since the breakpoint was made.
    words[0] = records::in_session(records::function_id(module, function, arity), session);
    MINIVM_EVENT_PLACE(here, return_from);
    words[1] = recorder::pack_text(kHeadWords * 8, copy.count() * 8);
    recorder::detail::write_words(recorder::detail::event_word(here), 0, words,
                                  kHeadWords + copy.count());
}

void exception_from(uint32_t session, Term module, Term function, uint32_t arity, Term cls,
                    Term reason) {
    if (is_on()) {
        const records::TermCopy<kValueWords> copy(reason, false);
        MINIVM_EVENT(exception_from,
                     records::in_session(records::function(module, function, arity), session),
                     records::atom(cls), copy.get());
    }
}

void unwound(uint32_t session, Term module, Term function, uint32_t arity) {
    MINIVM_EVENT(unwound, records::in_session(records::function(module, function, arity), session));
}

void frames_full(Term process, uint64_t record_id, uint32_t frames) {
    MINIVM_EVENT(frames_full, records::subject(process), record_id, frames);
}

void event(uint32_t session, Term tag, std::span<const Term> terms) {
    if (!is_on()) {
        return;
    }
    static const Term return_to = atom_table::intern("return_to");
    if (tag == return_to && terms.size() == 1 && is_tuple_of(terms[0], 3)) {
        const Term f = terms[0];
        const uint64_t function =
            records::function(tuple_element(f, 0), tuple_element(f, 1),
                              static_cast<uint32_t>(small_value(tuple_element(f, 2))));
        MINIVM_EVENT(return_to, records::in_session(function, session));
        return;
    }
    uint64_t words[24];
    ValueWriter values(words, 24);
    if (!records::terms_are_on()) {
        records::hide_term(values);
    } else {
        values.put(ValueTag::list);
        for (const Term t : terms) {
            if (!values.is_full()) {
                records::copy_term_words(values, t, 1);
            }
        }
        values.put(ValueTag::list_end);
    }
    MINIVM_EVENT(traced, records::atom(tag), values.get());
}

}  // namespace minivm::trace::to_recorder
