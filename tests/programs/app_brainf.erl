%% A Brainf*** interpreter: parsed to nested lists, run with a zipper tape.
-module(app_brainf).
-export([main/1]).

main(_) ->
    Hello = "++++++++[>++++[>++>+++>+++>+<<<<-]>+>+>->>+[<]<-]>>.>---.+++++++..+++.>>.<-.<.+++.------.--------.>>+.>++.",
    io:format("~s", [run(Hello, "")]),
    io:format("~s~n", [run(",[.,]", "echo this")]),
    io:format("~s~n", [run(">,[>,]<[.<]", "reversed")]),
    Squares = "++++[>+++++<-]>[<+++++>-]+<+[>[>+>+<<-]++>>[<<+>>-]>>>[-]++>[-]+>>>+[[-]++++++>>>]<<<[[<++++++++<++>>-]+<.<[>----<-]<]<<[>>>>>[>>>[-]+++++++++<[>-<-]+++++++++>[-[<->-]+[<<<]]<[>+<-]>]<<-]<<-]",
    io:format("~s~n", [run(Squares, "")]),
    io:format("~p~n", [[catch run(P, "") || P <- ["[", "]", "[[]", "no code", ""]]]).

run(Text, In) ->
    case parse(Text, []) of
        {Code, []} -> {_, _, Out} = exec(Code, {[], 0, []}, In, []), lists:reverse(Out);
        {_, _} -> throw(unbalanced)
    end.

parse([], Acc) -> {lists:reverse(Acc), []};
parse([$] | T], Acc) -> {lists:reverse(Acc), [$] | T]};
parse([$[ | T], Acc) -> case parse(T, []) of {Body, [$] | R]} -> parse(R, [{loop, Body} | Acc]);
                            _ -> throw(unbalanced) end;
parse([C | T], Acc) when C =:= $+;
C =:= $- -> {N, R} = count(C, [C | T], 0), parse(R, [{add, case C of $+ -> N; $- -> -N end} | Acc]);
parse([C | T], Acc) ->
    case lists:member(C, "<>.,") of true -> parse(T, [C | Acc]); false -> parse(T, Acc) end.
count(C, [C | T], N) -> count(C, T, N + 1);
count(_, R, N) -> {N, R}.

exec([], Tape, In, Out) -> {Tape, In, Out};
exec([{add, N} | T], {L, X, R}, In, Out) -> exec(T, {L, (X + N) band 255, R}, In, Out);
exec([$> | T], {L, X, []}, In, Out) -> exec(T, {[X | L], 0, []}, In, Out);
exec([$> | T], {L, X, [Y | R]}, In, Out) -> exec(T, {[X | L], Y, R}, In, Out);
exec([$< | T], {[Y | L], X, R}, In, Out) -> exec(T, {L, Y, [X | R]}, In, Out);
exec([$< | T], {[], X, R}, In, Out) -> exec(T, {[], 0, [X | R]}, In, Out);
exec([$. | T], {_, X, _} = Tape, In, Out) -> exec(T, Tape, In, [X | Out]);
exec([$, | T], {L, _, R}, [], Out) -> exec(T, {L, 0, R}, [], Out);
exec([$, | T], {L, _, R}, [C | In], Out) -> exec(T, {L, C, R}, In, Out);
exec([{loop, _} | T], {_, 0, _} = Tape, In, Out) -> exec(T, Tape, In, Out);
exec([{loop, B} | _] = Code, Tape, In, Out) -> {Tape1, In1, Out1} = exec(B, Tape, In, Out),
    exec(Code, Tape1, In1, Out1).
