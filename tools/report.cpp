#include "tools/report.hpp"

#include "recorder/export.hpp"
#include "recorder/format.hpp"
#include "recorder/merge.hpp"
#include "tools/output_file.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

namespace minivm::tools {

namespace {

using recorder::Formatter;
using recorder::MergedRecord;
using recorder::Record;
using recorder::Snapshot;

constexpr size_t kMaxBoxes = 30000;  // of the timeline, the newest: a page must stay usable
constexpr size_t kMaxArrows = 10000;
constexpr size_t kLastRecords = 300;
constexpr size_t kRows = 25;  // of each table

void append_html(std::string& out, std::string_view text) {
    recorder::Text clean;
    recorder::append_printable(clean, text);
    for (const char c : clean.view()) {
        switch (c) {
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '&':
                out += "&amp;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    }
}

// A string inside a script element.
void append_script_string(std::string& out, std::string_view text) {
    recorder::Text json;
    recorder::append_json_string(json, text);
    for (const char c : json.view()) {
        if (c == '<') {
            out += "\\u003c";  // "</script>" would end the element
        } else {
            out += c;
        }
    }
}

// Whether the event is a frame of the stack of a process that failed.
bool is_stack_frame(std::string_view event) {
    return event == "uncaught_frame" || event == "uncaught_in_vm";
}

std::string duration(uint64_t ns) {
    recorder::Text text;
    recorder::append_duration(text, ns);
    return std::string(text.view());
}

struct ProcessSum {
    uint64_t run_ns = 0;
    uint64_t slices = 0;
    uint64_t reductions = 0;
    uint64_t sent = 0;
    uint64_t received = 0;
    uint64_t collections = 0;
    uint64_t gc_ns = 0;
    uint64_t longest_gc_ns = 0;
    uint64_t freed_words = 0;
    std::string began_in;
    std::string ended;
};

struct FunctionSum {
    uint64_t calls = 0;
    uint64_t dirty_ns = 0;
    uint64_t spawned = 0;
    uint64_t failed = 0;
};

struct Box {
    unsigned lane;
    int64_t from_ns;
    int64_t to_ns;
    uint32_t subject;  // 0: it sleeps
};

struct Arrow {
    unsigned from_lane;
    int64_t from_ns;
    unsigned to_lane;
    int64_t to_ns;
};

class Report {
public:
    explicit Report(const Snapshot& snapshot) : snapshot_(snapshot), formatter_(snapshot) {
        recorder::Merger merger(snapshot);
        for (MergedRecord m = merger.next(); m.record != nullptr; m = merger.next()) {
            merged_.push_back(m);
        }
        for (size_t i = 0; i < merged_.size(); i++) {
            take(i);
        }
    }
    std::string page();

private:
    struct Slice {
        int64_t since = 0;
        uint32_t subject = 0;
        bool open = false;
    };

    unsigned lane_of(const MergedRecord& m);
    std::string subject_name(uint32_t subject) const {
        recorder::Text text;
        formatter_.append_subject(text, subject);
        return std::string(text.view());
    }
    std::string argument(const Record& record, unsigned i) {
        const auto* schema = formatter_.schema(record);
        recorder::Text text;
        if (i < Formatter::usable_arguments(record, *schema)) {
            formatter_.append_argument(text, record, schema->kinds[i], i);
        }
        return std::string(text.view());
    }
    void take(size_t i);
    void summary(std::string& out);
    void losses(std::string& out);
    void timeline(std::string& out);
    void processes(std::string& out);
    using ProcessRow = std::pair<uint32_t, const ProcessSum*>;
    void process_table(std::string& out, const char* id, const std::vector<ProcessRow>& rows);
    bool is_systems_own(uint32_t subject, const ProcessSum& sum) const;
    void functions(std::string& out);
    void collections(std::string& out);
    void failures(std::string& out);
    void last_records(std::string& out);

    const Snapshot& snapshot_;
    Formatter formatter_;
    std::vector<MergedRecord> merged_;
    std::map<uint32_t, ProcessSum> sums_;
    std::map<std::string, FunctionSum> functions_;
    std::map<std::string, unsigned> lanes_;
    std::vector<Slice> open_;
    std::vector<Box> boxes_;
    std::vector<Arrow> arrows_;
    struct Sent {
        unsigned lane;
        int64_t ns;
    };
    std::map<uint64_t, Sent> sent_;
};

unsigned Report::lane_of(const MergedRecord& m) {
    const recorder::Owner* owner = snapshot_.owner_of(*m.ring, *m.record);
    const std::string name = owner == nullptr
                                 ? "ring " + std::to_string(m.ring->group)
                                 : owner->name + " (" + std::to_string(owner->thread_id) + ")";
    const auto [at, is_new] = lanes_.emplace(name, static_cast<unsigned>(lanes_.size()));
    if (is_new) {
        open_.emplace_back();
    }
    return at->second;
}

void Report::take(size_t i) {
    const Record& record = *merged_[i].record;
    const auto* schema = formatter_.schema(record);
    if (schema == nullptr) {
        return;
    }
    const std::string_view event = schema->name;
    const unsigned count = Formatter::usable_arguments(record, *schema);
    if (count < schema->kinds.size()) {
        return;  // cut: its sums would be wrong
    }
    // A damaged recording may describe an event with fewer arguments than it has.
    const auto word = [&](unsigned n) { return n < count ? record.argument(n) : 0; };
    const int64_t ns = snapshot_.since_start_ns(record.order_ticks);
    const auto first = static_cast<uint32_t>(word(0));
    if (event == "sched_in" || event == "dirty_start") {
        const unsigned lane = lane_of(merged_[i]);
        open_[lane] = {ns, first, true};
        if (event == "dirty_start") {
            functions_[argument(record, 1)].calls++;
        }
    } else if (event == "sched_out" || event == "sched_stop" || event == "dirty_end") {
        const unsigned lane = lane_of(merged_[i]);
        Slice& slice = open_[lane];
        ProcessSum& sum = sums_[first];
        if (slice.open && slice.subject == first && ns >= slice.since) {
            boxes_.push_back({lane, slice.since, ns, first});
            sum.run_ns += static_cast<uint64_t>(ns - slice.since);
            sum.slices++;
        }
        slice.open = false;
        if (event == "dirty_end") {
            functions_[argument(record, 1)].dirty_ns += word(2);
        } else {
            sum.reductions += word(1);
        }
    } else if (event == "send" || event == "send_message") {
        if (record.subject() != 0) {
            sums_[record.subject()].sent++;
        }
        sent_[word(1)] = {lane_of(merged_[i]), ns};
    } else if (event == "signal_to") {  // of an exit, which may come as a message
        sent_[word(2)] = {lane_of(merged_[i]), ns};
    } else if (event == "receive") {
        if (record.subject() != 0) {
            sums_[record.subject()].received++;
        }
        const auto at = sent_.find(word(1));
        if (at != sent_.end()) {
            // Both may have the time of the slice they are in: a line leads forward all the same.
            arrows_.push_back(
                {at->second.lane, at->second.ns, lane_of(merged_[i]), std::max(ns, at->second.ns)});
            sent_.erase(at);
        }
    } else if (event == "gc_minor_end" || event == "gc_major_end") {
        ProcessSum& sum = sums_[first];
        sum.collections++;
        sum.gc_ns += word(4);
        sum.longest_gc_ns = std::max(sum.longest_gc_ns, word(4));
        sum.freed_words += word(2);
    } else if (event == "spawn") {
        sums_[first].began_in = argument(record, 2);
        functions_[sums_[first].began_in].spawned++;
    } else if (event == "exit_reason" || event == "exit" || event == "exit_failed") {
        sums_[first].ended = argument(record, 1) + " " + argument(record, 2);
    } else if (event == "trace_call" || event == "trace_call_words") {
        functions_[argument(record, 0)].calls++;
    } else if (is_stack_frame(event) && word(1) == 0) {
        functions_[argument(record, 2)].failed++;
    }
}

void Report::summary(std::string& out) {
    const auto& header = snapshot_.header();
    out += "<h1>Recording of ";
    append_html(out, header.program);
    out += "</h1><p class=state>process " + std::to_string(header.process_id) + ", ";
    std::string state = "running or killed";
    switch (snapshot_.crash_state()) {
        case recorder::CrashState::closed:
            state = "ended in good order";
            break;
        case recorder::CrashState::crashed:
        case recorder::CrashState::crashing:
            state = "crashed, signal " + std::to_string(snapshot_.crash_signal());
            break;
        case recorder::CrashState::running:
            state = snapshot_.writer_is_alive() ? "running" : "killed";
            break;
    }
    append_html(out, state);
    // The second number also counts records that have been overwritten.
    const recorder::Ledger all = snapshot_.totals();
    out += "; " + std::to_string(merged_.size()) + " records retained of " +
           std::to_string(all.begun_records + all.dropped_records()) + " ever written";
    if (!merged_.empty()) {
        const int64_t from = snapshot_.since_start_ns(merged_.front().record->order_ticks);
        const int64_t to = snapshot_.since_start_ns(merged_.back().record->order_ticks);
        out += "; those are of the " + duration(static_cast<uint64_t>(std::max<int64_t>(to - from, 0))) +
               " before its end, " + std::to_string(sums_.size()) + " processes";
    }
    out += "</p>";
    if (!snapshot_.crash_report().empty()) {
        out += "<h2>Fault</h2><pre class=fault>";
        std::string_view rest = snapshot_.crash_report();
        while (!rest.empty()) {
            const size_t end = std::min(rest.find('\n'), rest.size());
            append_html(out, rest.substr(0, end));
            out += '\n';
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        out += "</pre>";
    }
}

void Report::losses(std::string& out) {
    out +=
        "<h2>What is here and what is not</h2><p class=hint>All other tables count "
        "what is retained, and nothing that has been overwritten.</p><table id=rings><tr><th>ring"
        "<th>retained<th>ever written<th>overwritten<th>dropped<th>open<th>lost slots</tr>";
    for (const auto& ring : snapshot_.rings()) {
        const auto& l = ring.ledger;
        if (l.reserved_slots == 0 && l.dropped_records() == 0) {
            continue;
        }
        out += "<tr><td>";
        append_html(out, recorder::ring_name(snapshot_, ring));
        for (const uint64_t n :
             {l.decoded_records, l.begun_records + l.dropped_records(), l.missing_records(),
              l.dropped_records(), l.in_progress_records, l.lost_slots}) {
            out += "<td class=n>" + std::to_string(n);
        }
        out += "</tr>";
    }
    out += "</table>";
    if (snapshot_.over_rate() != 0) {
        out += "<p>" + std::to_string(snapshot_.over_rate()) +
               " rare events came beyond their rate.</p>";
    }
}

void Report::timeline(std::string& out) {
    out +=
        "<h2>Timeline</h2><p class=hint>Wheel: zoom. Drag: move. Double click: all of it. One lane "
        "a "
        "thread, a box is the time a process ran there, lines are messages.</p>"
        "<canvas id=timeline></canvas><div id=tip></div>\n<script>\nconst lanes=[";
    std::vector<std::string> names(lanes_.size());
    for (const auto& [name, lane] : lanes_) {
        names[lane] = name;
    }
    for (const std::string& name : names) {
        append_script_string(out, name);
        out += ',';
    }
    out += "];\nconst names={";
    const size_t skip = boxes_.size() > kMaxBoxes ? boxes_.size() - kMaxBoxes : 0;
    std::map<uint32_t, bool> named;
    for (size_t i = skip; i < boxes_.size(); i++) {
        if (named.emplace(boxes_[i].subject, true).second) {
            out += std::to_string(boxes_[i].subject) + ":";
            append_script_string(out, subject_name(boxes_[i].subject));
            out += ',';
        }
    }
    // lane, begin, length, process
    out += "};\nconst boxes=[";
    for (size_t i = skip; i < boxes_.size(); i++) {
        const Box& b = boxes_[i];
        out += std::to_string(b.lane) + "," + std::to_string(b.from_ns) + "," +
               std::to_string(b.to_ns - b.from_ns) + "," + std::to_string(b.subject) + ",";
    }
    out += "];\nconst arrows=[";
    const int64_t earliest = skip < boxes_.size() ? boxes_[skip].from_ns : 0;
    const size_t arrows_skip = arrows_.size() > kMaxArrows ? arrows_.size() - kMaxArrows : 0;
    for (size_t i = arrows_skip; i < arrows_.size(); i++) {
        const Arrow& a = arrows_[i];
        if (a.from_ns >= earliest) {
            out += std::to_string(a.from_lane) + "," + std::to_string(a.from_ns) + "," +
                   std::to_string(a.to_lane) + "," + std::to_string(a.to_ns) + ",";
        }
    }
    out += "];\n";
    out += R"js(
(() => {
  const c = document.getElementById('timeline'), tip = document.getElementById('tip');
  const g = c.getContext('2d'), row = 26, left = 170;
  let begin = Infinity, end = -Infinity;
  for (let i = 0; i < boxes.length; i += 4) {
    begin = Math.min(begin, boxes[i + 1]); end = Math.max(end, boxes[i + 1] + boxes[i + 2]);
  }
  if (!(end > begin)) { begin = 0; end = 1; }
  let from = begin, to = end;
  const x = ns => left + (ns - from) / (to - from) * (c.width - left);
  const colour = p => `hsl(${(p * 137.5) % 360} 60% 62%)`;
  const time = ns => ns >= 1e9 ? (ns / 1e9).toFixed(4) + ' s' : ns >= 1e6 ? (ns / 1e6).toFixed(3) + ' ms'
                   : (ns / 1e3).toFixed(2) + ' us';
  function draw() {
    c.width = c.clientWidth; c.height = lanes.length * row + 24;
    g.font = '12px system-ui';
    g.fillStyle = '#222';
    lanes.forEach((name, i) => { g.fillText(name, 4, i * row + 17);
      g.fillStyle = i % 2 ? '#f4f4f4' : '#fafafa'; g.fillRect(left, i * row, c.width, row); g.fillStyle = '#222'; });
    for (let i = 0; i < boxes.length; i += 4) {
      const a = x(boxes[i + 1]), b = x(boxes[i + 1] + boxes[i + 2]);
      if (b < left || a > c.width) continue;
      const w = Math.max(b - Math.max(a, left), 0.6);
      g.fillStyle = colour(boxes[i + 3]);
      g.fillRect(Math.max(a, left), boxes[i] * row + 3, w, row - 6);
      if (w > 60) { g.fillStyle = '#000'; g.fillText(names[boxes[i + 3]], Math.max(a, left) + 3, boxes[i] * row + 17, w - 6); }
    }
    g.strokeStyle = '#4448'; g.lineWidth = 0.7; g.beginPath();
    let drawn = 0;
    for (let i = 0; i < arrows.length && drawn < 3000; i += 4) {
      const a = x(arrows[i + 1]), b = x(arrows[i + 3]);
      if (b < left || a > c.width || a < left) continue;
      drawn++;
      g.moveTo(a, arrows[i] * row + row / 2); g.lineTo(b, arrows[i + 2] * row + row / 2);
    }
    g.stroke();
    g.fillStyle = '#555';
    for (let i = 0; i <= 5; i++) {
      const ns = from + (to - from) * i / 5;
      g.fillText(time(ns), Math.min(x(ns), c.width - 80), lanes.length * row + 17);
    }
  }
  c.addEventListener('wheel', e => {
    e.preventDefault();
    const at = from + (e.offsetX - left) / (c.width - left) * (to - from);
    const f = e.deltaY < 0 ? 0.75 : 1 / 0.75;
    from = at - (at - from) * f; to = at + (to - at) * f; draw();
  }, { passive: false });
  let drag = null;
  c.addEventListener('mousedown', e => { drag = e.offsetX; });
  window.addEventListener('mouseup', () => { drag = null; });
  c.addEventListener('mousemove', e => {
    if (drag !== null) {
      const d = (e.offsetX - drag) / (c.width - left) * (to - from);
      from -= d; to -= d; drag = e.offsetX; draw();
    }
    const lane = Math.floor(e.offsetY / row), ns = from + (e.offsetX - left) / (c.width - left) * (to - from);
    let text = '';
    for (let i = 0; i < boxes.length; i += 4)
      if (boxes[i] === lane && boxes[i + 1] <= ns && ns <= boxes[i + 1] + boxes[i + 2])
        text = `${names[boxes[i + 3]]} ran ${time(boxes[i + 2])} from ${time(boxes[i + 1])}`;
    tip.textContent = text;
  });
  c.addEventListener('dblclick', () => { from = begin; to = end; draw(); });
  window.addEventListener('resize', draw);
  draw();
})();
</script>)js";
    if (skip != 0) {
        out += "<p class=hint>Only the newest " + std::to_string(kMaxBoxes) + " of " +
               std::to_string(boxes_.size()) + " boxes are shown.</p>";
    }
}

// Whether a process is the prompt's or the VM's own: it began in one of their modules. A program's first
// process and the one that evaluates at a prompt are the user's, although such a module starts them.
bool Report::is_systems_own(uint32_t subject, const ProcessSum& sum) const {
    if (subject_name(subject).starts_with("minivm_")) {
        return true;  // by its registered name, where a prompt takes the program's place
    }
    const std::string_view began = sum.began_in;
    return began.starts_with("minivm_") && began != "minivm_boot:run/1" &&
           !began.starts_with("minivm_session:-evaluator/");
}

void Report::processes(std::string& out) {
    std::vector<ProcessRow> users;
    std::vector<ProcessRow> systems;
    for (const auto& [subject, sum] : sums_) {
        (is_systems_own(subject, sum) ? systems : users).emplace_back(subject, &sum);
    }
    out += "<h2>Busiest processes</h2>";
    process_table(out, "processes", users);
    if (!systems.empty()) {
        out += "<h2>The prompt's and the system's own processes</h2>";
        process_table(out, "system_processes", systems);
    }
}

void Report::process_table(std::string& out, const char* id, const std::vector<ProcessRow>& rows) {
    std::vector<ProcessRow> busiest = rows;
    std::sort(busiest.begin(), busiest.end(),
              [](const auto& a, const auto& b) { return a.second->run_ns > b.second->run_ns; });
    busiest.resize(std::min(busiest.size(), kRows));
    out += "<table id=";
    out += id;
    out +=
        "><tr><th>process<th>ran<th>slices<th>reductions"
        "<th>sent<th>received<th>collections<th>began in<th>ended</tr>";
    for (const auto& [subject, sum] : busiest) {
        out += "<tr><td>";
        append_html(out, subject_name(subject));
        out += "<td class=n>" + duration(sum->run_ns);
        for (const uint64_t n :
             {sum->slices, sum->reductions, sum->sent, sum->received, sum->collections}) {
            out += "<td class=n>" + std::to_string(n);
        }
        out += "<td>";
        append_html(out, sum->began_in);
        out += "<td>";
        append_html(out, sum->ended);
        out += "</tr>";
    }
    out += "</table>";
}

void Report::functions(std::string& out) {
    std::vector<std::pair<std::string, FunctionSum>> rows(functions_.begin(), functions_.end());
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        const auto weight = [](const FunctionSum& f) {
            return f.dirty_ns / 1000 + f.calls + f.spawned + f.failed * 1000;
        };
        return weight(a.second) > weight(b.second);
    });
    out +=
        "<h2>Functions</h2><p class=hint>Traced and dirty calls, processes that began there, "
        "uncaught "
        "errors.</p><table><tr><th>function<th>calls<th>dirty<th>processes<th>failed</tr>";
    for (size_t i = 0; i < rows.size() && i < kRows; i++) {
        const FunctionSum& f = rows[i].second;
        out += "<tr><td>";
        append_html(out, rows[i].first);
        out += "<td class=n>" + std::to_string(f.calls) + "<td class=n>" +
               (f.dirty_ns == 0 ? "" : duration(f.dirty_ns)) + "<td class=n>" +
               std::to_string(f.spawned) + "<td class=n>" + std::to_string(f.failed) + "</tr>";
    }
    out += "</table>";
}

void Report::collections(std::string& out) {
    ProcessSum all;
    std::vector<std::pair<uint32_t, const ProcessSum*>> rows;
    for (const auto& [subject, s] : sums_) {
        all.collections += s.collections;
        all.gc_ns += s.gc_ns;
        all.longest_gc_ns = std::max(all.longest_gc_ns, s.longest_gc_ns);
        all.freed_words += s.freed_words;
        if (s.collections != 0) {
            rows.emplace_back(subject, &s);
        }
    }
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return a.second->gc_ns > b.second->gc_ns; });
    out += "<h2>Garbage collection</h2><p>" + std::to_string(all.collections) + " collections, " +
           duration(all.gc_ns) + " in all, the longest " + duration(all.longest_gc_ns) + ", " +
           std::to_string(all.freed_words) +
           " words freed.</p><table><tr><th>process<th>collections"
           "<th>time<th>longest<th>words freed</tr>";
    for (size_t i = 0; i < rows.size() && i < 10; i++) {
        const ProcessSum& s = *rows[i].second;
        out += "<tr><td>";
        append_html(out, subject_name(rows[i].first));
        out += "<td class=n>" + std::to_string(s.collections) + "<td class=n>" + duration(s.gc_ns) +
               "<td class=n>" + duration(s.longest_gc_ns) + "<td class=n>" +
               std::to_string(s.freed_words) + "</tr>";
    }
    out += "</table>";
}

