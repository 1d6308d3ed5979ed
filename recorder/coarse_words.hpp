// A record of any arguments with the time of an earlier record of the thread: record_coarse() for events
// whose payload the caller has laid out itself, texts and values included.
#pragma once

#include "recorder/recorder.hpp"

namespace minivm::recorder::detail {

// `words`: the arguments, then the bytes of texts and values, where pack_text() says. As write_words().
void write_coarse_words(uint64_t event, unsigned flags, const Word* words, unsigned count);

}  // namespace minivm::recorder::detail
