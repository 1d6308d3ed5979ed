#define VERSION 2
#include "nif_upgrade.h"

ERL_NIF_INIT(nif_upgrade_module, functions, load, NULL, upgrade, unload)
