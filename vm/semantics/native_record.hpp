// What the instructions about native records mean. None of these collects; records are made with
// p.heap, and the engine collects afterwards if that left fragments.
#pragma once

#include "vm/term/native_record.hpp"

namespace minivm {
struct Process;
}

namespace minivm::semantics {

inline bool is_native_record_of(Term src, Term module, Term name) {
    return is_native_record(src) && native_record::is_of(src, module, name);
}

// Whether code of `module` may read the fields of src; []: whether code of every module may.
inline bool is_record_accessible(Term src, Term module) {
    return is_native_record(src) &&
           (native_record::is_exported(src) || native_record::module(src) == module);
}

// The value of a field; the non-value if src is no record or has no such field.
inline Term record_element(Term src, Term field) {
    if (!is_native_record(src)) {
        return kNonValue;
    }
    const size_t i = native_record::place_of(src, field);
    return i < native_record::field_count(src) ? native_record::values(src)[i] : kNonValue;
}

// new_native_record: pairs[0..2n) are field, value; the other fields get their defaults. `what` is what
// the loader made of a record of the module itself, [Definition | Defaults] with [] or [Value] for each
// field; or {Module, Name} of one that another module has to define and export.
// Errors {badrecord, What}, {badfield, {{Module, Name}, Field}}, {novalue, {{Module, Name}, Field}}.
// code_ix: the code index that the running code reads.
Term new_native_record(Process& p, Term what, const Term* pairs, size_t n, int code_ix);
// update_native_record: errors {badrecord, Src}, {badfield, {{Module, Name}, Field}}.
Term update_native_record(Process& p, Term src, const Term* pairs, size_t n);
// get_record_field: `id` is the name of the record, '_' for any, or {Module, Name}, and then it has to be
// exported. Errors as above.
Term get_record_field(Process& p, Term src, Term id, Term field);

// Error {badfield, {{Module, Name}, Field}} about a definition.
Term bad_record_field(Process& p, Term definition, Term field);
// [Definition | Defaults] of a record of the module that is current, or the non-value.
Term find_native_record(Term module, Term name, int code_ix);

}  // namespace minivm::semantics
