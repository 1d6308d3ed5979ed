// A model of weak memory, for tests that run protocols of ours with its words instead of
// std::atomic.
//
// It is the memory of the C++ standard without speculation: each word has the list of the values
// ever stored to it, in modification order; each value carries what its writer had seen when it
// released it; a load may take any value that is not older than what its thread has seen of the
// word. Nothing is assumed about store buffers, caches or the time at which stores become visible,
// so what holds here holds on x86-64 and on aarch64.
//
// Sequential consistency: `ordered_` is what fences and seq_cst stores so far have fixed. A fence
// takes all of it over and adds all that its thread has seen; a seq_cst store adds itself, and a
// seq_cst load finds nothing older in its word. So the single order of the standard is the order in
// which the model executes. A seq_cst load of what an ordinary store has written orders nothing:
// the standard's wording says more, but no machine does it (such a load is a plain one on x86-64).
//
// A seq_cst load may be done before relaxed loads right in front of it: it then finds what was
// there before them, though they find what is newer.
//
// What the model does not have: a store that overtakes a load before it in its thread (load
// buffering), and a store that comes before one in the modification order that its thread has not
// seen. The first matters where somebody else writes what the load read: Data (atomics.hpp) asks
// for happens-before there. The second is counted in `unordered_stores`, which has to stay 0 in
// code that is right.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace minivm::model {

// Words and, behind them, one clock a thread (see Data).
constexpr unsigned kMaxWords = 56;
constexpr unsigned kMaxThreads = 8;

// Of each word the position of a value in its modification order.
struct View {
    alignas(64) std::array<uint8_t, kMaxWords + kMaxThreads> at{};

    uint8_t& operator[](unsigned i) { return at[i]; }
    uint8_t operator[](unsigned i) const { return at[i]; }
    void join(const View& other) {
        for (unsigned i = 0; i < at.size(); i++) {
            at[i] = at[i] > other.at[i] ? at[i] : other.at[i];
        }
    }
    // Without the clocks: fences order accesses, they do not make one happen before another.
    void join_words(const View& other) {
        for (unsigned i = 0; i < kMaxWords; i++) {
            at[i] = at[i] > other.at[i] ? at[i] : other.at[i];
        }
    }
};

struct Message {
    uint64_t value;
    View released;  // what a thread that acquires this value has seen
};

struct ThreadView {
    View current;   // of each word, the oldest value this thread may still load
    View released;  // attached to relaxed stores: what the last release fence published
    View acquired;  // becomes current at the next acquire fence
    // For loads that overtake: as it was behind the last access that lets none pass, the order and
    // the newest values.
    View early_order;
    View early_newest;
    bool behind_relaxed = false;  // nothing but relaxed loads since, and what has overtaken them
};

inline bool acquires(std::memory_order order) {
    return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}
inline bool releases(std::memory_order order) {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}
inline bool is_seq_cst(std::memory_order order) {
    return order == std::memory_order_seq_cst;
}

class Memory {
public:
    // No words any more; their memory is kept for the next ones.
    void reset() {
        used_ = 0;
        ordered_ = View{};
        unordered_stores = 0;
    }
    unsigned add_word(uint64_t value) {
        if (used_ == words_.size()) {
            words_.emplace_back();
        }
        words_[used_].assign(1, {value, View{}});
        return used_++;
    }
    // Before anybody runs.
    void set(unsigned word, uint64_t value) { words_[word].back().value = value; }
    unsigned size() const { return used_; }
    const std::vector<Message>& word(unsigned word) const { return words_[word]; }
    unsigned newest(unsigned word) const { return static_cast<unsigned>(words_[word].size() - 1); }
    // The first position that a load may take.
    unsigned oldest(const ThreadView& t, unsigned word, std::memory_order order) const {
        const unsigned seen = t.current[word];
        const View& fixed = t.behind_relaxed ? t.early_order : ordered_;
        return is_seq_cst(order) && fixed[word] > seen ? fixed[word] : seen;
    }

