#include "tools/prompt_bifs.hpp"

#include "loader/loader.hpp"
#include "recorder/clock.hpp"
#include "recorder/events.hpp"
#include "recorder/export.hpp"
#include "recorder/format.hpp"
#include "recorder/merge.hpp"
#include "recorder/reader.hpp"
#include "recorder/recorder.hpp"
#include "tools/disasm.hpp"
#include "tools/dump.hpp"
#include "tools/output_file.hpp"
#include "tools/text_values.hpp"
#include "trace/session.hpp"
#include "vm/bif/bif.hpp"
#include "vm/instr/lowered.hpp"
#include "vm/process/posix.hpp"
#include "vm/record/record.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace minivm::tools {

namespace {

constexpr const char* kOwnMachine =
#if defined(__aarch64__)
    "aarch64";
#else
    "x86-64";
#endif

Term text_binary(Process& p, const std::string& text) {
    return make_binary(p.heap, reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

Term failed(Process& p, const std::string& why) {
    return make_tuple(p.heap, atoms::error, text_binary(p, why));
}

// The bytes of a binary, which is text in UTF-8.
bool get_text(Term t, std::string* out) {
    Bytes bytes;
    if (is_binary(t) && get_bytes(t, &bytes)) {
        out->assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
        return true;
    }
    return false;
}

// [{Name, Text}] -> options of `minivm dump`, and the processes that are left out. False: badarg.
bool get_options(Term list, DumpOptions* options, std::vector<uint32_t>* without) {
    for (; is_cons(list); list = tail(list)) {
        std::string value;
        if (!is_tuple_of(head(list), 2) || !is_atom(tuple_element(head(list), 0)) ||
            !get_text(tuple_element(head(list), 1), &value)) {
            return false;
        }
        const std::string_view name = atom_table::text(tuple_element(head(list), 0));
        uint32_t subject = 0;
        if (name == "last") {
            options->last = value;
        } else if (name == "pid") {
            options->pid = value;
        } else if (name == "category") {
            options->categories.push_back(value);
        } else if (name == "match") {
            options->match = value;
        } else if (name == "format") {
            if (value != "text" && value != "json" && value != "ctf" && value != "perfetto" &&
                value != "terms") {
                return false;
            }
            options->format = value;
        } else if (name == "output") {
            options->output = value;
        } else if (name == "crash") {
            options->crash = true;
        } else if (name == "places") {
            options->places = true;
        } else if (name == "without" && parse_pid(value, &subject)) {
            without->push_back(subject);
        } else {
            return false;
        }
    }
    return is_nil(list);
}

// minivm:recorder_lines(Options, Most, Cursor) -> {ok, Text, Cursor, Missed} | {error, Text}: the last
// lines, at most so many, of what has been recorded behind the cursor (<<>>: of all that is there).
Term minivm_recorder_lines_3(Process& p, const Term* a) {
    DumpOptions options;
    recorder::Filter filter;
    uint64_t most = 0;
    std::string position;
    if (!get_options(a[0], &options, &filter.without) || !get_uint64(a[1], &most) ||
        !get_text(a[2], &position) || position.size() % sizeof(uint64_t) != 0) {
        return badarg(p);
    }
    std::string error;
    recorder::Snapshot snapshot;
    if (!snapshot.read_own(error) || !make_filter(options, snapshot, &filter, &error)) {
        return failed(p, error);
    }
    recorder::Cursor cursor;
    cursor.next.resize(position.size() / sizeof(uint64_t));
    std::memcpy(cursor.next.data(), position.data(), position.size());
    filter.time_of_day = true;  // as what :trace shows
    recorder::StringSink sink;
    export_lines(snapshot, filter, most, &cursor, sink);
    const Term end = make_binary(p.heap, reinterpret_cast<const uint8_t*>(cursor.next.data()),
                                 cursor.next.size() * sizeof(uint64_t));
    return make_tuple(p.heap, atoms::ok, text_binary(p, sink.text), end,
                      make_unsigned(p.heap, cursor.missed_slots));
}

// How far a follower of the recorded calls has come in one ring.
struct CallsCursor {
    uint64_t next = 0;    // position
    uint64_t before = 0;  // records that were begun or dropped before it was made
    uint64_t seen = 0;    // since then
    uint64_t lost = 0;    // since then: reported as lost
};

// Numbers of sessions as records have them: [Handle] as trace:session_create/3 returns it.
bool get_sessions(Term list, std::vector<uint64_t>* sessions) {
    for (; is_cons(list); list = tail(list)) {
        const trace::SessionPtr session = trace::session_of_handle(head(list));
        if (session == nullptr) {
            return false;
        }
        sessions->push_back(session->number & records::kSessionMask);
    }
    return is_nil(list);
}

// What the prompt shows of a record of one of these trace sessions, or the non-value:
// {What, Process, {M, F, A}, Text, Nanoseconds, Which session, from 1}.
Term traced_event(Process& p, const recorder::Snapshot& snapshot, recorder::Formatter& formatter,
                  const recorder::Record& record, const std::vector<uint64_t>& sessions) {
    using recorder::EventId;
    const char* what = nullptr;
    recorder::Text text;
    if (record.arguments() == 0) {
        return kNonValue;
    }
    const uint64_t session = record.argument(0) >> recorder::kFunctionBits;
    const auto teller = std::find(sessions.begin(), sessions.end(), session);
    if (teller == sessions.end()) {
        return kNonValue;
    }
    switch (static_cast<EventId>(record.event())) {
        case EventId::call:
        case EventId::call_framed:
        case EventId::call_extra:
        case EventId::call_extra_framed:
            what = "call";
            formatter.append_argument(text, record, 'g', 1);
            break;
        case EventId::call_arity:
        case EventId::call_arity_framed:
            what = "call";
            break;
        case EventId::return_from:
            what = "return_from";
            formatter.append_argument(text, record, 'v', 1);
            break;
        case EventId::exception_from:
            what = "exception_from";
            formatter.append_argument(text, record, 'a', 1);
            text += ':';
            formatter.append_argument(text, record, 'v', 2);
            break;
        case EventId::unwound:
            what = "unwound";
            break;
        default:
            return kNonValue;
    }
    // As records::function() makes it.
    const uint64_t id = record.argument(0);
    const auto module = static_cast<uint32_t>(id >> 28 & 0xFFFFF);
    const auto function = static_cast<uint32_t>(id >> 8 & 0xFFFFF);
    if (module >= atom_table::count() || function >= atom_table::count()) {
        return kNonValue;
    }
    recorder::Text subject;
    formatter.append_plain_subject(subject, record.subject());
    const Term mfa = make_tuple(p.heap, make_atom(module), make_atom(function),
                                make_small(static_cast<int64_t>(id & 0xFF)));
    return make_tuple(p.heap, atom_table::intern(what),
                      text_binary(p, std::string(subject.view())), mfa,
                      text_binary(p, std::string(text.view())),
                      make_unsigned(p.heap, snapshot.wall_ns(record.ticks)),
                      make_small(teller - sessions.begin() + 1));
}

// Nanoseconds from Erlang monotonic time to the wall clock that records are shown with.
Term clock_offset(Process& p, const recorder::Snapshot& snapshot) {
    static const BifDef* const monotonic_time =
        bif_registry::find(atoms::erlang, atom_table::intern("monotonic_time"), 0);
    // Both count the same nanoseconds from different beginnings. The closest of a few looks: this thread may be
    // preempted in between.
    uint64_t least = UINT64_MAX;
    int64_t offset = 0;
    for (int i = 0; i < 4; i++) {
        const uint64_t before = recorder::monotonic_ns();
        int64_t erlang_ns = 0;
        get_int64(monotonic_time->fn(p, nullptr), &erlang_ns);
        const uint64_t after = recorder::monotonic_ns();
        if (after - before < least) {
            least = after - before;
            offset = static_cast<int64_t>(before + (after - before) / 2) - erlang_ns;
        }
    }
    const recorder::ClockAnchor& start = snapshot.header().start;
    return make_integer(p.heap, offset + static_cast<int64_t>(start.wall_ns - start.monotonic_ns));
}

// minivm:recorder_calls(Cursor, Most, Sessions) ->
//     {ok, Events, Cursor, Lost, Waiting, Until, Offset} | {error, Text}:
// the next events of calls, at most so many, of these trace sessions (as trace:session_create/3 returns them)
// behind the cursor (<<>>: none, but a cursor of now). Each comes once, and those of a process come in order over all
// calls of this BIF: a record later than the beginning of one waits for the next, for in another ring there may be an
// earlier record that has not been written yet.
//     Lost           records of these rings that were overwritten or dropped before they were seen
//     Waiting        records of these rings behind the new cursor
//     Until          nanoseconds of the wall clock; no later event is among these
//     Offset         nanoseconds from Erlang monotonic time to that clock
Term minivm_recorder_calls_3(Process& p, const Term* a) {
    std::string bytes;
    uint64_t most = 0;
    if (!get_text(a[0], &bytes) || bytes.size() % sizeof(CallsCursor) != 0 ||
        !get_uint64(a[1], &most)) {
        return badarg(p);
    }
    const bool is_new = bytes.empty();
    std::vector<uint64_t> sessions;
    if (!get_sessions(a[2], &sessions)) {
        return badarg(p);
    }
    if (!recorder::enabled(recorder::Category::trace) || !records::terms_are_on()) {
        return failed(p, "the recorder does not record what is traced");
    }
    std::vector<CallsCursor> cursor(bytes.size() / sizeof(CallsCursor));
    std::memcpy(cursor.data(), bytes.data(), bytes.size());
    std::vector<uint64_t> from;
    for (const CallsCursor& c : cursor) {
        from.push_back(c.next);
    }
    const uint64_t now = recorder::read_clock(recorder::best_clock());
    std::string error;
    recorder::Snapshot snapshot;
    if (!snapshot.read_own_behind(recorder::RingClass::calls, from, error)) {
        return failed(p, error);
    }
    recorder::Formatter formatter(snapshot);
    recorder::Merger merger(snapshot);
    std::vector<Term> events;
    std::vector<uint64_t> taken(recorder::kMaxRings);
    std::vector<bool> ended(recorder::kMaxRings);
    uint64_t left = is_new ? 0 : most;
    for (recorder::MergedRecord next = merger.next(); left > 0 && next.record != nullptr;
         next = merger.next()) {
        const unsigned index = next.ring->index;
        // A ring is taken up to the first record that has to wait.
        if (ended[index] || next.record->ticks > now ||
            next.record->position() >= next.ring->complete_until) {
            ended[index] = true;
            continue;
        }
        ++taken[index];
        const Term event = traced_event(p, snapshot, formatter, *next.record, sessions);
        if (is_value(event)) {
            events.push_back(event);
            --left;
        }
    }
    uint64_t lost = 0;
    uint64_t waiting = 0;
    for (const recorder::RingContents& ring : snapshot.rings()) {
        if (cursor.size() <= ring.index) {
            cursor.resize(ring.index + 1);
        }
        CallsCursor& c = cursor[ring.index];
        uint64_t n = taken[ring.index];
        while (is_new && n < ring.records.size() &&
               ring.records[n].position() < ring.complete_until) {
            ++n;
        }
        c.next = n < ring.records.size()
                     ? std::min(ring.records[n].position(), ring.complete_until)
                     : ring.complete_until;
        const uint64_t behind = ring.records.size() - n;
        const uint64_t written = ring.ledger.begun_records + ring.ledger.dropped_records();
        const uint64_t here = behind + ring.ledger.in_progress_records;
        if (is_new) {
            c.before = written > here ? written - here : 0;
            continue;
        }
        c.seen += n;
        waiting += behind;
        // Records written since the counter was read may be here already: `known` is the larger then,
        // and nothing is lost.
        const uint64_t known = c.before + c.seen + here + c.lost;
        if (written > known) {
            lost += written - known;
            c.lost += written - known;
        }
    }
    Term list = kNil;
    for (size_t i = events.size(); i > 0; i--) {
        list = cons(p.heap, events[i - 1], list);
    }
    return make_tuple(p.heap, atoms::ok, list,
                      make_binary(p.heap, reinterpret_cast<const uint8_t*>(cursor.data()),
                                  cursor.size() * sizeof(CallsCursor)),
                      make_unsigned(p.heap, lost), make_unsigned(p.heap, waiting),
                      make_unsigned(p.heap, snapshot.wall_ns(now)), clock_offset(p, snapshot));
}

// minivm:recorder_dump(Options) -> {ok, Text} | ok | {error, Text}: as `minivm dump`. ok: it is in
// the file that the options name.
Term minivm_recorder_dump_1(Process& p, const Term* a) {
    DumpOptions options;
    std::vector<uint32_t> without;
    if (!get_options(a[0], &options, &without)) {
        return badarg(p);
    }
    std::string error;
    recorder::Snapshot snapshot;
    recorder::Filter filter;
    if (!snapshot.read_own(error) || !make_filter(options, snapshot, &filter, &error)) {
        return failed(p, error);
    }
    if (options.format == "ctf") {
        if (options.output.empty()) {
            return failed(p, "--format ctf makes a directory: name it");
        }
        const recorder::ExportResult made = export_ctf(snapshot, filter, options.output);
        return made.ok ? atoms::ok : failed(p, made.error);
    }
    if (options.output.empty()) {
        recorder::StringSink sink;
        return write_dump(options, snapshot, sink, &error)
                   ? make_tuple(p.heap, atoms::ok, text_binary(p, sink.text))
                   : failed(p, error);
    }
    OutputFile file(nullptr);
    if (!file.open(options.output)) {
        return failed(p, file.error());
    }
    const bool made = write_dump(options, snapshot, file, &error);
    if (!file.close()) {
        return failed(p, file.error());
    }
    return made ? atoms::ok : failed(p, error);
}

std::string names_of(uint32_t categories) {
    std::string names;
    for (unsigned i = 0; i < recorder::kCategoryCount; i++) {
        if ((categories & recorder::category_bit(static_cast<recorder::Category>(i))) != 0) {
            names.append(names.empty() ? "" : ",").append(recorder::kCategoryNames[i]);
        }
    }
    return names;
}

// minivm:recorder_switch(on | off | filter | status, Categories) ->
//     {ok, [{File, On, Bytes}, ...]} | {error, Text}
// turns categories of the first recording on or off, or all off but these. Returns all recordings that
// there are, that one first. Categories and On are names with commas, or all.
Term minivm_recorder_switch_2(Process& p, const Term* a) {
    std::string names;
    if (!is_atom(a[0]) || !get_text(a[1], &names)) {
        return badarg(p);
    }
    if (!recorder::is_active()) {
        return failed(p, "this VM has no flight recorder: it could not be started");
    }
    uint32_t mask = 0;
    std::string unknown;
    if (!parse_categories(names, &mask, &unknown)) {
        return failed(p,
                      unknown + ": no such category; there are " + category_names() + ", and all");
    }
    const std::string_view what = atom_table::text(a[0]);
    const uint32_t present = recorder::categories();
    if (what == "on") {
        recorder::set_categories(present | mask);
    } else if (what == "off") {
        recorder::set_categories(present & ~mask);
    } else if (what == "filter") {
        recorder::set_categories(mask);
    } else if (what != "status") {
        return badarg(p);
    }
    const std::vector<recorder::RecordingInfo> all = recorder::recordings();
    Term list = kNil;
    for (size_t i = all.size(); i > 0; i--) {
        const recorder::RecordingInfo& r = all[i - 1];
        const Term one = make_tuple(p.heap, text_binary(p, r.path),
                                    text_binary(p, names_of(r.categories)),
                                    make_unsigned(p.heap, r.size_bytes));
        list = cons(p.heap, one, list);
    }
    return make_tuple(p.heap, atoms::ok, list);
}

// minivm:recorder_start(File, Size, Categories) -> ok | {error, Text}: one more recording. Size: as
// --record-size, or nothing.
Term minivm_recorder_start_3(Process& p, const Term* a) {
    recorder::Options options;
    std::string size;
    std::string names;
    if (!get_text(a[0], &options.path) || !get_text(a[1], &size) || !get_text(a[2], &names)) {
        return badarg(p);
    }
    if (!size.empty() && !parse_size(size, &options.size_bytes)) {
        return failed(p, "size " + size + ": give one such as 6M or 512K");
    }
    std::string unknown;
    options.categories = 0;
    if (!parse_categories(names, &options.categories, &unknown)) {
        return failed(p,
                      unknown + ": no such category; there are " + category_names() + ", and all");
    }
    const recorder::StartResult started = recorder::start_recording(options);
    return started.id != 0 ? atoms::ok : failed(p, started.error);
}

// minivm:recorder_stop(File) -> ok | {error, Text}.
Term minivm_recorder_stop_1(Process& p, const Term* a) {
    std::string path;
    if (!get_text(a[0], &path)) {
        return badarg(p);
    }
    const std::vector<recorder::RecordingInfo> all = recorder::recordings();
    for (size_t i = 0; i < all.size(); i++) {
        if (all[i].path == path) {
            return i != 0 && recorder::stop_recording(all[i].id)
                       ? atoms::ok
                       : failed(p, path + ": is the recording that goes on as long as the VM does");
        }
    }
    return failed(p, path + ": nothing is recorded into it");
}

// minivm:disasm(Bytes, Md5, Function, IsNative) -> {ok, Text} | {error, Text}: lowers the .beam file
// that the module of that MD5 came from once more, since the VM keeps no lowered form of compiled code.
// Function: "name/arity", "name", or "" for all.
Term minivm_disasm_4(Process& p, const Term* a) {
    std::string function;
    Bytes bytes;
    Bytes md5;
    if (!is_binary(a[0]) || !get_bytes(a[0], &bytes) || !is_binary(a[1]) ||
        !get_bytes(a[1], &md5) || !get_text(a[2], &function) || !is_bool(a[3])) {
        return badarg(p);
    }
    LoweredModule m;
    loader::LoadError error;
    if (!loader::load(bytes.data, bytes.size, &m, &error)) {
        return failed(p, error.text());
    }
    if (md5.size != sizeof m.md5 || std::memcmp(md5.data, m.md5, sizeof m.md5) != 0) {
        return failed(p, "its file holds another version than the one that is loaded");
    }
    char* text = nullptr;
    size_t size = 0;
    std::FILE* out = open_memstream(&text, &size);
    if (out == nullptr) {
        return system_limit(p);
    }
    const bool found = print_lowered(m, function, a[3] == atoms::true_ ? kOwnMachine : "", out);
    std::fclose(out);
    const std::string copy(text, size);
    std::free(text);
    return found ? make_tuple(p.heap, atoms::ok, text_binary(p, copy))
                 : failed(p, "the module has no such function");
}

std::vector<BifDef> g_bifs = {
    {"minivm", "recorder_lines", 3, minivm_recorder_lines_3, kBifDirtyIo, nullptr},
    {"minivm", "recorder_calls", 3, minivm_recorder_calls_3, kBifDirtyIo, nullptr},
    {"minivm", "recorder_dump", 1, minivm_recorder_dump_1, kBifDirtyIo, nullptr},
    {"minivm", "recorder_switch", 2, minivm_recorder_switch_2, kBifDirtyIo, nullptr},
    {"minivm", "recorder_start", 3, minivm_recorder_start_3, kBifDirtyIo, nullptr},
    {"minivm", "recorder_stop", 1, minivm_recorder_stop_1, kBifDirtyIo, nullptr},
    {"minivm", "disasm", 4, minivm_disasm_4, kBifDirtyCpu, nullptr},
};

}  // namespace

void add_prompt_bifs() {
    bif_registry::add(&g_bifs);
}

}  // namespace minivm::tools
