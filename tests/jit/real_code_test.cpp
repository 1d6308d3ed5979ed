// Every .beam file of the installed OTP and Elixir is emitted for both machines, on any host.
#include "vm/bif/bif.hpp"
#include "jit/describe.hpp"
#include "loader/loader.hpp"
#include "tests/support/installed_beams.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <ctime>
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

TEST_CASE("all installed .beam files are emitted for both machines", "[jit][.real]") {
    bif_registry::init();
    const std::vector<std::string> beams = test::installed_beams();
    REQUIRE(beams.size() > 1000);
    struct Sum {
        size_t bytes = 0;
        double seconds = 0;
    };
    Sum sums[std::size(kMachines)];
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
            const std::vector<uint8_t> code = lay_out(m, kMachines[n], true);
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
}

}  // namespace
}  // namespace minivm::jit
