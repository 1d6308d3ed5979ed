#include "tests/support/model/explorer.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>

// Compiled code asks it at each function's beginning whether its locals go to a heap of their own.
extern "C" int __asan_option_detect_stack_use_after_return;
#endif

namespace {

// Paths are dropped in the middle, and functions that never return would fill that heap.
class LocalsOnStack {
public:
#if defined(__SANITIZE_ADDRESS__)
    LocalsOnStack() {
        __asan_option_detect_stack_use_after_return = 0;
    }
    ~LocalsOnStack() {
        __asan_option_detect_stack_use_after_return = was_;
    }

private:
    const int was_ = __asan_option_detect_stack_use_after_return;
#else
    LocalsOnStack() {}
#endif
};

}  // namespace

// void model_switch_stack(void** from, void* to): what a call preserves goes onto the stack, whose
// pointer is stored in *from, and comes back from the stack `to`.
extern "C" void model_switch_stack(void** from, void* to);
#if defined(__x86_64__)
asm(R"(
.text
.globl model_switch_stack
.type model_switch_stack, @function
model_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size model_switch_stack, .-model_switch_stack
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl model_switch_stack
.type model_switch_stack, %function
model_switch_stack:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size model_switch_stack, .-model_switch_stack
)");
#endif

namespace minivm::model {
namespace {

constexpr size_t kStackBytes = 64 * 1024;
constexpr unsigned kNobody = ~0u;

// Numbers by hash: open addressing, 0 is empty.
class HashMap {
public:
    HashMap() : slots_(1 << 12) {}
    // What is stored at h; `value` if nothing is, which is stored then.
    uint64_t& find(uint64_t h, uint64_t value) {
        h += h == 0 ? 1 : 0;
        if (2 * size_ > slots_.size()) {
            std::vector<Slot> old(slots_.size() * 2);
            old.swap(slots_);
            for (const Slot& o : old) {
                if (o.hash != 0) {
                    place(o.hash) = o;
                }
            }
        }
        Slot& slot = place(h);
        if (slot.hash != h) {
            slot = {h, value};
            ++size_;
        }
        return slot.value;
    }
    uint64_t size() const { return size_; }

private:
    struct Slot {
        uint64_t hash, value;
    };
    Slot& place(uint64_t h) {
        size_t i = h & (slots_.size() - 1);
        while (slots_[i].hash != 0 && slots_[i].hash != h) {
            i = (i + 1) & (slots_.size() - 1);
        }
        return slots_[i];
    }
    std::vector<Slot> slots_;
    uint64_t size_ = 0;
};

// Sites of all runs so far.
std::vector<Site> g_sites;

unsigned site_of(const std::source_location& at, Access access, std::memory_order order) {
    // By the address of the function's name and the place; a few dozen, each looked up often.
    struct Known {
        const char* function;
        uint32_t line, column;
        Access access;
        unsigned index;
    };
    static std::array<std::vector<Known>, 256> known;
    auto& bucket = known[(at.line() * 31 + at.column()) % known.size()];
    for (const Known& k : bucket) {
        if (k.line == at.line() && k.column == at.column() && k.access == access &&
            k.function == at.function_name()) {
            return k.index;
        }
    }
    const std::string_view path = at.file_name();
    const Site site{std::string(path.substr(path.find_last_of('/') + 1)),
                    at.line(),
                    at.column(),
                    at.function_name(),
                    access,
                    order};
    // One place in the source, however many instances of its template there are.
    unsigned index = 0;
    while (index < g_sites.size() &&
           !(g_sites[index].file == site.file && g_sites[index].line == site.line &&
             g_sites[index].column == site.column && g_sites[index].access == access)) {
        ++index;
    }
    if (index == g_sites.size()) {
        g_sites.push_back(site);
    }
    bucket.push_back({at.function_name(), at.line(), at.column(), access, index});
    return index;
}

struct Event {
    unsigned thread;
    unsigned site;  // or kNobody: data
    const char* name;
    uint64_t value;
};

struct Thread {
    std::vector<char> stack;
    void* sp = nullptr;
    ThreadView view;
    uint64_t observed = 0;
    bool ended = false;
    // How often it has found a lock taken whose holder has not gone on meanwhile. The second time
    // it lets the holder go on first, or it could turn in a loop for ever.
    unsigned refused = 0;
    unsigned refused_by = 0;
    bool yielded() const { return refused >= 2; }
    unsigned wants_mutex = kNobody;
    // What it does next is a relaxed load, or one that may overtake such.
    bool early_matters = true;
    const int* waits_for = nullptr;
    int wanted = 0;
};

struct MutexState {
    bool held = false;
    unsigned holder = 0;
    uint64_t count = 0;
    View view;
};

struct DataWord {
    unsigned word;
    std::array<uint8_t, kMaxThreads> read{};  // clocks of the last loads
};

class Explorer {
public:
    Explorer(MakeWorld make, const Limits& limits, const Mutant& mutant)
        : make_(make), limits_(limits), mutant_(mutant) {}