void Report::failures(std::string& out) {
    bool any = false;
    for (const MergedRecord& m : merged_) {
        const auto* schema = formatter_.schema(*m.record);
        if (schema == nullptr || (schema->name != "uncaught" && schema->name != "exit_failed" && !is_stack_frame(schema->name))) {
            continue;
        }
        if (!any) {
            out += "<h2>Processes that failed</h2><pre>";
            any = true;
        }
        recorder::Text text;
        formatter_.append_message(text, *m.record);
        append_html(out, text);
        out += '\n';
    }
    out += any ? "</pre>" : "";
}

void Report::last_records(std::string& out) {
    out +=
        "<h2>What happened last</h2><p class=hint>Above the name of an event: where in the source "
        "it was recorded.</p><table "
        "class=records><tr><th>seconds<th>about<th>event<th></tr>";
    const size_t from = merged_.size() > kLastRecords ? merged_.size() - kLastRecords : 0;
    for (size_t i = merged_.size(); i > from; i--) {
        const Record& record = *merged_[i - 1].record;
        recorder::Text text;
        recorder::append_seconds(text, snapshot_.since_start_ns(record.ticks));
        out += "<tr><td class=n>";
        out += text.view();
        out += "<td>";
        append_html(out, record.subject() == 0 ? "" : subject_name(record.subject()));
        text.clear();
        formatter_.append_place(text, record);
        out += text.empty() ? "<td>" : "<td title=\"";
        if (!text.empty()) {
            append_html(out, text);
            out += "\">";
        }
        append_html(out, formatter_.event_name(record));
        out += "<td>";
        text.clear();
        formatter_.append_message(text, record);
        append_html(out, text);
        out += "</tr>\n";
    }
    out += "</table>";
}

