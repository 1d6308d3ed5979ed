// What recording and reading cost. Run by hand; docs/protocols/recorder.md has the figures and
// commands.
//
//   recorder_bench --benchmark_filter=record       the write path, beside the bare time stamp
//   recorder_bench --benchmark_filter=start        init(), and system calls on the write path
//   (none) recorder_bench --benchmark_filter=read|merge|text|json|ctf
#include "recorder/clock.hpp"
#include "recorder/export.hpp"
#include "recorder/merge.hpp"
#include "recorder/site.hpp"

#include <benchmark/benchmark.h>

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

using namespace minivm::recorder;

namespace {

// A recording for the whole run: with a file if the machine has a place in memory for one.
class Recording {
public:
    explicit Recording(unsigned threads, bool file) {
        Options options;
        options.large_threads = threads;
        options.size_bytes = (uint64_t{2} << 20) * (threads + 1);
        options.touch = true;
        if (file) {
            path_ = (std::filesystem::is_directory("/dev/shm") ? "/dev/shm/recorder_bench_"
                                                               : "/tmp/recorder_bench_") +
                    std::to_string(getpid());
            options.path = path_;
            options.keep_old = 0;
        }
        const InitResult result = init(options);
        if (!result.ok) {
            std::fprintf(stderr, "%s\n", result.error.c_str());
            std::exit(1);
        }
    }
    ~Recording() {
        shutdown();
        if (!path_.empty()) {
            unlink(path_.c_str());
        }
    }

private:
    std::string path_;
};
std::unique_ptr<Recording> g_recording;

void set_up(const benchmark::State& state) {
    g_recording = std::make_unique<Recording>(static_cast<unsigned>(state.threads()), true);
}
void tear_down(const benchmark::State&) {
    g_recording.reset();
}

// Rings of its own for the time of a benchmark thread.
struct Attached {
    Attached() { attach_thread("bench", RingSize::large); }
    ~Attached() { detach_thread(); }
};

void time_stamp_alone(benchmark::State& state) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(read_counter());
    }
}
BENCHMARK(time_stamp_alone)->Name("record/time_stamp_alone")->Threads(1)->Threads(2)->Threads(8);

void record_four(benchmark::State& state) {
    const Attached attached;
    uint64_t i = 0;
    for (auto _ : state) {
        record(EventId::trace_call_words, i++, 2, 3, 4);
    }
}
BENCHMARK(record_four)
    ->Name("record/four_arguments")
    ->Setup(set_up)
    ->Teardown(tear_down)
    ->Threads(1)
    ->Threads(2)
    ->Threads(8);

void record_one(benchmark::State& state) {
    const Attached attached;
    uint64_t i = 0;
    for (auto _ : state) {
        record(EventId::span_end, i++);
    }
}
BENCHMARK(record_one)->Name("record/one_argument")->Setup(set_up)->Teardown(tear_down);

void record_coarse_one(benchmark::State& state) {
    const Attached attached;
    uint64_t i = 0;
    for (auto _ : state) {
        record_coarse(EventId::span_end, i++);
    }
}
BENCHMARK(record_coarse_one)
    ->Name("record/coarse_one_argument")
    ->Setup(set_up)
    ->Teardown(tear_down)
    ->Threads(1)
    ->Threads(2)
    ->Threads(8);

void record_text(benchmark::State& state) {
    const Attached attached;
    for (auto _ : state) {
        record(EventId::trace_call, 1, "[1,2,3], {ok,<0.80.0>}");
    }
}
BENCHMARK(record_text)->Name("record/text_of_22_bytes")->Setup(set_up)->Teardown(tear_down);

void record_site(benchmark::State& state) {
    const Attached attached;
    uint64_t i = 0;
    for (auto _ : state) {
        MINIVM_RECORD(user, calls, "step %u of %u", i++, 100u);
    }
}
BENCHMARK(record_site)->Name("record/declared_at_the_site")->Setup(set_up)->Teardown(tear_down);

// What the loop of the next benchmark costs without its sites.
void loop_alone(benchmark::State& state) {
    uint64_t i = 0;
    for (auto _ : state) {
        for (int n = 0; n < 10; n++) {
            i++;
            benchmark::DoNotOptimize(i);
            benchmark::ClobberMemory();
        }
    }
}
BENCHMARK(loop_alone)->Name("record/loop_alone_x10");

void record_disabled(benchmark::State& state) {
    const Attached attached;
    set_categories(kAllCategories & ~category_bit(Category::trace));
    uint64_t i = 0;
    // Ten sites a round, in the loop of the benchmark above.
    for (auto _ : state) {
        for (int n = 0; n < 10; n++) {
            i++;
            benchmark::DoNotOptimize(i);
            record(EventId::trace_call_words, i, 2, 3, 4);
            benchmark::ClobberMemory();
        }
    }
}
BENCHMARK(record_disabled)->Name("record/disabled_x10")->Setup(set_up)->Teardown(tear_down);

void record_shared(benchmark::State& state) {
    uint64_t i = 0;
    for (auto _ : state) {
        record(EventId::trace_call_words, i++, 2, 3, 4);
    }
}
BENCHMARK(record_shared)
    ->Name("record/thread_without_rings")
    ->Setup(set_up)
    ->Teardown(tear_down)
    ->Threads(1)
    ->Threads(2);

