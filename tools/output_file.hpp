// Where a command writes: a file of its own, 0600 and never through a link, or standard output.
#pragma once

#include <cstdio>
#include <string>

#include "recorder/export.hpp"

namespace minivm::tools {

class OutputFile : public recorder::Sink {
public:
    explicit OutputFile(std::FILE* standard_output) : file_(standard_output) {}
    ~OutputFile() override { close(); }
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    // False: error() says why. An empty path stays with standard output.
    bool open(const std::string& path);
    bool write(std::string_view bytes) override;
    bool close();
    const std::string& error() const { return error_; }
    // The reader of a pipe has gone: no error of ours.
    bool is_broken_pipe() const { return broken_pipe_; }

private:
    bool fail();

    std::FILE* file_;
    bool is_own_ = false;
    bool broken_pipe_ = false;
    std::string path_;
    std::string error_;
};

}  // namespace minivm::tools
