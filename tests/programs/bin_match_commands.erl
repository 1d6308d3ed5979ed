%% bs_match, the instruction of OTP 26: modules of random commands, written byte by byte as no older
%% compiler makes them, against what the commands mean. `erl` of OTP 25 cannot load them; it says
%% what the results are.
-module(bin_match_commands).
-export([main/1]).

main(_) ->
    Native = erlang:function_exported(minivm, set_engine, 2),
    {Sum, _} = lists:foldl(fun(N, {H, S}) -> round(N, H, S, Native) end, {0, 4711},
                           lists:seq(1, 120)),
    io:format("~p~n", [Sum]),
    [io:format("~p: ~0p~n", [Name, check(Name, Commands, Bin, Native)])
     || {Name, Commands, Bin} <- shapes()].

shapes() ->
    All = binary:copy(<<"abcdefgh">>, 16),
    [{nothing_left, [{ensure_exactly, 0}], <<>>},
     {bytes, [{ensure_exactly, 24}, {integer, 8, []}, {integer, 8, [signed]}, {skip, 8}],
      <<1, 255, 3>>},
     {word, [{ensure_at_least, 64, 1}, {integer, 64, [little]}, get_tail], <<All/bits, 1:1>>},
     {put_back, [{ensure_at_least, 88, 8}, {binary, 72}, {integer, 4, []}, {equal, 12, 4}], All},
     {put_back_behind_a_bignum, [{ensure_at_least, 160, 1}, {integer, 128, [signed]},
                                 {equal, 1, 1}, {equal, 8, 0}], All},
     {parts, [{ensure_at_least, 608, 8}, {binary, 8}, {binary, 600}, get_tail], All},
     {unit, [{ensure_at_least, 8, 16}, {integer, 8, []}], <<1, 2>>},
     {odd_unit, [{ensure_at_least, 3, 3}, {integer, 3, []}, get_tail], <<5:3, 6:3, 7:3>>},
     {far, [{ensure_at_least, 1000, 1}, {skip, 900}, {integer, 56, []}, {skip, 3},
            {integer, 41, [signed]}], All},
     {unchecked, [{integer, 8, []}, {integer, 16, []}, {skip, 2000}], All},
     {of_no_bits, [{ensure_exactly, 8}, {integer, 0, []}, {integer, 8, []}], <<7>>}].

round(N, H, S, Native) ->
    {Commands, S1} = commands(S),
    {Bin, S2} = bits(S1, (S1 bsr 7) rem 320),
    Right = make_right(Commands, Bin),
    Results = [check({N, C, B}, C, B, Native)
               || C <- [Commands, Right], B <- [Bin, moved(Bin, N rem 13), <<Bin/bits, 5:9>>]],
    {erlang:phash2({H, Results}), S2}.

%% The same bits, from another bit of another binary on.
moved(Bin, By) ->
    <<_:By, Moved/bits>> = <<0:By, Bin/bits, 16#5A5A5A:24>>,
    Size = bit_size(Bin),
    <<Same:Size/bits, _/bits>> = Moved,
    Same.

check(Name, Commands, Bin, false) -> _ = Name, meaning(Commands, Bin);
check(Name, Commands, Bin, true) ->
    Expected = meaning(Commands, Bin),
    load(Commands),
    case bin_match_commands_made:f(Bin) of
        Expected -> ok;
        Other -> io:format("~p: ~p is not ~p~n", [Name, Other, Expected])
    end,
    Expected.

%% ---- what they mean: {Results, Rest}, or what the context begins with after no match

meaning(Commands, Bin) -> meaning(Commands, Bin, [], Bin).
meaning([], Rest, Acc, _) -> list_to_tuple(lists:reverse(Acc, [Rest]));
meaning([C | Cs], B, Acc, All) ->
    case step(C, B) of
        {result, V, Rest} -> meaning(Cs, Rest, [V | Acc], All);
        {go_on, Rest} -> meaning(Cs, Rest, Acc, All);
        no -> All
    end.

