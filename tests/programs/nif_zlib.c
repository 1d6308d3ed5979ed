// Functions for nif_zlib.erl. Linked without zlib, as libraries for OTP's emulator are that take its zlib.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <erl_nif.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MOST 65536

// lacking() -> the names of zlib's functions that the program does not have
static ERL_NIF_TERM lacking(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    static const char* const names[] = {
        "adler32", "adler32_combine", "compress", "compress2", "compressBound", "crc32", "crc32_combine", "deflate",
        "deflateBound", "deflateCopy", "deflateEnd", "deflateInit2_", "deflateInit_", "deflateParams", "deflateReset",
        "deflateSetDictionary", "get_crc_table", "gzclose", "gzdopen", "gzeof", "gzerror", "gzflush", "gzgets",
        "gzopen", "gzprintf", "gzputs", "gzread", "gzseek", "gzwrite", "inflate", "inflateBack", "inflateBackEnd",
        "inflateBackInit_", "inflateCopy", "inflateEnd", "inflateGetHeader", "inflateInit2_", "inflateInit_",
        "inflatePrime", "inflateReset", "inflateReset2", "inflateSetDictionary", "inflateSync", "uncompress",
        "uncompress2", "zError", "zlibCompileFlags", "zlibVersion"};
    ERL_NIF_TERM list = enif_make_list(env, 0);
    for (size_t i = sizeof names / sizeof *names; i-- > 0;)
        if (dlsym(RTLD_DEFAULT, names[i]) == NULL)
            list = enif_make_list_cell(env, enif_make_atom(env, names[i]), list);
    return list;
}

static ERL_NIF_TERM sums(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary in;
    if (!enif_inspect_binary(env, argv[0], &in)) return enif_make_badarg(env);
    return enif_make_tuple2(env, enif_make_ulong(env, crc32(0, in.data, in.size)),
                            enif_make_ulong(env, adler32(1, in.data, in.size)));
}

static ERL_NIF_TERM whole(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[],
                          int (*work)(Bytef*, uLongf*, const Bytef*, uLong))
{
    ErlNifBinary in;
    ERL_NIF_TERM term;
    uLongf size = MOST;
    Bytef* out;
    if (!enif_inspect_binary(env, argv[0], &in)) return enif_make_badarg(env);
    out = enif_alloc(MOST);
    if (work(out, &size, in.data, in.size) != Z_OK) {
        enif_free(out);
        return enif_make_atom(env, "error");
    }
    memcpy(enif_make_new_binary(env, size, &term), out, size);
    enif_free(out);
    return term;
}

static ERL_NIF_TERM pack(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return whole(env, argc, argv, compress);
}

static ERL_NIF_TERM unpack(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return whole(env, argc, argv, uncompress);
}

// stream(Binary) -> what inflate makes of Binary, which deflate made, 100 bytes at a time
static ERL_NIF_TERM stream(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary in;
    ERL_NIF_TERM term;
    z_stream z;
    int done = Z_OK;
    Bytef* out;
    if (!enif_inspect_binary(env, argv[0], &in)) return enif_make_badarg(env);
    memset(&z, 0, sizeof z);
    if (inflateInit(&z) != Z_OK) return enif_make_atom(env, "error");
    out = enif_alloc(MOST);
    z.next_out = out;
    z.avail_out = MOST;
    for (size_t at = 0; at < in.size && done == Z_OK; at += 100) {
        z.next_in = in.data + at;
        z.avail_in = in.size - at < 100 ? in.size - at : 100;
        done = inflate(&z, Z_NO_FLUSH);
    }
    memcpy(enif_make_new_binary(env, z.total_out, &term), out, z.total_out);
    inflateEnd(&z);
    enif_free(out);
    return done == Z_STREAM_END ? term : enif_make_atom(env, "error");
}

static ErlNifFunc functions[] = {
    {"lacking", 0, lacking, 0}, {"sums", 1, sums, 0}, {"pack", 1, pack, 0}, {"unpack", 1, unpack, 0}, {"stream", 1, stream, 0}};

ERL_NIF_INIT(nif_zlib, functions, NULL, NULL, NULL, NULL)
