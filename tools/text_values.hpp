// Values on the command line that are more than a number: sizes, times, processes, lists of names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minivm::tools {

// "6M", "512K", "1G", "1048576", with or without iB or B behind the letter. False: none of these.
bool parse_size(std::string_view text, uint64_t* bytes);
// "5s", "250ms", "10us", "100ns", "2m", "1h"; a number alone is seconds. Fractions are allowed.
bool parse_duration(std::string_view text, uint64_t* ns);
// "<0.80.0>", "0.80.0" or "80": what recordings call the process.
bool parse_pid(std::string_view text, uint32_t* subject);
// Categories of the recorder, separated by commas; "all" is all of them. *unknown: the name that is
// no category.
bool parse_categories(std::string_view text, uint32_t* mask, std::string* unknown);
// Their names, for messages.
std::string category_names();

}  // namespace minivm::tools