step({ensure_at_least, N, U}, B) when bit_size(B) >= N, (bit_size(B) - N) rem U =:= 0 -> {go_on, B};
step({ensure_exactly, N}, B) when bit_size(B) =:= N -> {go_on, B};
step(get_tail, B) -> {result, B, B};
step(C, B) when element(1, C) =/= ensure_at_least, element(1, C) =/= ensure_exactly ->
    N = size_of(C),
    case B of
        <<F:N/bits, R/bits>> -> step(C, F, R);
        _ -> no
    end;
step(_, _) -> no.

step({integer, N, []}, F, R) -> <<V:N>> = F, {result, V, R};
step({integer, N, [signed]}, F, R) -> <<V:N/signed>> = F, {result, V, R};
step({integer, N, [little]}, F, R) -> <<V:N/little>> = F, {result, V, R};
step({binary, _}, F, R) -> {result, F, R};
step({equal, N, V}, F, R) -> case F of <<V:N>> -> {go_on, R}; _ -> no end;
step({skip, _}, _, R) -> {go_on, R}.

%% ---- random ones

commands(S) ->
    {Fields, S1} = fields(S, 1 + (S bsr 11) rem 7, []),
    Bits = lists:sum([size_of(F) || F <- Fields]),
    S2 = next(S1),
    First = case (S2 bsr 13) rem 8 of
                0 -> {ensure_exactly, Bits};
                1 -> {ensure_at_least, Bits, 8};
                2 -> {ensure_at_least, Bits div 2, 1};
                _ -> {ensure_at_least, Bits, 1}
            end,
    {[First | Fields], S2}.

fields(S, 0, Acc) -> {lists:reverse(Acc), S};
fields(S, N, Acc) ->
    S1 = next(S), S2 = next(S1),
    Bits = element(1 + (S1 bsr 9) rem 14, {1, 2, 3, 7, 8, 8, 8, 12, 16, 24, 32, 55, 64, 75}),
    F = case (S2 bsr 17) rem 9 of
            0 -> {binary, Bits};
            1 -> get_tail;
            2 -> {skip, Bits};
            3 -> {equal, min(Bits, 63), S2 rem 3};
            4 -> {integer, Bits, [signed]};
            5 -> {integer, Bits, [little]};
            _ -> {integer, Bits, []}
        end,
    fields(S2, N - 1, [F | Acc]).

size_of({integer, N, _}) -> N;
size_of({equal, N, _}) -> N;
size_of({_, N}) -> N;
size_of(get_tail) -> 0.

bits(S, 0) -> {<<>>, S};
bits(S, N) ->
    S1 = next(S),
    {B, S2} = bits(S1, N - min(N, 40)),
    {<<(S1 bsr 8):(min(N, 40)), B/bits>>, S2}.

next(S) -> (S * 6364136223846793005 + 1442695040888963407) band 16#7FFFFFFFFFFFFFFF.

%% Comparisons with what is there, except the last one of some.
make_right([{equal, N, V} | Cs], B) ->
    case B of
        <<W:N, R/bits>> when V =/= 2 -> [{equal, N, W} | make_right(Cs, R)];
        <<_:N, R/bits>> -> [{equal, N, V} | make_right(Cs, R)];
        _ -> [{equal, N, V} | Cs]
    end;
make_right([C | Cs], B) when C =:= get_tail; element(1, C) =:= ensure_at_least;
                             element(1, C) =:= ensure_exactly ->
    [C | make_right(Cs, B)];
make_right([C | Cs], B) ->
    Size = size_of(C),
    case B of
        <<_:Size, R/bits>> -> [C | make_right(Cs, R)];
        _ -> [C | Cs]
    end;
make_right([], _) -> [].

%% ---- a module: f(Bits) gives {Results..., Rest}, or the rest at the position after no match

load(Commands) ->
    code:purge(bin_match_commands_made),
    {module, _} = code:load_binary(bin_match_commands_made, "made", module(Commands)).

-define(ATOMS, [bin_match_commands_made, f, ensure_at_least, ensure_exactly, integer, binary,
                get_tail, '=:=', skip]).

