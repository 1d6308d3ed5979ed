// A call that enif_schedule_nif() asked for, until it is made.
#pragma once

#include "vm/nif/nif.hpp"

namespace minivm::nif {

struct Scheduled final : MagicObject {
    // flags: a BifFlag that says where to run it. Keeps the library.
    Scheduled(const Function& origin, uint8_t flags, Callable c);
    ~Scheduled() override;
    Function function;  // with the name of the function that was called first
};

// Makes the call; ref is its magic reference, args a tuple, origin_args the list of the arguments of the
// call from Erlang that led to it.
Term call_scheduled(Process& p, Term ref, Term args, Term origin_args);

}  // namespace minivm::nif
