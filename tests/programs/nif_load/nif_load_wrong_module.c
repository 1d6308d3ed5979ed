#include "nif_load.h"
ERL_NIF_INIT(another_module, functions, NULL, NULL, NULL, NULL)
