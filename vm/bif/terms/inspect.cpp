// Terms as text and back (pids, ports and references as lists), and functions for debugging, as in erts_debug.
#include "vm/bif/bif.hpp"
#include "vm/code/export.hpp"
#include "vm/code/loading.hpp"
#include "vm/dist/peer.hpp"
#include "vm/heap/collector.hpp"
#include "vm/process/seq_trace.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/external_ids.hpp"
#include "vm/term/format.hpp"
#include "vm/term/told_references.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <charconv>

namespace minivm {
namespace {

Term as_list(Process& p, const std::string& s) { return make_string(p.heap, s.data(), s.size()); }

Term erlang_pid_to_list_1(Process& p, const Term* a) {
    return is_pid(a[0]) ? as_list(p, format_pid(a[0])) : badarg(p);
}
Term erlang_ref_to_list_1(Process& p, const Term* a) {
    if (is_magic_ref(a[0])) {
        told_references::add(a[0]);
    }
    return is_reference(a[0]) ? as_list(p, format_ref(a[0])) : badarg(p);
}
Term erlang_port_to_list_1(Process& p, const Term* a) {
    return is_port(a[0]) ? as_list(p, format_term(a[0])) : badarg(p);
}

// Reads "<prefix N.N...>": the count of the numbers, at most `most`; 0 if the text is not of that form.
size_t read_numbers(Term list, std::string_view prefix, uint64_t* n, size_t most) {
    std::string text;
    for (; is_cons(list); list = tail(list)) {
        if (!is_small(head(list)) || small_value(head(list)) < 1 || small_value(head(list)) > 127 ||
            text.size() > 100) {
            return 0;
        }
        text.push_back(static_cast<char>(small_value(head(list))));
    }
    if (!is_nil(list) || !text.starts_with(prefix)) {
        return 0;
    }
    const char* at = text.data() + prefix.size();
    const char* const end = text.data() + text.size();
    for (size_t count = 0; count < most; ++at) {
        const auto [behind, error] = std::from_chars(at, end, n[count]);
        if (error != std::errc{} || behind == end) {
            return 0;
        }
        ++count;
        at = behind;
        if (*at == '>' && at + 1 == end) {
            return count;
        }
        if (*at != '.') {
            return 0;
        }
    }
    return 0;
}

// What the first number of a pid, port or reference means: 0 this node, else the node whose name is that atom.
enum class Place : uint8_t { here, connected, unknown };
Place place_of(uint64_t number, Node* node) {
    *node = this_node();
    if (number == 0 || number == atom_index(node->name)) {
        return Place::here;
    }
    *node = number <= UINT32_MAX ? dist::connected_node(make_atom(static_cast<uint32_t>(number))) : Node{kNonValue, 0};
    return is_value(node->name) ? Place::connected : Place::unknown;
}

Term erlang_list_to_pid_1(Process& p, const Term* a) {
    uint64_t n[3];
    if (read_numbers(a[0], "<", n, 3) != 3) {
        return badarg(p);
    }
    Node node;
    const Place place = place_of(n[0], &node);
    if (place == Place::connected) {
        return put_external_pid(p.heap, node, static_cast<uint32_t>(n[1]), static_cast<uint32_t>(n[2]));
    }
    const bool is_local = place == Place::here && n[1] <= kMaxLocalPidNumber && n[2] <= kMaxLocalPidSerial;
    return is_local ? make_local_pid(n[1] | n[2] << 28) : badarg(p);
}
Term erlang_list_to_port_1(Process& p, const Term* a) {
    uint64_t n[2];
    if (read_numbers(a[0], "#Port<", n, 2) != 2) {
        return badarg(p);
    }
    Node node;
    const Place place = place_of(n[0], &node);
    if (place == Place::connected) {
        return put_external_port(p.heap, node, n[1]);
    }
    return place == Place::here && n[1] <= kMaxLocalPort ? make_local_port(n[1]) : badarg(p);
}
// "#Ref<N.Wn...W0>"
Term erlang_list_to_ref_1(Process& p, const Term* a) {
    uint64_t n[1 + kMaxRefWords];
    const size_t count = read_numbers(a[0], "#Ref<", n, 1 + kMaxRefWords);
    if (count < 2 || std::any_of(n, n + count, [](uint64_t word) { return word > UINT32_MAX; })) {
        return badarg(p);
    }
    Node node;
    const Place place = place_of(n[0], &node);
    if (place == Place::connected) {
        uint32_t words[kMaxRefWords];
        std::reverse_copy(n + 1, n + count, words);
        return put_external_ref(p.heap, node, {words, count - 1});
    }
    const bool is_local = place == Place::here && count == 4;
    return is_local ? told_references::make(p.heap, {n[3] | n[2] << 32, static_cast<uint32_t>(n[1])}) : badarg(p);
}

Term erlang_fun_info_mfa_1(Process& p, const Term* a) {
    if (is_local_fun(a[0])) {
        const FunEntry* fe = fun_entry(a[0]);
        return make_tuple(p.heap, fe->module, is_value(fe->function()) ? fe->function() : kNil,
                          make_small(fe->arity));
    }
    if (is_export_fun(a[0])) {
        const Export* e = export_fun_entry(a[0]);
        return make_tuple(p.heap, e->module, e->function, make_small(e->arity));
    }
    return badarg(p);
}

Term erts_internal_cmp_term_2(Process&, const Term* a) {
    return make_small(compare_terms_exact(a[0], a[1]));
}
// OTP's name for the representation of such a bit string.
const char* bit_string_type(Term t) {
    const BitView bits = bit_view(t);
    if (kind_of(t) == Kind::heap_bits) {
        return bits.size % 8 == 0 || by_release::has_one_kind_of_bit_string() ? "heap_binary"
                                                                              : "sub_binary";
    }
    const Term* const storage = boxed_ptr(boxed_ptr(t)[1]);
    const bool is_whole =
        header_kind(storage->raw) == Kind::bin_ref && bits.offset == 0 &&
        bits.size == 8 * reinterpret_cast<const RefBinary*>(storage[1].raw)->size_bytes;
    return is_whole && !by_release::has_one_kind_of_bit_string() ? "refc_binary" : "sub_binary";
}
Term erts_internal_term_type_1(Process&, const Term* a) {
    constexpr int64_t kOtpSmallEnd = int64_t{1} << 59;  // our small integers have one bit more
    const Term t = a[0];
    const auto atom = [](const char* s) { return atom_table::intern(s); };
    if (is_small(t) && small_value(t) >= -kOtpSmallEnd && small_value(t) < kOtpSmallEnd) {
        return atom("fixnum");
    }
    if (is_integer(t)) {
        return atom("bignum");
    }
    if (is_atom(t)) {
        return atoms::atom;
    }
    if (is_float(t)) {
        return atom("hfloat");
    }
    if (is_list(t)) {
        return is_nil(t) ? atoms::nil : atoms::list;
    }
    if (is_tuple(t)) {
        return atoms::tuple;
    }
    if (is_native_record(t)) {
        return atom("record");
    }
    if (is_map(t)) {
        return is_flat_map(t) ? atom("flatmap") : atom("hashmap");
    }
    if (is_fun(t)) {
        return is_local_fun(t) ? atoms::fun : atoms::export_;
    }
    if (is_bitstring(t)) {
        return atom(bit_string_type(t));
    }
    if (is_pid(t)) {
        return is_local_pid(t) ? atoms::pid : atom("external_pid");
    }
    if (is_port(t)) {
        return is_local_port(t) ? atoms::port : atom("external_port");
    }
    return is_local_ref(t) ? atoms::reference : atom("external_reference");
}
Term erts_debug_same_2(Process&, const Term* a) { return make_bool(a[0] == a[1]); }
Term erts_debug_flat_size_1(Process&, const Term* a) {
    return make_small(static_cast<int64_t>(flat_size_of_term(a[0])));
}
Term erts_debug_size_shared_1(Process&, const Term* a) {
    return make_small(static_cast<int64_t>(size_with_sharing(a[0])));
}

// erts_debug:copy_shared(Term, CopyLiterals): a copy that shares what the term shares. Literals are copied in
// either case.
Term erts_debug_copy_shared_2(Process& p, const Term* a) {
    if (!is_bool(a[1])) {
        return badarg(p);
    }
    if (is_immediate(a[0])) {
        return a[0];
    }
    const HeapRange ranges[] = {{p.heap_start, p.heap.top}, {p.old_start, p.old_top}};
    const SharedSize size = size_of_shared_terms(a, 1, ranges);
    constexpr size_t kWordsPerReduction = 128;
    consume(p, static_cast<int64_t>(size.words / kWordsPerReduction));
    if (!size.any_shared) {
        return copy_term(a[0], p.heap, false);
    }
    Term root = a[0];
    copy_shared_terms(&root, 1, size.words, p.heap);
    return root;
}

Term io_printable_range_0(Process&, const Term*) {
    return vm::g_options.prints_unicode ? atoms::unicode : atoms::latin1;
}
Term file_native_name_encoding_0(Process&, const Term*) { return atoms::utf8; }
Term error_logger_warning_map_0(Process&, const Term*) {
    return is_value(vm::g_options.warning_map) ? vm::g_options.warning_map : atom_table::intern("warning");
}
Term erlang_pre_loaded_0(Process& p, const Term*) {
    Term list = kNil;
    for (const Term module : g_module_source->preloaded()) {
        list = cons(p.heap, module, list);
    }
    return list;
}

// ---- sequential tracing -------------------------------------------------------------------------

Term erlang_seq_trace_2(Process& p, const Term* a) {
    const Term old = seq_trace::set(p, a[0], a[1], p.heap);
    return is_value(old) ? old : badarg(p);
}
Term erlang_seq_trace_info_1(Process& p, const Term* a) {
    const Term info = seq_trace::get(p, a[0], p.heap);
    return is_value(info) ? info : badarg(p);
}
Term erlang_seq_trace_print_1(Process& p, const Term* a) {
    return make_bool(seq_trace::print(p, kNonValue, a[0]));
}
Term erlang_seq_trace_print_2(Process& p, const Term* a) {
    return make_bool(seq_trace::print(p, a[0], a[1]));
}

// The same bits at a bit offset of 1..7 in new storage. sub_bitstring() may still copy a small part to a byte
// boundary, where no program can notice.
Term erts_debug_unaligned_bitstring_2(Process& p, const Term* a) {
    if (!is_bitstring(a[0]) || !is_small(a[1]) || small_value(a[1]) < 1 || small_value(a[1]) > 7) {
        return badarg(p);
    }
    const auto offset = static_cast<uint64_t>(small_value(a[1]));
    const BitView from = bit_view(a[0]);
    uint8_t* to = nullptr;
    const Term storage = new_bits(p.heap, offset + from.size, &to);
    for (uint64_t bit = 0; bit < from.size; ++bit) {
        const uint64_t at = offset + bit;
        const auto mask = static_cast<uint8_t>(0x80u >> (at & 7));
        const uint64_t source = from.offset + bit;
        const bool set = (from.bytes[source >> 3] & 0x80u >> (source & 7)) != 0;
        to[at >> 3] = static_cast<uint8_t>(set ? to[at >> 3] | mask : to[at >> 3] & ~mask);
    }
    consume(p, static_cast<int64_t>(from.size / 1024));
    return sub_bitstring(p.heap, storage, offset, from.size);
}

// Line breakpoints do not exist.
Term erl_debugger_supported_0(Process&, const Term*) { return atoms::false_; }

}  // namespace

MINIVM_BIF_TABLE(inspect) = {
    {"erlang", "pid_to_list", 1, erlang_pid_to_list_1, kBifPlain, nullptr},
    {"erlang", "ref_to_list", 1, erlang_ref_to_list_1, kBifPlain, nullptr},
    {"erlang", "port_to_list", 1, erlang_port_to_list_1, kBifPlain, nullptr},
    {"erlang", "list_to_pid", 1, erlang_list_to_pid_1, kBifPlain, nullptr},
    {"erlang", "list_to_port", 1, erlang_list_to_port_1, kBifPlain, nullptr},
    {"erlang", "list_to_ref", 1, erlang_list_to_ref_1, kBifPlain, nullptr},
    {"erlang", "fun_info_mfa", 1, erlang_fun_info_mfa_1, kBifPlain, nullptr},
    {"erts_internal", "cmp_term", 2, erts_internal_cmp_term_2, kBifPlain, nullptr},
    {"erts_internal", "term_type", 1, erts_internal_term_type_1, kBifPlain, nullptr},
    {"erts_debug", "same", 2, erts_debug_same_2, kBifPlain, nullptr},
    {"erts_debug", "unaligned_bitstring", 2, erts_debug_unaligned_bitstring_2, kBifPlain, nullptr},
    {"erl_debugger", "supported", 0, erl_debugger_supported_0, kBifPlain, nullptr},
    {"erts_debug", "flat_size", 1, erts_debug_flat_size_1, kBifPlain, nullptr},
    {"erts_debug", "size_shared", 1, erts_debug_size_shared_1, kBifPlain, nullptr},
    {"erts_debug", "copy_shared", 2, erts_debug_copy_shared_2, kBifPlain, nullptr},
    {"io", "printable_range", 0, io_printable_range_0, kBifPlain, nullptr},
    {"file", "native_name_encoding", 0, file_native_name_encoding_0, kBifPlain, nullptr},
    {"error_logger", "warning_map", 0, error_logger_warning_map_0, kBifPlain, nullptr},
    {"erlang", "pre_loaded", 0, erlang_pre_loaded_0, kBifPlain, nullptr},
    {"erlang", "seq_trace", 2, erlang_seq_trace_2, kBifPlain, nullptr},
    {"erlang", "seq_trace_info", 1, erlang_seq_trace_info_1, kBifPlain, nullptr},
    {"erlang", "seq_trace_print", 1, erlang_seq_trace_print_1, kBifPlain, nullptr},
    {"erlang", "seq_trace_print", 2, erlang_seq_trace_print_2, kBifPlain, nullptr},
};

}  // namespace minivm
