%% Module re from OTP 28 on: PCRE2 itself, its errors, newlines that stay what they were compiled with, and
%% patterns that are exported.
-module(regular_expressions).
-export([main/1]).

main(_) ->
    [print(Source, re:compile(Source, Options)) ||
        {Source, Options} <- [{"(", []}, {"[a", []}, {"a{2,1}", []}, {"\\", []}, {"(?<n>a)(?<n>b)", []}, {"\\p{Xx}", []},
                              {"(?(1)a|b|c)", []}, {"(*UTF)a", [never_utf]}, {"\\K(?=a\\K)", []}, {"(?#", []},
                              {"(?i:a)", [{newline, nul}]}]],
    [print(N, re:compile([lists:duplicate(N, $(), lists:duplicate(N, $))])) || N <- [251, 1179, 1180, 2000]],
    [print({length(S), O}, run(S, R, O)) ||
        {S, R, O} <- [{[228], "\\w", []}, {[228], "\\w", [unicode]}, {[228], "\\w", [unicode, ucp]},
                      {[196], [228], [caseless]}, {[196], [228], [caseless, unicode]}, {"a", "a", [{offset, 3}]},
                      {"a\0b", "a.b$", [{newline, nul}]}]],
    {ok, Plain} = re:compile("abcd.*D"),
    {ok, Cr} = re:compile("abcd.*D", [{newline, cr}]),
    [print(Option, {run("abcdABC\nD", Plain, [Option]), run("abcdABC\nD", Cr, [Option])}) ||
        Option <- [{newline, lf}, {newline, cr}, {newline, any}, bsr_unicode, bsr_anycrlf]],
    {ok, {re_exported_pattern, <<"re-PCRE2", _:32, 1, 0>> = Header, <<"exported">>, [export], Encoded} = Exported} =
        re:compile("exported", [export]),
    Crc = fun(New) -> <<Title:8/binary, _:32, Form:2/binary>> = Header,
                      <<Title/binary, (erlang:crc32(New)):32, Form/binary>> end,
    <<Magic:32, Rest/binary>> = Encoded,
    Other = <<Magic:32/little, Rest/binary>>,
    [print(What, try run("exported fallback", re:import(Pattern), [{capture, all, list}]) catch error:E -> E end) ||
        {What, Pattern} <-
            [{whole, Exported}, {another_source, setelement(3, Exported, <<"fallback">>)},
             {another_library, {re_exported_pattern, Crc(Other), <<"fallback">>, [export], Other}},
             {no_source, {re_exported_pattern, Crc(Other), <<"(">>, [export], Other}},
             {broken, setelement(5, Exported, <<Encoded/binary, 0>>)}, {no_encoded, setelement(5, Exported, none)},
             {short, setelement(2, Exported, <<"re-PCRE2">>)}, {no_tuple, []}]].

print(What, {ok, {re_pattern, Captures, Unicode, Crlf, _}}) -> print(What, {ok, Captures, Unicode, Crlf});
print(What, Result) -> io:format("~0p: ~0p~n", [What, Result]).

run(Subject, Pattern, Options) -> try re:run(Subject, Pattern, Options) catch error:Reason -> Reason end.
