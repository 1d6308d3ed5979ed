#include "vm/semantics/native_record.hpp"

#include "vm/code/module_table.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/process.hpp"

#include <algorithm>

namespace minivm::semantics {

namespace {

using namespace native_record;

// {{Module, Name}, Term}, with which errors about fields begin.
Term about_field(Process& p, Term def, Term field) {
    const Term id = make_tuple(p.heap, tuple_element(def, kModule), tuple_element(def, kName));
    return make_tuple(p.heap, id, field);
}

Term badrecord(Process& p, Term what) {
    return error(p, make_tuple(p.heap, atoms::badrecord, what));
}

// Of several fields the error names the atom that is older, as OTP does.
void keep_oldest(Term* field, Term other) {
    if (!is_value(*field) || other.raw < field->raw) {
        *field = other;
    }
}

// Writes the values of the pairs into a record; answers a field that it does not have, or the non-value.
Term set_fields(Term record, const Term* pairs, size_t n) {
    const size_t count = field_count(record);
    Term unknown = kNonValue;
    for (size_t i = 0; i < n; ++i) {
        const size_t place = place_of(record, pairs[2 * i]);
        if (place == count) {
            keep_oldest(&unknown, pairs[2 * i]);
        } else {
            values(record)[place] = pairs[2 * i + 1];
        }
    }
    return unknown;
}

}  // namespace

Term bad_record_field(Process& p, Term def, Term field) {
    return error(p, make_tuple(p.heap, atoms::badfield, about_field(p, def, field)));
}

Term find_native_record(Term module, Term name, int code_ix) {
    const ModuleInstance* m = module_table::current(module, code_ix);
    if (m == nullptr) {
        return kNonValue;
    }
    for (Term rest = m->lowered.records; is_cons(rest); rest = tail(rest)) {
        if (tuple_element(head(head(rest)), kName) == name) {
            return head(rest);
        }
    }
    return kNonValue;
}

Term new_native_record(Process& p, Term what, const Term* pairs, size_t n, int code_ix) {
    Term found = what;
    if (is_tuple(what)) {
        found = find_native_record(tuple_element(what, 0), tuple_element(what, 1), code_ix);
        if (!is_value(found) || tuple_element(head(found), kIsExported) != atoms::true_) {
            return badrecord(p, what);
        }
    }
    const Term def = head(found);
    const size_t count = definition_fields(def);
    const Term record = make(p.heap, def, count);
    // The non-value marks a field without a value until the pairs have been written; then nil
    // replaces it, because a heap holds only terms.
    for (size_t i = 0; i < count; ++i) {
        const Term value = tuple_element(tail(found), i);
        values(record)[i] = is_cons(value) ? head(value) : kNonValue;
    }
    const Term unknown = set_fields(record, pairs, n);
    Term missing = kNonValue;
    for (size_t i = 0; i < count; ++i) {
        if (!is_value(values(record)[i])) {
            values(record)[i] = kNil;
            keep_oldest(&missing, fields(record)[i]);
        }
    }
    if (is_value(unknown)) {
        return bad_record_field(p, def, unknown);
    }
    if (is_value(missing)) {
        return error(p, make_tuple(p.heap, atoms::novalue, about_field(p, def, missing)));
    }
    return record;
}

Term update_native_record(Process& p, Term src, const Term* pairs, size_t n) {
    if (!is_native_record(src)) {
        return badrecord(p, src);
    }
    const size_t count = field_count(src);
    const Term record = make(p.heap, definition(src), count);
    std::copy(values(src), values(src) + count, values(record));
    const Term unknown = set_fields(record, pairs, n);
    return is_value(unknown) ? bad_record_field(p, definition(src), unknown) : record;
}

Term get_record_field(Process& p, Term src, Term id, Term field) {
    if (!is_native_record(src)) {
        return badrecord(p, src);
    }
    const bool may = is_tuple(id) ? is_of(src, tuple_element(id, 0), tuple_element(id, 1)) &&
                                        is_exported(src)
                                  : id == atoms::underscore || name(src) == id;
    if (!may) {
        return badrecord(p, src);
    }
    const Term value = record_element(src, field);
    return is_value(value) ? value : bad_record_field(p, definition(src), field);
}

}  // namespace minivm::semantics
