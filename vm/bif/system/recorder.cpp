// recorder:event/3, and the parts of recorder:span/3 (tools/boot/recorder.erl).
#include <atomic>
#include <string>

#include "vm/bif/bif.hpp"
#include "vm/fault/fault.hpp"
#include "vm/process/process_record.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/util/utf8.hpp"

namespace minivm {
namespace {

using recorder::Category;

constexpr size_t kMaxFormat = 1000;  // bytes; a longer format is cut

// The characters of a string in UTF-8, or the bytes of a binary. False: neither.
bool format_text(Term t, char* text, size_t* length) {
    size_t n = 0;
    if (is_binary(t)) {
        const BitView view = bit_view(t);
        for (; n < view.size / 8 && n < kMaxFormat; ++n) {
            text[n] = static_cast<char>(load_bits(view.bytes, view.offset + 8 * n, 8));
        }
        *length = n;
        return true;
    }
    for (; is_cons(t); t = tail(t)) {
        const Term c = head(t);
        if (!is_small(c) || small_value(c) < 0 || small_value(c) > 0x10FFFF) {
            return false;
        }
        if (n + 4 <= kMaxFormat) {
            n += utf8_encode(static_cast<uint32_t>(small_value(c)), reinterpret_cast<uint8_t*>(text + n));
        }
    }
    *length = n;
    return is_nil(t);
}

Term recorder_event_3(Process& p, const Term* a) {
    char text[kMaxFormat];
    size_t length = 0;
    if (!is_atom(a[0]) || list_length(a[2]) < 0 || !format_text(a[1], text, &length)) {
        return badarg(p);
    }
    if (!recorder::enabled(Category::user)) {
        return atoms::ok;
    }
    // The format's id, then the arguments, written as a list element by element: never as a string, even if
    // all are small numbers.
    uint64_t words[24];
    recorder::ValueWriter value(words, std::size(words));
    value.raw(records::string({text, length}));
    value.put(recorder::ValueTag::list);
    if (records::is_sensitive(p) || !records::terms_are_on()) {
        for (Term rest = a[2]; is_cons(rest) && !value.is_full(); rest = tail(rest)) {
            records::hide_term(value);
        }
    } else {
        for (Term rest = a[2]; is_cons(rest) && !value.is_full(); rest = tail(rest)) {
            records::copy_term_words(value, head(rest), 1);
        }
    }
    value.put(recorder::ValueTag::list_end);
    MINIVM_EVENT(user_format, records::atom(a[0]), value.get());
    return atoms::ok;
}

Term recorder_begin_span_2(Process& p, const Term* a) {
    static std::atomic<uint32_t> next_span{1};
    if (!is_atom(a[0])) {
        return badarg(p);
    }
    // relaxed: only uniqueness is asked of it.
    const uint64_t id = next_span.fetch_add(1, std::memory_order_relaxed);
    const records::TermCopy<16> name(a[1], records::is_sensitive(p));
    MINIVM_EVENT(span_start, id, records::atom(a[0]), name.get());
    return make_small(static_cast<int64_t>(id));
}

Term recorder_end_span_1(Process& p, const Term* a) {
    if (!is_small(a[0])) {
        return badarg(p);
    }
    MINIVM_EVENT(span_end, static_cast<uint64_t>(small_value(a[0])));
    return atoms::ok;
}

// (Class, Reason, Stacktrace): for code that catches exceptions which would otherwise end the process.
Term recorder_uncaught_3(Process& p, const Term* a) {
    records::uncaught(p, a[0], a[1], a[2]);
    return atoms::ok;
}

// minivm:provoke_fault(How): fails, to show a report. notsup unless the VM allows it.
Term minivm_provoke_fault_1(Process& p, const Term* a) {
    if (!fault::g_may_provoke) {
        return notsup(p);
    }
    if (!is_atom(a[0]) || !fault::provoke(std::string(atom_table::text(a[0])).c_str())) {
        return badarg(p);
    }
    return atoms::ok;
}

}  // namespace

MINIVM_BIF_TABLE(recorder) = {
    {"recorder", "event", 3, recorder_event_3, kBifPlain, nullptr},
    {"recorder", "begin_span", 2, recorder_begin_span_2, kBifPlain, nullptr},
    {"recorder", "end_span", 1, recorder_end_span_1, kBifPlain, nullptr},
    {"recorder", "uncaught", 3, recorder_uncaught_3, kBifPlain, nullptr},
    {"minivm", "provoke_fault", 1, minivm_provoke_fault_1, kBifPlain, nullptr},
};

}  // namespace minivm