    Result run() {
        for (;;) {
            choices_.restart();
            execute();
            result_.executions++;
            if (!result_.error.empty()) {
                break;
            }
            if (learned_writer_) {
                learned_writer_ = false;
                choices_.clear();
                seen_ = HashMap();
                steps_from_ = HashMap();
                continue;
            }
            if (seen_.size() > limits_.max_states) {
                result_.complete = false;
                break;
            }
            if (!choices_.advance()) {
                break;
            }
        }
        result_.states = seen_.size();
        for (unsigned i = 0; i < reached_.size(); i++) {
            if (reached_[i]) {
                result_.sites.push_back(i);
            }
        }
        return std::move(result_);
    }

    // ---- accesses, on the stack of the current thread

    bool setting_up() const { return current_ == kNobody; }
    Memory& memory() { return memory_; }
    ThreadView& view() { return threads_[current_].view; }
    unsigned current() const { return current_; }

    void observe(uint64_t value) {
        if (!setting_up()) {
            threads_[current_].observed = hash(threads_[current_].observed, value + 1);
        }
    }
    // What a thread may read that has taken a lock.
    void observe_guarded(const MutexState& m) { observe(whole_ ? world_->digest() : m.count); }
    void forget(uint64_t state) {
        if (!whole_) {
            fail("a thread forgets what the digest does not say");
        }
        threads_[current_].observed = hash(hash(state, 0xf0467e7), current_);
    }
    void note(unsigned site, const char* name, uint64_t value) {
        events_.push_back({current_, site, name, value});
    }
    void reach(unsigned site) {
        if (site >= reached_.size()) {
            reached_.resize(site + 1);
        }
        reached_[site] = true;
    }
    const Mutant& mutant() const { return mutant_; }
    bool is_mutant(unsigned site, Mutant::Kind kind) const {
        return mutant_.kind == kind && mutant_.site == site;
    }
    std::memory_order order_of(unsigned site, std::memory_order order) const {
        return is_mutant(site, Mutant::Kind::weaker) ? mutant_.order : order;
    }

    // A load of a word that nobody else writes in any execution commutes with all that others do,
    // so it is no place to look at other schedules. Who writes what is found out as it happens;
    // then all begins again.
    void schedule_load(unsigned word, std::memory_order order) {
        thread().early_matters =
            order == std::memory_order_relaxed || (is_seq_cst(order) && view().behind_relaxed);
        if ((writers_[word] & ~(1u << current_)) != 0) {
            schedule();
        }
    }
    void schedule_store(unsigned word) {
        if (!setting_up()) {
            thread().early_matters = false;
        }
        schedule();
        if (current_ < count_ && (writers_[word] >> current_ & 1) == 0) {
            writers_[word] |= 1u << current_;
            learned_writer_ = true;
        }
    }
    // Any thread may go on here.
    void schedule() {
        if (setting_up() || current_ == count_) {
            return;
        }
        result_.steps++;
        if (++steps_ > limits_.max_steps) {
            fail("an execution does not come to an end");
        }
        const unsigned next = choose_thread();
        if (next != current_) {
            switch_to(next);
        }
        observe(0);  // it has gone on, whatever the access does
    }
    // Which of the positions from `oldest` to the newest a load takes; the newest first.
    unsigned choose_position(unsigned word, unsigned oldest) {
        const unsigned newest = memory_.newest(word);
        return limits_.strong ? newest : newest - choices_.choose(newest - oldest + 1);
    }
    unsigned choose(unsigned limit) { return choices_.choose(limit); }

