// The memory of a process: heap and stack in one block, and objects that survived two collections in another.
//
//   block:  heap_start ... top -> free <- stack ... stack_base
//   stack:  grows down; y0 is at the stack pointer; above a frame's y registers lies the return
//           address of the call that made it (a word tagged 100). A function without a frame has its
//           return address on top. With frame pointers (--perf=fp) each native frame has one more
//           word, directly below that return address: see frame_pointer.
//
// Threads: the owner of the process.
#pragma once

#include "vm/term/heap.hpp"

namespace minivm {

struct ProcessHeap {
    Heap heap;                      // heap.end is the stack pointer whenever C++ runs
    Term* heap_start = nullptr;     // the block begins
    Term* high_water = nullptr;     // objects below survived one collection
    Term* stack_base = nullptr;     // the block ends
    // Points to that word of the innermost native frame, which holds the address of the next frame's, or 0
    // in the last one. To other readers the word is a small integer. Null without frame pointers.
    Term* frame_pointer = nullptr;
    size_t virtual_heap_bytes = ~size_t{0};  // off-heap bytes that trigger a collection
    uint32_t gc_room_words = 0;     // that the next collection is to leave free
    bool force_gc = false;          // collect at the next chance
    bool grow_heap = false;         // the next collection takes a larger block

    uint32_t gc_minor_since_full = 0;
    uint32_t min_heap_words = 233;
    uint32_t fullsweep_after = 65535;
    Term* old_start = nullptr;
    Term* old_top = nullptr;
    Term* old_end = nullptr;
    Term* old_off_heap = nullptr;          // off-heap objects in the old generation
    size_t old_off_heap_bytes = 0;
    size_t old_virtual_heap_bytes = 0;     // more than this: the next collection is a major one

    // A process whose last BIF left fragments (or much off-heap memory), or which has received more than
    // its block has room for, must collect before it goes on.
    bool needs_gc() const {
        return heap.fragments != nullptr || force_gc || heap.off_heap_bytes > virtual_heap_bytes;
    }
    // Call it when frames have been taken off the stack.
    void drop_frame_pointers() {
        while (frame_pointer != nullptr && frame_pointer < heap.end) {
            frame_pointer = reinterpret_cast<Term*>(frame_pointer->raw);
        }
    }

    // In words: the block; the part of it that the stack takes; what objects take in block, fragments and
    // old generation.
    size_t block_words() const { return static_cast<size_t>(stack_base - heap_start); }
    size_t stack_words() const { return static_cast<size_t>(stack_base - heap.end); }
    size_t young_words() const { return static_cast<size_t>(heap.top - heap_start); }
    size_t old_words() const { return static_cast<size_t>(old_top - old_start); }
    size_t used_words() const {
        return young_words() + heap.fragment_words + heap.received_words + old_words();
    }
};

// Gives a new process its block: at least min_words, stack and reserve included.
void heap_init(ProcessHeap& p, size_t min_words);
// Frees block, old generation and fragments, and gives up all off-heap references. The mailbox's
// messages are not touched.
void heap_release(ProcessHeap& p);

// The smallest of the sizes that blocks have that is at least `words`.
size_t next_heap_size(size_t words);
// Words that block, old generation and fragments occupy, free ones included.
size_t heap_capacity_words(const ProcessHeap& p);

}  // namespace minivm
