// Any bytes as a recorder file: the reader and all exporters must come back, and the account must
// hold.
//
// Random bytes hardly ever hold the header's checksum, so inputs begin with a choice: taken as they
// are, or laid over a recording made here, with or without a new checksum, or into entries of its
// dictionary that then get a checksum that fits, and into the heads of its records.
#include "recorder/export.hpp"
#include "recorder/recorder.hpp"
#include "recorder/value.hpp"
#include "tools/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace minivm::recorder;

namespace {

using Bytes = std::vector<unsigned char>;

const Bytes& good_file() {
    static const Bytes bytes = [] {
        char path[] = "/tmp/recorder_fuzz_XXXXXX";
        const int fd = mkstemp(path);
        close(fd);
        Options options;
        options.path = path;
        options.keep_old = 0;
        options.size_bytes = 260 * 1024;
        options.large_threads = 1;
        options.small_threads = 1;
        if (fd < 0 || !init(options).ok || !attach_thread("main", RingSize::large)) {
            std::abort();
        }
        define_atom(1, "atom");
        define_function(2, "lists", "map", 2);
        for (uint64_t i = 0; i < 3000; i++) {
            record(EventId::sched_in, i, 3);
            record(EventId::send, 1, i, 2);
            record(EventId::receive, 1, i - 5, 2);
            record(EventId::trace_call, 2, "some text");
            MINIVM_EVENT(span_end, i);
        }
        record(EventId::gc_minor_end, 1, 2, 3, 4, 5);
        const uint64_t reason = pack_value(ValueTag::nil);
        record(EventId::uncaught, 1, 1, Value(&reason, 1));
        record(EventId::uncaught_frame, 1, 0, 2, 3, 1);
        shutdown();
        std::ifstream file(path, std::ios::binary);
        Bytes out((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        unlink(path);
        return out;
    }();
    return bytes;
}

// Changes entries of the dictionary and makes them good again: 2 bytes choose an entry, 2 the kind
// and the key, the others go into its text.
void change_entries(Bytes& bytes, const uint8_t* data, size_t size) {
    FileHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::vector<size_t> entries;
    size_t at = header.dictionary_offset;
    while (at + kDictionaryHeadBytes <= header.dictionary_offset + header.dictionary_bytes) {
        uint64_t head = 0;
        std::memcpy(&head, bytes.data() + at, 8);
        if (head == 0) {
            break;
        }
        entries.push_back(at);
        at += kDictionaryHeadBytes + round_up(head & 0xffff, 8);
    }
    for (size_t piece = 0; piece + 16 <= size; piece += 16) {
        const uint8_t* const p = data + piece;
        const size_t entry = entries[(p[0] + p[1] * 256u) % entries.size()];
        uint64_t words[2];
        std::memcpy(words, bytes.data() + entry, sizeof words);
        const auto length = static_cast<unsigned>(words[0] & 0xffff);
        const auto kind =
            static_cast<DictionaryKind>(p[2] % 2 == 0 ? (words[0] >> 16) & 0xff : (p[2] / 2) % 16);
        words[1] ^= p[3] % 2 == 0 ? 0 : uint64_t{p[3]} << (p[4] % 57);
        unsigned char* const text = bytes.data() + entry + kDictionaryHeadBytes;
        for (unsigned i = 0; i < 10 && length != 0; i++) {
            text[(p[5] * 7u + i) % length] = p[6 + i];
        }
        const uint32_t sum = checksum32(text, length, checksum32(&words[1], sizeof words[1])) ^
                             static_cast<uint32_t>(kind);
        words[0] = pack_dictionary_head(kind, length, sum);
        std::memcpy(bytes.data() + entry, words, sizeof words);
    }
}

// Changes how many arguments records say they have: 2 bytes choose a slot, the third is the number.
void change_records(Bytes& bytes, const uint8_t* data, size_t size) {
    FileHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    const size_t slots = (bytes.size() - header.rings_offset) / kSlotBytes;
    for (size_t piece = 0; piece + 4 <= size; piece += 4) {
        const size_t slot = (data[piece] + data[piece + 1] * 256u) % slots;
        bytes[header.rings_offset + slot * kSlotBytes + 2 * 8 + 3] = data[piece + 2];
    }
}

void require(bool condition) {
    if (!condition) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Bytes bytes;
    if (size < 8 || data[0] % 4 == 0) {
        bytes.assign(data, data + size);
    } else if (data[0] % 16 >= 13) {
        bytes = good_file();
        change_entries(bytes, data + 1, size - 1);
        if (data[0] % 16 == 15) {
            change_records(bytes, data + 1, size - 1);
        }
    } else {
        // The rest in pieces of 16 bytes: an offset, and what stands there.
        bytes = good_file();
        for (size_t at = 1; at + 16 <= size; at += 16) {
            uint32_t offset = 0;
            std::memcpy(&offset, data + at, sizeof offset);
            // Half of them in the header and the words that say how things lie.
            const size_t range = data[0] % 4 == 1 ? bytes.size() : sizeof(FileHeader) / 8;
            const size_t to = offset % range;
            const size_t count = std::min<size_t>(12, bytes.size() - to);
            std::memcpy(bytes.data() + to, data + at + 4, count);
        }
        if (data[0] % 4 >= 2) {
            FileHeader header;
            std::memcpy(&header, bytes.data(), sizeof header);
            header.magic = kMagic;
            header.version = kFormatVersion;
            header.byte_order = kByteOrderMark;
            header.checksum = 0;
            header.checksum = checksum64(&header, sizeof header);
            std::memcpy(bytes.data(), &header, sizeof header);
        }
        if (data[0] % 4 == 3) {
            bytes.resize(bytes.size() - (data[1] * 1000u) % bytes.size());
        }
    }
    Snapshot snapshot;
    std::string error;
    if (!snapshot.read_bytes(bytes, error)) {
        require(!error.empty());
        return 0;
    }
    for (const RingContents& ring : snapshot.rings()) {
        const Ledger& l = ring.ledger;
        require(l.reserved_slots ==
                l.decoded_slots + l.overwritten_slots + l.in_progress_slots + l.lost_slots);
        require(l.decoded_slots <= ring.size_slots);
        require(ring.records.size() == l.decoded_records);
    }
    StringSink text;
    Filter with_places;
    with_places.places = true;
    require(export_text(snapshot, with_places, text).ok);
    require(text.text.find("damaged: ") != text.text.npos ||
            snapshot.dictionary().problems().empty());
    StringSink json;
    require(export_json(snapshot, {}, json).ok);
    StringSink perfetto;
    require(export_perfetto(snapshot, {}, perfetto).ok);
    StringSink terms;
    require(export_terms(snapshot, with_places, terms).ok);
    Cursor cursor;
    cursor.next = {1};
    StringSink lines;
    require(export_lines(snapshot, {}, 100, &cursor, lines).ok);
    StringSink crash;
    require(export_crash(snapshot, 20, crash).ok);
    require(!minivm::tools::report_page(snapshot).empty());
    return 0;
}
