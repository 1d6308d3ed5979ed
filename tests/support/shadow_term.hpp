// Random terms together with a description of them outside any heap, to compare with after the term
// has been copied or collected.
#pragma once

#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/heap.hpp"

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace minivm::test_support {

// A term's shape: its own raw words, and the shapes of what it points to.
struct Shape {
    enum class Of { immediate, cons, words, bits } of = Of::immediate;
    Word raw = 0;             // immediate: the word; else the header
    std::vector<Word> words;  // words: those that are no terms
    std::string bits;         // bits: '0' and '1'
    std::vector<std::shared_ptr<const Shape>> children;

    // How much a comparison has to walk: shared parts count each time.
    size_t weight = 1;
    void weigh() {
        weight = 1;
        for (const auto& child : children) {
            weight += child->weight;
        }
    }

    bool matches(Term t) const {
        // Lists are long: their tails must not recurse.
        const Shape* shape = this;
        while (shape->of == Of::cons) {
            if (!is_cons(t) || !shape->children[0]->matches(head(t))) {
                return false;
            }
            t = tail(t);
            shape = shape->children[1].get();
        }
        switch (shape->of) {
            case Of::immediate:
                return t.raw == shape->raw;
            case Of::bits: {
                if (!is_bitstring(t) || bitstring_bits(t) != shape->bits.size()) {
                    return false;
                }
                const BitView view = bit_view(t);
                for (uint64_t i = 0; i < view.size; i++) {
                    const uint64_t at = view.offset + i;
                    if (((view.bytes[at / 8] >> (7 - at % 8)) & 1) != (shape->bits[i] == '1')) {
                        return false;
                    }
                }
                return true;
            }
            case Of::words: {
                if (!is_boxed(t) || header_of(t) != shape->raw) {
                    return false;
                }
                const Term* p = boxed_ptr(t) + 1;
                for (const Word word : shape->words) {
                    if ((p++)->raw != word) {
                        return false;
                    }
                }
                for (const auto& child : shape->children) {
                    if (!child->matches(*p++)) {
                        return false;
                    }
                }
                return true;
            }
            default:
                return false;
        }
    }
};

struct Shadow {
    Term term = kNil;
    std::shared_ptr<const Shape> shape =
        std::make_shared<Shape>(Shape{Shape::Of::immediate, kNil.raw, {}, {}, {}, 1});
    bool matches(Term t) const { return shape->matches(t); }
};

struct CountedMagic final : MagicObject {
    static inline int alive = 0;
    CountedMagic() { alive++; }
    ~CountedMagic() override { alive--; }
};

class ShadowMaker {
public:
    ShadowMaker(Heap& heap, std::mt19937_64& random) : heap_(heap), random_(random) {}

    // A term of at most this depth (lists may be longer) whose leaves may be any of `known`.
    Shadow make(int depth, const std::vector<Shadow>* known = nullptr) {
        if (known != nullptr && !known->empty() && pick(4) == 0) {
            return (*known)[pick(known->size())];
        }
        const size_t choice = pick(depth <= 0 ? 6 : 12);
        switch (choice) {
            case 0:
                return immediate(make_small(static_cast<int64_t>(random_()) >> 4));
            case 1:
                return immediate(pick(2) == 0 ? atoms::ok : make_local_pid(pick(1000)));
            case 2:
                return raw_words();
            case 3:
                return bits(pick(100));
            case 4:
                return bits(600 + pick(10000));
            case 5:
                return magic();
            case 6:
            case 7: {
                Shadow list = make(depth - 1, known);
                for (size_t n = pick(6) == 0 ? pick(200) : pick(5); n > 0; n--) {
                    const Shadow hd = make(pick(3) == 0 ? depth - 1 : 0, known);
                    Shape shape{Shape::Of::cons, 0, {}, {}, {hd.shape, list.shape}, 1};
                    shape.weigh();
                    list = Shadow{cons(heap_, hd.term, list.term), std::make_shared<Shape>(shape)};
                }
                return list;
            }
            case 8:
                return boxed(Kind::fun, {random_()}, children(1 + pick(4), depth, known));
            case 9: {
                const size_t n = pick(5);
                std::vector<Shadow> terms = children(n, depth, known);
                terms.insert(terms.begin(), boxed(Kind::tuple, {}, children(n, depth, known)));
                return boxed(Kind::flat_map, {}, terms);
            }
            case 10: {
                const Shadow node =
                    boxed(Kind::map_node, {random_()}, children(1 + pick(5), depth, known));
                const Shadow same = boxed(Kind::map_collision, {}, children(4, depth, known));
                const Shadow root = boxed(Kind::map_node, {random_()}, {node, same});
                return boxed(Kind::hash_map, {random_()}, {root});
            }
            default:
                return boxed(Kind::tuple, {}, children(pick(8), depth, known));
        }
    }

private:
    size_t pick(size_t n) { return random_() % n; }

    static Shadow immediate(Term t) {
        return {t, std::make_shared<Shape>(Shape{Shape::Of::immediate, t.raw, {}, {}, {}, 1})};
    }

    std::vector<Shadow> children(size_t n, int depth, const std::vector<Shadow>* known) {
        std::vector<Shadow> result;
        for (size_t i = 0; i < n; i++) {
            result.push_back(make(depth - 1, known));
        }
        return result;
    }

    Shadow boxed(Kind kind, const std::vector<Word>& raw, const std::vector<Shadow>& terms) {
        const size_t arity = raw.size() + terms.size();
        Term* p = heap_.alloc(1 + arity);
        Shape shape{Shape::Of::words, make_header(kind, arity), raw, {}, {}, 1};
        Term* q = p;
        *q++ = Term{shape.raw};
        for (const Word word : raw) {
            *q++ = Term{word};
        }
        for (const Shadow& child : terms) {
            *q++ = child.term;
            shape.children.push_back(child.shape);
        }
        shape.weigh();
        return {make_boxed(p), std::make_shared<Shape>(shape)};
    }

    Shadow raw_words() {
        switch (pick(6)) {
            case 0:
                return boxed(Kind::float64, {random_()}, {});
            case 1:
                return boxed(Kind::ref, {random_(), pick(1 << 30)}, {});
            case 2:
                return boxed(Kind::ext_pid, {atoms::ok.raw, 1, 2, 3}, {});
            case 3:
                return boxed(Kind::ext_ref, {atoms::ok.raw, 3, 3, random_(), 7}, {});
            case 4:
                return boxed(Kind::export_fun, {random_() & ~kTagMask}, {});
            default: {
                std::vector<Word> limbs(1 + pick(5));
                for (Word& limb : limbs) {
                    limb = random_() | 1;
                }
                return boxed(pick(2) == 0 ? Kind::pos_big : Kind::neg_big, limbs, {});
            }
        }
    }

    Shadow bits(size_t size) {
        std::string bytes((size + 7) / 8, '\0');
        for (char& byte : bytes) {
            byte = static_cast<char>(random_());
        }
        Term t = make_binary(heap_, bytes.data(), bytes.size());
        size_t first = 0;
        size_t count = bytes.size() * 8;
        if (pick(3) == 0 && count > 8) {  // a part of it
            first = pick(count);
            count = pick(count - first);
            const Term orig = kind_of(t) == Kind::sub_bits ? boxed_ptr(t)[1] : t;
            Term* p = heap_.alloc(4);
            p[0] = Term{make_header(Kind::sub_bits, 3)};
            p[1] = orig;
            p[2] = Term{first};
            p[3] = Term{count};
            t = make_boxed(p);
        }
        Shape shape{Shape::Of::bits, 0, {}, std::string(count, '0'), {}, 1};
        for (size_t i = 0; i < count; i++) {
            const size_t at = first + i;
            if ((static_cast<uint8_t>(bytes[at / 8]) >> (7 - at % 8)) & 1) {
                shape.bits[i] = '1';
            }
        }
        return {t, std::make_shared<Shape>(shape)};
    }

    Shadow magic() {
        const RefId id{random_(), static_cast<uint32_t>(pick(1 << 30))};
        const Term t = make_magic_ref(heap_, id, new CountedMagic);
        // The link of the off-heap list, the last word, is no part of the term's value.
        Shape shape{
            Shape::Of::words, header_of(t), {id.low, id.high, boxed_ptr(t)[3].raw}, {}, {}, 1};
        return {t, std::make_shared<Shape>(shape)};
    }

    Heap& heap_;
    std::mt19937_64& random_;
};

}  // namespace minivm::test_support
