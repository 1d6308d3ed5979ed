// The test program: Catch2's runner with the seed printed, so that a failure can be run again.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cstdio>
#include <random>

int main(int argc, char** argv) {
    Catch::Session session;
    if (const int status = session.applyCommandLine(argc, argv); status != 0) {
        return status;
    }
    Catch::ConfigData& options = session.configData();
    if (options.rngSeed == 0) {
        options.rngSeed = std::random_device{}();
    }
    if (!options.showHelp && !options.listTests && !options.listTestNamesOnly &&
        !options.listTags) {
        std::fprintf(stderr, "seed: --rng-seed %u\n", options.rngSeed);
    }
    return session.run();
}
