// The processors as Linux shows them, read as OTP does (erl_misc_utils.c).
#include "vm/bif/system/topology.hpp"

#include "vm/term/atom_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace minivm::cpu_topology {

namespace {

constexpr int kNone = -1;

// In the order of the tuple's elements, by which processors are sorted.
enum Part : uint8_t { node, processor, processor_node, core, thread, logical, kParts };
using Cpu = std::array<int, kParts>;

std::optional<int> number_in(const std::filesystem::path& file) {
    std::ifstream in(file);
    int n = 0;
    return in >> n ? std::optional(n) : std::nullopt;
}

// The number after `prefix`, if the name is nothing else.
std::optional<int> number_behind(const std::string& name, const std::string& prefix) {
    const std::string digits = name.starts_with(prefix) ? name.substr(prefix.size()) : "";
    const bool is_number = !digits.empty() && digits.size() < 9 &&
                           std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    return is_number ? std::optional(std::stoi(digits)) : std::nullopt;
}

void add_cpus(const std::filesystem::path& folder, int of_node, std::vector<Cpu>* cpus) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        const auto id = number_behind(entry.path().filename().string(), "cpu");
        const auto package = id ? number_in(entry.path() / "topology/physical_package_id") : std::nullopt;
        const auto of_core = id ? number_in(entry.path() / "topology/core_id") : std::nullopt;
        if (package && of_core) {
            cpus->push_back({of_node, *package, kNone, *of_core, 0, *id});
        }
    }
}

// A processor that has several nodes contains them; otherwise nodes contain processors.
void put_nodes_into_processors(std::vector<Cpu>* cpus) {
    std::map<int, std::set<int>> nodes;
    for (const Cpu& cpu : *cpus) {
        nodes[cpu[processor]].insert(cpu[node]);
    }
    for (Cpu& cpu : *cpus) {
        if (nodes[cpu[processor]].size() > 1) {
            cpu[processor_node] = cpu[node];
            cpu[node] = kNone;
        }
    }
}

std::vector<Cpu> read() {
    std::vector<Cpu> cpus;
    int nodes = 0;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/node", none)) {
        if (const auto id = number_behind(entry.path().filename().string(), "node")) {
            ++nodes;
            add_cpus(entry.path(), *id, &cpus);
        }
    }
    if (none) {
        add_cpus("/sys/devices/system/cpu", kNone, &cpus);
    }
    // A container may show more processors than it has; then OTP tells nothing.
    if (static_cast<long>(cpus.size()) > sysconf(_SC_NPROCESSORS_CONF) ||
        static_cast<long>(cpus.size()) < sysconf(_SC_NPROCESSORS_ONLN)) {
        return {};
    }
    if (nodes > 1) {
        put_nodes_into_processors(&cpus);
    }
    std::sort(cpus.begin(), cpus.end());
    for (size_t i = 1; i < cpus.size(); ++i) {
        const bool same_core = std::equal(cpus[i].begin(), cpus[i].begin() + thread, cpus[i - 1].begin());
        cpus[i][thread] = same_core ? cpus[i - 1][thread] + 1 : 0;
    }
    return cpus;
}

}  // namespace

Term detected(Heap& h) {
    static const std::vector<Cpu> cpus = read();
    if (cpus.empty()) {
        return atoms::undefined;
    }
    Term list = kNil;
    for (auto cpu = cpus.rbegin(); cpu != cpus.rend(); ++cpu) {
        Term* t = h.alloc(2 + kParts);
        t[0] = Term{make_header(Kind::tuple, 1 + kParts)};
        t[1] = atom_table::intern("cpu");
        for (size_t i = 0; i < kParts; ++i) {
            t[2 + i] = make_small((*cpu)[i]);
        }
        list = cons(h, make_boxed(t), list);
    }
    return list;
}

}  // namespace minivm::cpu_topology
