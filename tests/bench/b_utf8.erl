%% UTF-8 decoded and encoded, upper case by hand, and through unicode and string.
-module(b_utf8).
-define(REPEAT, 200).
-include("bench.hrl").

once() ->
    T = binary:copy(<<"Räksmörgås är gott, €5 – 日本語 😀. "/utf8>>, 800),
    L = unicode:characters_to_list(T),
    U = upper(T, <<>>), Part = string:slice(T, 0, 3000),
    {length(L), count(T, 0), erlang:phash2(U), unicode:characters_to_binary(L) =:= T,
     string:length(Part), erlang:phash2(string:uppercase(Part))}.

upper(<<C/utf8, R/binary>>, Acc) when C >= $a, C =< $z -> upper(R, <<Acc/binary, (C - 32)>>);
upper(<<C/utf8, R/binary>>, Acc) -> upper(R, <<Acc/binary, C/utf8>>);
upper(<<>>, Acc) -> Acc.

count(<<C/utf8, R/binary>>, N) when C > 127 -> count(R, N + 1);
count(<<_/utf8, R/binary>>, N) -> count(R, N);
count(<<>>, N) -> N.
