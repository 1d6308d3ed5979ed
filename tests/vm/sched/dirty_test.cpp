#include <catch2/catch.hpp>

#include "tests/vm/support/fake_engine.hpp"
#include "vm/code/export.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/signal.hpp"

namespace minivm {
namespace {

bool g_stayed = false;
Export g_dirty_entry{};
BifDef g_dirty{"test", "dirty", 1,
               [](Process& p, const Term* args) {
                   g_stayed = has_signals(p) && (p.extra == nullptr || p.extra->links.empty());
                   return args[0];
               },
               kBifDirtyCpu | kBifLeavable, &g_dirty_entry};

Term g_other;

// The request is handled on the way out, and the link arrives meanwhile.
void push_link(Process& p, ControlSignal&) { REQUIRE(push_signal(p, new_signal(SignalKind::link, g_other))); }

// A process handled signals until none had come while it left its scheduler: processes that sent links and unlinks
// without end kept it from its function.
TEST_CASE("a link that comes on the way to a dirty function does not keep the process from it") {
    g_stayed = false;
    test::Machine m(1);
    g_other = test::start(nullptr, [](Process&) { return Stop::waiting; });
    test::start(nullptr, [](Process& p) {
        if (p.dirty_bif == nullptr) {
            ControlSignal* const request = new_signal(SignalKind::rpc, g_other);
            request->run = push_link;
            REQUIRE(push_signal(p, request));
            p.dirty_bif = &g_dirty;
            return Stop::dirty;
        }
        p.dirty_bif = nullptr;
        CHECK(p.extra->links.contains(g_other.raw));  // handled when it is back
        vm::halt(0, false);
        return test::exit_normally(p);
    });
    m.wait();
    CHECK(g_stayed);
}

}  // namespace
}  // namespace minivm
