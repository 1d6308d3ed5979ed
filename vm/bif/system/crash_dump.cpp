// Reference: "How to interpret the Erlang crash dumps" of OTP's documentation, format 0.5. Terms are written in the
// external format (E), one entry for each non-immediate, not word by word: readers show the same, and it is small.
#include "vm/bif/system/crash_dump.hpp"

#include "vm/bif/processes/backtrace.hpp"
#include "vm/bif/system/system_areas.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/module_table.hpp"
#include "vm/ets/table.hpp"
#include "vm/external/external_term.hpp"
#include "vm/port/port.hpp"
#include "vm/process/clock.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/sched/online.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/sched/scheduler_thread.hpp"
#include "vm/term/format.hpp"
#include "vm/term/this_node.hpp"
#include "vm/util/environment.hpp"
#include "vm/util/memory_count.hpp"
#include "vm/util/otp_release.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace minivm::crash_dump {

namespace {

constexpr size_t kLargestTerm = 64 * 1024;  // bytes; a larger term is left out, which readers show as incomplete

// The file, which ends at the size of ERL_CRASH_DUMP_BYTES, or at the time of ERL_CRASH_DUMP_SECONDS.
class File {
  public:
    File(FILE* f, uint64_t limit, int64_t end_ns) : f_(f), left_(limit), end_ns_(end_ns) {}
    [[gnu::format(printf, 2, 3)]] void print(const char* format, ...) {
        char* text = nullptr;
        va_list args;
        va_start(args, format);
        const int n = vasprintf(&text, format, args);
        va_end(args);
        if (n >= 0) {
            put({text, static_cast<size_t>(n)});
            std::free(text);
        }
    }
    void put(std::string_view text) {
        const size_t n = std::min<uint64_t>(text.size(), left_);
        left_ -= n;
        std::fwrite(text.data(), 1, n, f_);
        if (n < text.size() && !is_cut_) {
            is_cut_ = true;
            std::fputs("\n=abort:CRASH DUMP SIZE LIMIT REACHED\n", f_);
        }
    }
    bool is_over() {
        is_cut_ = is_cut_ || (end_ns_ != 0 && clock::monotonic_ns() > end_ns_);
        return is_cut_;
    }

  private:
    FILE* f_;
    uint64_t left_;
    int64_t end_ns_;
    bool is_cut_ = false;
};

std::string base64(const std::string& bytes) {
    static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (size_t i = 0; i < bytes.size(); i += 3) {
        const size_t n = std::min<size_t>(3, bytes.size() - i);
        uint32_t v = 0;
        for (size_t k = 0; k < 3; ++k) {
            v = v << 8 | (k < n ? static_cast<uint8_t>(bytes[i + k]) : 0U);
        }
        for (size_t k = 0; k < 4; ++k) {
            out.push_back(k <= n ? kDigits[v >> (18 - 6 * k) & 63] : '=');
        }
    }
    return out;
}

// Terms that messages, dictionary and stack refer to: nil, small integers, atoms and local pids as they are, others
// by the number under which proc_heap has them.
class Terms {
  public:
    std::string element(Term t) {
        char text[48];
        if (is_nil(t)) {
            return "N";
        }
        if (is_small(t)) {
            return "I" + std::to_string(small_value(t));
        }
        if (is_atom(t)) {
            const std::string name(atom_table::text(t));
            std::snprintf(text, sizeof text, "A%zX:", name.size());
            return text + name;
        }
        if (is_local_pid(t)) {
            return "P" + display_term(t);
        }
        all_.push_back(t);
        std::snprintf(text, sizeof text, "H%zX", all_.size() * 16);  // aligned, as an address is
        return text;
    }
    void write(File& f) {
        for (size_t i = 0; i < all_.size() && !f.is_over(); ++i) {
            external::EncodeOptions options;
            if (external::encoded_size(all_[i], options) > kLargestTerm) {
                continue;
            }
            std::string bytes;
            external::encode(all_[i], options, &bytes);
            f.print("%zX:E%zX:", (i + 1) * 16, bytes.size());
            f.put(base64(bytes));
            f.put("\n");
        }
    }

