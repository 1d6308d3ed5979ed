%% process_flag(save_calls, N) and process_info(Pid, last_calls): calls through export entries, functions of the VM
%% among them, what is sent and received and what times out; the last N of them.
-module(save_calls).
-export([main/1, called/1, again/1, waits/1]).

main(_) ->
    first_for_another(),
    p(process_info(self(), last_calls)),
    p(process_flag(save_calls, 10)),
    p(process_info(self(), last_calls)),
    p(work()),
    p(process_flag(save_calls, 10)),
    p(process_info(self(), last_calls)),
    most(),
    another(),
    ends(),
    sensitive(),
    loaded(),
    p(process_flag(save_calls, 0)),
    p(process_info(self(), last_calls)).

%% Nobody has saved any yet, or has stopped.
first_for_another() ->
    [begin
         Pid = spawn(fun() -> receive never -> ok end end),
         p(process_flag(Pid, save_calls, 10)),
         {last_calls, Calls} = process_info(Pid, last_calls),
         p(is_list(Calls)),
         exit(Pid, kill)
     end || _ <- [1, 2]].

work() ->
    process_flag(save_calls, 20),
    ?MODULE:called(1),
    local(2),
    self() ! hello,
    lists:reverse([1, 2, 3]),
    receive hello -> ok end,
    receive never -> ok after 0 -> ok end,
    receive never -> ok after 2 -> ok end,
    apply(?MODULE, called, [id(3)]),
    F = fun ?MODULE:called/1,
    F(4),
    catch ?MODULE:again(5),
    erlang:send(self(), x),
    receive x -> ok end,
    process_info(self(), last_calls).

local(X) -> X.
id(X) -> X.

called(X) -> local(X).
again(0) -> error(over);
again(N) -> ?MODULE:again(N - 1).

%% No more than was asked for; another number begins anew.
most() ->
    [begin
         process_flag(save_calls, N),
         catch ?MODULE:again(5),
         p(process_info(self(), last_calls))
     end || N <- [1, 2, 3, 7, 100]].

another() ->
    Main = self(),
    Pid = spawn(?MODULE, waits, [Main]),
    receive {Pid, ready} -> ok end,
    p(process_flag(Pid, save_calls, 5)),
    p(process_flag(Pid, save_calls, 4)),
    Pid ! go,
    receive {Pid, Calls} -> p(Calls) end,
    p([F || F <- element(2, process_info(Pid, last_calls)), is_atom(F) orelse element(1, F) =:= ?MODULE]),
    p(process_flag(Pid, save_calls, 0)),
    p(process_info(Pid, last_calls)),
    exit(Pid, kill).

waits(Main) ->
    Main ! {self(), ready},
    receive go -> ok end,
    ?MODULE:called(1),
    Main ! {self(), process_info(self(), last_calls)},
    receive never -> ok end.

%% Whoever ends with it set leaves nothing behind.
ends() ->
    [begin
         {Pid, Ref} = spawn_monitor(fun() -> process_flag(save_calls, N), ?MODULE:called(N) end),
         receive {'DOWN', Ref, process, Pid, R} -> normal = R end
     end || N <- lists:seq(1, 20)],
    Pids = [spawn(fun() -> process_flag(save_calls, N), catch ?MODULE:again(100 * N) end) || N <- lists:seq(1, 50)],
    [exit(Pid, kill) || Pid <- Pids],
    Dead = hd(Pids),
    Ref = monitor(process, Dead),
    receive {'DOWN', Ref, process, _, _} -> ok end,
    p(try process_flag(Dead, save_calls, 5) catch C:R -> {C, R} end).

sensitive() ->
    process_flag(save_calls, 5),
    process_flag(sensitive, true),
    ?MODULE:called(1),
    process_flag(sensitive, false),
    p([C || C = {?MODULE, _, _} <- element(2, process_info(self(), last_calls))]).

%% A module that comes later.
loaded() ->
    Forms = [{attribute, 1, module, save_calls_later}, {attribute, 2, export, [{f, 0}]},
             {function, 3, f, 0, [{clause, 3, [], [], [{atom, 3, ok}]}]}],
    {ok, Name, Code} = compile:forms(Forms),
    {module, Name} = code:load_binary(Name, "later", Code),
    process_flag(save_calls, 5),
    Name:f(),
    p([C || C = {M, _, _} <- element(2, process_info(self(), last_calls)), M =:= Name]).

p(T) ->
    io:format("~p~n", [T]).
