#include "nif_load.h"
ENTRY(2, 5, "nif_load_bad", 1, functions, NULL, "beam.vanilla")
