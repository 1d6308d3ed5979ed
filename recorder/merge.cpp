#include "recorder/merge.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace minivm::recorder {

FlowRole flow_role(const EventSchema& schema, unsigned& argument) {
    const size_t at = schema.kinds.find('w');
    if (at == std::string::npos) {
        return FlowRole::none;
    }
    argument = static_cast<unsigned>(at);
    if (schema.name == "send" || schema.name == "signal_sent") {
        return FlowRole::send;
    }
    if (schema.name == "receive" || schema.name == "signal_handled") {
        return FlowRole::receive;
    }
    return FlowRole::none;
}

namespace {
uint64_t hash_flow(uint64_t flow) { return flow * 0x9e3779b97f4a7c15u >> 20; }
}  // namespace

Merger::Merger(const Snapshot& snapshot) {
    for (const RingContents& ring : snapshot.rings()) {
        if (!ring.records.empty()) {
            const Record* first = ring.records.data();
            streams_.push_back({&ring, first, first + ring.records.size(), 0, nullptr});
        }
    }
    collect_sends(snapshot);
    for (uint32_t s = 0; s < streams_.size(); s++) {
        push(s);
    }
}

void Merger::collect_sends(const Snapshot& snapshot) {
    std::vector<int8_t> sends_at;
    for (const auto& [id, schema] : snapshot.dictionary().events()) {
        unsigned argument = 0;
        const FlowRole role = flow_role(schema, argument);
        if (role == FlowRole::none) {
            continue;
        }
        auto& table = role == FlowRole::send ? sends_at : flow_argument_;
        if (table.size() <= id) {
            table.resize(size_t{id} + 1, -1);
        }
        table[id] = static_cast<int8_t>(argument);
    }
    const auto is_send = [&sends_at](const Record& record) {
        const uint16_t event = record.event();
        return event < sends_at.size() && sends_at[event] >= 0 &&
               static_cast<unsigned>(sends_at[event]) < record.arguments();
    };
    uint64_t count = 0;
    for (const Stream& stream : streams_) {
        for (const Record* r = stream.at; r != stream.end; r++) {
            count += is_send(*r) ? 1 : 0;
        }
    }
    if (count == 0) {
        return;
    }
    sends_.resize(std::bit_ceil(count * 2), Send{0, nullptr, 0, false});
    send_mask_ = sends_.size() - 1;
    slack_ticks_ = snapshot.header().ticks_per_second / 1000;
    bool come_back = false;
    for (uint32_t s = 0; s < streams_.size(); s++) {
        for (const Record* r = streams_[s].at; r != streams_[s].end; r++) {
            if (!is_send(*r)) {
                continue;
            }
            const uint64_t flow = r->argument(static_cast<unsigned>(sends_at[r->event()]));
            uint64_t at = hash_flow(flow) & send_mask_;
            while (sends_[at].record != nullptr && sends_[at].flow != flow) {
                at = (at + 1) & send_mask_;
            }
            if (sends_[at].record == nullptr) {
                sends_[at] = {flow, r, s, false};
            } else {
                come_back = true;
                ordered_.push_back({flow, r, s, false});
            }
        }
    }
    if (come_back) {
        order_sends();
    }
}

void Merger::order_sends() {
    for (const Send& send : sends_) {
        if (send.record != nullptr) {
            ordered_.push_back(send);
        }
    }
    std::sort(ordered_.begin(), ordered_.end(), [](const Send& a, const Send& b) {
        return a.flow != b.flow ? a.flow < b.flow : a.record->order_ticks < b.record->order_ticks;
    });
}

// The send that a receive at that time belongs to, if there is one here.
Merger::Send* Merger::find_send(uint64_t flow, uint64_t ticks) {
    if (!ordered_.empty()) {
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
    if (sends_.empty()) {
        return nullptr;
    }
    for (uint64_t at = hash_flow(flow) & send_mask_; sends_[at].record != nullptr;
         at = (at + 1) & send_mask_) {
        if (sends_[at].flow == flow) {
            return &sends_[at];
        }
    }
    return nullptr;
}

// Whether the record at the head of the stream receives what has not been handed out as sent.
bool Merger::must_wait(uint32_t stream) {
    const Record& record = *streams_[stream].at;
    const uint16_t event = record.event();
    if (event >= flow_argument_.size() || flow_argument_[event] < 0 ||
        static_cast<unsigned>(flow_argument_[event]) >= record.arguments()) {
        return false;
    }
    Send* const send =
        find_send(record.argument(static_cast<unsigned>(flow_argument_[event])), record.order_ticks);
    if (send == nullptr) {
        return false;
    }
    if (send->stream == stream || streams_[send->stream].at > send->record) {
        send->taken = true;
        return false;
    }
    streams_[stream].blocked_by = send->stream + 1;
    streams_[stream].waits_for = send->record;
    return true;
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

// All that is left waits in a circle, which intact rings cannot: the earliest goes first.
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
