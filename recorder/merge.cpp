#include "recorder/merge.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

namespace minivm::recorder {

FlowRole flow_role(const EventSchema& schema, unsigned& argument) {
    const size_t at = schema.kinds.find('w');
    if (at >= kMaxPayloadWords) {
        return FlowRole::none;  // there is none, or no record has so many arguments
    }
    argument = static_cast<unsigned>(at);
    if (schema.name == "send" || schema.name == "send_message" || schema.name == "signal_sent" ||
        schema.name == "signal_to") {
        return FlowRole::send;
    }
    if (schema.name == "receive" || schema.name == "signal_handled") {
        return FlowRole::receive;
    }
    return FlowRole::none;
}

namespace {

constexpr std::ptrdiff_t kAhead = 12;

// Ids may differ in few bits anywhere (addresses, thread number and counter): each bit of them reaches
// all bits of the hash.
uint64_t hash_flow(uint64_t flow) {
    flow *= 0x9e3779b97f4a7c15u;
    flow ^= flow >> 32;
    return flow * 0xd6e8feb86659fd93u;
}
uint64_t place_of(uint64_t hash) {
    return hash >> 20;
}
// An entry of the table: 20 bits of the hash, one of them always set; 12 of stream; 32 of index.
constexpr unsigned kStreamBits = 12;
constexpr unsigned kTagShift = 32 + kStreamBits;
uint64_t tag_of(uint64_t hash) {
    return ((hash << kTagShift) | (uint64_t{1} << kTagShift));
}
constexpr uint64_t kTagMask = ~((uint64_t{1} << kTagShift) - 1);
uint32_t entry_stream(uint64_t entry) {
    return static_cast<uint32_t>(entry >> 32) & ((1u << kStreamBits) - 1);
}
uint32_t entry_index(uint64_t entry) {
    return static_cast<uint32_t>(entry);
}
static_assert(kMaxRings <= (1u << kStreamBits));

}  // namespace

Merger::Merger(const Snapshot& snapshot) {
    for (const RingContents& ring : snapshot.rings()) {
        if (!ring.records.empty()) {
            const Record* first = ring.records.data();
            streams_.push_back({&ring, first, first, first + ring.records.size(), 0, nullptr});
        }
    }
    collect_sends(snapshot);
    for (uint32_t s = 0; s < streams_.size(); s++) {
        push(s);
    }
}

void Merger::collect_sends(const Snapshot& snapshot) {
    for (const auto& [id, schema] : snapshot.dictionary().events()) {
        unsigned argument = 0;
        const FlowRole role = flow_role(schema, argument);
        if (role == FlowRole::none) {
            continue;
        }
        auto& table = role == FlowRole::send ? send_argument_ : flow_argument_;
        if (table.size() <= id) {
            table.resize(size_t{id} + 1, -1);
        }
        table[id] = static_cast<int8_t>(argument);
    }
    uint64_t count = 0;
    for (const Stream& stream : streams_) {
        for (const Record* r = stream.at; r != stream.end; r++) {
            count += is_send(*r) ? 1 : 0;
        }
    }
    if (count == 0) {
        return;
    }
    slack_ticks_ = snapshot.header().ticks_per_second / 1000;
    sends_.resize(std::bit_ceil(count * 2));
    send_mask_ = sends_.size() - 1;
    for (uint32_t s = 0; s < streams_.size(); s++) {
        for (const Record* r = streams_[s].at; r != streams_[s].end; r++) {
            if (streams_[s].end - r > kAhead && is_send(r[kAhead])) {
                __builtin_prefetch(&sends_[place_of(hash_flow(sent_flow(r[kAhead]))) & send_mask_],
                                   1);
            }
            if (is_send(*r) && !insert_send(s, r)) {
                order_sends();
                return;
            }
        }
    }
}

// False if the flow was sent already.
bool Merger::insert_send(uint32_t stream, const Record* record) {
    const uint64_t flow = sent_flow(*record);
    const uint64_t hash = hash_flow(flow);
    uint64_t at = place_of(hash) & send_mask_;
    for (; sends_[at] != 0; at = (at + 1) & send_mask_) {
        if ((sends_[at] & kTagMask) == tag_of(hash)) {
            const Record& other = streams_[entry_stream(sends_[at])].begin[entry_index(sends_[at])];
            if (sent_flow(other) == flow) {
                return false;
            }
        }
    }
    sends_[at] = tag_of(hash) | (uint64_t{stream} << 32) |
                 static_cast<uint64_t>(record - streams_[stream].begin);
    return true;
}

void Merger::order_sends() {
    sends_.clear();
    for (uint32_t s = 0; s < streams_.size(); s++) {
        for (const Record* r = streams_[s].at; r != streams_[s].end; r++) {
            if (is_send(*r)) {
                ordered_.push_back({sent_flow(*r), r, s, false});
            }
        }
    }
    std::sort(ordered_.begin(), ordered_.end(), [](const Send& a, const Send& b) {
        return a.flow != b.flow ? a.flow < b.flow : a.record->order_ticks < b.record->order_ticks;
    });
}

// The send that a receive at that time belongs to, where ids come back.
Merger::Send* Merger::find_ordered_send(uint64_t flow, uint64_t ticks) {
    // The first send of the flow behind that time.
    auto after = std::upper_bound(ordered_.begin(), ordered_.end(), std::pair(flow, ticks),
                                  [](const std::pair<uint64_t, uint64_t>& key, const Send& send) {
                                      return key.first != send.flow
                                                 ? key.first < send.flow
                                                 : key.second < send.record->order_ticks;
                                  });
    if (after != ordered_.begin()) {
        Send& before = *(after - 1);
        if (before.flow == flow && !before.taken) {
            return &before;
        }
    }
    const bool is_near = after != ordered_.end() && after->flow == flow &&
                         after->record->order_ticks - ticks <= slack_ticks_;
    return is_near && !after->taken ? &*after : nullptr;
}

// Whether the record at the head of the stream receives a flow whose send has not been handed out.
bool Merger::must_wait(uint32_t stream) {
    const Record& record = *streams_[stream].at;
    if (!is_receive(record)) {
        return false;
    }
    const uint64_t flow = received_flow(record);
    const auto wait_for = [&](uint32_t sender, const Record* send) {
        streams_[stream].blocked_by = sender + 1;
        streams_[stream].waits_for = send;
        return true;
    };
    if (!ordered_.empty()) {
        Send* const send = find_ordered_send(flow, record.order_ticks);
        if (send == nullptr) {
            return false;
        }
        if (send->stream == stream || streams_[send->stream].at > send->record) {
            send->taken = true;
            return false;
        }
        return wait_for(send->stream, send->record);
    }
    if (sends_.empty()) {
        return false;
    }
    const uint64_t hash = hash_flow(flow);
    for (uint64_t at = place_of(hash) & send_mask_; sends_[at] != 0; at = (at + 1) & send_mask_) {
        if ((sends_[at] & kTagMask) != tag_of(hash)) {
            continue;
        }
        const uint32_t sender = entry_stream(sends_[at]);
        const Record* const send = streams_[sender].begin + entry_index(sends_[at]);
        if (sender != stream && streams_[sender].at <= send && sent_flow(*send) == flow) {
            return wait_for(sender, send);
        }
    }
    return false;
}

void Merger::push(uint32_t stream) {
    heap_.push_back({streams_[stream].at->order_ticks, stream});
    std::push_heap(heap_.begin(), heap_.end(), [](const Entry& a, const Entry& b) {
        return a.ticks != b.ticks ? a.ticks > b.ticks : a.stream > b.stream;
    });
}

void Merger::sift_down(size_t at) {
    const Entry moved = heap_[at];
    const auto before = [](const Entry& a, const Entry& b) {
        return a.ticks != b.ticks ? a.ticks < b.ticks : a.stream < b.stream;
    };
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap_.size()) {
            break;
        }
        if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) {
            child++;
        }
        if (!before(heap_[child], moved)) {
            break;
        }
        heap_[at] = heap_[child];
        at = child;
    }
    heap_[at] = moved;
}

