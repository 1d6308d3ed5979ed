#include "vm/util/recorded_words.hpp"

#include <atomic>
#include <bit>
#include <iterator>

#include "recorder/recorder.hpp"

namespace minivm::records {

void define_words() {
    constexpr const char* kWords[] = {"none",      "yielded", "waiting", "goes dirty", "exited",
                                      "processes", "atoms",   "exit",    "down"};
    static_assert(std::size(kWords) == static_cast<size_t>(Word::count));
    for (uint64_t i = 0; i < static_cast<uint64_t>(Word::count); ++i) {
        recorder::define_string(i, kWords[i]);
    }
}

void note_use(Word limit, uint64_t used, uint64_t of) {
    // The step grows by one each time the free part is halved: a quarter, an eighth, a sixteenth, ...
    static std::atomic<uint32_t> told[static_cast<size_t>(Word::count)];
    const uint64_t left = of > used ? of - used : 1;
    const auto step = static_cast<uint32_t>(std::bit_width(of / left));
    auto& last = told[static_cast<size_t>(limit)];
    // relaxed: only the number itself counts.
    uint32_t seen = last.load(std::memory_order_relaxed);
    // relaxed: as above.
    if (step > seen && last.compare_exchange_strong(seen, step, std::memory_order_relaxed)) {
        MINIVM_EVENT(limit_near, static_cast<uint64_t>(limit), used, of);
    }
}

}  // namespace minivm::records
