// `minivm dump`: a recording as text or in a form that other programs read.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace minivm::tools {

struct DumpOptions {
    std::string file;
    std::string format = "text";  // text | json | ctf | perfetto | terms
    std::string last;             // a time before the newest record
    std::string pid;
    std::vector<std::string> categories;  // none: all
    std::string match;
    std::string output;  // empty: standard output
    bool crash = false;  // the reports of the faults and of the processes that failed
    unsigned records = 20;  // with crash: of each process
};

int dump_command(const DumpOptions& options, std::FILE* out, std::FILE* err);

}  // namespace minivm::tools
