#include "vm/util/otp_release.hpp"

#include <dirent.h>

#include <charconv>
#include <cstdio>
#include <vector>

namespace minivm {
namespace {

OtpRelease g_release;

// The numbers of "13.1.5"; empty: it is no version.
std::vector<int> version_numbers(std::string_view text) {
    std::vector<int> numbers;
    while (true) {
        int n = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
        if (error != std::errc() || n < 0) {
            return {};
        }
        numbers.push_back(n);
        text.remove_prefix(static_cast<size_t>(end - text.data()));
        if (text.empty()) {
            return numbers;
        }
        if (text[0] != '.') {
            return {};
        }
        text.remove_prefix(1);
    }
}

// The greatest version V for which the directory has an entry with the name `prefix` V and holds(entry) is
// true; empty: none.
template <typename Holds>
std::string newest_version(const std::string& directory, std::string_view prefix, const Holds& holds) {
    std::string newest;
    if (DIR* dir = opendir(directory.c_str())) {
        while (const dirent* entry = readdir(dir)) {
            const std::string_view name(entry->d_name);
            if (!name.starts_with(prefix)) {
                continue;
            }
            const std::string version(name.substr(prefix.size()));
            if (const auto numbers = version_numbers(version);
                !numbers.empty() && (newest.empty() || numbers > version_numbers(newest)) &&
                holds(directory + "/" + std::string(name))) {
                newest = version;
            }
        }
        closedir(dir);
    }
    return newest;
}

// The release that a file OTP_VERSION names: 25 of "25.2.3\n" or "27.0-rc1"; 0: there is none.
int release_of_file(const std::string& path) {
    int release = 0;
    if (FILE* file = std::fopen(path.c_str(), "re")) {
        if (std::fscanf(file, "%d", &release) != 1 || release < 0) {
            release = 0;
        }
        std::fclose(file);
    }
    return release;
}

}  // namespace

OtpRelease read_otp_release(const std::string& root) {
    constexpr int kErtsBehind = 12;  // erts-13 is OTP 25's; the difference is the same since OTP 23
    OtpRelease release;
    const auto any = [](const std::string&) { return true; };
    // An installed OTP has releases/N/OTP_VERSION, a tree of sources OTP_VERSION.
    int number = 0;
    newest_version(root + "/releases", "", [&](const std::string& folder) {
        const int found = release_of_file(folder + "/OTP_VERSION");
        number = found != 0 ? found : number;
        return found != 0;
    });
    if (number == 0) {
        number = release_of_file(root + "/OTP_VERSION");
    }
    std::string erts = newest_version(root + "/lib", "erts-", any);
    if (erts.empty()) {
        erts = newest_version(root, "erts-", any);
    }
    if (number == 0 && !erts.empty()) {
        number = version_numbers(erts)[0] + kErtsBehind;  // the tree of a release that somebody made
    }
    if (number != 0) {
        release.number = number;
        release.erts_version = std::to_string(number - kErtsBehind) + ".0";
    }
    if (!erts.empty()) {
        release.erts_version = erts;
    }
    return release;
}

void set_otp_release(OtpRelease release) {
    g_release = std::move(release);
    by_release::g_hashes_are_wide = by_release::at_least(27);
    by_release::g_zeros_are_equal = !by_release::at_least(27);
    by_release::g_atom_keys_have_numbers = by_release::at_least(26);
}
const OtpRelease& otp_release() { return g_release; }

namespace by_release {

bool g_hashes_are_wide = false;
bool g_zeros_are_equal = true;
bool g_atom_keys_have_numbers = false;

int nif_minor_version() { return at_least(29) ? 18 : at_least(26) ? 17 : 16; }

}  // namespace by_release
}  // namespace minivm
