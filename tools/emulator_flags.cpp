#include "tools/emulator_flags.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "tools/erl_words.hpp"
#include "vm/term/atom_table.hpp"

namespace minivm::tools {
namespace {

std::optional<int64_t> whole_number(std::string_view text) {
    int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return n;
}

bool is_one_of(std::string_view word, std::string_view words) {
    for (size_t begin = 0; begin <= words.size();) {
        const size_t end = std::min(words.find(' ', begin), words.size());
        if (words.substr(begin, end - begin) == word) {
            return true;
        }
        begin = end + 1;
    }
    return false;
}

// "A:B", "A" or ":B", as sscanf() reads them; a number that is missing has no value. Null: the text is none of these.
struct Pair {
    std::optional<int64_t> first, second;
};
std::optional<Pair> pair(std::string_view value) {
    const size_t colon = value.find(':');
    const Pair p{whole_number(value.substr(0, colon)),
                 colon == std::string_view::npos ? std::nullopt : whole_number(value.substr(colon + 1))};
    const bool has_first = p.first.has_value() || colon == 0;
    const bool has_second = p.second.has_value() || colon == std::string_view::npos;
    return has_first && has_second ? std::optional(p) : std::nullopt;
}

// Checks a flag's value and sets what it says. False: the flag cannot have this value.
using Take = bool (*)(EmulatorFlags& flags, std::string_view value);

template <int64_t kLeast, int64_t kMost>
bool number(EmulatorFlags&, std::string_view value) {
    const auto n = whole_number(value);
    return n.has_value() && *n >= kLeast && *n <= kMost;
}
// Also "legacy", as +P and +Q take it.
template <uint32_t EmulatorFlags::*kField>
bool table_size(EmulatorFlags& flags, std::string_view value) {
    if (value == "legacy") {
        return true;
    }
    const auto n = whole_number(value);
    flags.*kField = static_cast<uint32_t>(n.value_or(0));
    return n.has_value() && *n >= 1024 && *n <= 134217727;
}
template <auto kField, int64_t kLeast, int64_t kMost>
bool set_number(EmulatorFlags& flags, std::string_view value) {
    const auto n = whole_number(value);
    if (!n.has_value() || *n < kLeast || *n > kMost) {
        return false;
    }
    flags.*kField = static_cast<std::remove_reference_t<decltype(flags.*kField)>>(*n);
    return true;
}
bool anything(EmulatorFlags&, std::string_view) { return true; }
bool is_bool(EmulatorFlags&, std::string_view value) { return is_one_of(value, "true false"); }
bool busy_wait(EmulatorFlags&, std::string_view value) {
    return is_one_of(value, "none very_short short medium long very_long");
}
bool wakeup(EmulatorFlags&, std::string_view value) { return is_one_of(value, "very_low low medium high very_high"); }

// Of the heap that a new process has at least. The emulator takes numbers of 32 bits.
template <uint64_t EmulatorFlags::*kField>
bool heap_words(EmulatorFlags& flags, std::string_view value) {
    return set_number<kField, 1, INT32_MAX>(flags, value);
}
template <bool EmulatorFlags::*kField>
bool switched(EmulatorFlags& flags, std::string_view value) {
    flags.*kField = value == "true";
    return is_one_of(value, "true false");
}

bool take_atoms(EmulatorFlags& flags, std::string_view value) {
    const auto n = whole_number(value);
    // The emulator refuses these; other values that are too small or too large for us are brought into range.
    if (!n.has_value() || *n < 8192 || *n > (int64_t{1} << 31) - 1) {
        return false;
    }
    flags.atoms = static_cast<uint32_t>(std::clamp<int64_t>(*n, atom_table::kLeastLimit, atom_table::kMostLimit));
    return true;
}
bool take_dist_limit(EmulatorFlags& flags, std::string_view value) {
    const auto n = whole_number(value);
    flags.dist_limit_kb = static_cast<uint64_t>(n.value_or(0));
    return n.has_value() && *n >= 1 && *n < int64_t{1} << 31;
}
bool take_warning_map(EmulatorFlags& flags, std::string_view value) {
    if (!is_one_of(value, "e w i")) {
        return false;
    }
    flags.warning_map = value == "e" ? "error" : value == "i" ? "info" : "warning";
    return true;
}

enum class Value : uint8_t {
    none,
    behind,    // attached to the flag, or the next word
    attached,  // to the flag, or missing
    optional,  // the next word only if it is a value
    letter     // of +B: the first letter of what is attached, or of the next word if it may be one
};
struct Flag {
    const char* name;  // a flag begins with it; the first entry that fits counts
    Value value;
    Take take;
    const char* wrong;  // %s: the value; null: the flag is unknown then
    const char* usage;
    const char* item = nullptr;  // of system_info/1, which answers this value; it has no other meaning
};
// The texts are the emulator's.
const Flag kFlags[] = {
    {"pad", Value::behind, switched<&EmulatorFlags::async_dist>, "Invalid value to +pad flag: %s",
     "whether processes that are spawned without saying never wait for a connection to another node"},
    {"pc", Value::behind,
     [](EmulatorFlags& flags, std::string_view v) {
         flags.prints_unicode = v == "unicode";
         return is_one_of(v, "unicode latin1");
     },
     "bad range of printable characters: %s", "latin1 | unicode: what io:printable_range/0 says"},
    {"fn", Value::behind,
     [](EmulatorFlags&, std::string_view v) { return is_one_of(v, "u l a uw ui ue aw ai ae"); },
     "bad filename encoding %s, can be (l,u or a, optionally followed by w, i or e)", "encoding of file names: UTF-8 here"},
    {"hmbs", Value::behind, heap_words<&EmulatorFlags::min_binary_heap_words>, "bad heap size %s",
     "least virtual heap of binaries, in words"},
    {"hms", Value::behind, heap_words<&EmulatorFlags::min_heap_words>, "bad heap size %s", "least heap, in words"},
    {"hpds", Value::behind, number<1, INT32_MAX>, "bad initial process dictionary size %s", "no meaning here"},
    {"hmqd", Value::behind,
     [](EmulatorFlags& flags, std::string_view v) {
         flags.message_queue_off_heap = v == "off_heap";
         return is_one_of(v, "on_heap off_heap");
     },
     "Invalid message_queue_data flag: %s", "on_heap | off_heap: of processes that are spawned without saying",
     "message_queue_data"},
    {"hmaxk", Value::behind, switched<&EmulatorFlags::max_heap_kill>, "bad max heap kill %s",
     "whether a process beyond +hmax is killed"},
    {"hmaxel", Value::behind, switched<&EmulatorFlags::max_heap_log>, "bad max heap error logger %s",
     "whether it is reported"},
    {"hmaxib", Value::behind, switched<&EmulatorFlags::max_heap_shared>, "bad max heap include bins %s",
     "whether binaries that processes share count for +hmax"},
    {"hmax", Value::behind, set_number<&EmulatorFlags::max_heap_words, 0, (int64_t{1} << 59) - 1>,
     "bad max heap size %s", "most heap, in words; 0: any"},
    {"h", Value::behind, heap_words<&EmulatorFlags::min_heap_words>, "bad heap size %s", "as +hms"},
    {"dcg", Value::behind, number<1, 100000>, "bad decentralized counter groups limit: %s", "no meaning here"},
    {"d", Value::none, nullptr, nullptr, "no crash dump after an internal error: there is the recording"},
    {"ec", Value::none, nullptr, nullptr, "no meaning here"},
    {"e", Value::behind,
     [](EmulatorFlags& flags, std::string_view v) {
         if (number<8193, INT32_MAX>(flags, v)) {
             flags.told.emplace_back("ets_limit", v);
         }
         return true;
     },
     nullptr, "most ETS tables: any number here"},
    {"i", Value::behind,
     [](EmulatorFlags& flags, std::string_view v) {
         flags.boot_module = v;
         return true;
     },
     nullptr, "the first process's module, init"},
    {"IOp", Value::behind, number<1, 1024>, "bad I/O poll sets: %s", "no meaning here"},
    {"IOt", Value::behind, number<1, 1024>, "bad I/O poll threads: %s", "no meaning here"},
    {"IOPp", Value::behind, number<1, 100>, "bad I/O poll sets percentage: %s", "no meaning here"},
    {"IOPt", Value::behind, number<1, 100>, "bad I/O poll threads percentage: %s", "no meaning here"},
    {"JDdump", Value::behind, is_bool, "bad +JDdump flag %s", "no meaning here: minivm disasm shows native code"},
    {"JPperfdirectory", Value::behind,
     [](EmulatorFlags& flags, std::string_view v) {
         flags.perf_directory = v;
         return true;
     },
     nullptr, "where files for Linux perf are written; /tmp if not given"},
    {"JPperf", Value::behind,
     [](EmulatorFlags& flags, std::string_view v) {
         (flags.perf += flags.perf.empty() ? "" : ",") += v;
         return is_one_of(v, "true false dump map fp no_fp");
     },
     "bad +JPperf support flag %s", "true | false | map | dump | fp | no_fp: for Linux perf; each adds to those before it"},
    {"JPcover", Value::behind,
     [](EmulatorFlags&, std::string_view v) {
         return is_one_of(v, "true false line line_counters function function_counters");
     },
     "bad +JPcover flag %s", "no meaning here"},
    {"JMsingle", Value::behind, is_bool, "bad +JMsingle support flag %s", "no meaning here"},
    {"B", Value::letter,
     [](EmulatorFlags& flags, std::string_view v) {
         flags.on_break = v == "i" ? Break::ignored : v == "c" ? Break::menu : Break::by_default;
         flags.told.emplace_back("break_ignored", v == "i" ? "true" : "false");
         return is_one_of(v, " i c d");
     },
     nullptr, "[c|d|i]         what Ctrl-C does: c: the menu; d or nothing: it ends the VM; i: nothing"},
    {"K", Value::behind, anything, nullptr, "no meaning any more"},
    {"n", Value::behind, [](EmulatorFlags&, std::string_view v) { return is_one_of(v, "s a d"); }, "bad -n option %s",
     "no meaning here"},
    {"P", Value::behind, table_size<&EmulatorFlags::processes>, "bad number of processes %s",
     "most processes, at most 1048576 here"},
    {"Q", Value::behind, table_size<&EmulatorFlags::ports>, "bad number of ports %s", "most ports"},
    {"SDio", Value::behind, set_number<&EmulatorFlags::dirty_io, 1, 1024>, "bad number of dirty I/O schedulers %s",
     "dirty I/O schedulers"},
    {"sbtd", Value::none, nullptr, nullptr, "no meaning here"},
    {"sbt", Value::behind,
     [](EmulatorFlags&, std::string_view v) { return is_one_of(v, "u ns ts ps s nnts nnps tnnps db"); },
     "setting scheduler bind type '%s' failed: invalid type", "no meaning here: no scheduler is bound to a processor"},
    {"sbwtdcpu", Value::behind, busy_wait, "bad dirty CPU scheduler busy wait threshold: %s", "no meaning here"},
    {"sbwtdio", Value::behind, busy_wait, "bad dirty IO scheduler busy wait threshold: %s", "no meaning here"},
    {"sbwt", Value::behind, busy_wait, "bad scheduler busy wait threshold: %s", "no meaning here"},
    {"scl", Value::behind, is_bool, "bad scheduler compact load value '%s'", "no meaning here"},
    {"sct", Value::behind, anything, nullptr, "no meaning here"},
    {"secio", Value::behind, is_bool, "bad scheduler eager check I/O value '%s'", "no meaning here"},
    {"spp", Value::behind, is_bool, "bad parallel port value '%s'", "no meaning here", "port_parallelism"},
    {"stbt", Value::behind, anything, nullptr, "no meaning here"},
    {"sub", Value::behind, is_bool, "bad scheduler utilization balancing value '%s'", "no meaning here"},
    {"swct", Value::behind,
     [](EmulatorFlags&, std::string_view v) { return is_one_of(v, "very_lazy lazy medium eager very_eager"); },
     "scheduler wake cleanup threshold: %s", "no meaning here"},
    {"swtdcpu", Value::behind, wakeup, "dirty CPU scheduler wakeup threshold: %s", "no meaning here"},
    {"swtdio", Value::behind, wakeup, "dirty IO scheduler wakeup threshold: %s", "no meaning here"},
    {"swt", Value::behind, wakeup, "scheduler wakeup threshold: %s", "no meaning here"},
    {"sws", Value::behind, [](EmulatorFlags&, std::string_view v) { return is_one_of(v, "default legacy"); },
     "scheduler wakeup strategy: %s", "no meaning here"},
    {"sssdcpu", Value::behind, number<8, 8192>, "bad stack size for dirty CPU scheduler threads %s", "no meaning here"},
    {"sssdio", Value::behind, number<8, 8192>, "bad stack size for dirty IO scheduler threads %s", "no meaning here"},
    {"sss", Value::behind, number<8, 8192>, "bad stack size for scheduler threads %s", "no meaning here"},
    {"ssrct", Value::none, nullptr, nullptr, "no meaning here"},
    {"sfwi", Value::behind, number<0, INT32_MAX>, "bad scheduler forced wakeup interval %s", "no meaning here"},
    {"t", Value::behind, take_atoms, "bad atom table size %s", "most atoms"},
    {"T", Value::behind, number<0, 9>, "bad modified timing level %s", "no meaning here", "modified_timing_level"},
    {"R", Value::behind, number<10, 99>, "bad compatibility release number %s", "no meaning here", "compat_rel"},
    {"A", Value::behind,
     [](EmulatorFlags& flags, std::string_view v) {
         flags.told.emplace_back("thread_pool_size", v == "0" ? "1" : v);
         return number<0, 1024>(flags, v);
     },
     "bad number of async threads %s", "no meaning here"},
    {"a", Value::behind, number<16, 8192>, "bad stack size for async threads %s", "no meaning here"},
    {"rg", Value::behind, number<1, 1 << 20>, "bad reader groups limit: %s", "no meaning here"},
    {"r", Value::none, nullptr, nullptr, "no meaning here"},
    {"C", Value::behind,
     [](EmulatorFlags&, std::string_view v) { return is_one_of(v, "no_time_warp single_time_warp multi_time_warp"); },
     "Invalid time warp mode: %s", "no meaning here: the clock never jumps", "time_warp_mode"},
    {"c", Value::optional, is_bool, nullptr, "no meaning here: time is corrected", "time_correction"},
    {"W", Value::behind, take_warning_map, "unrecognized warning_map option %s", "e | w | i: what warnings are reported as"},
    {"zdbbl", Value::behind, take_dist_limit, "Invalid dbbl limit: %s",
     "KB that may wait for a connection to another node before who sends there does"},
    {"zdntgc", Value::behind,
     [](EmulatorFlags& f, std::string_view v) { return v == "infinity" || number<0, 100000>(f, v); },
     "Invalid delayed node table gc: %s", "no meaning here"},
    {"zebwt", Value::behind,
     [](EmulatorFlags&, std::string_view v) {
         return is_one_of(v, "none very_short short medium long very_long extremely_long");
     },
     "bad ethread busy wait threshold '%s'", "no meaning here"},
    {"zhft", Value::behind,
     [](EmulatorFlags& f, std::string_view v) {
         return v == "infinity" || set_number<&EmulatorFlags::halt_flush_ms, 0, INT32_MAX>(f, v);
     },
     "Invalid halt flush timeout %s", "ms | infinity: how long halt/0 may take to write what ports have; from OTP 27 on"},
    {"zosrl", Value::behind, set_number<&EmulatorFlags::system_requests, 1, 134217727>,
     "Invalid outstanding requests limit %s", "requests of the code purger to processes at a time"},
    {"v", Value::attached, anything, nullptr, "no meaning here"},
    {"L", Value::none, nullptr, nullptr, "no meaning here"},
    {"V", Value::none, nullptr, nullptr, "shows the emulator's version"},
};

// Flags of allocators: +M, a letter or none, and one of these, whose value is the next word if it is not attached.
constexpr std::string_view kOfAllocators =
    "as asbcst atags acul acnl acfml acful cp e t lmbcs mbcgs mbsd mmbcs mmmbc mmsbc msbclt ramv rmbcmt rsbcmt rsbcst "
    "sbct smbcs";
constexpr std::string_view kOfAllAllocators =
    "ea ummc uycs usac im is lpm Mamcbf Mrmcbf Mmcs Mscs Mscrfsd Msco Mscrpm Ye Ym Ytp Ytt Iscs Xscs dai";
bool begins_with_one_of(std::string_view text, std::string_view words) {
    for (size_t length = text.size(); length > 0; --length) {
        if (is_one_of(text.substr(0, length), words)) {
            return true;
        }
    }
    return false;
}

std::string put(const char* text, std::string_view value) {
    std::string all = text;
    if (const size_t at = all.find("%s"); at != std::string::npos) {
        all.replace(at, 2, value);
    }
    return all;
}

class Parser {
  public:
    Parser(const std::vector<std::string>& argv, int processors) : argv_(argv), processors_(processors) {}

