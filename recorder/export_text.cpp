// Text for people, and terms for Erlang programs.
#include "recorder/export_common.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <utility>

namespace minivm::recorder {

namespace {

void append_preamble(Text& out, const Snapshot& snapshot, const char* comment) {
    const FileHeader& header = snapshot.header();
    const auto line = [&](std::string_view text) {
        out += comment;
        append_printable(out, text);
        out += '\n';
    };
    line("recording of " + std::string(header.program) + ", process " +
         std::to_string(header.process_id) + ", begun " + wall_time(header.start.wall_ns) +
         (header.build_id[0] != '\0' ? ", build " + std::string(header.build_id) : ""));
    std::string state = std::string("state: ") + crash_state_name(snapshot);
    if (snapshot.crash_signal() != 0) {
        state += ", signal " + std::to_string(snapshot.crash_signal());
    }
    line(state);
    size_t report_at = 0;
    while (report_at < snapshot.crash_report().size()) {
        const std::string_view rest = std::string_view(snapshot.crash_report()).substr(report_at);
        const size_t end = std::min(rest.find('\n'), rest.size());
        line("crash: " + std::string(rest.substr(0, end)));
        report_at += end + 1;
    }
    uint64_t first = 0;
    uint64_t last = 0;
    if (time_window(snapshot, first, last)) {
        Text window("window: ");
        append_seconds(window, snapshot.since_start_ns(first));
        window += " to ";
        append_seconds(window, snapshot.since_start_ns(last));
        window += " s after the beginning";
        line(window);
    } else {
        line("window: empty");
    }
    line(
        "ring                                 written    decoded overwritten  dropped  open lost "
        "slots");
    for (const RingContents& ring : snapshot.rings()) {
        const Ledger& l = ring.ledger;
        if (l.reserved_slots == 0 && l.dropped_records() == 0 && !ring.control_was_bad) {
            continue;
        }
        char numbers[200];
        std::snprintf(numbers, sizeof numbers, "%12llu %10llu %11llu %8llu %5llu %10llu",
                      static_cast<unsigned long long>(l.begun_records + l.dropped_records()),
                      static_cast<unsigned long long>(l.decoded_records),
                      static_cast<unsigned long long>(l.missing_records()),
                      static_cast<unsigned long long>(l.dropped_records()),
                      static_cast<unsigned long long>(l.in_progress_records),
                      static_cast<unsigned long long>(l.lost_slots));
        std::string row = ring_name(snapshot, ring);
        row.resize(std::max<size_t>(row.size() + 1, 32), ' ');
        line(row + numbers);
    }
    for (const RingContents& ring : snapshot.rings()) {
        for (const LostRegion& region : ring.lost) {
            line("lost: " + ring_name(snapshot, ring) + ", slots " + std::to_string(region.from) +
                 " to " + std::to_string(region.to - 1));
        }
        if (ring.control_was_bad) {
            line("damaged: the counters of " + ring_name(snapshot, ring));
        }
    }
    if (snapshot.first_header_was_bad()) {
        line("damaged: the first copy of the header; the second was used");
    }
    if (snapshot.is_truncated()) {
        line("damaged: the file is cut off; what is missing counts as lost");
    }
    for (const std::string& problem : dictionary_problems(snapshot)) {
        line("damaged: " + problem);
    }
    if (snapshot.over_rate() != 0) {
        line(
            "rare events beyond their rate, which stand in rare/many or among frequent ones, failures "
            "in rings of their own: " +
            std::to_string(snapshot.over_rate()));
    }
    if (snapshot.dictionary_refused() != 0) {
        line("the dictionary was full: " + std::to_string(snapshot.dictionary_refused()) +
             " names are missing and shown as numbers");
    }
}

}  // namespace

ExportResult export_text(const Snapshot& snapshot, const Filter& filter, Sink& sink) {
    ExportResult result;
    Formatter formatter(snapshot);
    Selection selection(snapshot, filter, formatter);
    Merger merger(snapshot);
    Output output(sink);
    Text& out = output.text;
    append_preamble(out, snapshot, "# ");
    out += "# index | seconds | thread | about | category event | message";
    out += filter.places ? " (place)\n" : "\n";
    LinePrinter lines(snapshot, formatter, filter.places);
    for_each_record(merger, selection, output, result,
                    [&](const MergedRecord& merged, uint64_t index) {
                        lines.append(out, index, merged);
                    });
    if (merger.reordered() != 0) {
        out += "# " + std::to_string(merger.reordered()) +
               " receives had an earlier time stamp than their send and were put behind it\n";
    }
    if (merger.contradictions() != 0) {
        out += "# " + std::to_string(merger.contradictions()) +
               " receives stand before their send: the rings contradict each other\n";
    }
    return output.finish(std::move(result));
}

ExportResult export_lines(const Snapshot& snapshot, const Filter& filter, size_t most,
                          Cursor* cursor, Sink& sink) {
    ExportResult result;
    Formatter formatter(snapshot);
    Selection selection(snapshot, filter, formatter);
    Merger merger(snapshot);
    const bool is_first = cursor->next.empty();
    // The pool of rings may have grown since the cursor was made: all of a new ring lies behind it.
    const auto next_in = [cursor](const RingContents& ring) {
        return ring.index < cursor->next.size() ? cursor->next[ring.index] : 0;
    };
    Cursor end;
    for (const RingContents& ring : snapshot.rings()) {
        const uint64_t from = next_in(ring);
        if (end.next.size() <= ring.index) {
            end.next.resize(ring.index + 1);
        }
        end.next[ring.index] = from;
        if (!ring.records.empty()) {
            const Record& last = ring.records.back();
            // What is being written comes next time.
            end.next[ring.index] =
                std::max(from, std::min(last.position() + last.slots(), ring.complete_until));
            const uint64_t first = std::min(ring.records.front().position(), ring.complete_until);
            end.missed_slots += !is_first && first > from ? first - from : 0;
        }
    }
    std::deque<std::pair<uint64_t, MergedRecord>> chosen;
    for (MergedRecord merged = merger.next(); merged.record != nullptr; merged = merger.next()) {
        const uint64_t position = merged.record->position();
        if (position >= next_in(*merged.ring) && position < merged.ring->complete_until &&
            selection.accepts(*merged.record)) {
            chosen.emplace_back(merger.index() - 1, merged);
            if (chosen.size() > most) {
                chosen.pop_front();
            }
        }
    }
    *cursor = std::move(end);
    Output output(sink);
    LinePrinter lines(snapshot, formatter, filter.places, filter.time_of_day);
    for (const auto& [index, merged] : chosen) {
        lines.append(output.text, index, merged);
        result.records++;
        output.flush_if_full();
    }
    return output.finish(std::move(result));
}

namespace {

// UTF-8 in a binary.
void append_erlang_binary(Text& out, std::string_view text) {
    out += "<<";
    append_quoted(out, text, '"');
    out += "/utf8>>";
}

}  // namespace

ExportResult export_terms(const Snapshot& snapshot, const Filter& filter, Sink& sink) {
    ExportResult result;
    Formatter formatter(snapshot);
    Selection selection(snapshot, filter, formatter);
    Merger merger(snapshot);
    Output output(sink);
    Text& out = output.text;
    out += "%% -*- coding: utf-8 -*-\n";
    append_preamble(out, snapshot, "%% ");
    out += "%% {Index, Nanoseconds, Thread, Subject, Category, Event, [{Argument, Value}]";
    out += filter.places ? ", Place}.\n" : "}.\n";
    Text text;
    const auto write = [&](const MergedRecord& merged, uint64_t index) {
        const Record& record = *merged.record;
        out += '{';
        append_unsigned(out, index);
        out += ',';
        append_signed(out, snapshot.since_start_ns(record.ticks));
        out += ',';
        append_erlang_binary(out, thread_name(snapshot, merged));
        out += ',';
        append_unsigned(out, record.subject());
        out += ',';
        append_quoted(out, formatter.category(record), '\'');
        out += ',';
        append_quoted(out, formatter.event_name(record), '\'');
        out += ",[";
        const EventSchema* schema = formatter.schema(record);
        const unsigned count = schema == nullptr ? 0 : Formatter::usable_arguments(record, *schema);
        for (unsigned i = 0; i < count; i++) {
            out += i == 0 ? "{" : ",{";
            append_quoted(out, schema->argument_names[i], '\'');
            out += ',';
            switch (schema->kinds[i]) {
                case 'u':
                case 'x':
                case 'w':
                case 'n':
                    append_unsigned(out, record.argument(i));
                    break;
                case 'i':
                    append_signed(out, static_cast<int64_t>(record.argument(i)));
                    break;
                default:
                    text.clear();
                    formatter.append_argument(text, record, schema->kinds[i], i);
                    append_erlang_binary(out, text);
                    break;
            }
            out += '}';
        }
        out += ']';
        if (filter.places) {
            text.clear();
            formatter.append_place(text, record);
            out += ',';
            append_erlang_binary(out, text);
        }
        out += "}.\n";
    };
    for_each_record(merger, selection, output, result, write);
    return output.finish(std::move(result));
}

}  // namespace minivm::recorder
