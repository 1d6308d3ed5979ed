#include "nif_load.h"
static int load(ErlNifEnv* env, void** priv_data, ERL_NIF_TERM info)
{
    int code = -1;
    enif_get_int(env, info, &code);
    return code;
}
ERL_NIF_INIT(nif_load_bad, functions, load, NULL, NULL, NULL)
