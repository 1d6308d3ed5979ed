#include "nif_load.h"
ENTRY(3, 0, "nif_load_bad", 1, functions, NULL, "beam.vanilla")
