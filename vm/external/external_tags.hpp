// The tags of the external term format.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minivm::external {

constexpr uint8_t kVersion = 131;
constexpr size_t kOldFloatBytes = 31;  // "%.20e" and NULs

enum Tag : uint8_t {
    kRecordExt = 67,  // from OTP 29 on
    kNewFloatExt = 70,
    kBitBinaryExt = 77,
    kCompressedExt = 80,
    kNewPidExt = 88,
    kNewPortExt = 89,
    kNewerReferenceExt = 90,
    kSmallIntegerExt = 97,
    kIntegerExt = 98,
    kFloatExt = 99,
    kAtomExt = 100,
    kReferenceExt = 101,
    kPortExt = 102,
    kPidExt = 103,
    kSmallTupleExt = 104,
    kLargeTupleExt = 105,
    kNilExt = 106,
    kStringExt = 107,
    kListExt = 108,
    kBinaryExt = 109,
    kSmallBigExt = 110,
    kLargeBigExt = 111,
    kNewFunExt = 112,
    kExportExt = 113,
    kNewReferenceExt = 114,
    kSmallAtomExt = 115,
    kMapExt = 116,
    kAtomUtf8Ext = 118,
    kSmallAtomUtf8Ext = 119,
    kV4PortExt = 120,
    kLocalExt = 121  // from OTP 26 on: local_mark(), then a term
};

}  // namespace minivm::external