    [[noreturn]] void fail(const char* what) {
        std::string text = std::string(what) + "\n";
        for (const Event& e : events_) {
            char line[300];
            if (e.site == kNobody) {
                std::snprintf(line, sizeof line, "  thread %u: %s %llx\n", e.thread, e.name,
                              static_cast<unsigned long long>(e.value));
            } else {
                const Site& s = g_sites[e.site];
                std::snprintf(line, sizeof line, "  thread %u: %s:%u:%u %s %llx\n", e.thread,
                              s.file.c_str(), s.line, s.column, e.name,
                              static_cast<unsigned long long>(e.value));
            }
            text += line;
        }
        result_.error = text;
        abandon();
    }
    // This path is not followed any further.
    [[noreturn]] void abandon() {
        void* dropped = nullptr;
        model_switch_stack(&dropped, main_sp_);
        std::abort();
    }
    void check_size(unsigned word) {
        if (memory_.newest(word) >= 250) {
            fail("the model has no room for so many stores");
        }
    }

    std::vector<DataWord> data;
    std::vector<MutexState> mutexes;
    std::array<uint8_t, kMaxThreads> clocks{};

    Thread& thread() { return threads_[current_]; }

private:
    static void enter();

    void execute() {
        const LocalsOnStack locals;
        memory_.reset();
        data.clear();
        mutexes.clear();
        clocks.fill(0);
        events_.clear();
        steps_ = 0;
        preemptions_ = 0;
        last_state_ = 0;
        doubted_ = 0;
        current_ = kNobody;
        world_ = make_();
        whole_ = world_->digest_is_whole();
        count_ = world_->threads();
        if (memory_.size() > kMaxWords || count_ >= kMaxThreads) {
            std::fprintf(stderr, "the model has no room for so many words\n");
            std::abort();
        }
        for (unsigned i = 0; i < count_; i++) {
            start(i);
        }
        main_starts_ = true;
        current_ = choose_thread();
        main_starts_ = false;
        model_switch_stack(&main_sp_, threads_[current_].sp);
        if (result_.error.empty() && all_ended()) {
            // Whoever looks at the end has seen what all have.
            start(count_);
            for (unsigned i = 0; i < count_; i++) {
                threads_[count_].view.current.join(threads_[i].view.current);
            }
            current_ = count_;
            model_switch_stack(&main_sp_, threads_[count_].sp);
        }
        result_.unordered_stores += memory_.unordered_stores;
        current_ = kNobody;
        world_.reset();
    }
    bool all_ended() const {
        return std::all_of(threads_.begin(), threads_.begin() + count_,
                           [](const Thread& t) { return t.ended; });
    }

    void start(unsigned i) {
        Thread& t = threads_[i];
        if (t.stack.empty()) {
            t.stack.resize(kStackBytes);
        }
#if defined(__SANITIZE_ADDRESS__)
        // What fell off a path has left its marks.
        __asan_unpoison_memory_region(t.stack.data(), t.stack.size());
#endif
        t.view = ThreadView{};
        t.observed = hash(0x57a27, i);
        t.ended = false;
        t.refused = 0;
        t.wants_mutex = kNobody;
        t.waits_for = nullptr;
        t.early_matters = true;
        auto top = reinterpret_cast<uintptr_t>(t.stack.data() + t.stack.size()) & ~uintptr_t{15};
#if defined(__x86_64__)
        top -= 8;  // as behind a call
        auto* sp = reinterpret_cast<uint64_t*>(top);
        *--sp = reinterpret_cast<uint64_t>(&enter);
        for (int n = 0; n < 6; n++) {
            *--sp = 0;
        }
#else
        auto* sp = reinterpret_cast<uint64_t*>(top) - 20;
        std::memset(sp, 0, 160);
        sp[11] = reinterpret_cast<uint64_t>(&enter);  // x30
#endif
        t.sp = sp;
    }

