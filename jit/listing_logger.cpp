#include "jit/listing_logger.hpp"

namespace minivm::jit {

namespace {

std::string_view trimmed(std::string_view text) {
    const size_t from = text.find_first_not_of(' ');
    if (from == std::string_view::npos) {
        return {};
    }
    return text.substr(from, text.find_last_not_of(' ') + 1 - from);
}

// Whether asmjit's text is a directive for data or padding.
bool is_data(std::string_view text) {
    return text.front() == '.' || text.substr(0, 6) == "align ";
}

}  // namespace

asmjit::Error ListingLogger::_log(const char* data, size_t size) noexcept {
    std::string_view rest =
        size == SIZE_MAX ? std::string_view(data) : std::string_view(data, size);
    while (!rest.empty()) {
        const size_t end = rest.find('\n');
        line(rest.substr(0, end));
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return asmjit::kErrorOk;
}

// asmjit logs an instruction before it adds its bytes to the assembler's offset, everything else after.
void ListingLogger::line(std::string_view whole) {
    const size_t semicolon = whole.rfind(';');
    const std::string_view text = trimmed(whole.substr(0, semicolon));
    const auto now = static_cast<uint32_t>(assembler_.offset());
    if (text.empty()) {
        if (semicolon != std::string_view::npos) {
            listing_.remark(std::string(trimmed(whole.substr(semicolon))));
        }
        return;
    }
    if (is_data(text)) {
        listing_.data(now - listing_.end(), std::string(text));
        return;
    }
    // Bytes that were emitted without a line in the log, such as asmjit's own padding.
    listing_.data(now - listing_.end(), ".data");
    if (text.back() == ':') {
        listing_.label(text);
        return;
    }
    const std::string_view code = semicolon == std::string_view::npos
                                      ? std::string_view()
                                      : trimmed(whole.substr(semicolon + 1));
    // Two digits a byte, or two dots where it is not known yet.
    listing_.instruction(static_cast<uint32_t>(code.size() / 2), std::string(text));
}

}  // namespace minivm::jit
