// Freeing literal areas: of purged code, and of persistent terms that were replaced or erased.
//
// Heaps, stacks, dictionaries and queued messages may refer to literals. A round
//   1. marks the areas as released: from now on every copy of a term copies these literals as well,
//   2. waits for thread progress: no thread copies by the old rule any more, and all messages that were
//      copied by it are in their receivers' queues,
//   3. sends each process a signal; the process moves the marked literals that it refers to into its heap, and
//      answers,
//   4. waits for thread progress: a process that is ending answers, or is not found, before it sends its
//      exit reason, and must still copy that by the new rule,
//   5. ends the new rule, waits for thread progress, removes the marks and frees the areas.
// Terms stored outside of processes (ETS, timers, prepared code) never refer to literals. Areas that
// come while a round is under way wait for the next one.
//
// Threads: any. No thread waits.
#pragma once

#include <cstdint>
#include <memory>

#include "vm/term/heap.hpp"

namespace minivm {
struct ControlSignal;
}
namespace minivm::literal_release {

// Takes over an area that no code refers to any more, only terms in processes. Null does nothing.
void take(std::unique_ptr<LiteralArea> area);
// Whether s is the signal of step 3, which changes nothing that other processes can see.
bool is_request(const ControlSignal& s);
// The dirty function of a process that has ended (end_dirty_process()) may refer to any literal: between keep() and
// give_up() no area is freed. keep() comes before the process leaves the process table.
void keep();
void give_up();
// Areas taken over so far, and those freed of them.
struct Counts {
    uint64_t taken;
    uint64_t freed;
};
Counts counts();
// Frees the remaining areas. When all processes are gone and no other thread participates in thread progress.
void finish_all();

}  // namespace minivm::literal_release