  private:
    std::vector<Term> all_;
};

// Items of process_info/2; the non-value: there is no such item.
class Items {
  public:
    explicit Items(Process& p) : p_(p) {}
    Term get(const char* name) {
        const Term t = process_item_left(p_, atom_table::intern(name), h_);
        return is_tuple(t) && tuple_arity(t) == 2 ? tuple_element(t, 1) : kNonValue;
    }
    std::string text(const char* name) {
        const Term t = get(name);
        return is_value(t) ? display_term(t) : "";
    }

  private:
    Process& p_;
    Heap h_;
};

bool is_sensitive(const Process& p) { return p.extra != nullptr && p.extra->sensitive; }
bool is_on_dirty_scheduler(const Process& p) { return p.dirty_bif != nullptr; }

std::string function_text(Term mfa) {
    if (!is_tuple(mfa) || tuple_arity(mfa) != 3) {
        return "";
    }
    std::string text;
    append_atom(&text, tuple_element(mfa, 0), true);
    text += ":";
    append_atom(&text, tuple_element(mfa, 1), true);
    return text + "/" + display_term(tuple_element(mfa, 2));
}

std::string function_at(const void* pc) {
    FunctionInfo info;
    if (!module_table::lookup(pc, code_index::active(), true, &info)) {
        return "unknown function";
    }
    std::string text;
    append_atom(&text, info.module, true);
    text += ":";
    append_atom(&text, info.function, true);
    text += "/" + std::to_string(info.arity);
    return info.line != 0 ? text + " line " + std::to_string(info.line) : text;
}

const char* state_of(const Process& p, Term status) {
    return p.is_exiting()                                 ? "Exiting"
           : is_on_dirty_scheduler(p)                     ? "Running"
           : status == atom_table::intern("runnable")     ? "Scheduled"
           : status == atom_table::intern("suspended")    ? "Suspended"
           : status == atom_table::intern("garbage_collecting") ? "Garbing"
                                                          : "Waiting";
}

void write_process(File& f, Process& p) {
    Items items(p);
    f.print("=proc:%s\n", display_term(p.id).c_str());
    f.print("State: %s\n", state_of(p, items.get("status")));
    if (const Term name = items.get("registered_name"); is_value(name) && is_atom(name)) {
        f.print("Name: %s\n", display_term(name).c_str());
    }
    f.print("Spawned as: %s\n", function_text(items.get("initial_call")).c_str());
    if (!is_on_dirty_scheduler(p)) {
        f.print("Current call: %s\n", function_text(items.get("current_function")).c_str());
    }
    f.print("Spawned by: %s\n", is_value(p.parent) ? display_term(p.parent).c_str() : "[]");
    f.print("Message queue length: %s\n", items.text("message_queue_len").c_str());
    f.print("Number of heap fragments: 0\nHeap fragment data: 0\n");
    if (const std::string links = items.text("links"); links != "[]") {
        f.put("Link list: " + links + "\n");
    }
    f.print("Reductions: %s\n", items.text("reductions").c_str());
    f.print("Stack+heap: %s\n", items.text("total_heap_size").c_str());
    f.print("OldHeap: 0\nHeap unused: 0\nOldHeap unused: 0\n");
    f.print("Memory: %s\n", items.text("memory").c_str());
    if (!is_on_dirty_scheduler(p) && p.pc != nullptr) {
        f.print("Program counter: 0x%016" PRIxPTR " (%s)\n", reinterpret_cast<uintptr_t>(p.pc), function_at(p.pc).c_str());
    }
    f.print("Internal State: %s\n", is_on_dirty_scheduler(p) ? "DIRTY_RUNNING" : "");
}

void write_stack(File& f, Process& p, Terms& terms) {
    f.print("=proc_stack:%s\n", display_term(p.id).c_str());
    int y = 0;
    const Term* frame_pointer = p.frame_pointer;
    for (const Term* w = p.heap.end; w < p.stack_base && !f.is_over(); ++w) {
        if (w == frame_pointer) {
            frame_pointer = reinterpret_cast<const Term*>(w->raw);
        } else if (is_header(w->raw)) {
            const auto address = static_cast<uintptr_t>(w->raw & ~kTagMask);
            f.print("0x%016" PRIxPTR ":SReturn addr 0x%" PRIXPTR " (%s)\n", reinterpret_cast<uintptr_t>(w), address,
                    function_at(reinterpret_cast<const void*>(address)).c_str());
            y = 0;
        } else if (is_catch(*w)) {
            f.print("y%d:SCatch 0x0 (catch)\n", y++);
        } else {
            f.print("y%d:", y++);
            f.put(terms.element(*w) + "\n");
        }
    }
}

// Messages, dictionary, stack, and the terms in them.
void write_contents(File& f, Process& p) {
    if (is_sensitive(p) || is_on_dirty_scheduler(p) || p.is_exiting()) {
        return;  // it hides its contents, or somebody still works on them
    }
    Items items(p);
    Terms terms;
    if (const Term messages = items.get("messages"); is_value(messages) && is_cons(messages)) {
        f.print("=proc_messages:%s\n", display_term(p.id).c_str());
        for (Term t = messages; is_cons(t) && !f.is_over(); t = tail(t)) {
            f.put(terms.element(head(t)) + ":N\n");
        }
    }
    if (const Term dictionary = items.get("dictionary"); is_value(dictionary) && is_cons(dictionary)) {
        f.print("=proc_dictionary:%s\n", display_term(p.id).c_str());
        for (Term t = dictionary; is_cons(t) && !f.is_over(); t = tail(t)) {
            f.put(terms.element(head(t)) + "\n");
        }
    }
    write_stack(f, p, terms);
    f.print("=proc_heap:%s\n", display_term(p.id).c_str());
    terms.write(f);
}

void write_port(File& f, Term id) {
    port::Info info;
    if (!port::info(id, &info)) {
        return;
    }
    f.print("=port:%s\nState: CONNECTED\nSlot: %" PRIu64 "\n", display_term(id).c_str(), static_cast<uint64_t>(id.raw >> 8));
    f.print("Connected: %s\n", display_term(info.connected).c_str());
    std::string links;
    for (const Term t : info.links) {
        links += (links.empty() ? "" : ",") + display_term(t);
    }
    if (!links.empty()) {
        f.put("Links: " + links + "\n");
    }
    if (const Term name = port::registered_name(id); is_value(name) && is_atom(name)) {
        f.print("Registered as: %s\n", display_term(name).c_str());
    }
    f.put("Port controls external process: " + info.name + "\n");
    f.print("Input: %" PRIu64 "\nOutput: %" PRIu64 "\nQueue: %zu\n", info.input, info.output, info.queued);
}

const char* type_of(ets::Type type) {
    switch (type) {
        case ets::Type::ordered_set:
            return "ordered_set";
        case ets::Type::bag:
            return "bag";
        case ets::Type::duplicate_bag:
            return "duplicate_bag";
        default:
            return "set";
    }
}

void write_table(File& f, ets::Table& t) {
    f.print("=ets:%s\n", display_term(t.owner).c_str());
    f.print("Slot: %zu\nTable: %s\nName: %s\n", reinterpret_cast<size_t>(&t) >> 4, display_term(t.name).c_str(),
            display_term(t.name).c_str());
    f.print("Buckets: %zu\n", t.size() < 256 ? size_t{256} : t.size());
    f.print("Chain Length Avg: 0.0\nChain Length Max: 0\nChain Length Min: 0\nChain Length Std Dev: 0.0\n"
            "Chain Length Expected Std Dev: 0.0\n");
    f.print("Fixed: false\nObjects: %zu\nWords: %zu\nType: %s\n", t.size(), ets::memory_words(t), type_of(t.type));
    f.print("Protection: %s\nCompressed: %s\nWrite Concurrency: %s\nRead Concurrency: %s\n",
            t.protection == ets::Protection::public_      ? "public"
            : t.protection == ets::Protection::private_ ? "private"
                                                        : "protected",
            t.compressed ? "true" : "false", is_value(t.write_concurrency) ? display_term(t.write_concurrency).c_str() : "false",
            t.read_concurrency ? "true" : "false");
}

std::vector<Term> loaded_modules() {
    std::vector<Term> names;
    module_table::for_each_loaded(
        code_index::active(),
        [](ModuleInstance* current, ModuleInstance* old, void* all) {
            static_cast<std::vector<Term>*>(all)->push_back((current != nullptr ? current : old)->name());
        },
        &names);
    return names;
}

void write_modules(File& f) {
    f.put("=loaded_modules\n");
    f.print("Current code: %zu\nOld code: 0\n", memory_in_use(MemoryArea::literals));
    for (const Term name : loaded_modules()) {
        f.print("=mod:%s\nCurrent size: 0\n", display_term(name).c_str());
    }
}

// All processes, by pid. One without a scheduler is lent the first one, whose code index it is read with.
class Processes {
  public:
    Processes() {
        process_table::for_each([](Process& p, void* all) { static_cast<std::vector<Process*>*>(all)->push_back(&p); }, &all_);
        std::sort(all_.begin(), all_.end(), [](const Process* a, const Process* b) { return a->id.raw < b->id.raw; });
        for (Process* const p : all_) {
            if (p->scheduler == nullptr) {
                p->scheduler = &scheduler_at(1);
                lent_.push_back(p);
            }
        }
    }
    ~Processes() {
        for (Process* const p : lent_) {
            p->scheduler = nullptr;
        }
    }
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;
    const std::vector<Process*>& all() const { return all_; }

