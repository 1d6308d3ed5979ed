// What went wrong: the fault handler's report, what ran at the end, the processes that failed.
#include "recorder/export_common.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace minivm::recorder {

namespace {

constexpr size_t kMaxFailures = 25;  // reports of processes, the newest; the others are counted
constexpr unsigned kMaxFrames = 64;

struct Failure {
    uint32_t subject = 0;
    size_t at = 0;  // index in the merged order
};

class CrashPrinter {
public:
    CrashPrinter(const Snapshot& snapshot, unsigned records, Text& out)
        : snapshot_(snapshot),
          formatter_(snapshot),
          lines_(snapshot, formatter_),
          records_(records),
          out_(out) {
        Merger merger(snapshot);
        for (MergedRecord m = merger.next(); m.record != nullptr; m = merger.next()) {
            merged_.push_back(m);
        }
    }

    uint64_t print();

private:
    std::string_view event(size_t i) {
        const EventSchema* schema = formatter_.schema(*merged_[i].record);
        return schema == nullptr ? std::string_view() : std::string_view(schema->name);
    }
    bool is_about(size_t i, uint32_t subject) {
        const Record& record = *merged_[i].record;
        if (record.subject() == subject) {
            return true;
        }
        const EventSchema* schema = formatter_.schema(record);
        const unsigned count = schema == nullptr ? 0 : Formatter::usable_arguments(record, *schema);
        for (unsigned a = 0; a < count; a++) {
            if (schema->kinds[a] == 'p' && record.argument(a) == subject) {
                return true;
            }
        }
        return false;
    }
    void line(std::string_view text) {
        append_printable(out_, text);
        out_ += '\n';
    }
    void head();
    void how_it_ended();
    void running();
    std::vector<Failure> newest(std::string_view name, const char* what);
    void failure(const Failure& f);
    bool has_records(uint32_t subject, size_t end);
    void last_records(uint32_t subject, size_t end);
    void last_of_all();

