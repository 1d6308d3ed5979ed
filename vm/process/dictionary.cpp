#include "vm/process/dictionary.hpp"

#include "vm/term/compare.hpp"
#include "vm/term/hash.hpp"

namespace minivm {

size_t Dictionary::find(Term key) const {
    if (index_.empty()) {
        const bool by_word = is_equal_by_word(key);
        for (size_t i = 0; i < pairs_.size(); ++i) {
            if (pairs_[i].key == key || (!by_word && exact_equal(pairs_[i].key, key))) {
                return i;
            }
        }
        return ~size_t{0};
    }
    const size_t mask = index_.size() - 1;
    for (size_t slot = internal_hash(key, 0) & mask;; slot = (slot + 1) & mask) {
        const uint32_t place = index_[slot];
        if (place == kEmpty) {
            return ~size_t{0};
        }
        if (place != kErased && exact_equal(pairs_[place].key, key)) {
            return place;
        }
    }
}

// The index slot that holds `place`, whose key is `key`.
size_t Dictionary::slot_of(Term key, size_t place) const {
    const size_t mask = index_.size() - 1;
    size_t slot = internal_hash(key, 0) & mask;
    while (index_[slot] != place) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

void Dictionary::rebuild_index() {
    size_t size = 32;
    while (size < pairs_.size() * 4) {
        size *= 2;
    }
    index_.assign(size, kEmpty);
    for (size_t i = 0; i < pairs_.size(); ++i) {
        size_t slot = internal_hash(pairs_[i].key, 0) & (size - 1);
        while (index_[slot] != kEmpty) {
            slot = (slot + 1) & (size - 1);
        }
        index_[slot] = static_cast<uint32_t>(i);
    }
    index_used_ = pairs_.size();
}

Term Dictionary::get(Term key) const {
    const size_t place = find(key);
    return place == ~size_t{0} ? kNonValue : pairs_[place].value;
}

Term Dictionary::put(Term key, Term value) {
    const size_t place = find(key);
    if (place != ~size_t{0}) {
        const Term old = pairs_[place].value;
        pairs_[place].value = value;
        return old;
    }
    pairs_.push_back({key, value});
    if (index_.empty()) {
        if (pairs_.size() > kSearched) {
            rebuild_index();
        }
    } else if ((index_used_ + 1) * 2 > index_.size()) {
        rebuild_index();
    } else {
        const size_t mask = index_.size() - 1;
        size_t slot = internal_hash(key, 0) & mask;
        while (index_[slot] != kEmpty) {
            slot = (slot + 1) & mask;
        }
        index_[slot] = static_cast<uint32_t>(pairs_.size() - 1);
        ++index_used_;
    }
    return kNonValue;
}

Term Dictionary::erase(Term key) {
    const size_t place = find(key);
    if (place == ~size_t{0}) {
        return kNonValue;
    }
    const Term old = pairs_[place].value;
    const size_t last = pairs_.size() - 1;
    if (!index_.empty()) {
        index_[slot_of(pairs_[place].key, place)] = kErased;
        if (place != last) {
            index_[slot_of(pairs_[last].key, last)] = static_cast<uint32_t>(place);
        }
    }
    pairs_[place] = pairs_[last];
    pairs_.pop_back();
    if (pairs_.empty()) {
        clear();
    }
    return old;
}

void Dictionary::clear() {
    pairs_.clear();
    pairs_.shrink_to_fit();
    index_.clear();
    index_.shrink_to_fit();
    index_used_ = 0;
}

}  // namespace minivm
