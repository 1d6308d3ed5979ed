-module(debug_term_type).
-export([start/0, id/1]).
%% How a term is kept, by the names of OTP's erts_internal:term_type/1; and what is left of erts_debug's
%% views of instructions where code is native: none are shown, a file of them is written all the same.

start() ->
    Small = 1 bsl 59,
    [io:format("~p ~p~n", [N, erts_internal:term_type(id(T))])
     || {N, T} <- [{least, -Small}, {below_least, -Small - 1}, {most, Small - 1}, {above_most, Small},
                   {big, 1 bsl 300}, {float, 1.5}, {atom, a}, {nil, []}, {list, [1]}, {tuple, {}},
                   {flat, #{a => 1}}, {hash, maps:from_list([{I, I} || I <- lists:seq(1, 76)])},
                   {export, fun lists:sort/1}, {a_fun, fun() -> Small end}, {pid, self()}, {ref, make_ref()},
                   {bytes, <<1, 2, 3>>}, {bits, <<5:7>>}, {literal, <<0:(8 * 80)>>},
                   {made, binary:copy(<<1>>, 100)}, {part, binary:part(binary:copy(<<1>>, 200), 0, 100)}]],
    io:format("~p ~p ~p~n", [erts_debug:disassemble({lists, reverse, 1}), erts_debug:disassemble({nobody, f, 1}),
                             erts_debug:disassemble(foo)]),
    File = filename:join(os:getenv("TMPDIR", "/tmp"), "debug_term_type" ++ os:getpid()),
    io:format("~p ~p~n", [erts_debug:dis_to_file(lists, File), filelib:is_file(File)]),
    file:delete(File),
    Names = erts_debug:instructions(),
    io:format("~p~n", [length(Names) > 100 andalso lists:all(fun(N) -> is_atom(list_to_atom(N)) end, Names)]).

id(X) -> X.
