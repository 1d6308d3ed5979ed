// `minivm dump`: a recording as text or in a form that other programs read.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace minivm::recorder {
struct Filter;
class Snapshot;
class Sink;
}  // namespace minivm::recorder

namespace minivm::tools {

struct DumpOptions {
    std::string file;
    std::string format = "text";  // text | json | ctf | perfetto | terms
    std::string last;             // a time before the newest record
    std::string pid;
    std::vector<std::string> categories;  // none: all
    std::string match;
    bool places = false;  // where in the VM's source each record was made
    std::string output;  // empty: standard output
    bool crash = false;  // the reports of the faults and of the processes that failed
    unsigned records = 20;  // with crash: of each process
};

// The filter that the options describe, with processes of the snapshot. False: *error says which option is
// wrong.
bool make_filter(const DumpOptions& options, const recorder::Snapshot& snapshot,
                 recorder::Filter* filter, std::string* error);
// Writes the snapshot to the sink, in the format of the options, which is not ctf. False: *error.
bool write_dump(const DumpOptions& options, const recorder::Snapshot& snapshot,
                recorder::Sink& sink, std::string* error);

int dump_command(const DumpOptions& options, std::FILE* out, std::FILE* err);

}  // namespace minivm::tools
