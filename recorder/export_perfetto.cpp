// The trace event format that Chrome's viewer and Perfetto read.
//
// Two groups of lanes: process 1 has a lane for each thread, where the subjects it ran are boxes;
// process 2 has a lane for each subject, with boxes while it ran, collected garbage or did dirty
// work. Everything else is an instant in the lane of its subject, or of its thread if it has none.
// An arrow needs a box at both ends, so a send or receive is a box of a nanosecond inside the
// running one.
#include "recorder/export_common.hpp"

#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace minivm::recorder {

namespace {

constexpr int kThreads = 1;
constexpr int kSubjects = 2;

struct Lane {
    int process = kThreads;
    uint64_t id = 0;
};

// Boxes that are open in a lane. An end without its beginning (overwritten) is not written, and
// what is open at the end of the recording is closed there.
using OpenBoxes = std::unordered_map<uint64_t, std::vector<std::string>>;

class Timeline {
public:
    Timeline(const Snapshot& snapshot, Formatter& formatter, Text& out)
        : snapshot_(snapshot), formatter_(formatter), out_(out) {}

    void add(const MergedRecord& merged);
    void finish();
    void name_lane(int process, uint64_t id, std::string_view name);

private:
    void begin_event(const char* phase, Lane lane, int64_t ns);
    void append_time(int64_t ns);
    void box_begin(Lane lane, int64_t ns, std::string_view name);
    void box_end(Lane lane, int64_t ns, std::string_view name);
    void arguments(const Record& record, const EventSchema* schema);
    static uint64_t key(Lane lane) { return (lane.id << 2) | static_cast<uint64_t>(lane.process); }

    const Snapshot& snapshot_;
    Formatter& formatter_;
    Text& out_;
    OpenBoxes open_;
    std::unordered_set<uint64_t> named_;
    std::unordered_map<uint64_t, int64_t> sent_ns_;  // by flow: not received yet
    Text scratch_;
    int64_t last_ns_ = 0;
};

void Timeline::append_time(int64_t ns) {
    // Microseconds with three decimals.
    if (ns < 0) {
        ns = 0;
    }
    append_unsigned(out_, static_cast<uint64_t>(ns) / 1000);
    const auto rest = static_cast<unsigned>(ns % 1000);
    const char digits[4] = {'.', static_cast<char>('0' + rest / 100),
                            static_cast<char>('0' + rest / 10 % 10),
                            static_cast<char>('0' + rest % 10)};
    out_.append(digits, 4);
}

void Timeline::begin_event(const char* phase, Lane lane, int64_t ns) {
    out_ += ",\n{\"ph\":\"";
    out_ += phase;
    out_ += "\",\"pid\":";
    append_signed(out_, lane.process);
    out_ += ",\"tid\":";
    append_unsigned(out_, lane.id);
    out_ += ",\"ts\":";
    append_time(ns);
}

void Timeline::name_lane(int process, uint64_t id, std::string_view name) {
    if (!named_.insert(key({process, id})).second) {
        return;
    }
    out_ += ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":";
    append_signed(out_, process);
    out_ += ",\"tid\":";
    append_unsigned(out_, id);
    out_ += ",\"args\":{\"name\":";
    append_json_string(out_, name);
    out_ += "}}";
}

void Timeline::box_begin(Lane lane, int64_t ns, std::string_view name) {
    begin_event("B", lane, ns);
    out_ += ",\"name\":";
    append_json_string(out_, name);
    out_ += '}';
    open_[key(lane)].emplace_back(name);
}

void Timeline::box_end(Lane lane, int64_t ns, std::string_view name) {
    auto& boxes = open_[key(lane)];
    size_t at = boxes.size();
    while (at > 0 && boxes[at - 1] != name) {
        at--;
    }
    if (at == 0) {
        return;
    }
    // Boxes inside it whose end is missing end here as well.
    for (size_t i = boxes.size(); i >= at; i--) {
        begin_event("E", lane, ns);
        out_ += '}';
    }
    boxes.resize(at - 1);
}

void Timeline::arguments(const Record& record, const EventSchema* schema) {
    out_ += ",\"args\":{";
    const unsigned count = schema == nullptr ? 0 : Formatter::usable_arguments(record, *schema);
    for (unsigned i = 0; i < count; i++) {
        if (i != 0) {
            out_ += ',';
        }
        append_json_string(out_, schema->argument_names[i]);
        out_ += ':';
        scratch_.clear();
        formatter_.append_argument(scratch_, record, schema->kinds[i], i);
        append_json_string(out_, scratch_);
    }
    scratch_.clear();
    formatter_.append_place(scratch_, record);
    if (!scratch_.empty()) {
        out_ += count != 0 ? ",\"recorded at\":" : "\"recorded at\":";
        append_json_string(out_, scratch_);
    }
    out_ += "}}";
}

void Timeline::add(const MergedRecord& merged) {
    const Record& record = *merged.record;
    const EventSchema* schema = formatter_.schema(record);
    const int64_t ns = snapshot_.since_start_ns(record.order_ticks);
    last_ns_ = ns > last_ns_ ? ns : last_ns_;
    const Lane thread{kThreads, thread_lane(merged)};
    name_lane(kThreads, thread.id, thread_name(snapshot_, merged));

    const std::string_view event = schema == nullptr ? std::string_view() : schema->name;
    const unsigned count = schema == nullptr ? 0 : Formatter::usable_arguments(record, *schema);
    // The lane of what the record is about: its first argument where that is the process that runs.
    const bool first_is_subject = count > 0 && schema->kinds[0] == 'p';
    const bool about_first =
        first_is_subject &&
        (event.starts_with("sched_") || event.starts_with("gc_") || event.starts_with("dirty_") ||
         event == "exit" || event == "exit_reason" || event == "exit_failed");
    const uint64_t subject = about_first ? record.argument(0) : record.subject();
    const Lane lane = subject == 0 ? thread : Lane{kSubjects, subject};
    if (lane.process == kSubjects) {
        Text name;
        formatter_.append_subject(name, subject);
        name_lane(kSubjects, subject, name);
    }
    if (about_first && event == "sched_in") {
        Text name;
        formatter_.append_subject(name, subject);
        box_begin(thread, ns, name);
        box_begin(lane, ns, "runs");
        return;
    }
    if (about_first && (event == "sched_out" || event == "sched_stop")) {
        Text name;
        formatter_.append_subject(name, subject);
        box_end(thread, ns, name);
        box_end(lane, ns, "runs");
        return;
    }
    const bool is_start = about_first && event.ends_with("_start");
    if (is_start || (about_first && event.ends_with("_end"))) {
        const std::string_view what = event.substr(0, event.rfind('_'));
        is_start ? box_begin(lane, ns, what) : box_end(lane, ns, what);
        return;
    }
    if (event == "sched_sleep") {
        box_begin(thread, ns, "sleeps");
        return;
    }
    if (event == "sched_wake") {
        box_end(thread, ns, "sleeps");
        return;
    }
    const bool is_span_start = event == "span_begin" || event == "span_start";
    if ((is_span_start || event == "span_end") && count > 0) {
        // Spans may overlap what runs in the lane: asynchronous events. Those of one process nest,
        // and one id puts them into one another; without a process each stands for itself.
        begin_event(is_span_start ? "b" : "e", lane, ns);
        out_ += ",\"cat\":\"span\",\"id\":\"0x";
        append_hex(out_, subject != 0 ? subject : record.argument(0));
        out_ += "\",\"name\":";
        scratch_.clear();
        if (count > 1) {
            formatter_.append_argument(scratch_, record, schema->kinds[count - 1], count - 1);
        }
        append_json_string(out_, count > 1 ? scratch_.view() : "span");
        out_ += '}';
        return;
    }
    unsigned flow = 0;
    const FlowRole role = schema == nullptr ? FlowRole::none : flow_role(*schema, flow);
    if (role != FlowRole::none && flow < count) {
        // Both may have the time of the slice they are in: an arrow leads forward all the same.
        const uint64_t id = record.argument(flow);
        int64_t at = ns;
        if (role == FlowRole::send) {
            sent_ns_[id] = ns;
        } else if (const auto sent = sent_ns_.find(id); sent != sent_ns_.end()) {
            at = std::max(at, sent->second + 1);
            sent_ns_.erase(sent);
        }
        begin_event("X", lane, at);
        out_ += ",\"dur\":0.001,\"name\":";
        append_json_string(out_, event);
        arguments(record, schema);
        begin_event(role == FlowRole::send ? "s" : "f", lane, at);
        out_ += ",\"cat\":\"message\",\"name\":\"message\",\"bp\":\"e\",\"id\":\"0x";
        append_hex(out_, id);
        out_ += "\"}";
        return;
    }
    begin_event("i", lane, ns);
    out_ += ",\"s\":\"t\",\"cat\":\"";
    out_ += formatter_.category(record);
    out_ += "\",\"name\":";
    append_json_string(out_, formatter_.event_name(record));
    arguments(record, schema);
}

void Timeline::finish() {
    for (const auto& [lane_key, boxes] : open_) {
        const Lane lane{static_cast<int>(lane_key & 3), lane_key >> 2};
        for (size_t i = 0; i < boxes.size(); i++) {
            begin_event("E", lane, last_ns_);
            out_ += '}';
        }
    }
}

}  // namespace

