// The type of service of IPv4 packets: the byte that RFC 791 divided into precedence and service, and RFC 2474 into a
// code point and two bits of congestion. OTP 25 to 27 name only the service; later ones give all three readings.
#include "vm/nif/sockets/socket.hpp"

#include "vm/util/otp_release.hpp"

namespace minivm::nif::sockets {

namespace {

constexpr Named kServices[] = {{"lowdelay", 8}, {"throughput", 4}, {"reliability", 2}, {"mincost", 1}};
constexpr int kServiceMask = 0x1E;
constexpr int kServiceShift = 1;
constexpr Named kPrecedences[] = {{"netcontrol", 56}, {"internetcontrol", 48}, {"critical_ecp", 40},
                                  {"flashoverride", 32}, {"flash", 24},        {"immediate", 16},
                                  {"priority", 8},       {"routine", 0}};
constexpr int kPrecedenceMask = 0xE0;  // leaves 0 of the numbers above, which are code points: as on erl
constexpr int kPrecedenceShift = 5;
constexpr Named kCodePoints[] = {{"cs0", 0},   {"cs1", 8},   {"cs2", 16},  {"cs3", 24},  {"cs4", 32},
                                 {"cs5", 40},  {"cs6", 48},  {"cs7", 56},  {"af11", 10}, {"af12", 12},
                                 {"af13", 14}, {"af21", 18}, {"af22", 20}, {"af23", 22}, {"af31", 26},
                                 {"af32", 28}, {"af33", 30}, {"af41", 34}, {"af42", 36}, {"af43", 38},
                                 {"ef", 46},   {"voice_admit", 44},        {"le", 1},    {"nqb", 45}};
constexpr int kCodePointMask = 0xFC;
constexpr int kCodePointShift = 2;

bool has_all_readings() {
    return otp_release().number >= 28;
}

const Named* by_name(std::span<const Named> names, Term t) {
    for (const Named& n : names) {
        if (atom(n.name) == t) {
            return &n;
        }
    }
    return nullptr;
}
Term by_number(std::span<const Named> names, int number) {
    for (const Named& n : names) {
        if (n.number == number) {
            return atom(n.name);
        }
    }
    return make_small(number);
}

// A name or a number.
bool part_of(Term t, std::span<const Named> names, int* out) {
    if (const Named* const n = is_value(t) ? by_name(names, t) : nullptr) {
        *out = n->number;
        return true;
    }
    return is_value(t) && get_int(t, out);
}

}  // namespace

bool get_type_of_service(Term t, int* out) {
    if (get_int(t, out)) {
        return true;
    }
    if (const Named* const n = by_name(kServices, t)) {
        *out = n->number << kServiceShift;
        return true;
    }
    if (!has_all_readings()) {
        return false;
    }
    if (const Named* const n = by_name(kCodePoints, t)) {
        *out = n->number << kCodePointShift;
        return true;
    }
    int precedence = 0;
    int service = 0;
    const Term what = field(t, "tos");
    if (!part_of(field(t, "precedence"), kPrecedences, &precedence)) {
        return false;
    }
    if (!part_of(what, kServices, &service)) {
        if (!is_value(what) || what != atom("default")) {
            return false;
        }
        service = 0;
    }
    *out = ((precedence << kPrecedenceShift) & kPrecedenceMask) | ((service << kServiceShift) & kServiceMask);
    return true;
}

Term type_of_service_term(Env* env, int value) {
    const int service = (value & kServiceMask) >> kServiceShift;
    if (!has_all_readings()) {
        const Term name = by_number(kServices, service);
        return is_atom(name) ? name : make_small(value);
    }
    const Term reading = make_map(
        env, {{"precedence", by_number(kPrecedences, (value & kPrecedenceMask) >> kPrecedenceShift)},
              {"tos", service == 0 ? atom("default") : by_number(kServices, service)}});
    return make_map(env, {{"native", make_small(value)},
                          {"tos", reading},
                          {"dscp", by_number(kCodePoints, (value & kCodePointMask) >> kCodePointShift)}});
}

}  // namespace minivm::nif::sockets
