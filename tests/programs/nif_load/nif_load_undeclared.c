#include "nif_load.h"
static ErlNifFunc more[] = {{"f", 1, f, 0}, {"g", 0, f, 0}};
ERL_NIF_INIT(nif_load_declares, more, NULL, NULL, NULL, NULL)
