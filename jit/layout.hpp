// Offsets of what native code reads and writes in the VM's structures.
#pragma once

#include "vm/code/export.hpp"
#include "vm/process/tracing.hpp"
#include "vm/sched/scheduler.hpp"

#include <cstddef>

namespace minivm::jit {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // conditionally supported; these compilers do
constexpr int32_t kHeapTop = offsetof(Process, heap) + offsetof(Heap, top);
constexpr int32_t kHeapEnd = offsetof(Process, heap) + offsetof(Heap, end);
constexpr int32_t kReductions = offsetof(Process, reductions);
constexpr int32_t kProcessTrace = offsetof(Process, trace);
constexpr int32_t kFramePointer = offsetof(Process, frame_pointer);
constexpr int32_t kProcessId = offsetof(Process, id);
constexpr int32_t kInReceiveExamine = offsetof(Process, in_receive_examine);
constexpr int32_t kMailboxSave = offsetof(Process, mailbox) + offsetof(Mailbox, save);
constexpr int32_t kMailboxOnHeap =
    offsetof(Process, mailbox) + offsetof(Mailbox, on_heap_count);
constexpr int32_t kSignalTerm = offsetof(Signal, term);
constexpr int32_t kSignalFragments = offsetof(Signal, fragments);
constexpr int32_t kSchedProcess = offsetof(Scheduler, process);
constexpr int32_t kSchedF = offsetof(Scheduler, f);
constexpr int32_t kCodeIx = offsetof(Scheduler, code_ix);
constexpr int32_t kSchedNumber = offsetof(Scheduler, number);
constexpr int32_t kCStack = offsetof(Scheduler, c_stack);
constexpr int32_t kExportNative = offsetof(Export, native);
constexpr int32_t kExportOriginal = offsetof(Export, original);
constexpr int32_t kTargetNative = offsetof(ExportTarget, native);
constexpr int32_t kFunNative = offsetof(FunEntry, native);
constexpr int32_t kFunArity = offsetof(FunEntry, arity);
// A word behind the x registers, for results that are no term.
constexpr int32_t kScratchX = 8 * kMaxXRegisters;
constexpr int32_t kSignalNext = offsetof(Signal, next);
constexpr int32_t kArmedMask = offsetof(tracing::ArmedTable, byte_mask);
constexpr int32_t kArmedSlots = offsetof(tracing::ArmedTable, slots);
constexpr int32_t kSlotPlace = offsetof(tracing::ArmedTable::Slot, place);
constexpr int32_t kPlaceCells = offsetof(tracing::ArmedPlace, cells);
#pragma GCC diagnostic pop
static_assert(offsetof(tracing::ArmedTable::Slot, key) == 0 &&
              offsetof(tracing::CallCell, calls) == 0);
static_assert(kSignalNext == 0 && offsetof(Scheduler, x) == 0 && kExportNative == 0 && kFunNative == 0);

}  // namespace minivm::jit
