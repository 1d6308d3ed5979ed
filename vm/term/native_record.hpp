// Native records: values of a type that a module defines, from OTP 29 on (EEP 79).
//
//   record      [header: 1 + N words | definition | value 1 ... value N]
//   definition  {Hash, Module, Name, IsExported, Field 1, ..., Field N}
//
// Fields and values are in the order of the declaration. A definition is an ordinary tuple, so a record
// outlives the module that made it, and records made elsewhere (binary_to_term/1, records:create/4)
// bring a definition of their own: equal definitions are the same type. No Erlang code sees a definition.
// Hash is phash2 of {Module, Name, IsExported, Field 1, ...}, before the range.
#pragma once

#include "vm/term/atom_table.hpp"
#include "vm/term/heap.hpp"

namespace minivm::native_record {

// Elements of a definition.
enum : size_t { kHash, kModule, kName, kIsExported, kFirstField };

inline size_t field_count(Term record) { return header_arity(header_of(record)) - 1; }
inline Term definition(Term record) { return boxed_ptr(record)[1]; }
inline Term* values(Term record) { return boxed_ptr(record) + 2; }
inline size_t definition_fields(Term definition) { return tuple_arity(definition) - kFirstField; }
inline Term module(Term record) { return tuple_element(definition(record), kModule); }
inline Term name(Term record) { return tuple_element(definition(record), kName); }
inline bool is_exported(Term record) {
    return tuple_element(definition(record), kIsExported) == atoms::true_;
}
inline const Term* fields(Term record) { return tuple_elements(definition(record)) + kFirstField; }
inline uint32_t definition_hash(Term record) {
    return static_cast<uint32_t>(small_value(tuple_element(definition(record), kHash)));
}
inline bool is_of(Term record, Term module_name, Term record_name) {
    return module(record) == module_name && name(record) == record_name;
}

// A definition on `heap`. Module, name and fields are atoms, no field comes twice.
Term make_definition(Heap& heap, Term module, Term name, bool is_exported, const Term* fields,
                     size_t n);
bool is_definition(Term definition, Term module, Term name, bool is_exported, const Term* fields,
                   size_t n);
// True if one of n atoms comes twice.
bool any_twice(const Term* fields, size_t n);
// A record on `heap` whose n values the caller fills in before anything collects.
Term make(Heap& heap, Term definition, size_t n);
// Place of a field, or field_count() if there is none.
size_t place_of(Term record, Term field);
// Order of the types of two records: module, name, whether it is exported, number of fields, fields.
int compare_definitions(Term a, Term b);

}  // namespace minivm::native_record