    uint64_t load(ThreadView& t, unsigned word, unsigned at, std::memory_order order) {
        const Message& m = words_[word][at];
        if (order == std::memory_order_relaxed) {
            t.behind_relaxed = true;
        } else if (is_seq_cst(order) && t.behind_relaxed) {
            if (at > t.early_newest[word]) {
                lets_none_pass(t);
            }
        } else {
            lets_none_pass(t);
        }
        t.current[word] = static_cast<uint8_t>(at);
        if (acquires(order)) {
            t.current.join(m.released);
        }
        t.acquired.join(m.released);
        return m.value;
    }
    void store(ThreadView& t, unsigned word, uint64_t value, std::memory_order order) {
        if (t.current[word] != newest(word)) {
            unordered_stores++;
        }
        append(t, word, value, order, nullptr);
    }
    // Reads the newest value and writes behind it.
    uint64_t exchange(ThreadView& t, unsigned word, uint64_t value, std::memory_order order) {
        const Message old = words_[word].back();
        load(t, word, newest(word), order);
        append(t, word, value, order, &old.released);
        return old.value;
    }
    // No later load of t is done before this moment.
    void lets_none_pass(ThreadView& t) {
        t.behind_relaxed = false;
        t.early_order = ordered_;
        for (unsigned w = 0; w < used_; w++) {
            t.early_newest[w] = static_cast<uint8_t>(newest(w));
        }
    }
    void fence(ThreadView& t, std::memory_order order) {
        if (acquires(order)) {
            t.current.join(t.acquired);
        }
        if (is_seq_cst(order)) {
            t.current.join_words(ordered_);
            ordered_.join_words(t.current);
        }
        if (releases(order)) {
            t.released = t.current;
        }
        lets_none_pass(t);
    }
    const View& ordered() const { return ordered_; }

    uint64_t unordered_stores = 0;

private:
    void append(ThreadView& t, unsigned word, uint64_t value, std::memory_order order,
                const View* sequence) {
        const auto at = static_cast<uint8_t>(words_[word].size());
        t.current[word] = at;
        View view = releases(order) ? t.current : t.released;
        if (sequence != nullptr) {
            view.join(*sequence);  // a release sequence goes on in read-modify-writes
        }
        view[word] = at;
        words_[word].push_back({value, view});
        note_seq_cst(word, at, order);
        lets_none_pass(t);
    }
    void note_seq_cst(unsigned word, unsigned at, std::memory_order order) {
        if (is_seq_cst(order) && ordered_[word] < at) {
            ordered_[word] = static_cast<uint8_t>(at);
        }
    }

    std::vector<std::vector<Message>> words_;
    unsigned used_ = 0;
    View ordered_;
};

// A path through all alternatives, counted up like an odometer: replayed as far as it is known,
// then the first alternative of each choice.
class Choices {
public:
    unsigned choose(unsigned limit) {
        if (limit <= 1) {
            return 0;
        }
        if (next_ == chosen_.size()) {
            chosen_.push_back({0, limit});
        }
        return chosen_[next_++].at;
    }
    // True where no earlier path has been.
    bool is_fresh() const { return next_ == chosen_.size(); }
    size_t made() const { return next_; }
    // The choices behind the first so many, as a number.
    uint64_t since(size_t first) const {
        uint64_t all = 1;
        for (size_t i = first; i < next_; i++) {
            all = all * 61 + chosen_[i].at;
        }
        return all;
    }
    void restart() { next_ = 0; }
    void clear() {
        chosen_.clear();
        next_ = 0;
    }
    // The next path; false if there is none.
    bool advance() {
        while (!chosen_.empty()) {
            if (++chosen_.back().at < chosen_.back().limit) {
                next_ = 0;
                return true;
            }
            chosen_.pop_back();
        }
        return false;
    }

private:
    struct Choice {
        unsigned at, limit;
    };
    std::vector<Choice> chosen_;
    size_t next_ = 0;
};

}  // namespace minivm::model