    EmulatorFlags run() {
        for (at_ = 1; at_ < argv_.size() && flags_.error.empty(); ++at_) {
            const std::string& word = argv_[at_];
            if (word == "--") {
                flags_.rest.assign(argv_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, argv_.end());
                break;
            }
            if (word.size() < 2 || (word[0] != '-' && word[0] != '+')) {
                unknown();
            } else if (word[1] == 'M') {
                take_allocator(std::string_view(word).substr(2));
            } else if (const std::string_view flag = std::string_view(word).substr(1); flag.starts_with("SP")) {
                take_percentages(word.substr(3), "bad schedulers percentage specifier ", &percent_);
            } else if (flag.starts_with("SDPcpu")) {
                take_percentages(word.substr(7), "bad dirty CPU schedulers percentage specifier ", &dirty_percent_);
            } else if (flag.starts_with("SDcpu")) {
                take_dirty(word.substr(6));
            } else if (flag.starts_with("S") && !flag.starts_with("SD")) {
                take_schedulers(word.substr(2));
            } else {
                take(flag);
            }
        }
        if (flags_.error.empty()) {
            settle_schedulers();
        }
        return flags_;
    }

  private:
    void unknown() { flags_.error = argv_[0] + " unknown flag " + argv_[at_]; }
    std::string value_of(std::string attached) {
        return !attached.empty() || at_ + 1 >= argv_.size() ? attached : argv_[++at_];
    }
    void take_allocator(std::string_view flag) {
        const std::string_view of_one = flag.substr(std::min<size_t>(flag.size(), 1));
        if (is_one_of(flag, kOfAllAllocators) || is_one_of(of_one, kOfAllocators)) {
            ++at_;
        } else if (!begins_with_one_of(flag, kOfAllAllocators) && !begins_with_one_of(of_one, kOfAllocators)) {
            flags_.error = "bad \"M\" parameter";
        }
    }
    void take_schedulers(std::string attached) {
        const SchedulerNumbers numbers = scheduler_numbers(value_of(std::move(attached)), processors_);
        flags_.error = numbers.error;
        flags_.schedulers = numbers.schedulers;
        flags_.schedulers_online = numbers.online;
    }
    struct Percent {
        int64_t all = 100, online = 100;
    };
    void take_percentages(std::string attached, const char* wrong, Percent* out) {
        const std::string value = value_of(std::move(attached));
        const auto p = pair(value);
        const auto is_percentage = [](std::optional<int64_t> n) {
            return !n.has_value() || (*n >= 0 && *n <= INT32_MAX);
        };
        if (!p.has_value() || !is_percentage(p->first) || !is_percentage(p->second)) {
            flags_.error = wrong + value;
            return;
        }
        out->all = p->first.value_or(100);
        out->online = p->second.value_or(std::min<int64_t>(out->all, 100));
    }
    void take_dirty(std::string attached) {
        const std::string value = value_of(std::move(attached));
        const auto p = pair(value);
        if (!p.has_value()) {
            flags_.error = "bad amount of dirty CPU schedulers " + value;
            return;
        }
        const int64_t first = p->first.value_or(processors_);
        const int64_t second = p->second.value_or(std::min(first, dirty_online_));
        dirty_ = first > 0 ? first : processors_ + first;
        dirty_online_ = second > 0 ? second : processors_ + second;
        if (dirty_ < 1 || dirty_ > kMostSchedulers) {
            flags_.error = "bad amount of dirty CPU schedulers " + std::to_string(first);
        } else if (dirty_online_ < 1 || dirty_online_ > dirty_) {
            flags_.error = "bad amount of dirty CPU schedulers online " + std::to_string(dirty_online_) +
                           " (total amount of dirty CPU schedulers " + std::to_string(dirty_) + ")";
        }
    }
    // When all flags are known: applies percentages, and allows no more dirty CPU schedulers than others.
    void settle_schedulers() {
        int64_t all = flags_.schedulers > 0 ? flags_.schedulers : processors_;
        int64_t online = flags_.schedulers > 0 ? flags_.schedulers_online : processors_;
        if (percent_.all != 100 || percent_.online != 100) {
            all = std::max<int64_t>(all * percent_.all / 100, 1);
            online = std::max<int64_t>(online * percent_.online / 100, 1);
            if (all > kMostSchedulers) {
                flags_.error = "bad schedulers percentage " + std::to_string(percent_.all) +
                               " (total amount of schedulers " + std::to_string(all) + ")";
            } else if (online > all) {
                flags_.error = "bad schedulers online percentage " + std::to_string(percent_.online) +
                               " (total amount of schedulers " + std::to_string(all) + ", online " +
                               std::to_string(online) + ")";
            }
            flags_.schedulers = static_cast<int>(all);
            flags_.schedulers_online = static_cast<int>(online);
        }
        flags_.dirty_cpu = static_cast<int>(std::clamp<int64_t>(dirty_ * dirty_percent_.all / 100, 1, all));
        flags_.dirty_cpu_online = static_cast<int>(
            std::clamp<int64_t>(dirty_online_ * dirty_percent_.online / 100, 1, std::min<int64_t>(online, flags_.dirty_cpu)));
    }
    void take(std::string_view flag) {
        const auto* const known = std::find_if(std::begin(kFlags), std::end(kFlags),
                                               [&](const Flag& f) { return flag.starts_with(f.name); });
        if (known == std::end(kFlags)) {
            if (flag[0] == 's') {
                flags_.error = "bad scheduling option " + argv_[at_];
            } else if (flag[0] == 'z') {
                flags_.error = "bad -z option " + argv_[at_];
            } else {
                unknown();
            }
            return;
        }
        flags_.tells_version = flags_.tells_version || flag == "V";
        std::string attached(flag.substr(std::strlen(known->name)));
        switch (known->value) {
            case Value::none:
                return attached.empty() ? void() : unknown();
            case Value::behind:
                attached = value_of(attached);
                break;
            case Value::attached:
                break;
            case Value::letter:
                if (attached.empty() && at_ + 1 < argv_.size() && is_one_of(argv_[at_ + 1].substr(0, 1), "i c d")) {
                    attached = argv_[++at_];
                }
                attached = attached.substr(0, 1);
                break;
            case Value::optional:
                if (attached.empty() && (at_ + 1 >= argv_.size() || !is_one_of(argv_[at_ + 1], "true false"))) {
                    flags_.told.emplace_back(known->item, "false");
                    return;
                }
                attached = value_of(attached);
                break;
        }
        if (known->item != nullptr) {
            flags_.told.emplace_back(known->item, attached);
        }
        if (!known->take(flags_, attached)) {
            if (known->wrong == nullptr) {
                unknown();
            } else {
                flags_.error = put(known->wrong, attached);
            }
        }
    }

