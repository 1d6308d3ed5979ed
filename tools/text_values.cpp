#include "tools/text_values.hpp"

#include "recorder/recorder.hpp"

#include <charconv>

namespace minivm::tools {

namespace {

bool parse_number(std::string_view text, double* value, std::string_view* rest) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value,
                                              std::chars_format::fixed);
    *rest = text.substr(static_cast<size_t>(end - text.data()));
    return error == std::errc() && *value >= 0;
}

}  // namespace

bool parse_size(std::string_view text, uint64_t* bytes) {
    double value = 0;
    std::string_view unit;
    if (!parse_number(text, &value, &unit)) {
        return false;
    }
    double factor = 1;
    if (!unit.empty() && unit != "B") {
        const size_t at = std::string_view("KMG").find(unit[0] >= 'a' ? unit[0] - 'a' + 'A' : unit[0]);
        const std::string_view tail = unit.substr(1);
        if (at == std::string_view::npos || (!tail.empty() && tail != "B" && tail != "iB")) {
            return false;
        }
        factor = static_cast<double>(uint64_t{1} << (10 * (at + 1)));
    }
    if (value * factor >= 1e15) {
        return false;
    }
    *bytes = static_cast<uint64_t>(value * factor);
    return true;
}

bool parse_duration(std::string_view text, uint64_t* ns) {
    double value = 0;
    std::string_view unit;
    if (!parse_number(text, &value, &unit)) {
        return false;
    }
    struct Unit {
        const char* name;
        double ns;
    };
    constexpr Unit kUnits[] = {{"", 1e9},   {"s", 1e9},  {"ms", 1e6}, {"us", 1e3},
                               {"ns", 1.0}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
    for (const Unit& u : kUnits) {
        if (unit == u.name && value * u.ns < 9e18) {
            *ns = static_cast<uint64_t>(value * u.ns);
            return true;
        }
    }
    return false;
}

bool parse_pid(std::string_view text, uint32_t* subject) {
    if (text.starts_with('<') && text.ends_with('>')) {
        text = text.substr(1, text.size() - 2);
    }
    uint64_t parts[3] = {};
    int count = 0;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (count < 3) {
        const auto [next, error] = std::from_chars(at, end, parts[count]);
        if (error != std::errc() || parts[count] > UINT32_MAX) {
            return false;
        }
        count++;
        at = next;
        if (at == end) {
            break;
        }
        if (*at != '.') {
            return false;
        }
        at++;
    }
    if (at != end || count == 2 || (count == 3 && parts[0] != 0)) {
        return false;
    }
    const uint64_t number = count == 1 ? parts[0] : parts[1];
    if (number >= (1u << 28) || parts[2] >= 16) {
        return false;
    }
    *subject = static_cast<uint32_t>(number | parts[2] << 28);
    *subject = *subject == 0 ? recorder::kSubjectZero : *subject;
    return true;
}

bool parse_categories(std::string_view text, uint32_t* mask, std::string* unknown) {
    *mask = 0;
    for (;;) {
        const size_t comma = text.find(',');
        const std::string_view name = text.substr(0, comma);
        recorder::Category category{};
        if (name == "all") {
            *mask = recorder::kAllCategories;
        } else if (recorder::category_from_name(name, category)) {
            *mask |= recorder::category_bit(category);
        } else {
            *unknown = name;
            return false;
        }
        if (comma == std::string_view::npos) {
            return true;
        }
        text.remove_prefix(comma + 1);
    }
}

std::string category_names() {
    std::string names;
    for (const char* name : recorder::kCategoryNames) {
        names += names.empty() ? "" : ", ";
        names += name;
    }
    return names;
}

}  // namespace minivm::tools
