#include "jit/gdb.hpp"

#include "jit/code_info.hpp"
#include "jit/elf.hpp"

#include <cstdint>
#include <mutex>
#include <string>

// The names and layouts below are gdb's: it looks for the two symbols in every program.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" {

enum jit_actions_t { JIT_NOACTION = 0, JIT_REGISTER_FN, JIT_UNREGISTER_FN };

struct jit_code_entry {
    jit_code_entry* next_entry;
    jit_code_entry* prev_entry;
    const char* symfile_addr;
    uint64_t symfile_size;
};

struct jit_descriptor {
    uint32_t version;
    uint32_t action_flag;  // a jit_actions_t
    jit_code_entry* relevant_entry;
    jit_code_entry* first_entry;
};

extern jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code();

jit_descriptor __jit_debug_descriptor = {1, JIT_NOACTION, nullptr, nullptr};

// gdb stops here and reads the descriptor.
__attribute__((noinline, used)) void __jit_debug_register_code() {
    asm volatile("" ::: "memory");
}
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

namespace minivm {

namespace {

// Guards the descriptor and the list behind it.
std::mutex& list_mutex() {
    static std::mutex mutex;
    return mutex;
}

}  // namespace

struct GdbEntry::Listed {
    std::string file;
    jit_code_entry entry{};
};

GdbEntry::GdbEntry(const NativeModule& module) : listed_(new Listed) {
    listed_->file = make_elf(module);
    jit_code_entry& entry = listed_->entry;
    entry.symfile_addr = listed_->file.data();
    entry.symfile_size = listed_->file.size();
    const std::lock_guard lock(list_mutex());
    entry.next_entry = __jit_debug_descriptor.first_entry;
    if (entry.next_entry != nullptr) {
        entry.next_entry->prev_entry = &entry;
    }
    __jit_debug_descriptor.first_entry = &entry;
    __jit_debug_descriptor.relevant_entry = &entry;
    __jit_debug_descriptor.action_flag = JIT_REGISTER_FN;
    __jit_debug_register_code();
}

GdbEntry::~GdbEntry() {
    jit_code_entry& entry = listed_->entry;
    const std::lock_guard lock(list_mutex());
    (entry.prev_entry != nullptr ? entry.prev_entry->next_entry
                                 : __jit_debug_descriptor.first_entry) = entry.next_entry;
    if (entry.next_entry != nullptr) {
        entry.next_entry->prev_entry = entry.prev_entry;
    }
    __jit_debug_descriptor.relevant_entry = &entry;
    __jit_debug_descriptor.action_flag = JIT_UNREGISTER_FN;
    __jit_debug_register_code();
    // Nobody may find the freed entry here, a debugger that attaches in between included.
    __jit_debug_descriptor.relevant_entry = nullptr;
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
}

}  // namespace minivm
