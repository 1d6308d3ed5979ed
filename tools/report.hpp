// `minivm report`: a recording as one self-contained page for a browser.
#pragma once

#include <cstdio>
#include <string>

namespace minivm::recorder {
class Snapshot;
}

namespace minivm::tools {

std::string report_page(const recorder::Snapshot& snapshot);

// output: the page's file; empty: standard output.
int report_command(const std::string& file, const std::string& output, std::FILE* out,
                   std::FILE* err);

}  // namespace minivm::tools
