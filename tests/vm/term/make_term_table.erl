#!/usr/bin/env escript
%% Writes how Erlang/OTP orders and hashes a set of terms:
%%   escript make_term_table.erl > term_table.txt
%%
%% Lines of the table, words separated by a space:
%%   ordered HEX MARKS       a term in the external term format, and for each ordered term (this one and
%%                           those before and after it): < this is less, > greater, = ==, e =:=
%%   hashed HEX PHASH2 PHASH a term, erlang:phash2(Term, 1 bsl 32), erlang:phash(Term, 1 bsl 32) - 1
-mode(compile).
-compile(nowarn_deprecated_function).

main(_) ->
    Ordered = ordered(),
    [io:format("ordered ~s ~s~n", [hex(A), [mark(A, B) || B <- Ordered]]) || A <- Ordered],
    [io:format("hashed ~s ~w ~w~n",
               [hex(T), erlang:phash2(T, 1 bsl 32), erlang:phash(T, 1 bsl 32) - 1])
     || T <- Ordered ++ hashed()],
    ok.

mark(A, B) when A =:= B -> $e;
mark(A, B) when A == B -> $=;
mark(A, B) when A < B -> $<;
mark(_, _) -> $>.

hex(T) -> [io_lib:format("~2.16.0B", [B]) || <<B>> <= term_to_binary(T)].

