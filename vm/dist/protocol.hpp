// The numbers of the distribution protocol (erts' documentation, "Distribution Protocol"): the flags for a node's
// capabilities, and the first elements of control messages.
#pragma once

#include <cstdint>

namespace minivm::dist {

enum Flag : uint64_t {
    kPublished = 0x1,
    kExtendedReferences = 0x4,
    kDistMonitor = 0x8,
    kFunTags = 0x10,
    kDistMonitorName = 0x20,
    kHiddenAtomCache = 0x40,
    kAtomCache = 0x2,
    kNewFunTags = 0x80,
    kExtendedPidsPorts = 0x100,
    kExportPtrTag = 0x200,
    kBitBinaries = 0x400,
    kNewFloats = 0x800,
    kUnicodeIo = 0x1000,
    kDistHdrAtomCache = 0x2000,
    kSmallAtomTags = 0x4000,
    kUtf8Atoms = 0x10000,
    kMapTag = 0x20000,
    kBigCreation = 0x40000,
    kSendSender = 0x80000,
    kBigSeqtraceLabels = 0x100000,
    kExitPayload = 0x400000,
    kFragments = 0x800000,
    kHandshake23 = 0x1000000,
    kUnlinkId = 0x2000000,
    kMandatory25Digest = 0x4000000,
    kSpawn = uint64_t{1} << 32,
    kV4Nc = uint64_t{4} << 32,
    kAlias = uint64_t{8} << 32
};

// The flags that net_kernel uses in a handshake; `mandatory` depends on the release.
struct Capabilities {
    uint64_t all;
    uint64_t mandatory;
    uint64_t rejectable;
    uint64_t strict_order;
};
Capabilities capabilities();

enum class Op : uint8_t {
    link = 1,
    send = 2,
    exit = 3,
    unlink = 4,
    reg_send = 6,
    group_leader = 7,
    exit2 = 8,
    send_tt = 12,
    exit_tt = 13,
    reg_send_tt = 16,
    exit2_tt = 18,
    monitor_p = 19,
    demonitor_p = 20,
    monitor_p_exit = 21,
    send_sender = 22,
    send_sender_tt = 23,
    payload_exit = 24,
    payload_exit_tt = 25,
    payload_exit2 = 26,
    payload_exit2_tt = 27,
    payload_monitor_p_exit = 28,
    spawn_request = 29,
    spawn_request_tt = 30,
    spawn_reply = 31,
    spawn_reply_tt = 32,
    alias_send = 33,
    alias_send_tt = 34,
    unlink_id = 35,
    unlink_id_ack = 36
};

// The byte before each control message: no atom of it lies in an atom cache.
constexpr char kPassThrough = 'p';

// The flags of a spawn_reply: whether the new process is linked, and monitored.
constexpr int64_t kLinked = 1;
constexpr int64_t kMonitored = 2;

}  // namespace minivm::dist