ExportResult export_perfetto(const Snapshot& snapshot, const Filter& filter, Sink& sink) {
    ExportResult result;
    Formatter formatter(snapshot);
    Selection selection(snapshot, filter, formatter);
    Merger merger(snapshot);
    Output output(sink);
    Text& out = output.text;
    // The losses of the recording come first, as everywhere.
    const Ledger sum = snapshot.totals();
    out += "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"program\":";
    append_json_string(out, snapshot.header().program);
    const auto number = [&out](const char* name, uint64_t value) {
        out += ",\"";
        out += name;
        out += "\":\"";
        append_unsigned(out, value);
        out += '"';
    };
    number("written", sum.begun_records + sum.dropped_records());
    number("decoded", sum.decoded_records);
    number("overwritten", sum.missing_records());
    number("dropped", sum.dropped_records());
    number("in_progress", sum.in_progress_records);
    number("lost_slots", sum.lost_slots);
    number("over_rate", snapshot.over_rate());
    uint64_t first = 0;
    uint64_t last = 0;
    if (time_window(snapshot, first, last)) {
        out += ",\"window_ns\":\"";
        append_signed(out, snapshot.since_start_ns(first));
        out += " to ";
        append_signed(out, snapshot.since_start_ns(last));
        out += '"';
    }
    out += ",\"state\":";
    append_json_string(out, crash_state_name(snapshot));
    unsigned problems = 0;
    for (const std::string& problem : dictionary_problems(snapshot)) {
        out += ",\"damaged ";
        append_unsigned(out, ++problems);
        out += "\":";
        append_json_string(out, problem);
    }
    out +=
        "},\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"threads\"}},\n"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"args\":{\"name\":\"processes\"}}";
    Timeline timeline(snapshot, formatter, out);
    for_each_record(merger, selection, output, result,
                    [&timeline](const MergedRecord& merged, uint64_t) { timeline.add(merged); });
    timeline.finish();
    out += "\n]}\n";
    return output.finish(std::move(result));
}

}  // namespace minivm::recorder
