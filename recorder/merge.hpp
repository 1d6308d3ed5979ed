// All records of a snapshot in one order.
//
// Inside a ring the order is that of the positions. Between rings it is that of the time stamps,
// except that a record which receives a flow id never comes before the record which sent it: stamps
// of two processors can differ by more than a message takes. The place in this order is the global
// index of a record.
//
// A flow id that is used once ties its receive to its send whatever the stamps say. Ids that come
// back, such as addresses, are told apart by time: a receive belongs to the latest send before it,
// or, if that one is taken, to the next within a millisecond.
#pragma once

#include "recorder/reader.hpp"

#include <cstdint>
#include <vector>

namespace minivm::recorder {

struct MergedRecord {
    const Record* record = nullptr;
    const RingContents* ring = nullptr;
};

class Merger {
public:
    explicit Merger(const Snapshot& snapshot);

    // The next record in order; its `record` is null when there are no more.
    MergedRecord next();

    uint64_t index() const { return index_; }  // records handed out so far
    // Receives that had to wait for their send, and those whose send could not come first without
    // breaking the order inside a ring (damaged data).
    uint64_t reordered() const { return reordered_; }
    uint64_t contradictions() const { return contradictions_; }

private:
    struct Stream {
        const RingContents* ring = nullptr;
        const Record* begin = nullptr;
        const Record* at = nullptr;
        const Record* end = nullptr;
        uint32_t blocked_by = 0;            // stream that has the send, plus one
        const Record* waits_for = nullptr;  // the send itself
    };
    struct Send {
        uint64_t flow;
        const Record* record;
        uint32_t stream;
        bool taken;  // a receive has been handed out for it
    };
    struct Entry {
        uint64_t ticks;
        uint32_t stream;
    };

    void collect_sends(const Snapshot& snapshot);
    // The argument of each event that carries its flow; -1: none.
    using FlowArguments = std::vector<int8_t>;
    static bool has_flow(const FlowArguments& arguments, const Record& record) {
        const uint16_t event = record.event_id;
        return event < arguments.size() && arguments[event] >= 0 &&
               static_cast<unsigned>(arguments[event]) < record.arguments();
    }
    static uint64_t flow_of(const FlowArguments& arguments, const Record& record) {
        return record.argument(static_cast<unsigned>(arguments[record.event_id]));
    }
    bool is_send(const Record& record) const { return has_flow(send_argument_, record); }
    uint64_t sent_flow(const Record& record) const { return flow_of(send_argument_, record); }
    bool is_receive(const Record& record) const { return has_flow(flow_argument_, record); }
    uint64_t received_flow(const Record& record) const { return flow_of(flow_argument_, record); }
    bool insert_send(uint32_t stream, const Record* record);
    void order_sends();
    Send* find_ordered_send(uint64_t flow, uint64_t ticks);
    bool must_wait(uint32_t stream);
    void push(uint32_t stream);
    void pop_top();
    void sift_down(size_t at);
    void release(uint32_t sender);
    void force_one();

    std::vector<Stream> streams_;
    std::vector<Entry> heap_;  // smallest ticks on top
    // Where the send of each flow is, by open addressing: a tag of the flow, stream, index; 0 is
    // free. Small, for it is read at random: whether it is the right flow is only looked up if a
    // stream would have to wait.
    std::vector<uint64_t> sends_;
    // If ids come back: all sends by flow and time; `sends_` is not used then.
    std::vector<Send> ordered_;
    uint64_t slack_ticks_ = 0;
    std::vector<uint32_t> blocked_;
    FlowArguments flow_argument_;  // of events that receive
    FlowArguments send_argument_;  // of events that send
    uint64_t send_mask_ = 0;
    uint64_t index_ = 0;
    uint64_t reordered_ = 0;
    uint64_t contradictions_ = 0;
};

// The argument of an event that carries a flow id, if it sends or receives one.
enum class FlowRole : uint8_t { none, send, receive };
FlowRole flow_role(const EventSchema& schema, unsigned& argument);

}  // namespace minivm::recorder
