// The towers of Hanoi, printed and recorded: how another program uses the recorder, and what it
// saves.
//
//     recorder_hanoi_bench                     # time of both, for some heights
//     recorder_hanoi_bench --show              # record a tower of three and print the recording
#include "recorder/export.hpp"
#include "recorder/site.hpp"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>
#include <string_view>

using namespace minivm::recorder;

namespace {

constexpr const char* kPosts[] = {"left", "middle", "right"};
enum Post { kLeft, kMiddle, kRight };

void hanoi_print(std::FILE* out, int n, Post from, Post to, Post by) {
    if (n == 0) {
        return;
    }
    hanoi_print(out, n - 1, from, by, to);
    std::fprintf(out, "move disk %d from %s to %s\n", n, kPosts[from], kPosts[to]);
    hanoi_print(out, n - 1, by, to, from);
}

// The same line, which is put together only when somebody reads the recording.
void hanoi_record(int n, Post from, Post to, Post by) {
    if (n == 0) {
        return;
    }
    hanoi_record(n - 1, from, by, to);
    MINIVM_RECORD(user, calls, "move disk %d from %s to %s", n, kPosts[from], kPosts[to]);
    hanoi_record(n - 1, by, to, from);
}

uint64_t moves(int n) {
    return (uint64_t{1} << n) - 1;
}

// To a file that swallows everything, and with its buffer flushed at each line as for a terminal.
void print(benchmark::State& state) {
    std::FILE* const out = std::fopen("/dev/null", "w");
    std::setvbuf(out, nullptr, _IOLBF, 4096);
    const auto n = static_cast<int>(state.range(0));
    for (auto _ : state) {
        hanoi_print(out, n, kLeft, kRight, kMiddle);
    }
    std::fclose(out);
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(moves(n)));
}
BENCHMARK(print)->Arg(6)->Arg(12)->Unit(benchmark::kMicrosecond);

void record_moves(benchmark::State& state) {
    if (!init({}).ok) {
        state.SkipWithError("init failed");
        return;
    }
    attach_thread("main", RingSize::large);
    const auto n = static_cast<int>(state.range(0));
    for (auto _ : state) {
        hanoi_record(n, kLeft, kRight, kMiddle);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(moves(n)));
    shutdown();
}
BENCHMARK(record_moves)->Name("record")->Arg(6)->Arg(12)->Unit(benchmark::kMicrosecond);

int show() {
    const InitResult started = init({});
    if (!started.ok) {
        std::fprintf(stderr, "%s\n", started.error.c_str());
        return 1;
    }
    attach_thread("main", RingSize::large);
    hanoi_record(3, kLeft, kRight, kMiddle);
    Snapshot snapshot;
    std::string error;
    StringSink sink;
    if (!snapshot.read_own(error) || !export_text(snapshot, {}, sink).ok) {
        std::fprintf(stderr, "%s\n", error.c_str());
        return 1;
    }
    std::fputs(sink.text.c_str(), stdout);
    shutdown();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == "--show") {
        return show();
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
