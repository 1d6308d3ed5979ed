%% A module with large literals is loaded again and again, with processes that hold some of them and some
%% that run in it; memory stays flat, and every literal area is given back. Argument: loads.
-module(code_reload_memory).
-export([main/1]).

main([]) -> main(["400"]);
main([Arg]) ->
    logger:set_primary_config(level, none),
    N = list_to_integer(Arg),
    M = code_reload_memory_m,
    Set = {version(M, 1), version(M, 2)},
    Holder = spawn(fun() -> holder([]) end),
    %% Until the VM has what it keeps, and ThreadSanitizer what it keeps of that.
    reload(M, Set, Holder, N),
    First = memory(),
    reload(M, Set, Holder, N),
    Second = memory(),
    p(last, {M:f() =:= element(1, M:text()), length(element(2, M:text()))}),
    p(flat, case Second - First of
                Grown when Grown < 64 * 1024 * 1024 -> true;
                Grown -> {grown, Grown}
            end),
    persistent(N * 5),
    Third = memory(),
    %% Each has 16 KB. How many wait at a time to be given back depends on the machine, and malloc keeps what
    %% they took; a leak of one in twenty would show.
    p(flat_terms, case Third - Second of
                      More when More < 64 * 1024 * 1024 + N * 5 * 16 * 1024 div 20 -> true;
                      More -> {grown, More}
                  end),
    exit(Holder, kill),
    p(given_back, all_given_back(200)).

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).

version(M, V) ->
    Line = erl_anno:new(1),
    Text = {V, [lists:seq(1, 100 + I rem 2) || I <- lists:seq(1, 40)], list_to_binary(lists:duplicate(100, $x))},
    Forms = [{attribute, Line, module, M}, {attribute, Line, export, [{f, 0}, {text, 0}, {wait, 0}, {g, 0}]},
             function(f, {integer, Line, V}),
             function(text, erl_parse:abstract(Text, [{line, 1}])),
             function(wait, {'receive', Line, [{clause, Line, [{atom, Line, go}], [], [{integer, Line, V}]}]}),
             function(g, {'fun', Line, {clauses, [{clause, Line, [], [], [{tuple, Line, [{integer, Line, V}, {string, Line, "literal"}]}]}]}})],
    {ok, M, Bin} = compile:forms(Forms),
    Bin.
function(Name, Body) ->
    Line = erl_anno:new(1),
    {function, Line, Name, 0, [{clause, Line, [], [], [Body]}]}.

reload(_, _, _, 0) -> ok;
reload(M, Set, Holder, N) ->
    V = N rem 2 + 1,
    {module, M} = code:load_binary(M, "m", element(V, Set)),
    V = M:f(),
    {V, _} = (M:g())(),
    %% Held until ten loads later, in a heap and in a queue.
    Holder ! {keep, M:text(), element(2, M:text())},
    _ = N rem 10 =:= 0 andalso spawn(fun() -> M:wait() end),
    reload(M, Set, Holder, N - 1).

holder(Kept) ->
    receive
        {keep, {V, Lists, Bytes}, Lists} when length(Kept) < 10 ->
            40 = length(Lists),
            100 = byte_size(Bytes),
            holder([{V, hd(Lists), Bytes} | Kept]);
        {keep, _, _} ->
            %% What was kept is still what it was.
            true = lists:all(fun({_, L, B}) -> lists:sum(L) > 5000 andalso B =:= list_to_binary(lists:duplicate(100, $x)) end, Kept),
            holder([])
    end.

persistent(0) -> persistent_term:erase(code_reload_memory);
persistent(N) ->
    persistent_term:put(code_reload_memory, {N, lists:seq(N, N + 1000)}),
    {N, [N | _]} = persistent_term:get(code_reload_memory),
    persistent(N - 1).

memory() ->
    erlang:garbage_collect(),
    %% Literals are given back by others, which may be behind.
    _ = all_given_back(3000),
    {ok, Statm} = file:read_file("/proc/self/statm"),
    [_, Resident | _] = string:lexemes(binary_to_list(Statm), " "),
    list_to_integer(Resident) * 4096.

%% The VM says so; erl has no such counter.
all_given_back(Tries) ->
    case erlang:function_exported(minivm, literal_areas, 0) of
        false -> true;
        true ->
            case minivm:literal_areas() of
                {N, N} when N > 0 -> true;
                Counts when Tries =:= 0 -> Counts;
                _ -> timer:sleep(20), all_given_back(Tries - 1)
            end
    end.