void Merger::pop_top() {
    heap_.front() = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
        sift_down(0);
    }
}

// Streams that waited for what `sender` has just handed out may go on.
void Merger::release(uint32_t sender) {
    for (size_t i = 0; i < blocked_.size();) {
        Stream& stream = streams_[blocked_[i]];
        if (stream.blocked_by == sender + 1 && streams_[sender].at > stream.waits_for) {
            stream.blocked_by = 0;
            push(blocked_[i]);
            blocked_[i] = blocked_.back();
            blocked_.pop_back();
        } else {
            i++;
        }
    }
}

// All streams that are left wait in a circle, which intact rings cannot: the earliest goes first.
void Merger::force_one() {
    size_t best = 0;
    for (size_t i = 1; i < blocked_.size(); i++) {
        if (streams_[blocked_[i]].at->order_ticks < streams_[blocked_[best]].at->order_ticks) {
            best = i;
        }
    }
    const uint32_t stream = blocked_[best];
    blocked_[best] = blocked_.back();
    blocked_.pop_back();
    contradictions_++;
    reordered_--;
    streams_[stream].blocked_by = UINT32_MAX;  // let through once
    push(stream);
}

MergedRecord Merger::next() {
    for (;;) {
        if (heap_.empty()) {
            if (blocked_.empty()) {
                return {};
            }
            force_one();
        }
        const uint32_t top = heap_.front().stream;
        Stream& stream = streams_[top];
        if (stream.blocked_by != UINT32_MAX && must_wait(top)) {
            reordered_++;
            blocked_.push_back(top);
            pop_top();
            continue;
        }
        stream.blocked_by = 0;
        if (stream.end - stream.at > kAhead && !sends_.empty() && is_receive(stream.at[kAhead])) {
            const uint64_t flow = received_flow(stream.at[kAhead]);
            __builtin_prefetch(&sends_[place_of(hash_flow(flow)) & send_mask_]);
        }
        const MergedRecord result{stream.at, stream.ring};
        stream.at++;
        index_++;
        if (stream.at == stream.end) {
            pop_top();
        } else {
            heap_.front().ticks = stream.at->order_ticks;
            sift_down(0);
        }
        if (!blocked_.empty()) [[unlikely]] {
            release(top);
        }
        return result;
    }
}

}  // namespace minivm::recorder
