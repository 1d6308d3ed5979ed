// JSON lines, for programs.
#include "recorder/export_common.hpp"

#include <bit>
#include <cmath>
#include <utility>

namespace minivm::recorder {

namespace {

template <size_t kSize>
void append_field(Text& out, const char (&name)[kSize], uint64_t value) {
    out += ",\"";
    out += std::string_view(name, kSize - 1);
    out += "\":";
    append_unsigned(out, value);
}

// What all records of an event have in common: made once.
class EventKeys {
public:
    struct Keys {
        std::string event;                   // ,"category":"c","event":"e"
        std::vector<std::string> arguments;  // "name": with a comma in front but for the first
    };
    explicit EventKeys(Formatter& formatter) : formatter_(formatter) {}

    const Keys& of(const Record& record) {
        if (record.event() >= keys_.size()) {
            keys_.resize(size_t{record.event()} + 1);
        }
        Keys& keys = keys_[record.event()];
        if (keys.event.empty()) {
            Text text(",\"category\":\"");
            text += formatter_.category(record);
            text += "\",\"event\":";
            append_json_string(text, formatter_.event_name(record));
            keys.event = text.view();
            if (const EventSchema* schema = formatter_.schema(record)) {
                for (const std::string& name : schema->argument_names) {
                    text.clear();
                    text += keys.arguments.empty() ? "" : ",";
                    append_json_string(text, name);
                    text += ':';
                    keys.arguments.emplace_back(text.view());
                }
            }
        }
        return keys;
    }

private:
    Formatter& formatter_;
    std::vector<Keys> keys_;
};

void append_places(Text& out, const Snapshot& snapshot, const PlaceTable& places) {
    out += ",\"places\":[";
    bool first = true;
    for (const auto& [event, place] : places.entries()) {
        out += first ? "{\"event\":" : ",{\"event\":";
        first = false;
        append_json_string(out, snapshot.dictionary().event(event)->name);
        out += ",\"file\":";
        append_json_string(out, place->file);
        append_field(out, "line", place->line);
        out += ",\"function\":";
        append_json_string(out, place->function);
        out += '}';
    }
    out += ']';
}

void append_recording(Text& out, const Snapshot& snapshot, const PlaceTable& places) {
    const FileHeader& header = snapshot.header();
    out += "{\"type\":\"recording\",\"program\":";
    append_json_string(out, header.program);
    out += ",\"build\":";
    append_json_string(out, header.build_id);
    append_field(out, "process_id", header.process_id);
    append_field(out, "begun_wall_ns", header.start.wall_ns);
    append_field(out, "ticks_per_second", header.ticks_per_second);
    out += ",\"state\":";
    append_json_string(out, crash_state_name(snapshot));
    append_field(out, "signal", snapshot.crash_signal());
    out += ",\"crash_report\":";
    append_json_string(out, snapshot.crash_report());
    uint64_t first = 0;
    uint64_t last = 0;
    if (time_window(snapshot, first, last)) {
        out += ",\"window_ns\":[";
        append_signed(out, snapshot.since_start_ns(first));
        out += ',';
        append_signed(out, snapshot.since_start_ns(last));
        out += ']';
    } else {
        out += ",\"window_ns\":null";
    }
    append_field(out, "dictionary_refused", snapshot.dictionary_refused());
    append_field(out, "over_rate", snapshot.over_rate());
    append_field(out, "dictionary_damaged_bytes", snapshot.dictionary().damaged_bytes());
    out += ",\"dictionary_problems\":[";
    bool first_problem = true;
    for (const std::string& problem : dictionary_problems(snapshot)) {
        out += first_problem ? "" : ",";
        first_problem = false;
        append_json_string(out, problem);
    }
    out += ']';
    append_places(out, snapshot, places);
    out +=
        snapshot.first_header_was_bad() ? ",\"header_damaged\":true" : ",\"header_damaged\":false";
    out += snapshot.is_truncated() ? ",\"truncated\":true" : ",\"truncated\":false";
    out += ",\"rings\":[";
    bool first_ring = true;
    for (const RingContents& ring : snapshot.rings()) {
        const Ledger& l = ring.ledger;
        if (l.reserved_slots == 0 && l.dropped_records() == 0 && !ring.control_was_bad) {
            continue;
        }
        out += first_ring ? "{\"name\":" : ",{\"name\":";
        first_ring = false;
        append_json_string(out, ring_name(snapshot, ring));
        append_field(out, "index", ring.index);
        append_field(out, "slots", ring.size_slots);
        append_field(out, "written", l.begun_records + l.dropped_records());
        append_field(out, "decoded", l.decoded_records);
        append_field(out, "overwritten", l.missing_records());
        append_field(out, "dropped", l.dropped_records());
        append_field(out, "in_progress", l.in_progress_records);
        append_field(out, "reserved_slots", l.reserved_slots);
        append_field(out, "decoded_slots", l.decoded_slots);
        append_field(out, "overwritten_slots", l.overwritten_slots);
        append_field(out, "in_progress_slots", l.in_progress_slots);
        append_field(out, "lost_slots", l.lost_slots);
        out += ring.control_was_bad ? ",\"counters_damaged\":true" : ",\"counters_damaged\":false";
        out += ",\"lost\":[";
        for (size_t i = 0; i < ring.lost.size(); i++) {
            out += i == 0 ? "[" : ",[";
            append_unsigned(out, ring.lost[i].from);
            out += ',';
            append_unsigned(out, ring.lost[i].to);
            out += ']';
        }
        out += "]}";
    }
    out += "]}\n";
}

}  // namespace

ExportResult export_json(const Snapshot& snapshot, const Filter& filter, Sink& sink) {
    ExportResult result;
    Formatter formatter(snapshot);
    Selection selection(snapshot, filter, formatter);
    Merger merger(snapshot);
    Output output(sink);
    Text& out = output.text;
    const PlaceTable places(snapshot.dictionary());
    append_recording(out, snapshot, places);
    Text scratch;
    EventKeys keys(formatter);
    Text thread;
    const RingContents* thread_ring = nullptr;
    const Owner* thread_owner = nullptr;
    const auto write = [&](const MergedRecord& merged, uint64_t index) {
        const Record& record = *merged.record;
        const Owner* owner = snapshot.owner_of(*merged.ring, record);
        if (owner != thread_owner || (owner == nullptr && merged.ring != thread_ring)) {
            thread_ring = merged.ring;
            thread_owner = owner;
            thread.clear();
            append_json_string(thread, thread_name(snapshot, merged));
        }
        out += "{\"type\":\"record\",\"index\":";
        append_unsigned(out, index);
        out += ",\"ns\":";
        append_signed(out, snapshot.since_start_ns(record.ticks));
        out += ",\"thread\":";
        out += thread;
        append_field(out, "subject", record.subject());
        const EventKeys::Keys& key = keys.of(record);
        out += key.event;
        if (const unsigned place = places.of(record); place != 0) {
            append_field(out, "place", place - 1);
        }
        if ((record.flags() & kFlagNested) != 0) {
            out += ",\"nested\":true";
        }
        if ((record.flags() & kFlagCoarse) != 0) {
            out += ",\"coarse\":true";
        }
        if ((record.flags() & kFlagTruncated) != 0) {
            out += ",\"truncated\":true";
        }
        out += ",\"args\":{";
        const EventSchema* const schema = formatter.schema(record);
        const unsigned count = schema == nullptr ? 0 : Formatter::usable_arguments(record, *schema);
        for (unsigned i = 0; i < count; i++) {
            out += key.arguments[i];
            const uint64_t word = record.argument(i);
            switch (schema->kinds[i]) {
                case 'u':
                case 'x':
                case 'w':
                case 'n':
                case 'p':
                    append_unsigned(out, word);
                    break;
                case 'i':
                    append_signed(out, static_cast<int64_t>(word));
                    break;
                case 'f':
                    if (std::isfinite(std::bit_cast<double>(word))) {
                        formatter.append_argument(out, record, 'f', i);
                    } else {
                        out += "null";  // JSON has no infinities
                    }
                    break;
                case 't':
                    append_json_string(out, formatter.text_argument(record, i));
                    break;
                default:
                    scratch.clear();
                    formatter.append_argument(scratch, record, schema->kinds[i], i);
                    append_json_string(out, scratch);
                    break;
            }
        }
        out += "}}\n";
    };
    for_each_record(merger, selection, output, result, write);
    return output.finish(std::move(result));
}

}  // namespace minivm::recorder
