#include "vm/process/tracing.hpp"

namespace minivm::tracing {

ReturnWords g_return_words;
Hooks* g_hooks = nullptr;
std::atomic<int32_t> g_everywhere{0};
std::atomic<uint32_t> g_max_frames{10000};
std::atomic<bool> g_trace_new{false};
std::atomic<uint32_t> g_control_word{0};

}  // namespace minivm::tracing