    const Snapshot& snapshot_;
    Formatter formatter_;
    LinePrinter lines_;
    unsigned records_;
    Text& out_;
    std::vector<MergedRecord> merged_;
    std::vector<uint32_t> running_;
    bool was_cut_off_ = false;  // the program ended itself at once and did not close the recording
    bool went_wrong_ = false;   // the program's process was killed, or the status is not 0
};

void CrashPrinter::head() {
    const FileHeader& header = snapshot_.header();
    line("Recording of " + std::string(header.program) + ", process " +
         std::to_string(header.process_id) + ", begun " + wall_time(header.start.wall_ns));
    std::string state = std::string("State: ") + crash_state_name(snapshot_);
    if (snapshot_.crash_signal() != 0) {
        const auto signal = static_cast<int>(snapshot_.crash_signal());
        const char* name = signal > 0 && signal < NSIG ? sigdescr_np(signal) : nullptr;
        state += ", signal " + std::to_string(signal);
        state += name != nullptr ? " (" + std::string(name) + ")" : "";
        state += ", " + wall_time(snapshot_.wall_ns(snapshot_.crash_ticks()));
    }
    line(state);
    how_it_ended();
    out_ += '\n';
    if (!snapshot_.crash_report().empty()) {
        std::string_view rest = snapshot_.crash_report();
        while (!rest.empty()) {
            const size_t end = std::min(rest.find('\n'), rest.size());
            line(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        out_ += '\n';
    } else if (snapshot_.crash_state() == CrashState::running && !snapshot_.writer_is_alive() &&
               !was_cut_off_) {
        line("There is no report of a fault: the program was killed from outside (SIGKILL, out of");
        line("memory), or its machine stopped. What it did until then is below.");
        out_ += '\n';
    }
}

// What the program itself has said about its end.
void CrashPrinter::how_it_ended() {
    for (size_t i = 0; i < merged_.size(); i++) {
        const std::string_view name = event(i);
        if (!name.starts_with("program_")) {
            continue;
        }
        const Record& record = *merged_[i].record;
        was_cut_off_ = was_cut_off_ || name == "program_cut_off" || name == "program_abort";
        went_wrong_ = went_wrong_ || name != "program_halt" ||
                      (record.arguments() > 0 && record.argument(0) != 0);
        Text text(wall_time(snapshot_.wall_ns(record.ticks)));
        text += ": ";
        formatter_.append_message(text, record);
        line(text);
    }
}

// What each thread ran when the recording ends.
void CrashPrinter::running() {
    struct Slice {
        size_t at = 0;
        uint32_t subject = 0;
    };
    std::map<std::string, Slice> slices;
    for (size_t i = 0; i < merged_.size(); i++) {
        const std::string_view name = event(i);
        const Record& record = *merged_[i].record;
        const bool begins = name == "sched_in" || name == "dirty_start";
        if (!begins && name != "sched_out" && name != "sched_stop" && name != "dirty_end") {
            continue;
        }
        const std::string thread = thread_name(snapshot_, merged_[i]);
        if (begins && record.arguments() > 0) {
            slices[thread] = {i, static_cast<uint32_t>(record.argument(0))};
        } else {
            slices.erase(thread);
        }
    }
    if (slices.empty()) {
        return;
    }
    uint64_t first = 0;
    uint64_t last = 0;
    time_window(snapshot_, first, last);
    line("Running at the end:");
    for (const auto& [thread, slice] : slices) {
        Text text("  ");
        text += thread;
        text += ": ";
        formatter_.append_subject(text, slice.subject);
        text += ", for ";
        const int64_t since = snapshot_.since_start_ns(merged_[slice.at].record->ticks);
        const int64_t ns = snapshot_.since_start_ns(last) - since;
        append_duration(text, ns > 0 ? static_cast<uint64_t>(ns) : 0);
        line(text);
        running_.push_back(slice.subject);
    }
    out_ += '\n';
}

bool CrashPrinter::has_records(uint32_t subject, size_t end) {
    for (size_t i = end; i > 0; i--) {
        if (is_about(i - 1, subject)) {
            return true;
        }
    }
    return false;
}

void CrashPrinter::last_records(uint32_t subject, size_t end) {
    std::vector<size_t> found;
    for (size_t i = end; i > 0 && found.size() < records_; i--) {
        if (is_about(i - 1, subject)) {
            found.push_back(i - 1);
        }
    }
    if (found.empty()) {
        line("  no records of it are left");
    }
    for (size_t i = found.size(); i > 0; i--) {
        out_ += "  ";
        lines_.append(out_, found[i - 1], merged_[found[i - 1]]);
    }
    out_ += '\n';
}

void CrashPrinter::failure(const Failure& f) {
    const Record& record = *merged_[f.at].record;
    Text text("Process ");
    formatter_.append_subject(text, f.subject);
    text += ", ";
    text += wall_time(snapshot_.wall_ns(record.ticks));
    text += ": ";
    formatter_.append_message(text, record);
    line(text);
    size_t end = f.at + 1;
    for (unsigned frames = 0; end < merged_.size() && frames < kMaxFrames; end++) {
        const bool has_line = event(end) == "uncaught_frame";
        if ((!has_line && event(end) != "uncaught_in_vm") ||
            merged_[end].ring != merged_[f.at].ring) {
            if (merged_[end].ring == merged_[f.at].ring) {
                break;
            }
            continue;
        }
        const Record& frame = *merged_[end].record;
        if (frame.arguments() < (has_line ? 5 : 3) || frame.argument(0) != f.subject) {
            break;
        }
        text.clear();
        text += "    ";
        formatter_.append_argument(text, frame, 'm', 2);
        if (has_line) {
            text += " (";
            formatter_.append_argument(text, frame, 'a', 4);
            text += ", line ";
            append_unsigned(text, frame.argument(3));
            text += ')';
        }
        line(text);
        frames++;
    }
    // A process that exits may have left no records; after an exception the reader is told so.
    if (event(f.at) == "uncaught" || has_records(f.subject, f.at)) {
        line("  its last records:");
        last_records(f.subject, f.at);
    }
}

void CrashPrinter::last_of_all() {
    std::vector<size_t> messages;
    for (size_t i = merged_.size(); i > 0 && messages.size() < records_; i--) {
        const std::string_view name = event(i - 1);
        if (name == "send_message" || name == "send") {
            messages.push_back(i - 1);
        }
    }
    if (!messages.empty()) {
        line("The last messages:");
        for (size_t i = messages.size(); i > 0; i--) {
            out_ += "  ";
            lines_.append(out_, messages[i - 1], merged_[messages[i - 1]]);
        }
        out_ += '\n';
    }
    line("The last records of all:");
    const size_t from = merged_.size() > 2 * records_ ? merged_.size() - 2 * records_ : 0;
    for (size_t i = from; i < merged_.size(); i++) {
        out_ += "  ";
        lines_.append(out_, i, merged_[i]);
    }
}

std::vector<Failure> CrashPrinter::newest(std::string_view name, const char* what) {
    std::vector<Failure> all;
    for (size_t i = 0; i < merged_.size(); i++) {
        if (event(i) == name && merged_[i].record->arguments() > 0) {
            all.push_back({static_cast<uint32_t>(merged_[i].record->argument(0)), i});
        }
    }
    if (all.size() > kMaxFailures) {
        line("Only the newest " + std::to_string(kMaxFailures) + " of " + std::to_string(all.size()) + " " + what + " are shown.");
        all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kMaxFailures));
    }
    return all;
}

uint64_t CrashPrinter::print() {
    head();
    const bool ended_well = snapshot_.crash_state() == CrashState::closed;
    if (!ended_well) {
        running();
        for (const uint32_t subject : running_) {
            Text text("Last records of ");
            formatter_.append_subject(text, subject);
            text += ':';
            line(text);
            last_records(subject, merged_.size());
        }
    }
    // OTP's processes (proc_lib) end by exit; those that follow over links must not push out the first failures.
    std::vector<Failure> failures = newest("uncaught", "processes that failed with an exception");
    const std::vector<Failure> ends = newest("exit_failed", "processes that ended neither normally nor by shutdown");
    failures.insert(failures.end(), ends.begin(), ends.end());
    std::sort(failures.begin(), failures.end(), [](const Failure& a, const Failure& b) { return a.at < b.at; });
    for (const Failure& f : failures) {
        failure(f);
    }
    if (!ended_well) {
        last_of_all();
    } else if (failures.empty()) {
        line(went_wrong_ ? "No process of it failed."
                         : "The program ended in good order, and no process of it failed.");
    }
    return failures.size();
}

}  // namespace

ExportResult export_crash(const Snapshot& snapshot, unsigned records, Sink& sink) {
    ExportResult result;
    Output output(sink);
    result.records = CrashPrinter(snapshot, records, output.text).print();
    return output.finish(std::move(result));
}

}  // namespace minivm::recorder
