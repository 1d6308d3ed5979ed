// Where the flight recorder of `minivm run` writes, and what is kept of earlier runs.
#pragma once

#include <cstdint>
#include <future>
#include <string>
#include <thread>

namespace minivm::tools {

struct RunOptions;

// Starts the recorder as the options say, on a thread of its own while the rest of the VM is set up: the
// kernel takes a third of a millisecond for each megabyte of room. After trouble with the file, which is
// logged, the VM records into memory only: it runs in any case. Once there is a recording, the thread
// removes old ones and warms the fault handler up.
class RecordingStart {
public:
    // The options stay where they are until this is destroyed. The caller has blocked all signals of the VM.
    RecordingStart(const RunOptions& options, unsigned schedulers);
    RecordingStart(const RecordingStart&) = delete;
    RecordingStart& operator=(const RecordingStart&) = delete;
    // Returns when the recorder takes records; no thread may write one before. Once. False: an option
    // makes no sense; *error says which.
    bool wait(std::string* error);
    // Returns when the thread has ended, which the destructor waits for as well.
    void finish() { worker_.join(); }

private:
    std::promise<std::string> opened_;  // what is wrong with the options
    std::future<std::string> is_open_;
    std::jthread worker_;
};
// When the program has ended: writes the text beside the recording if the options ask for it, and
// closes the recording.
void end_recording(const RunOptions& options, int status);

// Writes a report of what is going on now to a file beside the recording, or to standard error if the
// recording has none. On a thread that is no scheduler.
void write_report_now();

// Removes the oldest recordings of VMs that run no more: beyond `keep` of those that ended in good
// order, and beyond `keep` of the others; with what was written beside them.
void remove_old_recordings(const std::string& directory, unsigned keep);

inline constexpr unsigned kKeptRecordings = 5;

}  // namespace minivm::tools
