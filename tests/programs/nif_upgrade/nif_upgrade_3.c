#define VERSION 3
#include "nif_upgrade.h"
int (*nif_upgrade_not_used)(ErlNifEnv*, void**, void**, ERL_NIF_TERM) = upgrade;
ERL_NIF_INIT(nif_upgrade_module, functions, load, NULL, NULL, unload)
