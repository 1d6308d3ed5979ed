// Giving back literal areas: of purged code, and of persistent terms that were replaced or erased.
//
// Heaps, stacks, dictionaries and queued messages may refer to literals. A round
//   1. marks the areas as released: whoever copies a term from now on copies these literals as well,
//   2. waits for thread progress: nobody is still copying by the old rule, and all messages that were
//      copied by it are in their receivers' queues,
//   3. sends each process a signal; it moves what it refers to of them into its heap, and answers,
//   4. waits for thread progress: a process that is ending answers, or is not found, before it sends its
//      reason, and still has to copy by the new rule,
//   5. takes back the rule, waits for thread progress, takes back the marks and frees the areas.
// What is stored outside of processes (ETS, timers, prepared code) never refers to literals. Areas that
// come while a round is under way wait for the next one.
//
// Threads: any. Nobody waits.
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
// Whether it is step 3's, which changes nothing that anybody sees of the process.
bool is_request(const ControlSignal& s);
// Somebody who is no process any more (end_dirty_process()) may refer to any literal: no area is freed that
// was released before, nor those to come, until he gives it up. Before he leaves the table of processes.
void keep();
void give_up();
// Areas taken over so far, and those freed of them.
struct Counts {
    uint64_t taken;
    uint64_t freed;
};
Counts counts();
// Frees what is left. When all processes are gone and no other thread takes part.
void finish_all();

}  // namespace minivm::literal_release