void start(benchmark::State& state, bool file, bool touch) {
    const std::string path = (std::filesystem::is_directory("/dev/shm") ? "/dev/shm/recorder_start_"
                                                                        : "/tmp/recorder_start_") +
                             std::to_string(getpid());
    for (auto _ : state) {
        Options options;
        options.touch = touch;
        options.keep_old = 0;
        options.path = file ? path : "";
        if (!init(options).ok) {
            state.SkipWithError("init failed");
            break;
        }
        attach_thread("main", RingSize::large);
        state.PauseTiming();
        shutdown();
        state.ResumeTiming();
    }
    unlink(path.c_str());
}
BENCHMARK_CAPTURE(start, memory, false, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(start, memory_touched, false, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(start, file, true, false)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(start, file_touched, true, true)->Unit(benchmark::kMicrosecond);

// Context switches a thread asks for are system calls that wait; faults are the other way into the
// kernel.
void faults(benchmark::State& state) {
    const Attached attached;
    rusage before{};
    rusage after{};
    getrusage(RUSAGE_SELF, &before);
    uint64_t i = 0;
    for (auto _ : state) {
        record(EventId::trace_call_words, i++, 2, 3, 4);
    }
    getrusage(RUSAGE_SELF, &after);
    state.counters["page_faults"] = static_cast<double>(after.ru_minflt - before.ru_minflt);
    state.counters["waits"] = static_cast<double>(after.ru_nvcsw - before.ru_nvcsw);
}
BENCHMARK(faults)->Name("start/kernel_entries_while_recording")->Setup(set_up)->Teardown(tear_down);

// A snapshot of four busy threads' rings, made once.
const Snapshot& sample() {
    static const std::unique_ptr<Snapshot> snapshot = [] {
        Options options;
        options.size_bytes = uint64_t{128} << 20;
        options.large_threads = 4;
        options.small_threads = 1;
        if (!init(options).ok) {
            std::abort();
        }
        define_function(9, "lists", "map", 2);
        for (uint64_t t = 0; t < 4; t++) {
            attach_thread("thread " + std::to_string(t), RingSize::large);
            for (uint64_t i = 0; i < 400'000; i++) {
                set_subject(static_cast<uint32_t>(80 + i % 50));
                record(EventId::sched_in, 80 + i % 50, 4000);
                record(EventId::send, 80 + (i + 1) % 50, t << 40 | i, 12);
                record(EventId::trace_call_words, 9, i, 2, 3);
                // From the thread before, which has sent it already; the first from itself.
                record(EventId::receive, 80, (t == 0 ? 0 : t - 1) << 40 | i, 0);
                record(EventId::sched_out, 80 + i % 50, 17, 2);
            }
            detach_thread();
        }
        auto out = std::make_unique<Snapshot>();
        std::string error;
        if (!out->read_own(error)) {
            std::abort();
        }
        shutdown();
        return out;
    }();
    return *snapshot;
}

void set_rate(benchmark::State& state, uint64_t records) {
    state.counters["records"] = static_cast<double>(records);
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(records));
}

void read_rings(benchmark::State& state) {
    Options options;
    options.size_bytes = uint64_t{64} << 20;
    options.large_threads = 1;
    options.small_threads = 1;
    if (!init(options).ok) {
        state.SkipWithError("init failed");
        return;
    }
    attach_thread("main", RingSize::large);
    for (uint64_t i = 0; i < 1'000'000; i++) {
        record(EventId::trace_call_words, i, 2, 3, 4);
        record(EventId::send, 1, i, 3);
    }
    uint64_t records = 0;
    for (auto _ : state) {
        Snapshot snapshot;
        std::string error;
        snapshot.read_own(error);
        records = snapshot.totals().decoded_records;
    }
    set_rate(state, records);
    shutdown();
}
BENCHMARK(read_rings)->Name("read/snapshot_of_live_rings")->Unit(benchmark::kMillisecond);

void merge(benchmark::State& state) {
    const Snapshot& snapshot = sample();
    for (auto _ : state) {
        Merger merger(snapshot);
        MergedRecord record = merger.next();
        while (record.record != nullptr) {
            benchmark::DoNotOptimize(record.record);
            record = merger.next();
        }
    }
    set_rate(state, snapshot.totals().decoded_records);
}
BENCHMARK(merge)->Unit(benchmark::kMillisecond);

class NullSink : public Sink {
public:
    bool write(std::string_view bytes) override {
        benchmark::DoNotOptimize(bytes.data());
        return true;
    }
};

template <class Export>
void write_out(benchmark::State& state, Export&& write) {
    const Snapshot& snapshot = sample();
    for (auto _ : state) {
        NullSink sink;
        if (!write(snapshot, sink).ok) {
            state.SkipWithError("not written");
        }
    }
    set_rate(state, snapshot.totals().decoded_records);
}
void text(benchmark::State& state) {
    write_out(state, [](const Snapshot& s, Sink& sink) { return export_text(s, {}, sink); });
}
BENCHMARK(text)->Unit(benchmark::kMillisecond);
void json(benchmark::State& state) {
    write_out(state, [](const Snapshot& s, Sink& sink) { return export_json(s, {}, sink); });
}
BENCHMARK(json)->Unit(benchmark::kMillisecond);
void ctf(benchmark::State& state) {
    const std::string directory = "/tmp/recorder_bench_ctf_" + std::to_string(getpid());
    write_out(state, [&](const Snapshot& s, Sink&) {
        std::filesystem::remove_all(directory);
        return export_ctf(s, {}, directory);
    });
    std::filesystem::remove_all(directory);
}
BENCHMARK(ctf)->Unit(benchmark::kMillisecond);

}  // namespace
