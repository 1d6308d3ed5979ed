// What breakpoints count: calls, the time or the words that a function took.
//
// Each scheduler has a part of its own, which only it writes; who reads adds them up, beside it.
#pragma once

#include "vm/process/process.hpp"
#include "vm/process/tracing.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <vector>

namespace minivm::trace {

// How often a function was called.
class CallCount {
public:
    CallCount();
    // By the scheduler of that number; 0: any other thread.
    void add(int scheduler) { tracing::count_call(cells_.get(), scheduler); }
    tracing::CallCell* cells() { return cells_.get(); }
    uint64_t sum() const;  // any thread; what is counted meanwhile may be missing

private:
    const uint32_t count_;
    std::unique_ptr<tracing::CallCell[]> cells_;
};

// How often processes called a function, and what it took of them: ticks of the clock, or words.
//
// A process keeps a reference to the table of the function it runs for as long as that takes, so
// tables are never freed but used again, under another generation.
class CallTable {
public:
    struct Row {
        Term pid;
        uint64_t calls;
        uint64_t amount;
    };
    // An empty one. Given back when nobody holds it, and everybody has passed after that.
    static std::shared_ptr<CallTable> make();

    uint32_t generation() const {
        // relaxed: it changes only when everybody has passed since the table was in a breakpoint.
        return generation_.load(std::memory_order_relaxed);
    }
    void add(Term pid, uint64_t calls, uint64_t amount);  // by the process's scheduler
    std::vector<Row> rows() const;                        // any thread that may hold a Process*

private:
    struct Slots;
    struct alignas(64) Part {
        std::atomic<Slots*> slots{nullptr};
    };
    CallTable();
    void clear();
    static void give_back(CallTable* table);

    std::atomic<uint32_t> generation_{1};
    std::unique_ptr<Part[]> parts_;
};
using CallTablePtr = std::shared_ptr<CallTable>;

// ---- the clock of a process ---------------------------------------------------------------------
// What a process takes goes to the innermost function that is counted, until it calls another such
// function or returns from it. On its scheduler.

// A function with these tables (either may be null) is called; each session counts by itself.
// leaves_frame: clock_left() follows when it returns; otherwise its caller's frame stands for both.
void clock_called(Process& p, uint32_t session, CallTable* time, CallTable* memory,
                  bool leaves_frame);
// It has returned, or an exception has passed its frame.
void clock_left(Process& p, uint32_t session);
void clock_scheduled(Process& p, bool in);
void clock_collecting(Process& p, bool start);
// The stack is gone.
void clock_dropped(Process& p);

// What is told when a call returns: a frame on the stack, without its address. Module, function,
// flags << 8 | arity, and whose it is (trace/frame.hpp).
using FrameWords = std::array<Term, 4>;
// Of a function of the VM that has not returned yet.
struct UnfinishedCall {
    std::vector<FrameWords> frames;  // in the order in which they are told
    std::vector<uint32_t> clocks;    // sessions that measure it
    const void* caller = nullptr;    // where it returns to
    uint64_t record_id = 0;          // the breakpoint's
    std::vector<tracing::Tracer> meta_tracers;  // keeps those of the frames
};
void set_unfinished(Process& p, UnfinishedCall call);
UnfinishedCall take_unfinished(Process& p);
// It traps to itself, to go on in another slice: the next call with the breakpoint of
// that serial number is the same one.
void set_repeated(Process& p, uint64_t breakpoint, UnfinishedCall call);
// False: it is another call.
bool take_repeated(Process& p, uint64_t breakpoint, UnfinishedCall* out);

// Counts a trace frame on p's stack; false: there are as many as may be. once: it is the first time
// since there were fewer.
bool add_frame(Process& p, bool* once);
bool has_room_for_frame(const Process& p);
void remove_frames(Process& p, uint32_t count);
void forget_local(Process& p);

double ticks_per_second();

}  // namespace minivm::trace
