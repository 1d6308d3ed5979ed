#include "tools/dump.hpp"

#include "recorder/export.hpp"
#include "recorder/reader.hpp"
#include "tools/output_file.hpp"
#include "tools/text_values.hpp"

namespace minivm::tools {

bool make_filter(const DumpOptions& options, const recorder::Snapshot& snapshot,
                 recorder::Filter* filter, std::string* error) {
    if (!options.last.empty() && !parse_duration(options.last, &filter->last_ns)) {
        *error = "--last " + options.last + ": give a time such as 5s, 250ms or 2m";
        return false;
    }
    if (!options.pid.empty()) {
        uint32_t subject = 0;
        if (parse_pid(options.pid, &subject)) {
            filter->subjects = {subject};
        } else {
            // A name: of all processes that have had it.
            filter->subjects = snapshot.dictionary().subjects_named(options.pid);
        }
        if (filter->subjects.empty()) {
            *error = "--pid " + options.pid +
                     ": no process of that name is in the recording; give <0.80.0>, 80 or a name";
            return false;
        }
    }
    if (!options.categories.empty()) {
        filter->categories = 0;
        for (const std::string& names : options.categories) {
            uint32_t mask = 0;
            std::string unknown;
            if (!parse_categories(names, &mask, &unknown)) {
                *error = "--category " + unknown + ": there are " + category_names();
                return false;
            }
            filter->categories |= mask;
        }
    }
    filter->match = options.match;
    filter->places = options.places;
    return true;
}

bool write_dump(const DumpOptions& options, const recorder::Snapshot& snapshot,
                recorder::Sink& sink, std::string* error) {
    recorder::Filter filter;
    if (!make_filter(options, snapshot, &filter, error)) {
        return false;
    }
    recorder::ExportResult result;
    if (options.crash) {
        result = export_crash(snapshot, options.records, sink);
    } else if (options.format == "json") {
        result = export_json(snapshot, filter, sink);
    } else if (options.format == "perfetto") {
        result = export_perfetto(snapshot, filter, sink);
    } else if (options.format == "terms") {
        result = export_terms(snapshot, filter, sink);
    } else {
        result = export_text(snapshot, filter, sink);
    }
    *error = result.error;
    return result.ok;
}

int dump_command(const DumpOptions& options, std::FILE* out, std::FILE* err) {
    const auto fail = [err](const std::string& what) {
        std::fprintf(err, "minivm: dump: %s\n", what.c_str());
        return 1;
    };
    std::string error;
    const bool is_ctf = options.format == "ctf" && !options.crash;
    if (is_ctf && options.output.empty()) {
        std::fprintf(err, "minivm: dump: --format ctf makes a directory: name it with -o\n");
        return 2;
    }
    recorder::Snapshot snapshot;
    if (!snapshot.read_file(options.file, error)) {
        return fail(error);
    }
    recorder::Filter filter;
    if (!make_filter(options, snapshot, &filter, &error)) {
        std::fprintf(err, "minivm: dump: %s\n", error.c_str());
        return 2;
    }
    if (is_ctf) {
        const recorder::ExportResult result = export_ctf(snapshot, filter, options.output);
        return result.ok ? 0 : fail(result.error);
    }
    OutputFile sink(out);
    if (!sink.open(options.output)) {
        return fail(sink.error());
    }
    const bool made = write_dump(options, snapshot, sink, &error);
    const bool written = sink.close();
    if (sink.is_broken_pipe()) {
        return 0;  // `minivm dump FILE | head`
    }
    if (!written) {
        return fail(sink.error());
    }
    return made ? 0 : fail(error);
}

}  // namespace minivm::tools