  private:
    std::vector<Process*> all_, lent_;
};

void write_memory(File& f, const std::vector<Process*>& processes) {
    if (!processes.empty()) {
        f.put("=memory\n");
        for (const auto& [name, bytes] : memory_areas(*processes.front())) {
            f.print("%s: %" PRIu64 "\n", name, bytes);
        }
    }
}

void write_distribution(File& f) {
    f.print("=node:'%s'\n", std::string(atom_table::text(this_node_name())).c_str());
    f.put(this_node_name() == atom_table::intern("nonode@nohost") ? "=no_distribution\n" : "");
}

void write_all(File& f, const std::string& slogan) {
    const OtpRelease& release = otp_release();
    const std::time_t now = std::time(nullptr);
    char date[64] = {};
    f.put("=erl_crash_dump:0.5\n");
    f.put(ctime_r(&now, date) != nullptr ? date : "\n");
    f.put("Slogan: " + slogan + "\n");
    f.print("System version: Erlang/OTP %d [erts-%s] [minivm] [64-bit] [smp:%d:%d]\n", release.number,
            release.erts_version.c_str(), vm::scheduler_count(), online::schedulers());
    f.print("Taints: \nAtoms: %u\nCalling Thread: \n", atom_table::count());
    const Processes looked_at;
    const std::vector<Process*>& processes = looked_at.all();
    for (int i = 1; i <= vm::scheduler_count(); ++i) {
        f.print("=scheduler:%d\nScheduler Sleep Info Flags: \nScheduler Sleep Info Aux Work: \nCurrent Port: \n"
                "Run Queue Max Length: 0\nRun Queue High Length: 0\nRun Queue Normal Length: %u\nRun Queue Low Length: 0\n"
                "Run Queue Port Length: 0\nRun Queue Flags: \nCurrent Process: \n",
                i, vm::run_queue_length(i));
    }
    write_memory(f, processes);
    for (Process* const p : processes) {
        if (!f.is_over()) {
            write_process(f, *p);
        }
    }
    for (const Term id : port::all()) {
        write_port(f, id);
    }
    for (ets::Table* const t : ets::all()) {
        write_table(f, *t);
    }
    write_distribution(f);
    write_modules(f);
    for (Process* const p : processes) {
        if (!f.is_over()) {
            write_contents(f, *p);
        }
    }
    f.put("=atoms\n");
    for (uint32_t i = atom_table::count(); i-- > 0 && !f.is_over();) {
        f.put(display_term(make_atom(i)) + "\n");
    }
    f.put("=end\n");
}

// The number in an environment variable; `otherwise` if it is not set or no number.
int64_t number_of(const char* name, int64_t otherwise) {
    const std::string text = environment_variable(name).value_or("");
    char* end = nullptr;
    const long long value = !text.empty() ? std::strtoll(text.c_str(), &end, 10) : 0;
    return end != nullptr && *end == 0 ? value : otherwise;
}

}  // namespace

