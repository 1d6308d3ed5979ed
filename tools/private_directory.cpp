#include "tools/private_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace minivm::tools {

bool own_directory(const std::string& path, std::string* error) {
    if (mkdir(path.c_str(), 0700) == 0) {
        return true;
    }
    if (errno != EEXIST) {
        *error = path + ": " + std::strerror(errno);
        return false;
    }
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) {
        *error = path + ": " + std::strerror(errno);
    } else if (!S_ISDIR(info.st_mode)) {
        *error = path + ": is not a directory";  // nor a link to one
    } else if (info.st_uid != geteuid()) {
        *error = path + ": belongs to another user";
    } else if ((info.st_mode & 077) != 0) {
        *error = path + ": is open to other users (chmod 700 it)";
    } else {
        return true;
    }
    return false;
}

std::vector<std::string> own_directories() {
    std::vector<std::string> directories;
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    if (runtime != nullptr && runtime[0] == '/') {
        directories.push_back(std::string(runtime) + "/minivm");
    }
    const std::string name = "/minivm-" + std::to_string(geteuid());
    directories.push_back("/dev/shm" + name);
    directories.push_back("/tmp" + name);
    return directories;
}

}  // namespace minivm::tools
