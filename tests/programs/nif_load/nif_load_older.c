#include "nif_load.h"
ENTRY(1, 0, "nif_load_bad", 1, functions, NULL, "beam.vanilla")
