#include "tools/install.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <spdlog/spdlog.h>

#include "loader/code_path.hpp"
#include "tools/private_directory.hpp"
#include "tools/recording.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "# minivm in place of OTP's emulator: made by `minivm install`.";

// In single quotes, as sh takes any text.
std::string quoted(const std::string& text) {
    std::string all = "'";
    for (const char c : text) {
        all += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return all + "'";
}

std::string own_file() {
    char path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    return n > 0 && n < static_cast<ssize_t>(sizeof path) ? std::string(path, static_cast<size_t>(n)) : "";
}

bool failed(const std::string& path, std::string* error) {
    *error = path + ": " + std::strerror(errno);
    return false;
}

// In one step, so that a script that starts `erl` meanwhile finds the former or the new one.
bool put_in_place(const std::string& made, const std::string& path, std::string* error) {
    if (rename(made.c_str(), path.c_str()) == 0) {
        return true;
    }
    const int why = errno;
    unlink(made.c_str());
    errno = why;
    return failed(path, error);
}
std::string temporary_name(const std::string& path) { return path + "." + std::to_string(getpid()) + ".new"; }

bool put_link(const std::string& target, const std::string& path, std::string* error) {
    char now[PATH_MAX];
    const ssize_t n = readlink(path.c_str(), now, sizeof now);
    if (n > 0 && std::string_view(now, static_cast<size_t>(n)) == target) {
        return true;
    }
    const std::string made = temporary_name(path);
    unlink(made.c_str());
    return symlink(target.c_str(), made.c_str()) == 0 ? put_in_place(made, path, error) : failed(made, error);
}

bool put_script(const std::string& text, const std::string& path, std::string* error) {
    std::ifstream old(path);
    if (old) {
        const std::string now((std::istreambuf_iterator<char>(old)), std::istreambuf_iterator<char>());
        if (now == text) {
            return true;
        }
        if (now.find(kMark) == std::string::npos) {
            *error = path + ": is there already, and not from minivm install";
            return false;
        }
    }
    const std::string made = temporary_name(path);
    {
        std::ofstream file(made, std::ios::trunc);
        file << text;
        if (!file.flush()) {
            return failed(made, error);
        }
    }
    if (chmod(made.c_str(), 0755) != 0) {
        return failed(made, error);
    }
    return put_in_place(made, path, error);
}

bool put_links(const std::string& from, const std::string& to, std::string* error) {
    std::error_code why;
    for (const auto& entry : fs::directory_iterator(from, why)) {
        const std::string name = entry.path().filename();
        // Start-up files of the emulator's own are found by ROOTDIR.
        if (name == "erl" || name.starts_with("beam.") || name.ends_with(".boot") || name.ends_with(".script")) {
            continue;
        }
        if (!put_link(entry.path(), to + "/" + name, error)) {
            return false;
        }
    }
    if (why) {
        *error = from + ": " + why.message();
        return false;
    }
    return true;
}

// Where OTP's tree is, as the environment tells erlexec.
struct Tree {
    std::string root;
    std::string programs;  // the folder of its emulator's programs
};
bool find_tree(Tree* tree, std::string* error) {
    loader::CodePath path;
    if (!path.add_otp(error)) {
        return false;
    }
    tree->root = path.otp_root();
    tree->programs = tree->root + "/erts-" + otp_release().erts_version + "/bin";
    if (access((tree->programs + "/erlexec").c_str(), X_OK) != 0) {
        *error = tree->programs + "/erlexec: " + std::strerror(errno) +
                 "; OTP's start-up program is needed: install Debian's package erlang-base, or set ROOTDIR";
        return false;
    }
    return true;
}

bool install(const Tree& tree, const std::string& folder, std::string* error) {
    const std::string exe = own_file();
    if (exe.empty()) {
        return failed("/proc/self/exe", error);
    }
    std::error_code why;
    fs::create_directories(folder + "/bin", why);
    if (!why) {
        fs::create_directories(folder + "/erts/bin", why);
    }
    if (why) {
        *error = folder + ": " + why.message();
        return false;
    }
    const std::string script = std::string("#!/bin/sh\n") + kMark + "\nROOTDIR=" + quoted(tree.root) +
                               "\nBINDIR=" + quoted(folder + "/erts/bin") +
                               "\nEMU=beam\nPROGNAME=${0##*/}\nexport ROOTDIR BINDIR EMU PROGNAME\n"
                               "exec \"$BINDIR/erlexec\" ${1+\"$@\"}\n";
    return put_script(script, folder + "/bin/erl", error) && put_links(tree.root + "/bin", folder + "/bin", error) &&
           put_links(tree.programs, folder + "/erts/bin", error) &&
           put_link(folder + "/bin/erl", folder + "/erts/bin/erl", error) &&
           put_link(exe, folder + "/erts/bin/beam.smp", error);
}

// Installs into a folder of the user's own: one for each tree of OTP and each minivm.
bool install_for_user(const Tree& tree, std::string* folder, std::string* error) {
    const size_t number = std::hash<std::string>()(tree.programs + "\n" + own_file());
    std::string why;
    for (const std::string& directory : own_directories()) {
        *folder = directory + "/erl-" + std::to_string(number);
        if (!own_directory(directory, &why) || !install(tree, *folder, &why)) {
            continue;
        }
        const std::string erl = *folder + "/bin/erl";
        if (access(erl.c_str(), X_OK) == 0) {
            return true;
        }
        why = erl + ": programs cannot be started there: " + std::strerror(errno);  // a file system mounted noexec
    }
    *error = why;
    return false;
}

// The folders of the programs of each ERTS that a release, or a tree of OTP, has of its own: an upgrade leaves several.
// Empty: it has none.
std::vector<std::string> own_erts(const std::string& folder) {
    std::vector<std::string> found;
    std::error_code why;
    for (const auto& entry : fs::directory_iterator(folder, why)) {
        const std::string programs = entry.path() / "bin";
        if (entry.path().filename().string().starts_with("erts-") && access((programs + "/erlexec").c_str(), X_OK) == 0) {
            found.push_back(programs);
        }
    }
    return found;
}

// A copy: a release is moved to other machines.
bool put_emulator(const std::string& path, std::string* error) {
    const std::string made = temporary_name(path);
    std::error_code why;
    fs::copy_file("/proc/self/exe", made, fs::copy_options::overwrite_existing, why);
    if (why) {
        *error = made + ": " + why.message();
        return false;
    }
    return put_in_place(made, path, error);
}

}  // namespace

