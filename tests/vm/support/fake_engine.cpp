#include "tests/vm/support/fake_engine.hpp"

#include <catch2/catch.hpp>

#include <mutex>
#include <vector>

#include "vm/code/export.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/state.hpp"

namespace minivm::test {

namespace {

struct FakeEngine : Engine {
    const char* name() const override { return "fake"; }
    std::unique_ptr<EngineCode> compile(const LoweredModule&) override { return nullptr; }
    void install(ModuleInstance&) override {}
    Armed place_of_breakpoint(const ModuleInstance&, uint32_t) override { return {}; }
    void arm(const Armed*, size_t) override {}
    void disarm(const Armed*, size_t) override {}
    Stop run(Scheduler& s, Process& p) override {
        const Term self = s.x[0];
        p.reductions -= 1;
        auto* body = reinterpret_cast<Body*>(small_value(self));
        const Stop stop = (*body)(p);
        if (stop == Stop::exited) {
            return stop;
        }
        save_x_registers(p, &self, 1);
        return stop;
    }
    Stop dirty_done(Scheduler& s, Process& p) override { return run(s, p); }
};

FakeEngine g_engine;
Export g_entry{};

// Bodies live as long as the machine: a process that is killed does not free its own.
std::mutex g_mutex;
std::vector<std::unique_ptr<Body>> g_bodies;

}  // namespace

Term start(Process* parent, Body body) { return start(parent, std::move(body), false, false); }

Term start(Process* parent, Body body, bool link, bool monitor, RefId* monitor_ref) {
    auto owned = std::make_unique<Body>(std::move(body));
    Term cell[2];
    const Term args =
        put_cons(cell, make_small(reinterpret_cast<int64_t>(owned.get())), kNil);
    {
        std::lock_guard lock(g_mutex);
        g_bodies.push_back(std::move(owned));
    }
    SpawnOptions options;
    options.link = link;
    options.monitor = monitor;
    const Term pid = spawn(parent, &g_entry, args, options);
    if (monitor_ref != nullptr) {
        *monitor_ref = options.monitor_ref;
    }
    return pid;
}

Stop exit_with(Process& p, Term reason) {
    p.exception = Exception{};
    p.exception.cls = ExceptionClass::exit;
    p.exception.reason = reason;
    return Stop::exited;
}

Stop exit_normally(Process& p) { return exit_with(p, atoms::normal); }

Machine::Machine(int schedulers, uint64_t seed, bool one_reduction) {
    vm::Options o;
    o.schedulers = schedulers;
    o.stress_sched_seed = seed == 0 ? 0 : seed + Catch::rngSeed();
    o.stress_reductions = one_reduction;
    g_engines.bytecode = &g_engine;
    REQUIRE(vm::start(o, &g_engine));
}

int Machine::wait() {
    waited_ = true;
    bool clean = false;
    const int status = vm::run_until_halt(&clean);
    CHECK(clean);
    std::lock_guard lock(g_mutex);
    g_bodies.clear();
    return status;
}

Machine::~Machine() {
    if (!waited_) {
        vm::halt(0, false);
        wait();
    }
}

}  // namespace minivm::test
