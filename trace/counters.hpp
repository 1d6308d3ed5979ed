// What breakpoints count: calls, and the time or the heap words that a function takes.
//
// Each scheduler has a part of its own, which only it writes; readers add the parts up meanwhile.
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

// How often each process called a function, and how much the function took: clock ticks, or words.
//
// A process keeps a reference to the table of the function that it runs for as long as that takes, so
// tables are never freed but used again, under another generation.
class CallTable {
public:
    struct Row {
        Term pid;
        uint64_t calls;
        uint64_t amount;
    };
    // An empty table. It can be used again after the last reference has gone and thread progress.
    static std::shared_ptr<CallTable> make();

    uint32_t generation() const {
        // relaxed: it changes only after thread progress since the table left the last breakpoint.
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
// What a process takes goes to the innermost counted function, until the process calls another counted
// function or returns. On the process's scheduler.

// The process calls a function with these tables (either may be null); each session counts by itself.
// leaves_frame: clock_left() follows when it returns; otherwise its caller's frame stands for both.
void clock_called(Process& p, uint32_t session, CallTable* time, CallTable* memory,
                  bool leaves_frame);
// The function has returned, or an exception has passed its frame.
void clock_left(Process& p, uint32_t session);
void clock_scheduled(Process& p, bool in);
void clock_collecting(Process& p, bool start);
// The stack is gone.
void clock_dropped(Process& p);

// A frame that a call leaves for its return, without the address: module, function,
// flags << 8 | arity, and whose it is (trace/frame.hpp).
using FrameWords = std::array<Term, 4>;
// A traced call of a function of the VM that has not returned yet.
struct UnfinishedCall {
    std::vector<FrameWords> frames;  // in the order in which their returns are told
    std::vector<uint32_t> clocks;    // sessions that measure it
    const void* caller = nullptr;    // where it returns to
    uint64_t record_id = 0;          // the breakpoint's
    std::vector<tracing::Tracer> meta_tracers;  // keep the tracers of frames alive
};
void set_unfinished(Process& p, UnfinishedCall call);
UnfinishedCall take_unfinished(Process& p);
// The BIF traps to itself, to go on in another slice: its next call, with the breakpoint of that serial
// number, is the same call.
void set_repeated(Process& p, uint64_t breakpoint, UnfinishedCall call);
// False: this is another call.
bool take_repeated(Process& p, uint64_t breakpoint, UnfinishedCall* out);

// Counts one more trace frame on p's stack. False: there are as many as there may be; *once: for the first
// time since remove_frames() has reset that.
bool add_frame(Process& p, bool* once);
bool has_room_for_frame(const Process& p);
void remove_frames(Process& p, uint32_t count);
void forget_local(Process& p);

double ticks_per_second();

}  // namespace minivm::trace
