#include "tools/line_editor.hpp"

#include "tools/private_directory.hpp"

#include <histedit.h>

#include <dlfcn.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>

namespace minivm::tools {

namespace {

constexpr int kHistoryLines = 1000;
constexpr char kEndOfInput = 'D' & 0x1f;

// The functions of libedit, by their names.
struct Library {
    decltype(&el_init) init = nullptr;
    decltype(&el_end) end = nullptr;
    decltype(&el_set) set = nullptr;
    decltype(&el_get) get = nullptr;
    decltype(&el_gets) gets = nullptr;
    decltype(&el_line) line = nullptr;
    decltype(&el_insertstr) insert = nullptr;
    decltype(&el_resize) resize = nullptr;
    decltype(&history_init) new_history = nullptr;
    decltype(&history_end) end_history = nullptr;
    decltype(&::history) history = nullptr;

    bool open() {
        void* const library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
        return library != nullptr && find(library, "el_init", &init) &&
               find(library, "el_end", &end) && find(library, "el_set", &set) &&
               find(library, "el_get", &get) && find(library, "el_gets", &gets) &&
               find(library, "el_line", &line) && find(library, "el_insertstr", &insert) &&
               find(library, "el_resize", &resize) && find(library, "history_init", &new_history) &&
               find(library, "history_end", &end_history) && find(library, "history", &history);
    }

private:
    template <class Function>
    static bool find(void* library, const char* name, Function* out) {
        void* const address = dlsym(library, name);
        std::memcpy(out, &address, sizeof address);
        return address != nullptr;
    }
};

// In the user's own directory, if there is one.
std::string history_file() {
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    std::string directory;
    if (state != nullptr && state[0] == '/') {
        directory = std::string(state) + "/minivm";
    } else if (home != nullptr && home[0] == '/') {
        directory = std::string(home) + "/.minivm";
    }
    std::string why;
    return directory.empty() || !own_directory(directory, &why) ? "" : directory + "/history";
}

class EditedLines final : public Lines {
public:
    EditedLines(Client& client, const Library& library)
        : client_(client), edit_(library), history_(edit_.new_history()), file_(history_file()) {
        std::setlocale(LC_CTYPE, "");
        el_ = edit_.init("minivm", stdin, stdout, stderr);
        HistEvent event;
        edit_.history(history_, &event, H_SETSIZE, kHistoryLines);
        edit_.history(history_, &event, H_SETUNIQUE, 1);
        if (!file_.empty()) {
            edit_.history(history_, &event, H_LOAD, file_.c_str());
        }
        edit_.set(el_, EL_CLIENTDATA, this);
        edit_.set(el_, EL_PROMPT, prompt);
        edit_.set(el_, EL_GETCFN, read_char);
        edit_.set(el_, EL_EDITOR, "emacs");
        edit_.set(el_, EL_HIST, edit_.history, history_);
        edit_.set(el_, EL_ADDFN, "minivm-complete", "Complete what is before the cursor", complete);
        edit_.set(el_, EL_BIND, "^I", "minivm-complete", nullptr);
        edit_.set(el_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    }

    ~EditedLines() override {
        HistEvent event;
        if (!file_.empty()) {
            edit_.history(history_, &event, H_SAVE, file_.c_str());
        }
        edit_.end_history(history_);
        edit_.end(el_);
    }

    bool next(const std::string& prompt, std::string* line) override {
        prompt_ = prompt;
        edit_.resize(el_);
        // Before the prompt is seen, as libedit shows it and switches then: a Ctrl-D that came in
        // between would be no character.
        edit_.set(el_, EL_PREP_TERM, 1);
        if (ioctl(STDIN_FILENO, FIONREAD, &typed_ahead_) != 0) {
            typed_ahead_ = 0;
        }
        int count = 0;
        errno = 0;
        const char* const text = edit_.gets(el_, &count);
        if (text == nullptr || count <= 0) {
            // Interrupted: the line is given up, and the client has told the VM.
            const bool goes_on = text == nullptr && errno == EINTR;
            std::fputs("\n", stdout);
            std::fflush(stdout);
            line->assign(goes_on ? "\n" : "");
            return goes_on;
        }
        line->assign(text, static_cast<size_t>(count));
        if (line->find_first_not_of(" \t\r\n") != std::string::npos) {
            HistEvent event;
            edit_.history(history_, &event, H_ENTER, line->c_str());
        }
        return true;
    }

private:
    static EditedLines* self(EditLine* el) {
        void* data = nullptr;
        g_library.get(el, EL_CLIENTDATA, &data);
        return static_cast<EditedLines*>(data);
    }
    static char* prompt(EditLine* el) { return self(el)->prompt_.data(); }

    // A character of the terminal. What the VM sends meanwhile is shown above the line.
    static int read_char(EditLine* el, wchar_t* out) {
        EditedLines& lines = *self(el);
        std::mbstate_t state{};
        for (;;) {
            if (!lines.client_.attend(STDIN_FILENO, "\r\033[K")) {
                if (errno == EINTR) {
                    return -1;
                }
                lines.edit_.set(el, EL_REFRESH);
                continue;
            }
            char byte = 0;
            const ssize_t n = read(STDIN_FILENO, &byte, 1);
            if (n <= 0) {
                return static_cast<int>(n);
            }
            if (lines.typed_ahead_ > 0) {
                --lines.typed_ahead_;
                if (byte == '\0') {
                    byte = kEndOfInput;
                }
            }
            const size_t used = std::mbrtowc(out, &byte, 1, &state);
            if (used == static_cast<size_t>(-1)) {
                state = {};  // no character: passed over
            } else if (used != static_cast<size_t>(-2)) {
                return 1;
            }
        }
    }

    static unsigned char complete(EditLine* el, int) {
        EditedLines& lines = *self(el);
        const LineInfo* const info = lines.edit_.line(el);
        std::string common;
        std::string choices;
        if (!lines.client_.complete(
                {info->buffer, static_cast<size_t>(info->cursor - info->buffer)}, &common,
                &choices)) {
            return CC_ERROR;
        }
        if (!choices.empty()) {
            std::printf("\n%s\n", choices.c_str());
            std::fflush(stdout);
        }
        if (!common.empty()) {
            lines.edit_.insert(el, common.c_str());
        }
        return common.empty() && choices.empty() ? CC_ERROR : CC_REDISPLAY;
    }

public:
    static Library g_library;

private:
    Client& client_;
    const Library& edit_;
    History* history_;
    EditLine* el_ = nullptr;
    std::string file_;
    std::string prompt_;
    // Bytes that were typed while the terminal was not the editor's. Linux keeps a Ctrl-D of then
    // as a zero byte (n_tty).
    int typed_ahead_ = 0;
};

Library EditedLines::g_library;

// As the terminal gives them.
class PlainLines final : public Lines {
public:
    explicit PlainLines(Client& client) : lines_(STDIN_FILENO, client) {}

    bool next(const std::string& prompt, std::string* line) override {
        std::fputs(prompt.c_str(), stdout);
        std::fflush(stdout);
        return lines_.next(prompt, line);
    }

private:
    PipeLines lines_;
};

}  // namespace

std::unique_ptr<Lines> terminal_lines(Client& client) {
    if (!EditedLines::g_library.open()) {
        return std::make_unique<PlainLines>(client);
    }
    return std::make_unique<EditedLines>(client, EditedLines::g_library);
}

}  // namespace minivm::tools
