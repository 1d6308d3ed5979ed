// Runs a fuzz target without libFuzzer: inputs are mutations of a corpus, drawn from a seed, under
// whatever sanitizers the build has. Input number i depends on the seed, the corpus and i alone, so
// `--first i --count 1` with the same seed is the same input again.
//
//     NAME_fuzz [--seed N] [--seconds N | --count N] [--first N] [--keep FILE]
//              [--suffix END] [CORPUS...]
//
// CORPUS is files and folders, of which the files whose names end in END are taken; without any,
// NAME_fuzz.corpus beside this file, if it is there. The last lines are "N inputs ran" and
// "1 passed, 0 failed": the run is one test. An input that crashes ends the program, which then
// says how to repeat it. With --keep the input stands in FILE before it runs.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

namespace minivm {
namespace {

using Bytes = std::vector<uint8_t>;

// splitmix64: small, and the same on every machine, which std's distributions are not.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    // 0..limit-1; limit > 0.
    size_t below(size_t limit) { return static_cast<size_t>(next() % limit); }

private:
    uint64_t state_;
};

struct Options {
    uint64_t seed = std::random_device{}();
    uint64_t first = 0;
    uint64_t count = 0;  // 0: until the time is up
    uint64_t seconds = 10;
    std::string keep;
    std::string suffix;
    std::vector<std::string> corpus;
};

// What the crash message tells; plain globals because a signal handler reads them.
uint64_t current_seed = 0;
uint64_t current_input = 0;

void tell_how_to_repeat() {
    char text[160];
    const int length =
        std::snprintf(text, sizeof text,
                      "\ninput %llu failed; the same again: --seed %llu --first %llu --count 1\n",
                      static_cast<unsigned long long>(current_input),
                      static_cast<unsigned long long>(current_seed),
                      static_cast<unsigned long long>(current_input));
    if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) {
        return;
    }
}

void on_signal(int signal) {
    tell_how_to_repeat();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void tell_when_dying() {
    std::signal(SIGABRT, on_signal);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    __sanitizer_set_death_callback(tell_how_to_repeat);
#else
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
        std::signal(signal, on_signal);
    }
#endif
}

// The input that runs, in a file that outlives the process.
class KeptInput {
public:
    explicit KeptInput(const std::string& path) {
        if (path.empty()) {
            return;
        }
        file_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (file_ < 0) {
            std::fprintf(stderr, "cannot write %s: %s\n", path.c_str(), std::strerror(errno));
            std::exit(2);
        }
    }
    ~KeptInput() {
        if (file_ >= 0) {
            close(file_);
        }
    }
    KeptInput(const KeptInput&) = delete;
    KeptInput& operator=(const KeptInput&) = delete;

    void store(const Bytes& input) {
        if (file_ < 0) {
            return;
        }
        if (ftruncate(file_, static_cast<off_t>(input.size())) != 0 ||
            pwrite(file_, input.data(), input.size(), 0) != static_cast<ssize_t>(input.size())) {
            std::fprintf(stderr, "cannot keep the input: %s\n", std::strerror(errno));
            std::exit(2);
        }
    }

private:
    int file_ = -1;
};

Bytes read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        std::exit(2);
    }
    return Bytes(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

std::vector<Bytes> read_corpus(const std::vector<std::string>& places, const std::string& suffix) {
    std::vector<std::filesystem::path> files;
    for (const std::string& place : places) {
        if (!std::filesystem::is_directory(place)) {
            files.emplace_back(place);
            continue;
        }
        for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
            if (entry.is_regular_file() && entry.path().string().ends_with(suffix)) {
                files.push_back(entry.path());
            }
        }
    }
    // Folders list in any order; the same seed must mean the same inputs.
    std::sort(files.begin(), files.end());
    std::vector<Bytes> corpus;
    for (const auto& file : files) {
        corpus.push_back(read_file(file));
    }
    if (corpus.empty()) {
        corpus.emplace_back();
    }
    return corpus;
}

// Values at which sizes, tags and counts go wrong.
constexpr uint64_t kInteresting[] = {0,          1,          7,    8,     15,         16,
                                     31,         32,         63,   64,    127,        128,
                                     255,        256,        1023, 1024,  0x7fff,     0xffff,
                                     0x7fffffff, 0x80000000, ~0u,  ~0ull, 1ull << 60, 1ull << 63};

