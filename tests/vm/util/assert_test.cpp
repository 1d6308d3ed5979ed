#include "vm/util/assert.hpp"

#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace minivm {
namespace {

struct ChildResult {
    int signal;
    std::string error_output;
};

// Runs body in a child process that is expected to die, and collects its standard error.
template <typename Body>
ChildResult run_in_child(Body body) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        // The test runner's handler would report the abort as a failed test of its own.
        std::signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    close(ends[1]);
    std::string output;
    char buffer[512];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
        output.append(buffer, static_cast<size_t>(n));
    }
    close(ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return {WIFSIGNALED(status) ? WTERMSIG(status) : 0, output};
}

TEST_CASE("a failed check aborts with the expression and its place") {
    const ChildResult result = run_in_child([] {
        const int answer = 41;
        MINIVM_CHECK(answer == 42);
    });
    REQUIRE(result.signal == SIGABRT);
    REQUIRE(result.error_output.find("check failed: answer == 42") != std::string::npos);
    REQUIRE(result.error_output.find("assert_test.cpp:") != std::string::npos);
}

TEST_CASE("a very long expression is cut, not lost") {
    const std::string expression(5000, 'e');
    const ChildResult result =
        run_in_child([&] { assertion_failed("check", expression.c_str(), "file.cpp", 1, "f"); });
    REQUIRE(result.signal == SIGABRT);
    // An emulator adds a line of its own about the signal.
    const std::string line = result.error_output.substr(0, result.error_output.find('\n') + 1);
    REQUIRE(line.size() == 1023);
    REQUIRE(line.rfind("file.cpp:1: f: check failed: eee", 0) == 0);
}

TEST_CASE("an assertion evaluates its condition in debug builds only") {
    int evaluated = 0;
    MINIVM_ASSERT(++evaluated > 0);
#ifdef MINIVM_DEBUG
    REQUIRE(evaluated == 1);
#else
    REQUIRE(evaluated == 0);
#endif
}

}  // namespace
}  // namespace minivm
