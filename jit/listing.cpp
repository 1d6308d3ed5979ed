#include "jit/listing.hpp"

#include <algorithm>
#include <cstdio>

namespace minivm::jit {

namespace {

// Bytes in a row; a longer instruction goes on in the next.
constexpr uint32_t kRowBytes = 8;

}  // namespace

void Listing::remark(std::string text) {
    lines_.push_back({ListedLine::Kind::remark, end_, 0, group_, std::move(text)});
}

void Listing::label(std::string_view name) {
    lines_.push_back({ListedLine::Kind::label, end_, 0, group_, std::string(name)});
}

void Listing::instruction(uint32_t bytes, std::string text) {
    lines_.push_back({ListedLine::Kind::instruction, end_, bytes, group_, std::move(text)});
    end_ += bytes;
}

void Listing::data(uint32_t bytes, std::string text) {
    if (bytes != 0) {
        lines_.push_back({ListedLine::Kind::data, end_, bytes, group_, std::move(text)});
        end_ += bytes;
    }
}

void Listing::name_address(uint64_t address, std::string name) {
    names_[address] = std::move(name);
}

std::string Listing::address_text(uint64_t address) const {
    const auto named = names_.find(address);
    if (named != names_.end()) {
        return named->second;
    }
    char number[24];
    std::snprintf(number, sizeof(number), "0x%zx", static_cast<size_t>(address));
    return number;
}

std::string Listing::text(const uint8_t* code, uint32_t group) const {
    std::string out;
    char part[32];
    for (const ListedLine& line : lines_) {
        if (group != kAllGroups && line.group != group) {
            continue;
        }
        if (line.kind == ListedLine::Kind::remark) {
            out += line.text + '\n';
            continue;
        }
        if (line.kind == ListedLine::Kind::label) {
            out += "    " + line.text + '\n';
            continue;
        }
        for (uint32_t row = 0; row < line.bytes; row += kRowBytes) {
            std::snprintf(part, sizeof(part), "    %6x  ", line.offset + row);
            out += part;
            for (uint32_t i = row; i < row + kRowBytes; i++) {
                std::snprintf(part, sizeof(part), i < line.bytes ? "%02x " : "   ",
                              i < line.bytes ? code[line.offset + i] : 0);
                out += part;
            }
            if (row == 0) {
                out += ' ' + line.text;
            } else {
                out.erase(out.find_last_not_of(' ') + 1);
            }
            out += '\n';
        }
    }
    return out;
}

}  // namespace minivm::jit
