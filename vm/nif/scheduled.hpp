// A call that enif_schedule_nif() asked for, until it is made.
#pragma once

#include "vm/nif/nif.hpp"

namespace minivm::nif {

struct Scheduled final : MagicObject {
    // flags: where it is to run, BifFlag. Keeps the library.
    Scheduled(const Function& origin, uint8_t flags, Callable c);
    ~Scheduled() override;
    Function function;  // with the name of the function that was called first
};

// Makes the call; ref is the magic reference of it, args a tuple, origin_args the list of arguments
// of the call that began it.
Term call_scheduled(Process& p, Term ref, Term args, Term origin_args);

}  // namespace minivm::nif
