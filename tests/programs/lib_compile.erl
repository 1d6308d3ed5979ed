%% The stock compiler: a module from text to a .beam whose chunks are compared by their checksums.
-module(lib_compile).
-export([main/1]).

main(_) ->
    Text = "-module(made). -export([f/1, g/2, h/0]). -record(r, {a, b = 2}). f(X) when is_integer(X), X > 0 -> X * f(X - 1); f(0) -> 1. g(A, B) -> case {A, B} of {[H | _], #{k := V}} -> {H, V, <<H:8, V/binary>>}; _ -> try A + B catch error:E -> {E, #r{a = A}} end end. h() -> [X * 2 || X <- lists:seq(1, 10), X rem 2 =:= 0].",
    {ok, Tokens, _} = erl_scan:string(Text),
    Forms = [begin {ok, F} = erl_parse:parse_form(T), F end || T <- split(Tokens, [])],
    {ok, made, Beam, Warnings} = compile:forms(Forms, [binary, return, deterministic]),
    io:format("~p ~p~n", [is_binary(Beam), Warnings]),
    {ok, made, Chunks} = beam_lib:all_chunks(Beam),
    [io:format("~s ~p ~p~n", [N, byte_size(B), erlang:md5(B)]) || {N, B} <- lists:sort(Chunks),
     N =/= "CInf", N =/= "Dbgi"],
    {ok, made, Asm} = compile:forms(Forms, ['S', binary, deterministic]),
    io:format("~p~n", [erlang:phash2(Asm)]),
    {error, Errors, _} = compile:forms([{attribute, 1, module, bad},
                                        {function, 2, f, 0,
                                         [{clause, 2, [], [], [{var, 2, 'X'}]}]}], [return]),
    io:format("~p~n", [Errors]).

split([], _) -> [];
split([{dot, _} = D | T], Acc) -> [lists:reverse([D | Acc]) | split(T, [])];
split([H | T], Acc) -> split(T, [H | Acc]).
