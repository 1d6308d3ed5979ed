// Where the flight recorder of `minivm run` writes, and what is kept of earlier runs.
#pragma once

#include <cstdint>
#include <string>

namespace minivm::tools {

struct RunOptions;

// Starts the recorder as the options say. Trouble with the file is told as a warning, and the VM
// records into memory only: it runs in any case. False: an option makes no sense; *error says which.
bool start_recording(const RunOptions& options, unsigned schedulers, std::string* error);
// When the program has ended: writes the text beside the recording if the options ask for it, and
// closes the recording.
void end_recording(const RunOptions& options, int status);

// Writes what is going on right now, and goes on: to a file beside the recording, or to standard error
// if that has none. On a thread that is no scheduler.
void write_report_now();

// The directory for recordings nobody named: minivm below XDG_RUNTIME_DIR, else minivm-UID in
// /dev/shm or /tmp. Made 0700; refused if it is a link, another user's, or open to others.
bool recording_directory(std::string* path, std::string* error);
// Removes the oldest recordings of VMs that run no more: beyond `keep` of those that ended in good
// order, and beyond `keep` of the others.
void remove_old_recordings(const std::string& directory, unsigned keep);

inline constexpr unsigned kKeptRecordings = 5;

}  // namespace minivm::tools
