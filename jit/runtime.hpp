// What fragments call in C++: fn(Scheduler*, t0, t1, t2), on the scheduler's own stack.
//
// They answer 0 (go on; the default operation also 1: branch), or the native address to go on at
// instead, with all registers loaded from where they are saved. The return address of the call into
// the fragment is on top of the Erlang stack; it is gone when they answer with an address.
#pragma once

#include "vm/sched/scheduler.hpp"
#include "jit/native_code.hpp"

namespace minivm::jit {

Word runtime_default_op(Scheduler* s, Word record, Word, Word);
Word runtime_collect(Scheduler* s, Word need_words, Word live, Word);
Word runtime_yield(Scheduler* s, Word live, Word, Word);
Word runtime_wait(Scheduler* s, Word resume, Word, Word);
Word runtime_call_bif(Scheduler* s, Word bif, Word tail, Word);
Word runtime_bif_body(Scheduler* s, Word bif, Word, Word);
Word runtime_send(Scheduler* s, Word, Word, Word);
Word runtime_guard_bif(Scheduler* s, Word bif, Word live_and_label, Word);
Word runtime_put_map(Scheduler* s, Word map, Word update, Word);
Word runtime_call_fun(Scheduler* s, Word fun, Word arity, Word);
Word runtime_check_fun(Scheduler* s, Word fun, Word arity, Word);
Word runtime_enter_bytecode(Scheduler* s, Word entry, Word, Word);
Word runtime_enter_fun_bytecode(Scheduler* s, Word fun, Word, Word);
Word runtime_enter_traced(Scheduler* s, Word entry, Word, Word);
// live: of x registers, | kCheckEntry where a function begins.
constexpr Word kCheckEntry = Word{1} << 32;
Word runtime_check_state(Scheduler* s, Word live, Word frame_words, Word);
Word runtime_return_to_bytecode(Scheduler* s, Word, Word, Word);

// The value of a key in a map, or the non-value.
Word leaf_map_get(Word map, Word key);
Word leaf_map_get_hashed(Word map, Word key, Word hash);
Word leaf_exact_equal(Word a, Word b);
Word leaf_remove_message(Word process, Word);
Word leaf_dictionary_value(Word process, Word key);

// Takes up the result of a dirty BIF; p.pc is the native return address of its call. Returns where to go on.
const void* dirty_result(Scheduler* s);

NativeState& native_state(Scheduler* s);

// The fragments of this process, made once, before there is other code.
extern Fragments g_fragments;
// Their frames, by offset from the first one's address.
extern std::vector<NativeFrame> g_fragment_frames;
void make_fragments();

Word runtime_breakpoint(Scheduler* s, Word, Word, Word);
Word runtime_return_trace(Scheduler* s, Word, Word, Word);
// Bytes from a function's entry to where it is entered with its return address on the stack.
extern uint32_t g_entry_skip;

}  // namespace minivm::jit
