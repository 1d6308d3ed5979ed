// The numbers in the requests that prim_inet of OTP 25 to 29 sends to the drivers tcp_inet and udp_inet.
#pragma once

#include <cstdint>
#include <string>

namespace minivm::port::inet {

// The command of port_control/3 is this plus the request, so that the commands of other drivers differ.
constexpr uint32_t kRequestBase = 0x03F1A300;

enum Request : uint32_t {
    kOpen = 1,
    kClose = 2,
    kConnect = 3,
    kPeer = 4,
    kName = 5,
    kBind = 6,
    kSetOptions = 7,
    kGetOptions = 8,
    kGetStatistics = 11,
    kGetHostname = 12,
    kOpenDescriptor = 13,
    kGetDescriptor = 14,
    kGetType = 15,
    kGetStatus = 16,
    kGetServiceByName = 17,
    kGetServiceByPort = 18,
    kSetName = 19,
    kSetPeer = 20,
    kGetInterfaces = 21,
    kGetInterface = 22,
    kSetInterface = 23,
    kSubscribe = 24,
    kGetAddresses = 25,
    kAccept = 26,
    kListen = 27,
    kIgnore = 28,
    kGetLocalAddresses = 29,
    kGetPeerAddresses = 30,
    kReceive = 42,
    kPutBack = 43,
    kShutdown = 44,
    kSendFile = 45,
    kReceivePacket = 60
};

// The first byte of an answer.
constexpr char kError = 0;
constexpr char kOk = 1;

enum Family : uint8_t {
    kUnspecified = 0,
    kInet = 1,
    kInet6 = 2,
    kAny = 3,
    kLoopback = 4,
    kLocal = 5,
    kUndefined = 6
};
enum Type : uint8_t { kStream = 1, kDatagram = 2 };
// The optional byte after the type in kOpen, from OTP 27 on.
enum Protocol : uint8_t { kMultipathTcp = 4 };

enum Option : uint8_t {
    kReuseAddress = 0,
    kKeepAlive = 1,
    kDontRoute = 2,
    kLinger = 3,
    kBroadcast = 4,
    kOutOfBandInline = 5,
    kSendBuffer = 6,
    kReceiveBuffer = 7,
    kPriority = 8,
    kTypeOfService = 9,
    kNoDelay = 10,
    kMulticastInterface = 11,
    kMulticastTtl = 12,
    kMulticastLoop = 13,
    kAddMembership = 14,
    kDropMembership = 15,
    kV6Only = 16,
    kReusePort = 17,
    kReusePortBalanced = 18,
    kExclusiveAddress = 19,
    kBuffer = 20,
    kHeader = 21,
    kActive = 22,
    kPacket = 23,
    kMode = 24,
    kDeliver = 25,
    kExitOnClose = 26,
    kHighWatermark = 27,
    kLowWatermark = 28,
    kSendTimeout = 30,
    kDelaySend = 31,
    kPacketSize = 32,
    kReadPackets = 33,
    kRaw = 34,
    kSendTimeoutClose = 35,
    kHighQueueWatermark = 36,
    kLowQueueWatermark = 37,
    kNamespace = 38,
    kShowReset = 39,
    kLineDelimiter = 40,
    kTrafficClass = 41,
    kBindToDevice = 42,
    kReceiveTos = 43,
    kReceiveTrafficClass = 44,
    kPacketOptions = 45,
    kTtl = 46,
    kReceiveTtl = 47,
    kNoPush = 48,
    kReadAhead = 49,
    kNonBlockingSend = 50,
    kKeepCount = 51,
    kKeepIdle = 52,
    kKeepInterval = 53,
    kUserTimeout = 54,
    kDebug = 99
};

enum Activity : uint8_t { kPassive = 0, kActiveAlways = 1, kActiveOnce = 2, kActiveTimes = 3 };

enum Statistic : uint8_t {
    kReceivedCount = 1,
    kReceivedMax = 2,
    kReceivedAverage = 3,
    kReceivedDeviation = 4,
    kSentCount = 5,
    kSentMax = 6,
    kSentAverage = 7,
    kSendPending = 8,
    kReceivedBytes = 9,
    kSentBytes = 10
};

constexpr uint8_t kSubscribeEmptyQueue = 1;

enum InterfaceOption : uint8_t {
    kInterfaceAddress = 1,
    kInterfaceBroadcast = 2,
    kInterfaceDestination = 3,
    kInterfaceMtu = 4,
    kInterfaceNetmask = 5,
    kInterfaceFlags = 6,
    kInterfaceHardware = 7
};

// The bits of the answer to kGetStatus.
enum Status : uint32_t {
    kIsOpen = 0x0001,
    kIsConnected = 0x0004,
    kIsListening = 0x0008,
    kIsConnecting = 0x0010,
    kIsAccepting = 0x0020,
    kIsBusy = 0x0080
};

// ---- numbers, the most significant byte first

inline void put(std::string* out, uint64_t value, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) {
        out->push_back(static_cast<char>(value >> 8 * i));
    }
}
inline void put8(std::string* out, uint64_t v) { put(out, v, 1); }
inline void put16(std::string* out, uint64_t v) { put(out, v, 2); }
inline void put32(std::string* out, uint64_t v) { put(out, v, 4); }
inline void put64(std::string* out, uint64_t v) { put(out, v, 8); }

// Reads from the front of bytes; a read beyond the end gives 0 and makes ok() false.
class Reader {
public:
    explicit Reader(const std::string& bytes) : Reader(bytes.data(), bytes.size()) {}
    Reader(const char* data, size_t size) : at_(data), left_(size) {}

    uint64_t number(unsigned bytes) {
        if (bytes > left_) {
            left_ = 0;
            ok_ = false;
            return 0;
        }
        uint64_t v = 0;
        for (unsigned i = 0; i < bytes; ++i) {
            v = v << 8 | static_cast<uint8_t>(at_[i]);
        }
        skip(bytes);
        return v;
    }
    uint8_t u8() { return static_cast<uint8_t>(number(1)); }
    uint16_t u16() { return static_cast<uint16_t>(number(2)); }
    int32_t i32() { return static_cast<int32_t>(number(4)); }
    uint64_t u64() { return number(8); }
    // n bytes; null if fewer are left.
    const char* bytes(size_t n) {
        if (n > left_) {
            left_ = 0;
            ok_ = false;
            return nullptr;
        }
        const char* p = at_;
        skip(n);
        return p;
    }
    const char* rest() const { return at_; }
    size_t left() const { return left_; }
    bool ok() const { return ok_; }

private:
    void skip(size_t n) {
        at_ += n;
        left_ -= n;
    }
    const char* at_;
    size_t left_;
    bool ok_ = true;
};

}  // namespace minivm::port::inet
