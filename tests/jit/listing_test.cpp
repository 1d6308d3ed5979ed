// Listings of both machines' code, made on this one.
#include "jit/listing.hpp"

#include "jit/listing_logger.hpp"

#include <asmjit/arm/a64assembler.h>
#include <asmjit/x86.h>
#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace minivm::jit {
namespace {

using Kind = ListedLine::Kind;

// Each byte of the code belongs to exactly one line.
void check_cover(const Listing& listing, size_t code_bytes) {
    uint32_t at = 0;
    for (const ListedLine& line : listing.lines()) {
        REQUIRE(line.offset == at);
        REQUIRE((line.kind == Kind::instruction || line.kind == Kind::data) == (line.bytes != 0));
        at += line.bytes;
    }
    CHECK(at == code_bytes);
    CHECK(listing.end() == code_bytes);
}

std::vector<std::string> texts(const Listing& listing, Kind kind) {
    std::vector<std::string> answer;
    for (const ListedLine& line : listing.lines()) {
        if (line.kind == kind) {
            answer.push_back(line.text);
        }
    }
    return answer;
}

TEST_CASE("a listing of x86-64 code has each instruction at its offset") {
    asmjit::CodeHolder code;
    code.init(asmjit::Environment(asmjit::Arch::kX64));
    asmjit::x86::Assembler a(&code);
    Listing listing;
    ListingLogger logger(listing, a);
    code.setLogger(&logger);
    namespace x86 = asmjit::x86;

    listing.remark("move x0, y1");
    const asmjit::Label back = a.newLabel();
    const asmjit::Label forward = a.newLabel();
    a.bind(back);
    a.mov(x86::r15, x86::qword_ptr(x86::rsp, 8));
    listing.group(7);
    listing.remark("add");
    a.add(x86::r15, 0x12345678);
    listing.group(8);
    a.jo(forward);  // its distance is not known when it is shown
    a.mov(x86::rax, uint64_t{0x123456789abcdef0});
    a.jmp(back);
    a.align(asmjit::AlignMode::kCode, 16);
    a.bind(forward);
    a.ret();
    const uint64_t word = 42;
    a.embed(&word, 8);
    a.nop();

    const asmjit::CodeBuffer& buffer = code.textSection()->buffer();
    check_cover(listing, buffer.size());
    CHECK(texts(listing, Kind::remark) == std::vector<std::string>{"move x0, y1", "add"});
    CHECK(texts(listing, Kind::label) == std::vector<std::string>{"L0:", "L1:"});
    CHECK(texts(listing, Kind::instruction) ==
          std::vector<std::string>{"mov r15, qword ptr [rsp+8]", "add r15, 0x12345678", "jo L1",
                                   "mov rax, 0x123456789ABCDEF0", "short jmp L0", "ret", "nop"});
    const std::string text = listing.text(buffer.data(), Listing::kAllGroups);
    INFO(text);
    CHECK(text.find("move x0, y1\n"
                    "    L0:\n"
                    "         0  4c 8b 7c 24 08           mov r15, qword ptr [rsp+8]\n"
                    "add\n"
                    "         5  49 81 c7 78 56 34 12     add r15, 0x12345678\n") == 0);
    // Longer than a row; and bytes as they are when all labels are known.
    CHECK(text.find("        12  48 b8 f0 de bc 9a 78 56  mov rax, 0x123456789ABCDEF0\n"
                    "        1a  34 12\n") != std::string::npos);
    CHECK(text.find("         c  0f 80 0e 00 00 00        jo L1\n") != std::string::npos);
    // A group alone.
    CHECK(listing.text(buffer.data(), 7) ==
          "add\n         5  49 81 c7 78 56 34 12     add r15, 0x12345678\n");
}

TEST_CASE("a listing of aarch64 code has each instruction at its offset") {
    asmjit::CodeHolder code;
    code.init(asmjit::Environment(asmjit::Arch::kAArch64));
    asmjit::a64::Assembler a(&code);
    Listing listing;
    ListingLogger logger(listing, a);
    code.setLogger(&logger);
    namespace a64 = asmjit::a64;

    const asmjit::Label forward = a.newLabel();
    listing.remark("move");
    a.ldr(a64::x25, a64::ptr(a64::x20, 8));
    a.adds(a64::x25, a64::x25, a64::x1);
    a.b_vs(forward);
    a.movz(a64::x0, 0x1234, 16);
    a.bind(forward);
    a.ret(a64::x30);
    const uint32_t word = 42;
    a.embed(&word, 4);

    const asmjit::CodeBuffer& buffer = code.textSection()->buffer();
    check_cover(listing, buffer.size());
    CHECK(buffer.size() == 24);
    CHECK(texts(listing, Kind::instruction).size() == 5);
    CHECK(texts(listing, Kind::instruction)[0] == "ldr x25, [x20, 8]");
    CHECK(texts(listing, Kind::label) == std::vector<std::string>{"L0:"});
    const std::string text = listing.text(buffer.data(), Listing::kAllGroups);
    INFO(text);
    CHECK(text.find("move\n         0  99 06 40 f9              ldr x25, [x20, 8]\n") == 0);
    CHECK(text.find("        10  c0 03 5f d6              ret x30\n") != std::string::npos);
}

TEST_CASE("addresses in a listing have names where one was given") {
    Listing listing;
    listing.name_address(0x6f800040, "$global::call_error");
    CHECK(listing.address_text(0x6f800040) == "$global::call_error");
    CHECK(listing.address_text(0x6f800041) == "0x6f800041");
}

}  // namespace
}  // namespace minivm::jit