void mutate_once(Bytes& input, const std::vector<Bytes>& corpus, Random& random) {
    const size_t size = input.size();
    const auto at = [&](size_t index) { return input.begin() + static_cast<ptrdiff_t>(index); };
    const size_t kind = random.below(9);
    if (size == 0 || kind == 0) {  // insert a few bytes
        const Bytes some(1 + random.below(8), static_cast<uint8_t>(random.next()));
        input.insert(at(random.below(size + 1)), some.begin(), some.end());
        return;
    }
    const size_t start = random.below(size);
    switch (kind) {
        case 1:  // flip a bit
            input[start] ^= static_cast<uint8_t>(1u << random.below(8));
            break;
        case 2:  // any byte
            input[start] = static_cast<uint8_t>(random.next());
            break;
        case 3: {  // an interesting number, big-endian as in .beam files, of 1, 2, 4 or 8 bytes
            const size_t width = std::min<size_t>(size_t{1} << random.below(4), size - start);
            uint64_t value = kInteresting[random.below(std::size(kInteresting))];
            for (size_t i = width; i-- > 0; value >>= 8) {
                input[start + i] = static_cast<uint8_t>(value);
            }
            break;
        }
        case 4:  // one more or one less
            input[start] = static_cast<uint8_t>(input[start] + (random.below(2) != 0 ? 1 : -1));
            break;
        case 5: {  // drop a piece, often a small one
            const size_t longest = random.below(4) == 0 ? size - start : 8;
            const size_t length = 1 + random.below(std::min(longest, size - start));
            input.erase(at(start), at(start + length));
            break;
        }
        case 6:  // cut the end off
            input.resize(start);
            break;
        case 7: {  // repeat a piece
            const size_t length = 1 + random.below(std::min<size_t>(64, size - start));
            const Bytes piece(at(start), at(start + length));
            input.insert(at(random.below(size + 1)), piece.begin(), piece.end());
            break;
        }
        default: {  // a piece of another input over this one
            const Bytes& other = corpus[random.below(corpus.size())];
            if (other.empty()) {
                break;
            }
            const size_t from = random.below(other.size());
            const size_t length =
                1 + random.below(std::min({size_t{256}, other.size() - from, size - start}));
            std::copy_n(other.begin() + static_cast<ptrdiff_t>(from), length, at(start));
            break;
        }
    }
}

Bytes make_input(const std::vector<Bytes>& corpus, uint64_t seed, uint64_t number) {
    // The corpus itself comes first, unchanged.
    if (number < corpus.size()) {
        return corpus[number];
    }
    Random random(seed ^ (number * 0xd6e8feb86659fd93));
    Bytes input = corpus[random.below(corpus.size())];
    // Mostly one change, so that what lies behind the first check is reached as well.
    const size_t changes = random.below(2) == 0 ? 1 : 1 + random.below(8);
    for (size_t i = 0; i < changes; ++i) {
        mutate_once(input, corpus, random);
    }
    return input;
}

[[noreturn]] void refuse(const char* program, std::string_view what) {
    std::fprintf(stderr,
                 "%s: %.*s\nusage: %s [--seed N] [--seconds N | --count N] [--first N] "
                 "[--keep FILE] [--suffix END] [CORPUS...]\n",
                 program, static_cast<int>(what.size()), what.data(), program);
    std::exit(2);
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (!name.starts_with("--")) {
            options.corpus.emplace_back(name);
            continue;
        }
        if (i + 1 == argc) {
            refuse(argv[0], std::string(name) + " needs a value");
        }
        const std::string_view value = argv[++i];
        if (name == "--keep" || name == "--suffix") {
            (name == "--keep" ? options.keep : options.suffix) = value;
            continue;
        }
        uint64_t number = 0;
        const auto [end, error] =
            std::from_chars(value.data(), value.data() + value.size(), number);
        if (error != std::errc() || end != value.data() + value.size()) {
            refuse(argv[0], std::string(name) + ": not a number: " + std::string(value));
        }
        if (name == "--seed") {
            options.seed = number;
        } else if (name == "--seconds") {
            options.seconds = number;
        } else if (name == "--count") {
            options.count = number;
        } else if (name == "--first") {
            options.first = number;
        } else {
            refuse(argv[0], std::string("unknown option ") + std::string(name));
        }
    }
    if (options.corpus.empty()) {
        const std::filesystem::path beside =
            std::filesystem::path(MINIVM_SOURCE_DIR) / "tests" / "fuzz" /
            (std::filesystem::path(argv[0]).filename().string() + ".corpus");
        if (std::filesystem::is_directory(beside)) {
            options.corpus.push_back(beside);
        }
    }
    return options;
}

int run(int argc, char** argv) {
    const Options options = parse(argc, argv);
    const std::vector<Bytes> corpus = read_corpus(options.corpus, options.suffix);
    KeptInput kept(options.keep);
    current_seed = options.seed;
    std::printf("seed %llu, %zu inputs in the corpus\n",
                static_cast<unsigned long long>(options.seed), corpus.size());
    std::fflush(stdout);
    tell_when_dying();

    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
    uint64_t done = 0;
    while (options.count != 0 ? done < options.count : std::chrono::steady_clock::now() < end) {
        current_input = options.first + done;
        const Bytes input = make_input(corpus, options.seed, current_input);
        kept.store(input);
        LLVMFuzzerTestOneInput(input.data(), input.size());
        ++done;
    }
    std::printf("%llu inputs ran\n1 passed, 0 failed\n", static_cast<unsigned long long>(done));
    return 0;
}

}  // namespace
}  // namespace minivm

int main(int argc, char** argv) {
    return minivm::run(argc, argv);
}