    bool can_go_on(const Thread& t) const {
        return !t.ended && (t.wants_mutex == kNobody || !mutexes[t.wants_mutex].held) &&
               (t.waits_for == nullptr || *t.waits_for >= t.wanted);
    }

    unsigned choose_thread() {
        std::array<unsigned, kMaxThreads> ready;
        unsigned n = 0;
        const bool stays =
            !main_starts_ && can_go_on(threads_[current_]) && !threads_[current_].yielded();
        if (stays) {
            ready[n++] = current_;
        }
        // First those that have not found a lock taken since somebody else went on.
        for (const bool yielded : {false, true}) {
            for (unsigned i = 0; i < count_ && !(yielded && n != 0); i++) {
                if (!(stays && i == current_) && can_go_on(threads_[i]) &&
                    threads_[i].yielded() == yielded) {
                    ready[n++] = i;
                }
            }
        }
        if (n == 0) {
            fail("nobody can go on");
        }
        look_at_state();
        unsigned at = 0;
        if (stays && limits_.max_preemptions >= 0 && preemptions_ >= limits_.max_preemptions) {
            at = 0;
        } else {
            at = choices_.choose(n);
            preemptions_ += stays && at != 0 ? 1 : 0;
        }
        for (unsigned i = 0; i < count_; i++) {
            if (threads_[i].refused_by == ready[at]) {
                threads_[i].refused = 0;
            }
        }
        last_thread_ = ready[at];
        last_choices_ = choices_.made();
        return ready[at];
    }

    // Follows no path to where another has been.
    void look_at_state() {
        const bool fresh = choices_.is_fresh();
        if (!fresh && limits_.doubt == 0) {
            return;
        }
        const uint64_t now = state();
        if (limits_.doubt != 0) {
            const uint64_t step =
                hash(hash(last_state_, last_thread_), choices_.since(last_choices_));
            if (last_state_ != 0 && steps_from_.find(step, now) != now) {
                fail("two paths to what should be one state go on to different ones");
            }
            last_state_ = now;
            if (doubted_ != 0) {
                if (++doubted_ > limits_.doubt) {
                    abandon();
                }
                return;
            }
        }
        if (!fresh) {
            return;
        }
        const uint64_t left =
            limits_.max_preemptions < 0
                ? 1
                : static_cast<uint64_t>(limits_.max_preemptions - preemptions_) + 1;
        uint64_t& known = seen_.find(now, 0);
        if (known < left) {
            known = left;
        } else if (limits_.doubt != 0) {
            doubted_ = 1;
        } else {
            abandon();
        }
    }

    void switch_to(unsigned next) {
        void** from = &threads_[current_].sp;
        current_ = next;
        model_switch_stack(from, threads_[next].sp);
    }
    void run_current() {
        if (current_ == count_) {
            world_->end();
            abandon();
        }
        observe(0);
        world_->run(current_);
        threads_[current_].ended = true;
        if (all_ended()) {
            abandon();
        }
        switch_to(choose_thread());
        std::abort();
    }