void write(const std::string& slogan) {
    const int64_t seconds = number_of("ERL_CRASH_DUMP_SECONDS", -1);
    const int64_t bytes = number_of("ERL_CRASH_DUMP_BYTES", -1);
    const std::string name = environment_variable("ERL_CRASH_DUMP").value_or("");
    const std::string path = !name.empty() ? name : "erl_crash.dump";
    if (seconds == 0 || bytes == 0) {
        return;
    }
    std::fprintf(stderr, "\r\nCrash dump is being written to: %s...", path.c_str());
    std::fflush(stderr);
    // Not for everybody to read: messages and stacks are in it.
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    FILE* const out = file < 0 ? nullptr : fdopen(file, "w");
    if (out == nullptr) {
        std::fprintf(stderr, "%s\r\n", std::strerror(errno));
        return;
    }
    constexpr int64_t kForeverS = 1000000000;
    const int64_t end_ns = seconds < 0 ? 0 : clock::monotonic_ns() + std::min(seconds, kForeverS) * 1000000000;
    File f(out, bytes < 0 ? UINT64_MAX : static_cast<uint64_t>(bytes), end_ns);
    write_all(f, slogan);
    if (std::fclose(out) != 0) {
        std::fprintf(stderr, "%s\r\n", std::strerror(errno));
    } else if (!f.is_over()) {
        std::fputs("done\r\n", stderr);
    }
}

