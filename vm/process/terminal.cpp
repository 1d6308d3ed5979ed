#include "vm/process/terminal.hpp"

#include <cerrno>
#include <mutex>
#include <optional>

namespace minivm::terminal {

namespace {
struct Changed {
    int descriptor;
    termios usual;
};
std::mutex g_lock;
std::optional<Changed> g_changed;
}  // namespace

bool set_modes(int descriptor, const termios& modes) {
    while (tcsetattr(descriptor, TCSANOW, &modes) != 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

void will_change(int descriptor, const termios& usual) {
    const std::lock_guard lock(g_lock);
    g_changed = Changed{descriptor, usual};
}

void restore() {
    const std::lock_guard lock(g_lock);
    if (g_changed) {
        set_modes(g_changed->descriptor, g_changed->usual);
    }
}

void restore_at_fault() {
    const std::unique_lock lock(g_lock, std::try_to_lock);
    if (lock.owns_lock() && g_changed) {
        set_modes(g_changed->descriptor, g_changed->usual);
    }
}

UsualModes::UsualModes() {
    const std::lock_guard lock(g_lock);
    if (g_changed && tcgetattr(g_changed->descriptor, &changed_) == 0) {
        descriptor_ = g_changed->descriptor;
        set_modes(descriptor_, g_changed->usual);
    }
}

UsualModes::~UsualModes() {
    if (descriptor_ >= 0) {
        set_modes(descriptor_, changed_);
    }
}

}  // namespace minivm::terminal
