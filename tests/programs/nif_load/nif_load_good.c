#include "nif_load.h"
ERL_NIF_INIT(nif_load_bad, functions, NULL, NULL, NULL, NULL)
