%% New maps whose keys are all constants: any order in the source, keys of all kinds, as many as fit
%% and one more, values that are collected on the way, the module of the keys gone.
-module(map_new_constant_keys).
-export([main/1]).

main(_) ->
    show(small(1, "x", <<"bin">>)),
    show(kinds(a, b)),
    show(nested({1, 2})),
    lists:foreach(fun(N) -> show(lists:sort(maps:to_list(many(N)))) end, [31, 32, 33]),
    io:format("~p~n", [small(1, 2, 3) =:= maps:from_list([{c, 3}, {b, 2}, {a, 1}])]),
    io:format("~p~n", [[map_size(M) || M <- grow(2000, [])] =:= lists:duplicate(2000, 3)]),
    floats(1.5),
    io:format("~p~n", [catch matched(<<1, 2, 3>>)]),
    gone().

show(Map) when is_map(Map) -> io:format("~p ~p ~p~n", [Map, map_size(Map), erlang:phash2(Map)]);
show(Pairs) -> io:format("~p ~p~n", [Pairs, length(Pairs)]).

small(A, B, C) -> #{c => C, a => A, b => B}.
kinds(A, B) ->
    #{1.0 => A, 1 => B, "list" => A, <<"binary">> => B, {t, 1} => A, [] => B, #{} => A, 1 bsl 80 => B,
      z => A, -1 => self() =:= B, 0.0 => {B, A}}.
nested(X) -> #{outer => #{inner => #{deep => X, x => X}}, list => [#{a => X} | X]}.

%% Compiled at run time: N keys, in an order that is not theirs.
many(N) ->
    Keys = [(I * 7) rem N || I <- lists:seq(0, N - 1)],
    Text = ["f(X) -> #{",
            lists:join($,, [io_lib:format("k~2..0b => {X, ~b}", [K, K]) || K <- Keys]), "}."],
    (load(Text)):f(v).

load(Text) ->
    Forms = [begin {ok, Tokens, _} = erl_scan:string(lists:flatten(T)),
                   {ok, Form} = erl_parse:parse_form(Tokens), Form end
             || T <- ["-module(made_map).", "-export([f/1]).", Text]],
    {ok, Module, Beam} = compile:forms(Forms),
    {module, Module} = code:load_binary(Module, "", Beam),
    code:purge(Module),
    Module.

grow(0, Maps) -> Maps;
grow(N, Maps) -> grow(N - 1, [#{n => {N, N + 0.5}, list => [N | Maps], f => N / 3} | Maps]).

floats(F) ->
    G = F * 2.0 + 1.0,
    M = #{sum => G + F, product => G * F, g => G},
    show(M#{more => G - F}).

matched(<<A, Rest/binary>>) -> #{rest => Rest, first => A, size => byte_size(Rest)}.

%% The process goes on with a map whose keys are of a module that has been purged.
gone() ->
    Map = (load("f(X) -> #{{key, 2} => X, \"one\" => [X], key => X}.")):f({value}),
    true = code:delete(made_map),
    code:purge(made_map),
    erlang:garbage_collect(),
    show(Map),
    show(Map#{key := new, {key, 2} => newer}),
    Self = self(),
    spawn(fun() -> Self ! maps:remove(key, Map) end),
    receive M -> show(M) end.
