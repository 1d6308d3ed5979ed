// Every .beam file of the installed OTP and Elixir is emitted for both machines, on any host.
#include "vm/bif/bif.hpp"
#include "jit/describe.hpp"
#include "loader/loader.hpp"
#include "tests/support/installed_beams.hpp"
#include "tools/embedded.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

namespace minivm::jit {
namespace {

// What this thread alone has used: other work of the machine does not count.
double thread_cpu_s() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

size_t index(Op op) {
    return static_cast<size_t>(op);
}

// A fast path that only one machine has is named here with the reason.
struct OneSided {
    Op op;
    const char* reason;
};
const std::vector<OneSided> kOneSided = {};

// Both machines have a fast path for the same instructions.
void check_both_alike(const OpUses (&uses)[std::size(kMachines)]) {
    for (size_t op = 0; op < index(Op::kCount); ++op) {
        const bool listed = std::any_of(kOneSided.begin(), kOneSided.end(),
                                        [op](const OneSided& one) { return index(one.op) == op; });
        INFO(instr_info(static_cast<Op>(op)).name);
        CHECK(uses[0][op].count == uses[1][op].count);
        CHECK((uses[0][op].defaults == uses[1][op].defaults) != listed);
    }
}

// The kinds that take most of the code, and how many have no fast path.
void print_uses(const OpUses (&uses)[std::size(kMachines)]) {
    std::vector<size_t> ops(index(Op::kCount));
    std::iota(ops.begin(), ops.end(), size_t{0});
    std::sort(ops.begin(), ops.end(),
              [&](size_t a, size_t b) { return uses[0][a].bytes > uses[0][b].bytes; });
    std::printf("%-20s %9s %9s %12s %12s\n", "instruction", "number", "default", "x86-64 bytes",
                "aarch64 bytes");
    for (size_t n = 0; n < 25; ++n) {
        const OpUse& use = uses[0][ops[n]];
        std::printf("%-20s %9zu %9zu %12zu %12zu\n", instr_info(static_cast<Op>(ops[n])).name,
                    size_t{use.count}, size_t{use.defaults}, size_t{use.bytes},
                    size_t{uses[1][ops[n]].bytes});
    }
}

TEST_CASE("both machines have the same fast paths") {
    bif_registry::init();
    OpUses uses[std::size(kMachines)] = {};
    for (size_t e = 0; e < tools::kEmbeddedModuleCount; ++e) {
        const tools::EmbeddedModule& embedded = tools::kEmbeddedModules[e];
        LoweredModule m;
        loader::LoadError error;
        REQUIRE(loader::load(embedded.bytes, embedded.size, &m, &error));
        for (size_t n = 0; n < std::size(kMachines); ++n) {
            lay_out(m, kMachines[n], true, nullptr, &uses[n]);
        }
    }
    CHECK(uses[0][index(Op::move)].count > 100);
    CHECK(uses[0][index(Op::move)].defaults == 0);
    check_both_alike(uses);

    // Without fast paths each of them is a default operation.
    LoweredModule m;
    loader::LoadError error;
    const tools::EmbeddedModule& embedded = tools::kEmbeddedModules[0];
    REQUIRE(loader::load(embedded.bytes, embedded.size, &m, &error));
    OpUses slow = {};
    lay_out(m, Machine::x86_64, false, nullptr, &slow);
    CHECK(slow[index(Op::move)].count > 0);
    CHECK(slow[index(Op::move)].defaults == slow[index(Op::move)].count);
}

TEST_CASE("all installed .beam files are emitted for both machines", "[jit][.real]") {
    bif_registry::init();
    const std::vector<std::string> beams = test::installed_beams();
    REQUIRE(beams.size() > 1000);
    struct Sum {
        size_t bytes = 0;
        double seconds = 0;
    };
    Sum sums[std::size(kMachines)];
    OpUses uses[std::size(kMachines)] = {};
    size_t instructions = 0;
    double loading_s = 0;
    for (const std::string& path : beams) {
        const std::vector<uint8_t> file = test::read_installed(path);
        double begun = thread_cpu_s();
        LoweredModule m;
        loader::LoadError error;
        INFO(path);
        REQUIRE(loader::load(file.data(), file.size(), &m, &error));
        loading_s += thread_cpu_s() - begun;
        instructions += m.code.size();
        for (size_t n = 0; n < std::size(kMachines); ++n) {
            begun = thread_cpu_s();
            const std::vector<uint8_t> code = lay_out(m, kMachines[n], true, nullptr, &uses[n]);
            sums[n].seconds += thread_cpu_s() - begun;
            sums[n].bytes += code.size();
            // Each instruction but on_load and the like takes some.
            CHECK(code.size() > m.code.size());
        }
    }
    std::printf("%zu .beam files, %zu instructions, loaded in %.1f s of processor time\n",
                beams.size(), instructions, loading_s);
    for (size_t n = 0; n < std::size(kMachines); ++n) {
        std::printf("%-8s %zu bytes, emitted in %.1f s\n", machine_name(kMachines[n]),
                    sums[n].bytes, sums[n].seconds);
    }
    print_uses(uses);
    check_both_alike(uses);
}

}  // namespace
}  // namespace minivm::jit