std::string Report::page() {
    std::string out = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>minivm recording</title>
<style>
body{font:14px/1.45 system-ui,sans-serif;margin:1.5em auto;max-width:1200px;padding:0 1em;color:#222}
h1{font-size:1.5em;margin-bottom:.1em} h2{font-size:1.15em;margin:1.4em 0 .4em;border-bottom:1px solid #ddd}
.state{font-weight:600} .hint{color:#666;font-size:.9em} pre{background:#f6f6f6;padding:.7em;overflow-x:auto}
.fault{background:#fff0f0} table{border-collapse:collapse;font-size:.9em}
td,th{padding:.15em .7em .15em 0;text-align:left;vertical-align:top;border-bottom:1px solid #eee}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap} .records td:last-child{word-break:break-word}
canvas{width:100%;display:block;border:1px solid #ddd;cursor:grab} #tip{height:1.5em;color:#333}
</style></head><body>
)html";
    summary(out);
    failures(out);
    timeline(out);
    processes(out);
    functions(out);
    collections(out);
    losses(out);
    last_records(out);
    out += "</body></html>\n";
    return out;
}

}  // namespace

std::string report_page(const Snapshot& snapshot) {
    return Report(snapshot).page();
}

int report_command(const std::string& file, const std::string& output, std::FILE* out,
                   std::FILE* err) {
    const auto fail = [err](const std::string& what) {
        std::fprintf(err, "minivm: report: %s\n", what.c_str());
        return 1;
    };
    Snapshot snapshot;
    std::string error;
    if (!snapshot.read_file(file, error)) {
        return fail(error);
    }
    OutputFile page(out);
    if (!page.open(output)) {
        return fail(page.error());
    }
    page.write(report_page(snapshot));
    if (!page.close() && !page.is_broken_pipe()) {
        return fail(page.error());
    }
    return 0;
}

}  // namespace minivm::tools
