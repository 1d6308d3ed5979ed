// The meaning of each instruction that is no transfer of control, once, for all engines. An engine may have
// code of its own for the common case of an instruction, with the same effect.
#pragma once

#include "vm/semantics/meaning_arithmetic.hpp"
#include "vm/semantics/meaning_binary.hpp"
#include "vm/semantics/meaning_data.hpp"
#include "vm/semantics/meaning_exception.hpp"
#include "vm/semantics/meaning_float.hpp"
#include "vm/semantics/meaning_map.hpp"
#include "vm/semantics/meaning_message.hpp"
#include "vm/semantics/meaning_test.hpp"

#undef MEANING
#undef ARG
#undef OUT
#undef RAW
#undef NUMBER
#undef FLAGS
#undef FR