    // Of everything that decides how it goes on; what no thread can tell apart is made equal.
    uint64_t state() const {
        View base;
        for (unsigned w = 0; w < memory_.size(); w++) {
            base[w] = static_cast<uint8_t>(memory_.newest(w));
        }
        for (unsigned i = 0; i < kMaxThreads; i++) {
            base[kMaxWords + i] = clocks[i];
        }
        for (unsigned i = 0; i < count_; i++) {
            if (!threads_[i].ended) {
                for (unsigned w = 0; w < base.at.size(); w++) {
                    const uint8_t seen = threads_[i].view.current[w];
                    if (w != kMaxWords + i && seen < base[w]) {
                        base[w] = seen;
                    }
                }
            }
        }
        std::array<bool, kMaxWords> is_data{};
        for (const DataWord& d : data) {
            // Only whether a view has the newest store counts.
            is_data[d.word] = true;
            const unsigned newest = memory_.newest(d.word);
            base[d.word] = static_cast<uint8_t>(newest == 0 ? 0 : newest - 1);
        }
        uint64_t h = world_->digest();
        const auto add_view = [&](const View& v) {
            View relative;
            for (unsigned i = 0; i < v.at.size(); i++) {
                relative[i] = static_cast<uint8_t>((v[i] > base[i] ? v[i] : base[i]) - base[i]);
            }
            uint64_t words[sizeof(View) / 8];
            std::memcpy(words, relative.at.data(), sizeof(View));
            for (const uint64_t w : words) {
                h = hash(h, w);
            }
        };
        for (unsigned i = 0; i < count_; i++) {
            const Thread& t = threads_[i];
            h = hash(h, t.observed * 8 + t.refused * 2 + (t.ended ? 1 : 0));
            if (!t.ended) {
                add_view(t.view.current);
                add_view(t.view.released);
                add_view(t.view.acquired);
                if (t.early_matters) {
                    add_view(t.view.early_order);
                    add_view(t.view.early_newest);
                    h = hash(h, t.view.behind_relaxed ? 1 : 0);
                }
            }
        }
        add_view(memory_.ordered());
        for (unsigned w = 0; w < memory_.size(); w++) {
            const auto& messages = memory_.word(w);
            if (is_data[w]) {
                h = hash(h, messages.back().value);
                continue;
            }
            h = hash(h, messages.size() - base[w]);
            for (size_t m = base[w]; m < messages.size(); m++) {
                h = hash(h, messages[m].value);
                add_view(messages[m].released);
            }
        }
        for (const DataWord& d : data) {
            uint64_t stamps = 0;
            for (unsigned i = 0; i < count_; i++) {
                const uint8_t from = base[kMaxWords + i];
                stamps =
                    stamps << 8 | static_cast<uint64_t>(d.read[i] > from ? d.read[i] - from : 0);
            }
            h = hash(h, stamps);
        }
        for (const MutexState& m : mutexes) {
            h = hash(h, (whole_ ? 0 : m.count * 2) + (m.held ? 1 : 0));
            add_view(m.view);
        }
        if (limits_.max_preemptions >= 0) {
            h = hash(h, current_);
        }
        return h;
    }

