// A call that enif_schedule_nif() asked for, until it is made.
#pragma once

#include "vm/nif/nif.hpp"

namespace minivm::nif {

struct Scheduled final : MagicObject {
    // flags: where it is to run, BifFlag. Keeps the library.
    Scheduled(Library* l, Term module, Term name, uint32_t arity, uint8_t flags, Callable c);
    ~Scheduled() override;
    Function function;
};

// Makes the call; ref is the magic reference of it, args a tuple.
Term call_scheduled(Process& p, Term ref, Term args);

}  // namespace minivm::nif