module(Commands) ->
    {Encoded, {Next, Results}} = lists:mapfoldl(fun command/2, {2, []}, Commands),
    Tuple = lists:reverse(Results, [x(Next)]),
    Code = [op(1, [u(1)]), op(2, [atom(hd(?ATOMS)), atom(f), u(1)]),
            op(1, [u(2)]), op(166, [label(4), x(0), u(1), x(1)]),
            op(182, [label(3), x(1), list(lists:append(Encoded))]),
            op(165, [x(1), x(Next), u(Next)]),
            op(16, [u(1 + length(Tuple)), u(Next + 1)]),
            op(164, [x(0), list(Tuple)]), op(19, []),
            op(1, [u(3)]), op(165, [x(1), x(0), u(2)]), op(19, []),
            op(1, [u(4)]), op(19, []), op(3, [])],
    Literals = [<<(byte_size(T)):32, T/binary>>
                || L <- [[signed], [little]], T <- [term_to_binary(L)]],
    Table = iolist_to_binary([<<(length(Literals)):32>>, Literals]),
    Chunks = [chunk("AtU8", [<<(length(?ATOMS)):32>>,
                             [[length(L), L] || A <- ?ATOMS, L <- [atom_to_list(A)]]]),
              chunk("Code", [<<16:32, 0:32, 182:32, 5:32, 1:32>>, Code]),
              chunk("StrT", []), chunk("ImpT", <<0:32>>), chunk("ExpT", <<1:32, 2:32, 1:32, 2:32>>),
              chunk("LitT", [<<(byte_size(Table)):32>>, zlib:compress(Table)])],
    Body = iolist_to_binary(["BEAM", Chunks]),
    <<"FOR1", (byte_size(Body)):32, Body/binary>>.

chunk(Name, Data) ->
    Size = iolist_size(Data),
    [Name, <<Size:32>>, Data, binary:copy(<<0>>, (4 - Size rem 4) rem 4)].

%% A result is in the next x register.
command({ensure_at_least, N, U}, To) -> {[atom(ensure_at_least), u(N), u(U)], To};
command({ensure_exactly, N}, To) -> {[atom(ensure_exactly), u(N)], To};
command({integer, N, Flags}, To) -> result(To, [atom(integer), live, flags(Flags), u(N), u(1), dst]);
command({binary, N}, To) -> result(To, [atom(binary), live, flags([]), u(N), u(1), dst]);
command(get_tail, To) -> result(To, [atom(get_tail), live, u(1), dst]);
command({equal, N, V}, To) -> {[atom('=:='), flags([]), u(N), u(V)], To};
command({skip, N}, To) -> {[atom(skip), u(N)], To}.

result({Next, Results}, Operands) ->
    {[case O of live -> u(Next); dst -> x(Next); _ -> O end || O <- Operands],
     {Next + 1, [x(Next) | Results]}}.

flags([]) -> tagged(2, 0);
flags([signed]) -> [tagged(7, 4), u(0)];
flags([little]) -> [tagged(7, 4), u(1)].

op(Code, Operands) -> [Code, Operands].
u(N) -> tagged(0, N).
x(N) -> tagged(3, N).
label(N) -> tagged(5, N).
list(Items) -> [tagged(7, 1), u(length(Items)), Items].
atom(A) -> tagged(2, index(A, ?ATOMS)).
index(A, [A | _]) -> 1;
index(A, [_ | T]) -> 1 + index(A, T).

tagged(Tag, N) when N < 16 -> <<N:4, 0:1, Tag:3>>;
tagged(Tag, N) when N < 2048 -> <<(N bsr 8):3, 1:2, Tag:3, N:8>>;
tagged(Tag, N) ->
    Bytes = (bits_of(N) + 8) div 8,  % with room for a sign
    Large = <<N:(8 * max(Bytes, 2))>>,
    case byte_size(Large) of
        9 -> [<<7:3, 3:2, Tag:3>>, u(0), Large];
        Size -> [<<(Size - 2):3, 3:2, Tag:3>>, Large]
    end.
bits_of(0) -> 0;
bits_of(N) -> 1 + bits_of(N bsr 1).
