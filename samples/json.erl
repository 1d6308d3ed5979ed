%% A JSON parser in a hundred lines.
%%
%%     minivm run json.beam                     parses a sample of its own
%%     minivm run json.beam - < file.json       parses standard input
%%
%% JSON          null true false   number            string   array   object
%% Erlang        null true false   integer, float    binary   list    map
%%
%% Every function takes the text that is left and gives {Value, TextThatIsLeft}. The compiler sees
%% that the binaries are only handed on and makes no copies.
-module(json).
-export([main/1]).

main(["-"]) -> report(standard_input([]));
main([]) -> report(sample()).

report(Text) ->
    try parse(Text) of
        Value -> io:format("~tp~n", [Value])
    catch
        throw:{unexpected, Rest} ->
            io:format("not JSON: unexpected ~ts at byte ~b~n",
                      [what(Rest), byte_size(Text) - byte_size(Rest)]),
            halt(1)
    end.

what(<<>>) -> "end of text";
what(<<Char/utf8, _/binary>>) -> io_lib:format("\"~ts\"", [[Char]]);
what(_) -> "byte that is no UTF-8".

standard_input(Lines) ->
    case io:get_line("") of
        eof -> unicode:characters_to_binary(lists:reverse(Lines));
        Line -> standard_input([Line | Lines])
    end.

sample() ->
    <<"{\"name\": \"minivm\", \"year\": 2026, \"ratio\": 1.25,\n"
      " \"engines\": [\"interpreter\", \"JIT\"], \"stops the world\": false,\n"
      " \"greeting\": \"Gr\\u00fc\\u00dfe \\ud83d\\ude00\\n\", \"nothing\": [null, {}, []]}\n">>.

parse(Text) ->
    {Value, Rest} = value(skip(Text)),
    case skip(Rest) of
        <<>> -> Value;
        More -> throw({unexpected, More})
    end.

skip(<<C, Rest/binary>>) when C =:= $\s; C =:= $\n; C =:= $\r; C =:= $\t -> skip(Rest);
skip(Rest) -> Rest.

value(<<"null", Rest/binary>>) -> {null, Rest};
value(<<"true", Rest/binary>>) -> {true, Rest};
value(<<"false", Rest/binary>>) -> {false, Rest};
value(<<$", Rest/binary>>) -> string(Rest, <<>>);
value(<<$[, Rest/binary>>) -> array(skip(Rest));
value(<<${, Rest/binary>>) -> object(skip(Rest));
value(<<C, _/binary>> = Text) when C =:= $-; C >= $0, C =< $9 -> number(Text);
value(Text) -> throw({unexpected, Text}).

array(<<$], Rest/binary>>) -> {[], Rest};
array(Text) -> elements(Text, []).

elements(Text, Before) ->
    {Element, Rest} = value(Text),
    Elements = [Element | Before],
    case skip(Rest) of
        <<$,, More/binary>> -> elements(skip(More), Elements);
        <<$], More/binary>> -> {lists:reverse(Elements), More};
        More -> throw({unexpected, More})
    end.

object(<<$}, Rest/binary>>) -> {#{}, Rest};
object(Text) -> members(Text, #{}).

members(<<$", Text/binary>>, Map) ->
    {Key, Rest} = string(Text, <<>>),
    {Value, Rest1} = value(skip(expect($:, skip(Rest)))),
    case skip(Rest1) of
        <<$,, More/binary>> -> members(skip(More), Map#{Key => Value});
        <<$}, More/binary>> -> {Map#{Key => Value}, More};
        More -> throw({unexpected, More})
    end;
members(Text, _) -> throw({unexpected, Text}).

expect(C, <<C, Rest/binary>>) -> Rest;
expect(_, Text) -> throw({unexpected, Text}).

string(<<$", Rest/binary>>, Acc) -> {Acc, Rest};
string(<<$\\, Rest/binary>>, Acc) -> escape(Rest, Acc);
string(<<C/utf8, Rest/binary>>, Acc) when C >= 32 -> string(Rest, <<Acc/binary, C/utf8>>);
string(Text, _) -> throw({unexpected, Text}).

escape(<<"u", Rest/binary>> = Text, Acc) ->
    case hex(Rest) of
        {High, <<"\\u", More/binary>>} when High >= 16#D800, High < 16#DC00 ->
            case hex(More) of
                {Low, Rest1} when Low >= 16#DC00, Low < 16#E000 ->
                    C = 16#10000 + ((High band 16#3FF) bsl 10) + (Low band 16#3FF),
                    string(Rest1, <<Acc/binary, C/utf8>>);
                _ -> throw({unexpected, Text})
            end;
        {C, Rest1} when C < 16#D800; C >= 16#E000 -> string(Rest1, <<Acc/binary, C/utf8>>);
        _ -> throw({unexpected, Text})
    end;
escape(<<C, Rest/binary>> = Text, Acc) ->
    case lists:keyfind(C, 1, [{$n, $\n}, {$t, $\t}, {$r, $\r}, {$b, $\b}, {$f, $\f},
                              {$", $"}, {$\\, $\\}, {$/, $/}]) of
        {C, Plain} -> string(Rest, <<Acc/binary, Plain>>);
        false -> throw({unexpected, Text})
    end;
escape(<<>>, _) -> throw({unexpected, <<>>}).

hex(<<Digits:4/binary, Rest/binary>>) ->
    try {binary_to_integer(Digits, 16), Rest}
    catch error:badarg -> throw({unexpected, Digits})
    end;
hex(Text) -> throw({unexpected, Text}).

%% A number is a float when a point or an exponent stands in it. Erlang wants a point in a float.
number(Text) ->
    {Length, Point, Exponent} = number_end(Text, 0, none, none),
    <<Number:Length/binary, Rest/binary>> = Text,
    try
        case {Point, Exponent} of
            {none, none} -> {binary_to_integer(Number), Rest};
            {none, At} ->
                <<Mantissa:At/binary, Power/binary>> = Number,
                {binary_to_float(<<Mantissa/binary, ".0", Power/binary>>), Rest};
            _ -> {binary_to_float(Number), Rest}
        end
    catch
        error:badarg -> throw({unexpected, Text})
    end.

number_end(Text, At, Point, Exponent) ->
    case Text of
        <<_:At/binary, C, _/binary>> when C >= $0, C =< $9; C =:= $-; C =:= $+ ->
            number_end(Text, At + 1, Point, Exponent);
        <<_:At/binary, $., _/binary>> ->
            number_end(Text, At + 1, At, Exponent);
        <<_:At/binary, E, _/binary>> when E =:= $e; E =:= $E ->
            number_end(Text, At + 1, Point, At);
        _ ->
            {At, Point, Exponent}
    end.
