// Common Trace Format 1.8: a metadata file in TSDL and a binary stream for each ring.
//
// Each stream is cut into packets; a packet's context carries the records discarded so far, which
// is how CTF tells a reader of losses. Inside a stream time never goes back, so a nested record has
// the time of the record before it if its own is earlier.
#include "recorder/export_common.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace minivm::recorder {

namespace {

constexpr uint32_t kCtfMagic = 0xC1FC1FC1;
constexpr size_t kPacketBytes = 256 * 1024;
constexpr unsigned kMostPlaces = UINT16_MAX;  // those behind it are "unknown"

// Ids of events that the file's dictionary does not describe.
constexpr uint32_t kUnknownEvent = 65536;

bool is_string(char kind) {
    return std::string_view("amstvekg").find(kind) != std::string_view::npos;
}

// A TSDL identifier; a leading underscore keeps it from being a keyword.
std::string identifier(std::string_view name) {
    std::string out = "_";
    for (const char c : name) {
        const bool good =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        out += good ? c : '_';
    }
    return out;
}

std::string quoted(std::string_view text) {
    Text out;
    append_quoted(out, text, '"');
    return std::string(out.view());
}

std::string metadata(const Snapshot& snapshot, const PlaceTable& places) {
    const FileHeader& header = snapshot.header();
    std::string out = "/* CTF 1.8 */\n\n";
    out +=
        "typealias integer { size = 16; align = 8; signed = false; } := u16;\n"
        "typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
        "typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
        "typealias integer { size = 64; align = 8; signed = true; } := i64;\n"
        "typealias integer { size = 64; align = 8; signed = false; base = 16; } := x64;\n"
        "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;\n\n"
        "trace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = ";
    out += std::endian::native == std::endian::little ? "le" : "be";
    out +=
        ";\n\tpacket.header := struct {\n\t\tu32 magic;\n\t\tu32 stream_id;\n\t\tu64 "
        "stream_instance_id;\n"
        "\t};\n};\n\nenv {\n\tdomain = \"ust\";\n\ttracer_name = \"minivm recorder\";\n\tprocname "
        "= ";
    out += quoted(header.program) + ";\n\tvpid = " + std::to_string(header.process_id) +
           ";\n\tstate = ";
    out += quoted(crash_state_name(snapshot)) + ";\n";
    for (const RingContents& ring : snapshot.rings()) {
        const Ledger& l = ring.ledger;
        if (l.reserved_slots != 0 || l.dropped_records() != 0) {
            // The loss table: written = decoded + overwritten + dropped + open, and lost slots.
            out += "\tring_" + std::to_string(ring.index) + " = " +
                   quoted(ring_name(snapshot, ring) + ": written " +
                          std::to_string(l.begun_records + l.dropped_records()) + ", decoded " +
                          std::to_string(l.decoded_records) + ", overwritten " +
                          std::to_string(l.missing_records()) + ", dropped " +
                          std::to_string(l.dropped_records()) + ", open " +
                          std::to_string(l.in_progress_records) + ", lost slots " +
                          std::to_string(l.lost_slots)) +
                   ";\n";
        }
    }
    // Rare events beyond their rate, which stand in other rings.
    out += "\tover_rate = " + quoted(std::to_string(snapshot.over_rate())) + ";\n";
    unsigned problems = 0;
    for (const std::string& problem : dictionary_problems(snapshot)) {
        out += "\tdamaged_" + std::to_string(++problems) + " = " + quoted(problem) + ";\n";
    }
    // Stamps are nanoseconds since the beginning of the recording.
    out += "};\n\nclock {\n\tname = recorder;\n\tfreq = 1000000000;\n\toffset_s = " +
           std::to_string(header.start.wall_ns / 1'000'000'000) +
           ";\n\toffset = " + std::to_string(header.start.wall_ns % 1'000'000'000) +
           ";\n};\n\n"
           "typealias integer { size = 64; align = 8; signed = false; map = clock.recorder.value; "
           "} := time64;\n\n"
           "stream {\n\tid = 0;\n"
           "\tpacket.context := struct {\n\t\ttime64 timestamp_begin;\n\t\ttime64 timestamp_end;\n"
           "\t\tu64 content_size;\n\t\tu64 packet_size;\n\t\tu64 packet_seq_num;\n"
           "\t\tu64 events_discarded;\n\t\tu32 ring;\n\t};\n"
           "\tevent.header := struct {\n\t\tu32 id;\n\t\ttime64 timestamp;\n\t};\n"
           "\tevent.context := struct {\n\t\tu32 _subject;\n\t\tu16 _flags;\n"
           "\t\tenum : u16 {\n\t\t\t\"unknown\" = 0";
    for (size_t i = 0; i < std::min<size_t>(places.entries().size(), kMostPlaces); i++) {
        Text place;
        append_place(place, *places.entries()[i].place);
        out += ",\n\t\t\t" + quoted(place.view()) + " = " + std::to_string(i + 1);
    }
    out += "\n\t\t} _place;\n\t};\n};\n\n";
    for (const auto& [id, schema] : snapshot.dictionary().events()) {
        out += "event {\n\tid = " + std::to_string(id) + ";\n\tstream_id = 0;\n\tname = " +
               quoted(std::string(kCategoryNames[static_cast<unsigned>(schema.category)]) + ":" +
                      schema.name) +
               ";\n\tfields := struct {\n";
        for (size_t i = 0; i < schema.kinds.size(); i++) {
            const char kind = schema.kinds[i];
            const char* type = "u64";
            type = kind == 'i' ? "i64" : type;
            type = kind == 'f' ? "f64" : type;
            type = kind == 'x' || kind == 'w' ? "x64" : type;
            type = is_string(kind) ? "string" : type;
            // Two arguments may have one name: the number keeps the fields apart.
            std::string name = identifier(schema.argument_names[i]);
            for (size_t j = 0; j < i; j++) {
                if (identifier(schema.argument_names[j]) == name) {
                    name += "_" + std::to_string(i);
                    break;
                }
            }
            out += std::string("\t\t") + type + " " + name + ";\n";
        }
        out += "\t};\n};\n\n";
    }
    out += "event {\n\tid = " + std::to_string(kUnknownEvent) +
           ";\n\tstream_id = 0;\n\tname = \"unknown\";\n\tfields := struct {\n\t\tu32 "
           "_event;\n\t};\n};\n";
    return out;
}

class Packet {
public:
    // One behind the other, without gaps.
    template <class... T>
    void put(T... values) {
        char* to = bytes_.room((sizeof values + ...));
        const auto one = [&to](const auto& value) {
            std::memcpy(to, &value, sizeof value);
            to += sizeof value;
        };
        (one(values), ...);
        bytes_.advance((sizeof values + ...));
    }
    // A CTF string ends at its first zero byte.
    void put_string(std::string_view text) {
        bytes_ += text.substr(0, text.find('\0'));
        bytes_ += '\0';
    }
    void begin(uint32_t ring, uint64_t sequence, uint64_t discarded) {
        bytes_.clear();
        put(kCtfMagic);
        put(uint32_t{0});
        put(uint64_t{ring});
        context_at_ = bytes_.size();
        put(uint64_t{0});  // these four are known at the end
        put(uint64_t{0});
        put(uint64_t{0});
        put(uint64_t{0});
        put(sequence);
        put(discarded);
        put(ring);
        events_at_ = bytes_.size();
    }
    void stamp(uint64_t ns) {
        begin_ns_ = bytes_.size() == events_at_ ? ns : begin_ns_;
        end_ns_ = ns;
    }
    void set_begin(uint64_t ns) { begin_ns_ = end_ns_ = ns; }
    size_t size() const { return bytes_.size(); }
    std::string_view finish() {
        const uint64_t bits = bytes_.size() * 8;
        const uint64_t context[4] = {begin_ns_, end_ns_, bits, bits};
        std::memcpy(&bytes_[context_at_], context, sizeof context);
        return bytes_.view();
    }

private:
    Text bytes_;
    size_t context_at_ = 0;
    size_t events_at_ = 0;
    uint64_t begin_ns_ = 0;
    uint64_t end_ns_ = 0;
};

struct FileCloser {
    std::FILE* file;
    ~FileCloser() {
        if (file != nullptr) {
            std::fclose(file);
        }
    }
};

void put_arguments(Packet& packet, const Record& record, const EventSchema& schema,
                   const Formatter& formatter, Text& scratch) {
    const unsigned count = Formatter::usable_arguments(record, schema);
    for (unsigned i = 0; i < schema.kinds.size(); i++) {
        const char kind = schema.kinds[i];
        if (!is_string(kind)) {
            packet.put(i < count ? record.argument(i) : uint64_t{0});
        } else if (i >= count) {
            packet.put_string("");
        } else if (kind == 't') {
            packet.put_string(formatter.text_argument(record, i));
        } else {
            scratch.clear();
            formatter.append_argument(scratch, record, kind, i);
            packet.put_string(scratch);
        }
    }
}

std::string write_stream(const Snapshot& snapshot, const RingContents& ring, Selection& selection,
                         Formatter& formatter, const PlaceTable& places, const std::string& path,
                         uint64_t& records) {
    const FileCloser out{std::fopen(path.c_str(), "wbx")};
    const auto failed = [&path] { return path + ": " + std::strerror(errno); };
    if (out.file == nullptr) {
        return failed();
    }
    // Everything that was lost was lost before the oldest record here or while it was written; CTF
    // counts from the beginning of the trace, and an empty first packet lets a reader see the
    // number.
    const uint64_t discarded = ring.ledger.missing_records() + ring.ledger.dropped_records() +
                               ring.ledger.in_progress_records;
    Packet packet;
    uint64_t sequence = 0;
    const auto write = [&] {
        const std::string_view bytes = packet.finish();
        return std::fwrite(bytes.data(), 1, bytes.size(), out.file) == bytes.size();
    };
    const auto ns_of = [&snapshot](uint64_t ticks) {
        return static_cast<uint64_t>(std::max<int64_t>(0, snapshot.since_start_ns(ticks)));
    };
    packet.begin(ring.index, sequence++, 0);
    packet.set_begin(0);
    if (!write()) {
        return failed();
    }
    packet.begin(ring.index, sequence++, discarded);
    packet.set_begin(ring.records.empty() ? 0 : ns_of(ring.records.front().order_ticks));
    Text scratch;
    for (const Record& record : ring.records) {
        if (!selection.accepts(record)) {
            continue;
        }
        if (packet.size() > kPacketBytes) {
            if (!write()) {
                return failed();
            }
            packet.begin(ring.index, sequence++, discarded);
        }
        const uint64_t ns = ns_of(record.order_ticks);
        packet.stamp(ns);
        const EventSchema* schema = formatter.schema(record);
        const unsigned place = places.of(record);
        packet.put(schema != nullptr ? uint32_t{record.event()} : kUnknownEvent, ns,
                   record.subject(), static_cast<uint16_t>(record.flags()),
                   static_cast<uint16_t>(place <= kMostPlaces ? place : 0));
        if (schema != nullptr) {
            put_arguments(packet, record, *schema, formatter, scratch);
        } else {
            packet.put(uint32_t{record.event()});
        }
        records++;
    }
    return write() && std::fflush(out.file) == 0 ? std::string() : failed();
}

}  // namespace

ExportResult export_ctf(const Snapshot& snapshot, const Filter& filter,
                        const std::string& directory) {
    ExportResult result;
    const auto fail = [&result](std::string why) {
        result.ok = false;
        result.error = std::move(why);
        return result;
    };
    if (mkdir(directory.c_str(), 0700) != 0) {
        return fail(directory + ": cannot be created: " + std::strerror(errno));
    }
    Formatter formatter(snapshot);
    Selection selection(snapshot, filter, formatter);
    const PlaceTable places(snapshot.dictionary());
    {
        const std::string path = directory + "/metadata";
        const FileCloser out{std::fopen(path.c_str(), "wbx")};
        const std::string text = metadata(snapshot, places);
        if (out.file == nullptr ||
            std::fwrite(text.data(), 1, text.size(), out.file) != text.size() ||
            std::fflush(out.file) != 0) {
            return fail(path + ": " + std::strerror(errno));
        }
    }
    for (const RingContents& ring : snapshot.rings()) {
        if (ring.ledger.reserved_slots == 0 && ring.ledger.dropped_records() == 0) {
            continue;
        }
        const std::string path = directory + "/ring_" + std::to_string(ring.index);
        const std::string error =
            write_stream(snapshot, ring, selection, formatter, places, path, result.records);
        if (!error.empty()) {
            return fail(error);
        }
    }
    return result;
}

}  // namespace minivm::recorder