std::vector<Term> processes_by_age() {
    std::vector<Term> pids;
    process_table::for_each([](Process& p, void* all) { static_cast<std::vector<Term>*>(all)->push_back(p.id); }, &pids);
    std::sort(pids.begin(), pids.end(), [](Term a, Term b) { return a.raw > b.raw; });
    return pids;
}

void write_process_of(FILE* out, Term pid) {
    File f(out, UINT64_MAX, 0);
    const Processes looked_at;
    if (Process* const p = process_table::lookup(pid)) {
        write_process(f, *p);
    }
}

void write_part(FILE* out, Part part) {
    File f(out, UINT64_MAX, 0);
    const Processes looked_at;
    switch (part) {
        case Part::processes:
            for (Process* const p : looked_at.all()) {
                write_process(f, *p);
            }
            break;
        case Part::ports:
            for (const Term id : port::all()) {
                write_port(f, id);
            }
            break;
        case Part::memory:
            write_memory(f, looked_at.all());
            break;
        case Part::modules:
            for (const Term name : loaded_modules()) {
                f.put(display_term(name) + "\n");
            }
            break;
        case Part::tables:
            for (ets::Table* const t : ets::all()) {
                write_table(f, *t);
            }
            break;
        case Part::distribution:
            write_distribution(f);
            break;
    }
}

}  // namespace minivm::crash_dump
