#include "nif_load.h"
static ErlNifFunc more[] = {{"a_function_that_nobody_has", 1, f, 0}};
ERL_NIF_INIT(nif_load_bad, more, NULL, NULL, NULL, NULL)