    const std::vector<std::string>& argv_;
    const int processors_;
    int64_t dirty_ = processors_, dirty_online_ = processors_;
    Percent percent_, dirty_percent_;
    size_t at_ = 1;
    EmulatorFlags flags_;
};

}  // namespace

EmulatorFlags parse_emulator_flags(const std::vector<std::string>& argv, int processors) {
    return Parser(argv, processors).run();
}

std::string emulator_usage(const std::string& program) {
    std::string text = "Usage: " + program.substr(program.rfind('/') + 1) +
                       " [flags] [ -- [init_args] ]\r\nThe flags are:\r\n\r\n";
    const auto line = [&text](std::string name, const char* what) {
        name.resize(std::max<size_t>(name.size() + 1, 15), ' ');
        text += "-" + name + what + "\r\n";  // as the emulator ends all its lines
    };
    line("S N:M", "N schedulers, M of them online");
    line("SP N:M", "the same in percent, of what there would be without it");
    line("SDcpu N:M", "N dirty CPU schedulers, M of them online");
    line("SDPcpu N:M", "the same in percent");
    for (const Flag& flag : kFlags) {
        line(std::string(flag.name) + (flag.value == Value::behind ? " value" : ""), flag.usage);
    }
    line("M<X> value", "allocators: no meaning here");
    return text;
}

}  // namespace minivm::tools