    const MakeWorld make_;
    const Limits limits_;
    const Mutant mutant_;
    Result result_;
    Choices choices_;
    Memory memory_;
    HashMap seen_;        // states; how many preemptions were left at most, and one
    HashMap steps_from_;  // doubt: from a state by choices to the state behind
    std::vector<bool> reached_;
    std::vector<Event> events_;
    std::array<Thread, kMaxThreads> threads_;
    std::unique_ptr<World> world_;
    std::array<uint32_t, kMaxWords> writers_{};  // of each word, by thread
    bool learned_writer_ = false;
    unsigned count_ = 0;
    unsigned current_ = kNobody;
    unsigned steps_ = 0;
    int preemptions_ = 0;
    void* main_sp_ = nullptr;
    bool whole_ = false;        // the world's digest is
    uint64_t last_state_ = 0;   // doubt: of this path, or 0
    unsigned last_thread_ = 0;  // that goes on from it
    size_t last_choices_ = 0;   // made before that one goes on
    unsigned doubted_ = 0;      // steps since the path came to a known state, and one
    bool main_starts_ = false;  // the first thread of an execution is chosen
};

Explorer* g_explorer = nullptr;

void Explorer::enter() {
    g_explorer->run_current();
    std::abort();
}

}  // namespace

uint64_t hash(uint64_t a, uint64_t b) {
    uint64_t h = (a ^ (b * 0x9E3779B97F4A7C15u)) * 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
    return h * 0xD6E8FEB86659FD93u ^ h >> 29;
}

const Site& site(unsigned index) {
    return g_sites[index];
}

Result explore(MakeWorld make, const Limits& limits, const Mutant& mutant) {
    Explorer explorer(make, limits, mutant);
    g_explorer = &explorer;
    Result result = explorer.run();
    g_explorer = nullptr;
    return result;
}

// ---- mutants ------------------------------------------------------------------------------------

namespace {

const char* name_of(std::memory_order order) {
    switch (order) {
        case std::memory_order_relaxed:
            return "relaxed";
        case std::memory_order_acquire:
            return "acquire";
        case std::memory_order_release:
            return "release";
        case std::memory_order_acq_rel:
            return "acq_rel";
        case std::memory_order_seq_cst:
            return "seq_cst";
        default:
            return "consume";
    }
}
const char* name_of(Access access) {
    constexpr const char* kNames[] = {"load", "store", "modify", "fence", "wait"};
    return kNames[static_cast<unsigned>(access)];
}

}  // namespace

std::string to_string(const Mutant& mutant) {
    const Site& s = g_sites[mutant.site];
    std::string text = s.file + ":" + std::to_string(s.line) + ":" + std::to_string(s.column) +
                       " " + name_of(s.access);
    if (s.access != Access::wait) {
        text += std::string(" ") + name_of(s.order);
    }
    switch (mutant.kind) {
        case Mutant::Kind::none:
            break;
        case Mutant::Kind::weaker:
            text += std::string(" made ") + name_of(mutant.order);
            break;
        case Mutant::Kind::left_out:
            text += " left out";
            break;
        case Mutant::Kind::split:
            text += " split";
            break;
    }
    return text;
}

std::vector<Mutant> mutants_of(const Result& result, std::string_view file) {
    std::vector<Mutant> mutants;
    for (const unsigned index : result.sites) {
        const Site& s = g_sites[index];
        if (s.file != file) {
            continue;
        }
        const auto weaker = [&](std::memory_order order) {
            mutants.push_back({Mutant::Kind::weaker, index, order});
        };
        if (is_seq_cst(s.order)) {
            weaker(s.access == Access::load    ? std::memory_order_acquire
                   : s.access == Access::store ? std::memory_order_release
                                               : std::memory_order_acq_rel);
        } else if (s.order == std::memory_order_acq_rel) {
            weaker(std::memory_order_acquire);
            weaker(std::memory_order_release);
        } else if (s.order != std::memory_order_relaxed && s.access != Access::fence) {
            weaker(std::memory_order_relaxed);
        }
        if (s.access != Access::load) {
            mutants.push_back({Mutant::Kind::left_out, index, {}});
        }
        if (s.access == Access::modify) {
            mutants.push_back({Mutant::Kind::split, index, {}});
        }
    }
    return mutants;
}

// ---- what worlds call ---------------------------------------------------------------------------

void require(bool condition, const char* what) {
    if (!condition) {
        g_explorer->fail(what);
    }
}

void forget(uint64_t state) {
    g_explorer->forget(state);
}

unsigned current_thread() {
    return g_explorer->current();
}

void wait_until(const int& value, int wanted) {
    Explorer& e = *g_explorer;
    e.thread().early_matters = true;
    e.thread().waits_for = &value;
    e.thread().wanted = wanted;
    e.schedule();
    e.thread().waits_for = nullptr;
}

// ---- accesses -----------------------------------------------------------------------------------

unsigned add_word(uint64_t value) {
    return g_explorer->memory().add_word(value);
}

uint64_t load(unsigned word, std::memory_order order, const std::source_location& at) {
    Explorer& e = *g_explorer;
    if (e.setting_up()) {
        return e.memory().word(word).back().value;
    }
    const unsigned site = site_of(at, Access::load, order);
    e.reach(site);
    e.schedule_load(word, order);
    order = e.order_of(site, order);
    const unsigned position = e.choose_position(word, e.memory().oldest(e.view(), word, order));
    const uint64_t value = e.memory().load(e.view(), word, position, order);
    e.observe(value);
    e.note(site, position == e.memory().newest(word) ? "load" : "load of an older value", value);
    return value;
}

void store(unsigned word, uint64_t value, std::memory_order order, const std::source_location& at) {
    Explorer& e = *g_explorer;
    if (e.setting_up()) {
        e.memory().set(word, value);
        return;
    }
    const unsigned site = site_of(at, Access::store, order);
    e.reach(site);
    e.schedule_store(word);
    if (e.is_mutant(site, Mutant::Kind::left_out)) {
        return;
    }
    e.check_size(word);
    e.memory().store(e.view(), word, value, e.order_of(site, order));
    e.note(site, "store", value);
}

namespace {

template <typename F>
uint64_t modify(unsigned word, std::memory_order order, const std::source_location& at, F f) {
    Explorer& e = *g_explorer;
    const uint64_t newest = e.memory().word(word).back().value;
    if (e.setting_up()) {
        e.memory().set(word, f(newest));
        return newest;
    }
    const unsigned site = site_of(at, Access::modify, order);
    e.reach(site);
    e.schedule_store(word);
    order = e.order_of(site, order);
    e.check_size(word);
    if (e.is_mutant(site, Mutant::Kind::split)) {
        const uint64_t old = e.memory().load(e.view(), word, e.memory().newest(word), order);
        e.observe(old);
        e.schedule();
        e.memory().store(e.view(), word, f(old), order);
        e.note(site, "store", f(old));
        return old;
    }
    const uint64_t last = e.memory().word(word).back().value;
    const uint64_t written = e.is_mutant(site, Mutant::Kind::left_out) ? last : f(last);
    e.memory().exchange(e.view(), word, written, order);
    e.observe(last);
    e.note(site, "modify, before:", last);
    return last;
}

}  // namespace

uint64_t exchange(unsigned word, uint64_t value, std::memory_order order,
                  const std::source_location& at) {
    return modify(word, order, at, [value](uint64_t) { return value; });
}

uint64_t add(unsigned word, uint64_t value, uint64_t mask, std::memory_order order,
             const std::source_location& at) {
    return modify(word, order, at, [=](uint64_t old) { return (old + value) & mask; });
}

bool compare_exchange(unsigned word, uint64_t& expected, uint64_t desired, std::memory_order order,
                      std::memory_order failure, const std::source_location& at) {
    Explorer& e = *g_explorer;
    const unsigned site = site_of(at, Access::modify, order);
    e.reach(site);
    e.schedule_store(word);
    order = e.order_of(site, order);
    e.check_size(word);
    Memory& memory = e.memory();
    // It fails by any value that a load could take, and succeeds by the newest only.
    std::array<unsigned, 256> positions;
    unsigned n = 0;
    const unsigned newest = memory.newest(word);
    for (unsigned p = newest + 1; p-- > memory.oldest(e.view(), word, failure);) {
        if (p == newest || memory.word(word)[p].value != expected) {
            positions[n++] = p;
        }
    }
    const unsigned position = positions[e.choose(n)];
    const uint64_t value = memory.word(word)[position].value;
    e.observe(value);
    if (value != expected) {
        memory.load(e.view(), word, position, failure);
        e.note(site, "compare-exchange fails by", value);
        expected = value;
        return false;
    }
    if (e.is_mutant(site, Mutant::Kind::split)) {
        memory.load(e.view(), word, position, order);
        e.schedule();
        memory.store(e.view(), word, desired, order);
    } else if (!e.is_mutant(site, Mutant::Kind::left_out)) {
        memory.exchange(e.view(), word, desired, order);
    }
    e.note(site, "compare-exchange writes", desired);
    return true;
}

void fence(std::memory_order order, const std::source_location& at) {
    Explorer& e = *g_explorer;
    if (e.setting_up()) {
        return;
    }
    const unsigned site = site_of(at, Access::fence, order);
    e.reach(site);
    e.thread().early_matters = false;
    if (is_seq_cst(order)) {
        e.schedule();  // others than these concern their thread alone
    }
    if (!e.is_mutant(site, Mutant::Kind::left_out)) {
        e.memory().fence(e.view(), e.order_of(site, order));
        e.note(site, "fence", 0);
    }
}

unsigned add_data(uint64_t value) {
    Explorer& e = *g_explorer;
    e.data.push_back({e.memory().add_word(value)});
    return static_cast<unsigned>(e.data.size() - 1);
}

uint64_t load_data(unsigned data, const char* name) {
    Explorer& e = *g_explorer;
    DataWord& d = e.data[data];
    const uint64_t value = e.memory().word(d.word).back().value;
    if (e.setting_up()) {
        return value;
    }
    e.note(kNobody, name, value);
    if (e.view().current[d.word] != e.memory().newest(d.word)) {
        e.fail("data may be read as it was, or while it is written");
    }
    const unsigned me = e.current();
    if (e.clocks[me] >= 250) {
        e.fail("the model has no room for so many loads");
    }
    d.read[me] = e.view().current[kMaxWords + me] = ++e.clocks[me];
    e.observe(value);
    return value;
}

void store_data(unsigned data, uint64_t value, const char* name) {
    Explorer& e = *g_explorer;
    DataWord& d = e.data[data];
    if (e.setting_up()) {
        e.memory().set(d.word, value);
        return;
    }
    e.check_size(d.word);
    e.note(kNobody, name, value);
    if (e.view().current[d.word] != e.memory().newest(d.word)) {
        e.fail("data is written by two at a time");
    }
    for (unsigned i = 0; i < kMaxThreads; i++) {
        if (i != e.current() && d.read[i] > e.view().current[kMaxWords + i]) {
            e.fail("data is written while somebody may still read it");
        }
    }
    e.memory().store(e.view(), d.word, value, std::memory_order_relaxed);
}

unsigned add_mutex() {
    g_explorer->mutexes.emplace_back();
    return static_cast<unsigned>(g_explorer->mutexes.size() - 1);
}

namespace {

void take(unsigned mutex) {
    Explorer& e = *g_explorer;
    MutexState& m = e.mutexes[mutex];
    m.held = true;
    m.holder = e.current();
    m.count++;
    e.view().current.join(m.view);
    e.memory().lets_none_pass(e.view());
    e.observe_guarded(m);
    e.note(kNobody, "takes lock", mutex);
}

}  // namespace

void lock(unsigned mutex) {
    Explorer& e = *g_explorer;
    if (e.setting_up()) {
        return;
    }
    e.thread().wants_mutex = mutex;
    e.thread().early_matters = false;
    e.schedule();
    e.thread().wants_mutex = kNobody;
    take(mutex);
}

bool try_lock(unsigned mutex) {
    Explorer& e = *g_explorer;
    e.schedule();
    if (e.mutexes[mutex].held) {
        Thread& t = e.thread();
        t.refused = t.refused_by == e.mutexes[mutex].holder ? t.refused + 1 : 1;
        t.refused_by = e.mutexes[mutex].holder;
        e.observe(0);
        e.note(kNobody, "finds taken lock", mutex);
        return false;
    }
    take(mutex);
    return true;
}

void unlock(unsigned mutex) {
    Explorer& e = *g_explorer;
    if (e.setting_up()) {
        return;
    }
    MutexState& m = e.mutexes[mutex];
    m.held = false;
    m.view.join(e.view().current);
    e.note(kNobody, "gives back lock", mutex);
}

bool skips_wait(const std::source_location& at) {
    Explorer& e = *g_explorer;
    const unsigned site = site_of(at, Access::wait, std::memory_order_relaxed);
    e.reach(site);
    return e.is_mutant(site, Mutant::Kind::left_out);
}

}  // namespace minivm::model
