// What it costs to install code and to patch it. Run by hand; docs/jit.md has the figures.
//
//   code_memory_bench
#include "jit/code_memory.hpp"

#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <vector>

using namespace minivm;

namespace {

// A range with and without a file behind it.
std::unique_ptr<CodeMemory> make_memory(const benchmark::State& state) {
    CodeMemory::Options options;
    options.nameless = state.range(0) != 0;
    auto memory = CodeMemory::create(options);
    if (!memory.ok()) {
        std::abort();
    }
    return std::move(memory).value();
}

void write_code(CodeMemory& memory, CodeBlock block) {
    const CodeMemory::Writer writer = memory.open(block);
    std::memset(writer.data(), 0x90, writer.size());
}

void install_and_release(benchmark::State& state) {
    const auto memory = make_memory(state);
    const auto neighbour = memory->allocate(64);
    const auto bytes = static_cast<size_t>(state.range(1));
    for (auto _ : state) {
        const CodeBlock block = memory->allocate(bytes);
        write_code(*memory, block);
        memory->release(block);
    }
    memory->release(neighbour);
    state.SetBytesProcessed(state.iterations() * state.range(1));
}
BENCHMARK(install_and_release)
    ->ArgNames({"nameless", "bytes"})
    ->ArgsProduct({{0, 1}, {1 << 10, 16 << 10, 256 << 10}})
    ->Unit(benchmark::kMicrosecond);

// One module after the other, as at the start of a program.
void install(benchmark::State& state) {
    const auto memory = make_memory(state);
    const auto bytes = static_cast<size_t>(state.range(1));
    std::vector<CodeBlock> blocks;
    for (auto _ : state) {
        const CodeBlock block = memory->allocate(bytes);
        if (!block) {
            state.PauseTiming();
            for (const CodeBlock& one : blocks) {
                memory->release(one);
            }
            blocks.clear();
            state.ResumeTiming();
            continue;
        }
        write_code(*memory, block);
        blocks.push_back(block);
    }
    state.SetBytesProcessed(state.iterations() * state.range(1));
}
BENCHMARK(install)
    ->ArgNames({"nameless", "bytes"})
    ->ArgsProduct({{0, 1}, {1 << 10, 16 << 10, 256 << 10}})
    ->Unit(benchmark::kMicrosecond);

void patch(benchmark::State& state) {
    const auto memory = make_memory(state);
    const CodeBlock block = memory->allocate(4096);
    write_code(*memory, block);
    uint64_t value = 0;
    for (auto _ : state) {
        memory->open(block).patch_word(block.address + 8, ++value);
    }
}
BENCHMARK(patch)->ArgNames({"nameless"})->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

// All functions of a module at once: one view for 1000 patches.
void patch_many(benchmark::State& state) {
    const auto memory = make_memory(state);
    const CodeBlock block = memory->allocate(256 << 10);
    write_code(*memory, block);
    uint64_t value = 0;
    for (auto _ : state) {
        CodeMemory::Writer writer = memory->open(block);
        value++;
        for (size_t i = 0; i < 1000; i++) {
            writer.patch_word(block.address + 256 * i, value);
        }
    }
    state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(patch_many)->ArgNames({"nameless"})->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

// At the start of the program: reserving, and asking the machine whether it sees changed code.
void reserve(benchmark::State& state) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(make_memory(state));
    }
}
BENCHMARK(reserve)->ArgNames({"nameless"})->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

}  // namespace
