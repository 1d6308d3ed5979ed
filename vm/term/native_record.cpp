#include "vm/term/native_record.hpp"

#include "vm/term/hash.hpp"

#include <algorithm>
#include <vector>

namespace minivm::native_record {

Term make_definition(Heap& heap, Term module, Term name, bool is_exported, const Term* fields,
                     size_t n) {
    // What is hashed is the definition without its hash.
    std::vector<Term> hashed = {Term{make_header(Kind::tuple, kFirstField - 1 + n)}, module, name,
                                make_bool(is_exported)};
    hashed.insert(hashed.end(), fields, fields + n);
    Term* t = heap.alloc(1 + kFirstField + n);
    t[0] = Term{make_header(Kind::tuple, kFirstField + n)};
    t[1] = make_small(phash2(make_boxed(hashed.data())));
    std::copy(hashed.begin() + 1, hashed.end(), t + 2);
    return make_boxed(t);
}

bool is_definition(Term definition, Term module, Term name, bool is_exported, const Term* fields,
                   size_t n) {
    const Term* t = tuple_elements(definition);
    return definition_fields(definition) == n && t[kModule] == module && t[kName] == name &&
           t[kIsExported] == make_bool(is_exported) && std::equal(fields, fields + n, t + kFirstField);
}

bool any_twice(const Term* fields, size_t n) {
    std::vector<Word> sorted;
    sorted.reserve(n);
    for (size_t i = 0; i < n; ++i) {
        sorted.push_back(fields[i].raw);
    }
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

Term make(Heap& heap, Term definition, size_t n) {
    Term* p = heap.alloc(2 + n);
    p[0] = Term{make_header(Kind::record, 1 + n)};
    p[1] = definition;
    return make_boxed(p);
}

size_t place_of(Term record, Term field) {
    const size_t n = field_count(record);
    const Term* f = fields(record);
    size_t i = 0;
    while (i < n && f[i] != field) {
        ++i;
    }
    return i;
}

int compare_definitions(Term a, Term b) {
    if (definition(a) == definition(b)) {
        return 0;
    }
    const auto by_text = [](Term x, Term y) { return x == y ? 0 : atom_table::compare(x, y); };
    if (const int c = by_text(module(a), module(b)); c != 0) {
        return c;
    }
    if (const int c = by_text(name(a), name(b)); c != 0) {
        return c;
    }
    if (is_exported(a) != is_exported(b)) {
        return is_exported(a) ? 1 : -1;
    }
    const size_t n = field_count(a);
    if (n != field_count(b)) {
        return n < field_count(b) ? -1 : 1;
    }
    for (size_t i = 0; i < n; ++i) {
        if (const int c = by_text(fields(a)[i], fields(b)[i]); c != 0) {
            return c;
        }
    }
    return 0;
}

}  // namespace minivm::native_record
