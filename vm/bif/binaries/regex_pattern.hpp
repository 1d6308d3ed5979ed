// Patterns of the module re, compiled with PCRE2 from what OTP's PCRE 8 takes.
#pragma once

#include <pcre2.h>

#include <cstdint>
#include <memory>
#include <string>

namespace minivm::regex {

struct PatternKey {
    uint32_t options = 0;  // PCRE2's, for pcre2_compile
    uint8_t newline = PCRE2_NEWLINE_LF;
    uint8_t bsr = PCRE2_BSR_UNICODE;
    std::string source;

    // The form that is kept in compiled patterns.
    std::string text() const;
    // False: nothing that text() could have made.
    bool parse(const uint8_t* bytes, size_t n);
};

struct Regex {
    explicit Regex(pcre2_code* compiled) : code(compiled) {}
    ~Regex() { pcre2_code_free(code); }
    Regex(const Regex&) = delete;
    Regex& operator=(const Regex&) = delete;
    template <typename T>
    T info(uint32_t what) const {
        T value{};
        pcre2_pattern_info(code, what, &value);
        return value;
    }
    uint32_t captures() const { return info<uint32_t>(PCRE2_INFO_CAPTURECOUNT); }
    bool uses_crlf() const {
        const uint32_t newline = info<uint32_t>(PCRE2_INFO_NEWLINE);
        return newline == PCRE2_NEWLINE_CRLF || newline == PCRE2_NEWLINE_ANY ||
               newline == PCRE2_NEWLINE_ANYCRLF;
    }
    pcre2_code* const code;
};

struct CompileError {
    const char* text = nullptr;
    size_t offset = 0;
    char buffer[160];
};

// The pattern of this key, compiled or found among those this thread compiled lately; null: *error says why.
std::shared_ptr<Regex> get_pattern(const PatternKey& key, CompileError* error);

}  // namespace minivm::regex
