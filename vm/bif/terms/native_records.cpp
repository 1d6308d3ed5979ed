// Module records of OTP 29: native records whose type is only known when the program runs.
#include "vm/semantics/native_record.hpp"

#include "vm/bif/bif.hpp"
#include "vm/bif/stdlib_error.hpp"
#include "vm/code/code_index.hpp"
#include "vm/process/process.hpp"
#include "vm/term/map.hpp"

#include <algorithm>
#include <vector>

namespace minivm {
namespace {

using namespace native_record;

Term badrecord(Process& p, Term what) {
    return error(p, make_tuple(p.heap, atoms::badrecord, what));
}

Term records_get_2(Process& p, const Term* a) {
    if (!is_native_record(a[1]) || !is_atom(a[0])) {
        return stdlib_badarg(p);
    }
    const Term value = semantics::record_element(a[1], a[0]);
    return is_value(value) ? value : stdlib_badarg(p);
}
Term records_get_module_1(Process& p, const Term* a) {
    return is_native_record(a[0]) ? module(a[0]) : stdlib_badarg(p);
}
Term records_get_name_1(Process& p, const Term* a) {
    return is_native_record(a[0]) ? name(a[0]) : stdlib_badarg(p);
}
Term records_get_field_names_1(Process& p, const Term* a) {
    if (!is_native_record(a[0])) {
        return badrecord(p, a[0]);
    }
    Term list = kNil;
    for (size_t i = field_count(a[0]); i-- > 0;) {
        list = cons(p.heap, fields(a[0])[i], list);
    }
    return list;
}
Term records_is_exported_1(Process& p, const Term* a) {
    return is_native_record(a[0]) ? make_bool(is_exported(a[0])) : badrecord(p, a[0]);
}

// create(Module, Name, [{Field, Value}], #{is_exported => boolean()})
Term records_create_4(Process& p, const Term* a) {
    if (!is_atom(a[0]) || !is_atom(a[1])) {
        return badrecord(p, a[1]);
    }
    if (!is_map(a[3])) {
        return badmap(p, a[3]);
    }
    const Term exported = map::get(a[3], atoms::is_exported);
    if (map_size(a[3]) != 1 || !is_value(exported) || !is_bool(exported) || list_length(a[2]) < 0) {
        return stdlib_badarg(p);
    }
    std::vector<Term> names;
    std::vector<Term> given;
    for (Term rest = a[2]; is_cons(rest); rest = tail(rest)) {
        if (!is_tuple_of(head(rest), 2)) {
            return stdlib_badarg(p);
        }
        const Term field = tuple_element(head(rest), 0);
        if (!is_atom(field)) {
            const Term id = make_tuple(p.heap, a[0], a[1]);
            return error(p, make_tuple(p.heap, atoms::badfield, make_tuple(p.heap, id, field)));
        }
        names.push_back(field);
        given.push_back(tuple_element(head(rest), 1));
    }
    const size_t n = names.size();
    if (any_twice(names.data(), n)) {
        return stdlib_badarg(p);
    }
    const Term definition =
        make_definition(p.heap, a[0], a[1], exported == atoms::true_, names.data(), n);
    const Term record = make(p.heap, definition, n);
    std::copy(given.begin(), given.end(), values(record));
    consume(p, static_cast<int64_t>(n / 4));
    return record;
}

// update(Record, Module, Name, Changes); with '_' for the name, a record of any type.
Term records_update_4(Process& p, const Term* a) {
    if (!is_native_record(a[0])) {
        return badrecord(p, a[0]);
    }
    if (a[2] != atoms::underscore &&
        (!is_atom(a[1]) || !is_atom(a[2]) || !is_of(a[0], a[1], a[2]))) {
        return badrecord(p, a[2]);
    }
    if (!is_map(a[3])) {
        return badmap(p, a[3]);
    }
    if (map_size(a[3]) == 0) {
        return a[0];
    }
    std::vector<Term> pairs;
    map::Iterator it(a[3]);
    for (Term field, value; it.next(&field, &value);) {
        pairs.push_back(field);
        pairs.push_back(value);
    }
    return semantics::update_native_record(p, a[0], pairs.data(), pairs.size() / 2);
}

// {#{is_exported => boolean()}, [Field | {Field, Default}]}, from a loaded module.
Term records_get_definition_2(Process& p, const Term* a) {
    if (!is_atom(a[0]) || !is_atom(a[1])) {
        return stdlib_badarg(p);
    }
    const Term found = semantics::find_native_record(a[0], a[1], code_index::active());
    if (!is_value(found)) {
        return stdlib_badarg(p);
    }
    const Term def = head(found);
    Term list = kNil;
    for (size_t i = definition_fields(def); i-- > 0;) {
        const Term field = tuple_element(def, kFirstField + i);
        const Term value = tuple_element(tail(found), i);
        const Term item = is_cons(value) ? make_tuple(p.heap, field, head(value)) : field;
        list = cons(p.heap, item, list);
    }
    Term key = atoms::is_exported;
    Term exported = tuple_element(def, kIsExported);
    return make_tuple(p.heap, map::from_pairs(p.heap, &key, &exported, 1), list);
}

}  // namespace

MINIVM_BIF_TABLE(native_records) = {
    {"records", "get", 2, records_get_2, kBifPlain, nullptr},
    {"records", "get_module", 1, records_get_module_1, kBifPlain, nullptr},
    {"records", "get_name", 1, records_get_name_1, kBifPlain, nullptr},
    {"records", "get_field_names", 1, records_get_field_names_1, kBifPlain, nullptr},
    {"records", "is_exported", 1, records_is_exported_1, kBifPlain, nullptr},
    {"records", "create", 4, records_create_4, kBifPlain, nullptr},
    {"records", "update", 4, records_update_4, kBifPlain, nullptr},
    {"records", "get_definition", 2, records_get_definition_2, kBifPlain, nullptr},
};

}  // namespace minivm
