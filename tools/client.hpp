// A client of a VM: sends commands over the socket and shows what comes back.
// docs/protocols/outside.md has the frames. Used by `minivm attach`, `load` and `record`, and by the
// prompt of `minivm repl`, whose VM is a process that it has forked.
//
// Threads: one, but for interrupt().
#pragma once

#include <string>
#include <string_view>

namespace minivm::tools {

class Client;

// Where lines come from: a pipe, or a terminal with line editing.
class Lines {
public:
    virtual ~Lines() = default;
    // False: the input is at its end.
    virtual bool next(const std::string& prompt, std::string* line) = 0;
};

// Lines of a file descriptor that is no terminal. Prompts are not shown.
class PipeLines final : public Lines {
public:
    PipeLines(int fd, Client& client) : fd_(fd), client_(client) {}
    bool next(const std::string& prompt, std::string* line) override;

private:
    int fd_;
    Client& client_;
    std::string buffer_;
    bool ended_ = false;
};

class Client {
public:
    struct Manner {
        bool is_terminal = false;  // results are cut to a screenful, and prompts are wanted
        bool has_colours = false;  // and they may be in colours
        unsigned columns = 80;
    };
    // What a command led to.
    struct Answer {
        enum class Kind : unsigned char {
            done,    // status
            more,    // an expression goes on on the next line
            left,    // the VM has said goodbye: text, if there is a reason
            broken,  // the connection is gone: text
        };
        Kind kind = Kind::broken;
        int status = 1;
        std::string prompt;
        std::string text;
    };

    Client() = default;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

    // Takes the connected socket over, greets, and waits for the VM's answer. False: *error says why
    // there is none.
    bool greet(int fd, const Manner& manner, std::string* error);
    // Sends a command and shows its output until it is done. `input`: where lines come from that
    // the command asks for; null: there is none. is_whole: no line follows that could go on with
    // it.
    Answer command(std::string_view text, bool is_whole, Lines* input);
    // The same with a frame of another kind.
    Answer ask(char kind, std::string_view content, Lines* input);
    // What could stand at the end of `text`, and what all of these begin with beyond the text.
    bool complete(std::string_view text, std::string* common, std::string* choices);
    // Waits until the file can be read, and shows what the VM sends meanwhile, with `before` in
    // front of it. False: something was shown, or there was an interrupt (errno is EINTR); call it
    // again.
    bool attend(int file, std::string_view before);
    // Asks the VM to give up the command. In a signal handler.
    void interrupt();

    const std::string& greeting() const { return greeting_; }
    const std::string& prompt() const { return prompt_; }

private:
    bool send(char kind, std::string_view content);
    bool receive(char* kind, std::string* content, std::string* error, int timeout_ms);
    bool take(char* kind, std::string* content);
    bool is_bad_length() const;
    void take_interrupt();
    Answer wait(Lines* input);
    bool next_completion(std::string* content);
    void show(int stream, std::string_view text);
    void show_error(std::string_view text);

    int fd_ = -1;
    int interrupted_ = -1;  // an eventfd: readable after an interrupt that no command took
    bool output_gone_ = false;  // the reader of our standard output has closed it
    std::string greeting_;
    bool is_terminal_ = false;
    bool red_errors_ = false;
    std::string prompt_;
    std::string line_;  // what the command has written since the last newline
    std::string received_;
    std::string goodbye_;  // an 'X' frame that came while no command waited for an answer
    bool is_completing_ = false;  // the VM owes the answer to a 'T' frame
};

}  // namespace minivm::tools