ordered() ->
    F1 = fun(X) -> X end,
    One = 1, Two = {2, a},
    Big = 1 bsl 70,
    [0, 1, 1.0, -1, -1.0, 2, 1.5, Big, -Big, Big + 1, float(Big), 1.0e300, 1 bsl 60, -(1 bsl 60),
     (1 bsl 53) + 1, 9007199254740992.0,
     '', a, ab, b, 'Z', list_to_atom([233]), list_to_atom([16#1F600]), true, nil,
     ref(1, 2, 3), ref(3, 2, 3), ref(1, 3, 3), ref(1, 2, 4), ext_ref(<<"a@x">>, 1, [1, 2, 3]),
     ext_ref(<<"z@x">>, 1, [1, 2, 3]), ext_ref(<<"z@x">>, 2, [1, 2, 3]), ext_ref(<<"z@x">>, 1, [1, 2]),
     F1, fun() -> One end, fun() -> Two end, fun() -> {Big, 1.0} end,
     fun lists:map/2, fun lists:foldl/3, fun maps:map/2, fun lists:map/1,
     port(3), port(4), ext_port(<<"a@x">>, 9, 1), ext_port(<<"z@x">>, 2, 1), ext_port(<<"z@x">>, 2, 2),
     list_to_pid("<0.5.6>"), list_to_pid("<0.6.5>"), list_to_pid("<0.5.7>"),
     pid(<<"a@x">>, 5, 6, 1), pid(<<"z@x">>, 5, 6, 1), pid(<<"z@x">>, 5, 6, 2), pid(<<"a@x">>, 9, 5, 1),
     {}, {1}, {1.0}, {a, b}, {a, c}, {a, b, c}, {{1, 2}, [3]}, {z},
     #{}, #{a => 1}, #{a => 1.0}, #{a => 2}, #{b => 1}, #{1 => a}, #{1.0 => a}, #{2 => a},
     #{a => 1, b => 2}, #{a => 2, c => 0}, #{{1} => x}, #{{1.0} => x}, #{#{1 => 2} => y},
     #{#{1.0 => 2} => y}, #{a => #{b => 1}}, #{a => #{b => 1.0}},
     large_map(33, 0), large_map(33, 1), large_map(34, 0), large_float_map(33), #{x => large_map(40, 0)},
     [], [1], [1.0], [1, 2], [1 | 2], [2], "abc", "abd", "ab", [a | b], [[]], [[[1]]], [a, b, c | d],
     <<>>, <<0>>, <<1>>, <<1, 2>>, <<"abc">>, <<1:1>>, <<1:3>>, <<0:7>>, <<0:8, 1:1>>, <<255>>, <<128>>,
     binary:copy(<<"xyz">>, 50), <<5:3, (binary:copy(<<"xyz">>, 50))/binary>>].

hashed() ->
    Ints = [I || N <- [0, 1, 7, 8, 15, 26, 27, 28, 30, 31, 32, 33, 58, 59, 60, 61, 63, 64, 65, 127, 128,
                       129, 200],
                 P <- [1 bsl N], I <- [P - 1, P, P + 1, -P, -P - 1]],
    Floats = [0.5, -0.5, 3.14159, 1.0e-300, -1.0e300, 5.0e-324, 123456.789e10],
    Lists = [lists:seq(1, N) || N <- [3, 4, 5, 6, 7, 8, 300]] ++
        [[1, 2, 3 | a], [1, 2, 3, 4 | a], [1, a, 2, b, 3], ["abcd", "efghi"], [256, 1], [1, 256],
         [-1], [0], [[], []], [[] | []], [1.0, 2], lists:duplicate(10, [x]), "hello, world",
         [16#10FFFF, 97], [1, 2, 3, 4, []]],
    Binaries = [list_to_binary(lists:seq(1, N)) || N <- lists:seq(10, 26)] ++
        [<<1:N>> || N <- lists:seq(2, 17)] ++ [<<(binary:copy(<<200, 100>>, 60))/binary, 3:5>>],
    Sub = <<(list_to_binary(lists:seq(1, 100)))/binary>>,
    <<_:3, Odd:40/bitstring, _/bitstring>> = Sub,
    <<_:24, Even:40/bitstring, _/bitstring>> = Sub,
    Tuples = [{}, {[]}, {1, []}, {a, {b, {c}}}, list_to_tuple(lists:seq(1, 50)), {<<>>}, {<<>>, <<1>>},
              {1.5, a, "x", <<"y">>, []}, {{}, {}}, {[], a}, {a, []}],
    Maps = [#{1 => 2, 3 => 4}, #{a => #{b => #{c => d}}}, #{[] => #{}}, #{1.5 => [#{x => y}, #{}]},
            maps:from_list([{I, I * I} || I <- lists:seq(1, 32)]),
            maps:from_list([{I, {I}} || I <- lists:seq(1, 100)]),
            {#{a => 1}, #{}, [#{b => 2} | #{c => 3}]}, [#{}], #{#{a => b} => #{c => d}}],
    Handles = [list_to_pid("<0.32767.8191>"), list_to_pid("<0.0.0>"), port(1), port(1 bsl 27),
               ext_port(<<"b@x">>, 1 bsl 28, 7), ext_port(<<"b@x">>, (1 bsl 40) + 5, 7),
               pid(<<"b@x">>, 1 bsl 30, 1 bsl 29, 3), ref(4000, 5, 0), [ref(1, 2, 3), port(2)]],
    A = 1, B = "free", C = #{k => v},
    Funs = [fun() -> A end, fun() -> {A, B} end, fun(X) -> [X, A, B, C] end, [fun() -> B end, x]],
    Atoms = [list_to_atom(lists:duplicate(N, $a + N rem 26)) || N <- [1, 2, 5, 8, 9, 40, 255]] ++
        [list_to_atom([16#E5, 16#E4, 16#F6]), list_to_atom([1234, 16#FF]), list_to_atom([16#80, $x]),
         {list_to_atom([16#C3, 16#BF]), list_to_atom([16#20AC])}],
    Ints ++ Floats ++ Lists ++ Binaries ++ [Odd, Even, {Odd, Even}] ++ Tuples ++ Maps ++ Handles ++ Funs
        ++ Atoms.

large_map(N, V) -> maps:from_list([{K, V} || K <- lists:seq(1, N)]).
large_float_map(N) -> maps:from_list([{float(K), 0} || K <- lists:seq(1, N)]).

%% A reference of this node that prints as #Ref<0.A.B.C>.
ref(A, B, C) -> ext_ref(<<"nonode@nohost">>, 0, [C, B, A]).
port(N) -> list_to_port(lists:concat(["#Port<0.", N, ">"])).
pid(Node, Id, Serial, Creation) ->
    binary_to_term(<<131, 88, (atom(Node))/binary, Id:32, Serial:32, Creation:32>>).
ext_port(Node, Id, Creation) ->
    binary_to_term(<<131, 120, (atom(Node))/binary, Id:64, Creation:32>>).
ext_ref(Node, Creation, Words) ->
    binary_to_term(<<131, 90, (length(Words)):16, (atom(Node))/binary, Creation:32,
                     << <<W:32>> || W <- Words >>/binary>>).
atom(Text) -> <<119, (byte_size(Text)), Text/binary>>.