bool install(const std::string& folder, std::string* error) {
    Tree tree;
    std::error_code why;
    const std::string absolute = fs::absolute(folder, why).lexically_normal();
    return find_tree(&tree, error) && install(tree, absolute, error);
}

int install_command(const std::string& folder) {
    std::string error;
    if (const std::vector<std::string> erts = own_erts(folder); !erts.empty()) {
        for (const std::string& programs : erts) {
            if (!put_emulator(programs + "/beam.minivm", &error)) {
                spdlog::error("install: {}", error);
                return 1;
            }
        }
        std::printf("%s has an ERTS of its own, beside whose emulator minivm is now. Its scripts start minivm with\n"
                    "  ERL_FLAGS=\"-emu_flavor minivm\"\nin the environment, and its own emulator without.\n", folder.c_str());
        return 0;
    }
    if (!install(folder, &error)) {
        spdlog::error("install: {}", error);
        return 1;
    }
    std::error_code why;
    const std::string bin = fs::absolute(folder, why).lexically_normal() / "bin";
    std::printf("minivm runs what starts erl with this first in PATH:\n  PATH=%s:$PATH\n", bin.c_str());
    return 0;
}

int env_command() {
    Tree tree;
    std::string folder;
    std::string error;
    if (!find_tree(&tree, &error) || !install_for_user(tree, &folder, &error)) {
        spdlog::error("env: {}", error);
        return 1;
    }
    std::printf("PATH=%s:\"$PATH\"; export PATH\n", quoted(folder + "/bin").c_str());
    return 0;
}

int erl_command(const std::vector<std::string>& arguments) {
    Tree tree;
    std::string folder;
    std::string error;
    if (!find_tree(&tree, &error) || !install_for_user(tree, &folder, &error)) {
        spdlog::error("erl: {}", error);
        return 1;
    }
    const std::string erl = folder + "/bin/erl";
    std::vector<const char*> argv = {erl.c_str()};
    for (const std::string& argument : arguments) {
        argv.push_back(argument.c_str());
    }
    argv.push_back(nullptr);
    std::fflush(nullptr);
    execv(erl.c_str(), const_cast<char* const*>(argv.data()));
    spdlog::error("erl: {}: {}", erl, std::strerror(errno));
    return 1;
}

}  // namespace minivm::tools
