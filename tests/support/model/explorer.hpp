// Runs code of ours with its atomics replaced by those of atomics.hpp, in every way that the model
// of memory (weak_memory.hpp) and all schedules allow.
//
// A scenario is a World: its members are the words, its threads are plain functions. Each thread
// runs on a stack of its own; before each access to a word that others may see, any thread may go
// on. An execution is a path of choices (which thread, which value a load takes), and the next one
// replays it up to the last choice that has an alternative left.
//
// What keeps that finite and quick: a thread's state is a function of the values it has read, so
// the state of everything is a hash of these and of the memory. A path that comes to a state where
// another has been with as many preemptions left is left. World::digest() adds what is neither:
// plain data that threads share, unless it is read under a Mutex only. A thread that fell off a
// path is dropped with its stack as it is, so what runs here must own no memory in local variables.
//
// What a thread has read long ago mostly does not matter any more, but keeps states apart. A World
// that says of all of its data what it is (digest_is_whole()) may say so by forget().
//
// Mutants: each access is a *site*, known by its place in the source. A run can weaken the order of
// a site, leave its store out, or split its read-modify-write; mutants_of() makes all of them, so
// that a test can ask that each is found.
#pragma once

#include "tests/support/model/weak_memory.hpp"

#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace minivm::model {

enum class Access : uint8_t { load, store, modify, fence, wait };

struct Site {
    std::string file;  // without folders
    unsigned line, column;
    std::string function;
    Access access;
    std::memory_order order;
};

struct Mutant {
    enum class Kind : uint8_t { none, weaker, left_out, split };
    Kind kind = Kind::none;
    unsigned site = 0;
    std::memory_order order{};  // weaker

    bool operator==(const Mutant&) const = default;
};
std::string to_string(const Mutant& mutant);

class World {
public:
    virtual ~World() = default;
    virtual unsigned threads() const = 0;
    virtual void run(unsigned thread) = 0;
    // When all threads have ended, with what they have seen.
    virtual void end() {}
    // Shared plain data that a state consists of beside the words.
    virtual uint64_t digest() const { return 0; }
    // True: that read under a Mutex as well. Threads may forget() then.
    virtual bool digest_is_whole() const { return false; }
};
using MakeWorld = std::unique_ptr<World> (*)();

struct Limits {
    uint64_t max_states = 20'000'000;
    int max_preemptions = -1;  // how often a thread that could go on is put aside; -1: any number
    unsigned max_steps = 3000;
    bool strong = false;  // loads take the newest value: for what has to happen some time
    // Goes so many steps on from each state where another path has been, and fails unless they lead
    // where the other led to: so that forget() is found out that forgets too much.
    unsigned doubt = 0;
};

struct Result {
    std::string error;  // empty: none. Else what went wrong and the accesses that lead there.
    uint64_t states = 0;
    uint64_t executions = 0;
    uint64_t steps = 0;
    uint64_t unordered_stores = 0;
    bool complete = true;         // false: limits ended it
    std::vector<unsigned> sites;  // that were reached
};

Result explore(MakeWorld make, const Limits& limits = {}, const Mutant& mutant = {});

// The mutants of the sites that a run has reached whose file has this name: each order one step
// weaker, stores and waits left out, read-modify-writes split.
std::vector<Mutant> mutants_of(const Result& result, std::string_view file);
const Site& site(unsigned index);

// ---- for worlds ---------------------------------------------------------------------------------

// A state that must not be.
void require(bool condition, const char* what);
// The thread goes on when `value` is `wanted` or more; somebody else's step makes it so.
void wait_until(const int& value, int wanted);
unsigned current_thread();
// From here on this thread goes on by `state`, the words and digest(), whatever it has read so far.
void forget(uint64_t state);

// ---- for atomics.hpp ----------------------------------------------------------------------------

uint64_t hash(uint64_t a, uint64_t b);

unsigned add_word(uint64_t value);
uint64_t load(unsigned word, std::memory_order order, const std::source_location& at);
void store(unsigned word, uint64_t value, std::memory_order order, const std::source_location& at);
uint64_t exchange(unsigned word, uint64_t value, std::memory_order order,
                  const std::source_location& at);
uint64_t add(unsigned word, uint64_t value, uint64_t mask, std::memory_order order,
             const std::source_location& at);
bool compare_exchange(unsigned word, uint64_t& expected, uint64_t desired, std::memory_order order,
                      std::memory_order failure, const std::source_location& at);
void fence(std::memory_order order, const std::source_location& at);
// Data: a word that one thread at a time writes, with plain accesses that a protocol keeps apart. A
// load must be sure to find the newest value, and a store must come after all loads: by
// happens-before, for the order of fences alone would let a store overtake a load before the fence.
unsigned add_data(uint64_t value);
uint64_t load_data(unsigned data, const char* name);
void store_data(unsigned data, uint64_t value, const char* name);
unsigned add_mutex();
void lock(unsigned mutex);
bool try_lock(unsigned mutex);
void unlock(unsigned mutex);
// True if this wait is left out.
bool skips_wait(const std::source_location& at);

}  // namespace minivm::model
