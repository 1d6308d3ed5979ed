#include "nif_load.h"
ENTRY(2, 16, "nif_load_bad", 1, functions, NULL, "beam.chocolate")
