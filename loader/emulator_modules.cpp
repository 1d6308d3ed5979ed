#include "loader/emulator_modules.hpp"

#include <algorithm>
#include <string_view>

namespace minivm::loader {

std::vector<std::span<const uint8_t>> beam_files_in(std::span<const uint8_t> bytes) {
    constexpr std::string_view kForm = "FOR1";
    constexpr std::string_view kType = "BEAM";
    constexpr size_t kHeader = 8;  // the form's name and its size, which is big-endian and counts what is behind it
    std::vector<std::span<const uint8_t>> files;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (size_t at = text.find(kForm); at != std::string_view::npos; at = text.find(kForm, at)) {
        if (text.substr(std::min(at + kHeader, text.size()), kType.size()) != kType) {
            ++at;
            continue;
        }
        const uint8_t* const size = bytes.data() + at + kForm.size();
        const size_t length =
            kHeader + (uint32_t{size[0]} << 24 | uint32_t{size[1]} << 16 | uint32_t{size[2]} << 8 | uint32_t{size[3]});
        if (length > bytes.size() - at) {
            ++at;
            continue;
        }
        files.push_back(bytes.subspan(at, length));
        at += length;
    }
    return files;
}

}  // namespace minivm::loader
