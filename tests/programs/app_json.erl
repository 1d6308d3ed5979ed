%% A JSON reader and writer: every value type, escapes, surrogates, errors with positions, round
%% trips.
-module(app_json).
-export([main/1]).

main(_) ->
    Texts = [<<"null">>, <<"true">>, <<"[1, -2, 3.5, 1e3, -0.25E-2]">>,
             <<"\"a\\n\\t\\\"\\\\\\/\\u00e5\\u20AC\\ud83d\\ude00\"">>, <<"{}">>, <<"[]">>,
             <<"{\"a\": [{\"b\": null}], \"c\": \"å\"}"/utf8>>,
             <<"  [ 1 ,\n2 ] ">>, <<"[1,]">>, <<"{\"a\" 1}">>, <<"\"abc">>, <<"tru">>, <<"[1 2]">>,
             <<"01">>, <<"-">>, <<"1.">>, <<"\"\\x\"">>, <<"\"\\ud800\"">>, <<>>,
                 <<"[[[[[[]]]]]] x">>, <<"{\"k\":1,\"k\":2}">>,
                 <<"123456789012345678901234567890">>, <<"\"", 1, "\"">>],
    [io:format("~ts => ~tp~n", [T, decode(T)]) || T <- Texts],
    Value = make(6, 3),
    Json = iolist_to_binary(encode(Value)),
    {ok, Value} = decode(Json),
    io:format("~p ~p~n", [byte_size(Json), erlang:phash2(Json)]),
    Big = lists:seq(1, 20000),
    {ok, Big} = decode(iolist_to_binary(encode(Big))),
    Deep = lists:foldl(fun(_, A) -> [A] end, [], lists:seq(1, 10000)),
    {ok, Deep} = decode(iolist_to_binary(encode(Deep))),
    io:format("~ts~n", [encode(#{<<"å\n\"\\"/utf8>> => [1.5, true, null, <<1, 31, 127>>]})]).

make(0, _) -> <<"leaf €"/utf8>>;
make(D, W) -> maps:from_list([{<<"k", (integer_to_binary(I))/binary>>, pick(I, D, W)}
                              || I <- lists:seq(1, W)]).
pick(1, D, W) -> [make(D - 1, W), D, -1.5];
pick(2, D, _) -> D * 1000000007;
pick(_, D, W) -> make(D - 1, W).

decode(B) ->
    try
        {V, R} = value(skip(B)),
        case skip(R) of <<>> -> {ok, V}; Left -> {error, trailing,
                                                  byte_size(B) - byte_size(Left)} end
    catch throw:{What, Rest} -> {error, What, byte_size(B) - byte_size(Rest)} end.

skip(<<C, R/binary>>) when C =:= $\s; C =:= $\n; C =:= $\t; C =:= $\r -> skip(R);
skip(B) -> B.

value(<<"null", R/binary>>) -> {null, R};
value(<<"true", R/binary>>) -> {true, R};
value(<<"false", R/binary>>) -> {false, R};
value(<<$", R/binary>>) -> string(R, <<>>);
value(<<$[, R/binary>>) -> case skip(R) of <<$], R1/binary>> -> {[], R1}; R1 -> array(R1, []) end;
value(<<${, R/binary>>) ->
    case skip(R) of <<$}, R1/binary>> -> {#{}, R1}; R1 -> object(R1, #{}) end;
value(<<C, _/binary>> = B) when C =:= $-; C >= $0, C =< $9 -> number(B);
value(B) -> throw({bad_value, B}).

array(B, Acc) ->
    {V, R} = value(skip(B)),
    case skip(R) of
        <<$,, R1/binary>> -> array(R1, [V | Acc]);
        <<$], R1/binary>> -> {lists:reverse([V | Acc]), R1};
        R1 -> throw({expected_comma, R1})
    end.

object(B, M) ->
    case skip(B) of
        <<$", R0/binary>> ->
            {K, R} = string(R0, <<>>),
            case skip(R) of
                <<$:, R1/binary>> ->
                    {V, R2} = value(skip(R1)),
                    case skip(R2) of
                        <<$,, R3/binary>> -> object(R3, M#{K => V});
                        <<$}, R3/binary>> -> {M#{K => V}, R3};
                        R3 -> throw({expected_comma, R3})
                    end;
                R1 -> throw({expected_colon, R1})
            end;
        R -> throw({expected_key, R})
    end.

string(<<$", R/binary>>, A) -> {A, R};
string(<<$\\, $u, H:4/binary, R/binary>> = B, A) ->
    case hex(H, B) of
        C when C >= 16#D800, C < 16#DC00 ->
            case R of
                <<$\\, $u, L:4/binary, R1/binary>> ->
                    case hex(L, R) of
                        D when D >= 16#DC00, D < 16#E000 ->
                            string(R1,
                                   <<A/binary,
                                     (16#10000 + ((C band 16#3FF) bsl 10) + (D band 16#3FF))/utf8>>);
                        _ -> throw({bad_surrogate, R})
                    end;
                _ -> throw({bad_surrogate, B})
            end;
        C when C >= 16#DC00, C < 16#E000 -> throw({bad_surrogate, B});
        C -> string(R, <<A/binary, C/utf8>>)
    end;
string(<<$\\, C, R/binary>> = B, A) ->
    case C of
        $n -> string(R, <<A/binary, $\n>>); $t -> string(R, <<A/binary, $\t>>);
        $r -> string(R, <<A/binary, $\r>>);
        $b -> string(R, <<A/binary, $\b>>); $f -> string(R, <<A/binary, $\f>>);
        _ when C =:= $"; C =:= $\\; C =:= $/ -> string(R, <<A/binary, C>>);
        _ -> throw({bad_escape, B})
    end;
string(<<C, _/binary>> = B, _) when C < 32 -> throw({control_character, B});
string(<<C/utf8, R/binary>>, A) -> string(R, <<A/binary, C/utf8>>);
string(B, _) -> throw({unterminated_string, B}).

hex(H, B) -> try binary_to_integer(H, 16) catch error:badarg -> throw({bad_hex, B}) end.

number(B) ->
    {Sign, R} = case B of <<$-, R0/binary>> -> {"-", R0}; _ -> {"", B} end,
    {Int, R1} = case R of <<$0, X/binary>> -> {"0", X}; _ -> digits(R, []) end,
    {Frac, R2} = case R1 of <<$., Y/binary>> -> digits(Y, []); _ -> {none, R1} end,
    {Exp, R3} = case R2 of <<E, Z/binary>> when E =:= $e; E =:= $E -> exponent(Z);
                    _ -> {none, R2} end,
    case {Frac, Exp} of
        {none, none} -> {list_to_integer(Sign ++ Int), R3};
        {none, _} -> {list_to_float(Sign ++ Int ++ ".0e" ++ Exp), R3};
        {_, none} -> {list_to_float(Sign ++ Int ++ "." ++ Frac), R3};
        _ -> {list_to_float(Sign ++ Int ++ "." ++ Frac ++ "e" ++ Exp), R3}
    end.
exponent(<<$-, R/binary>>) -> {D, R1} = digits(R, []), {"-" ++ D, R1};
exponent(<<$+, R/binary>>) -> digits(R, []);
exponent(R) -> digits(R, []).
digits(<<C, R/binary>>, A) when C >= $0, C =< $9 -> digits(R, [C | A]);
digits(R, []) -> throw({expected_digit, R});
digits(R, A) -> {lists:reverse(A), R}.

encode(null) -> <<"null">>;
encode(true) -> <<"true">>;
encode(false) -> <<"false">>;
encode(N) when is_integer(N) -> integer_to_binary(N);
encode(F) when is_float(F) -> float_to_binary(F, [short]);
encode(B) when is_binary(B) -> [$", << <<(escape(C))/binary>> || <<C/utf8>> <= B >>, $"];
encode(L) when is_list(L) -> [$[, lists:join($,, [encode(E) || E <- L]), $]];
encode(M) when is_map(M) ->
    [${, lists:join($,, [[encode(K), $:, encode(V)] || {K, V} <- lists:sort(maps:to_list(M))]), $}].
escape($") -> <<"\\\"">>;
escape($\\) -> <<"\\\\">>;
escape($\n) -> <<"\\n">>;
escape(C) when C < 32 -> iolist_to_binary(io_lib:format("\\u~4.16.0b", [C]));
escape(C) -> <<C/utf8>>.
