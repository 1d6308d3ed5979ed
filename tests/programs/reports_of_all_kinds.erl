%% What is reported when things go wrong, and what is logged: on standard error, compared with --stderr.
-module(reports_of_all_kinds).
-behaviour(gen_server).
-export([main/1, init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2, callback_mode/0, handle_event/4,
         format_status/2]).

main(_) ->
    process_flag(trap_exit, true),
    of_processes(),
    behaviours(),
    supervisors(),
    logged(),
    old_calls(),
    io:format("done~n").

%% One after the other: each has reported before the next one begins.
gone(F) ->
    {Pid, Ref} = spawn_monitor(F),
    receive {'DOWN', Ref, process, Pid, Reason} -> io:format("~P~n", [reason(Reason), 8]) end.

reason({R, [{_, _, _, _} | _]}) -> {R, stack};
reason(R) -> R.

of_processes() ->
    gone(fun() -> error(plain) end),
    gone(fun() -> error({with, "text", <<"binary">>, #{a => [1, 2, 3]}}) end),
    gone(fun() -> throw(nobody_catches) end),
    gone(fun() -> exit(silent) end),
    gone(fun() -> {ok, _} = id(error) end),
    gone(fun() -> case id(1) of 2 -> ok end end),
    gone(fun() -> if_true(id(false)) end),
    gone(fun() -> 1 / id(0) end),
    gone(fun() -> (id(fun(X) -> X end))() end),
    gone(fun() -> no_module:no_function(1, two) end),
    gone(fun() -> lists:map(fun(X) -> X * 2 end, [1, a]) end),
    gone(fun() -> binary_to_atom(id(17)) end),
    gone(fun() -> element(3, id({1, 2})) end),
    gone(fun() -> erlang:error(badarg, [1, 2]) end),
    gone(fun() -> erlang:error(badarg, [1, 2], [{error_info, #{cause => it}}]) end),
    gone(fun() -> erlang:raise(error, raised, []) end),
    gone(fun() -> erlang:raise(error, raised, [{some, where, 2, [{file, "f"}, {line, 7}]}]) end),
    gone(fun() -> error(lists:seq(1, 300)) end),
    gone(fun() -> error("a string") end),
    gone(fun() -> error([16#20AC, 228]) end),
    gone(fun() -> error(<<"\x{20AC}"/utf8>>) end),
    gone(fun() -> error('an atom \x{20AC}') end),
    gone(fun() -> process_flag(max_heap_size, #{size => 3000, kill => true}), grow([]) end),
    gone(fun() -> put(key, value), register(a_name, self()), error(registered) end),
    %% By way of proc_lib, with and without neighbours.
    crash(fun() -> error(in_proc_lib) end),
    crash(fun() -> exit(in_proc_lib) end),
    crash(fun() -> throw(in_proc_lib) end),
    crash(fun() -> exit(normal) end),
    crash(fun() -> exit({shutdown, why}) end),
    crash(fun() -> put(some, thing), register(b_name, self()), self() ! a_message, error({some, "reason"}) end),
    crash(fun() ->
              Self = self(),
              spawn_link(fun() -> Self ! up, receive never -> ok end end),
              receive up -> ok end,
              error(with_neighbour)
          end).

crash(F) ->
    Pid = proc_lib:spawn(F),
    Ref = monitor(process, Pid),
    receive {'DOWN', Ref, process, Pid, Reason} -> io:format("~P~n", [reason(Reason), 8]) end.

grow(L) -> grow([length(L) | L]).

if_true(X) -> if X -> ok end.

id(X) -> X.

%% ---- behaviours: this module is the callback of all ----------------------------------------------------

init({stop, Reason}) -> {stop, Reason};
init(error) -> error(in_init);
init({statem, Data}) -> {ok, waiting, Data};
init({supervisor, Flags, Children}) -> {ok, {Flags, Children}};
init(State) -> {ok, State}.

handle_call(stop, _, S) -> {stop, asked, S};
handle_call(stop_reply, _, S) -> {stop, asked, reply, S};
handle_call(bad, _, _) -> this_is_no_return;
handle_call(Request, _, S) -> error({cannot, Request, S}).
handle_cast(Message, _) -> exit({cast, Message}).
handle_info(throw, _) -> throw(thrown);
handle_info(Info, S) -> {stop, {info, Info}, S}.
terminate(Reason, {terminate_fails, _}) -> error({in_terminate, Reason});
terminate(_, _) -> ok.
format_status(_, [_, State]) -> {formatted, State}.

callback_mode() -> handle_event_function.
handle_event(info, fail, waiting, Data) -> error({statem, Data});
handle_event(info, {stop, R}, _, _) -> {stop, R};
handle_event(cast, postpone, _, _) -> {keep_state_and_data, [postpone, {state_timeout, 60000, late}]};
handle_event(_, bad, _, _) -> no_such_return.

server(State, F) -> server(State, F, []).
server(State, F, Options) ->
    {ok, Pid} = gen_server:start(?MODULE, State, Options),
    ended(Pid, F).

ended(Pid, F) ->
    Ref = monitor(process, Pid),
    Result = (catch F(Pid)),
    receive {'DOWN', Ref, process, Pid, Reason} -> io:format("~P ~P~n", [short(Result), 6, reason(Reason), 8]) end.

short({'EXIT', {R, {gen_server, call, _}}}) -> {exit, reason(R)};
short(R) -> R.

behaviours() ->
    server(state, fun(P) -> gen_server:call(P, request) end),
    server(state, fun(P) -> gen_server:call(P, bad) end),
    server(state, fun(P) -> gen_server:call(P, stop) end),
    server(state, fun(P) -> gen_server:call(P, stop_reply) end),
    server({terminate_fails, 1}, fun(P) -> gen_server:call(P, stop) end),
    server(state, fun(P) -> gen_server:cast(P, message) end),
    server(state, fun(P) -> P ! throw end),
    server(state, fun(P) -> P ! info end),
    server(state, fun(P) -> exit(P, kill) end),
    server(state, fun(P) -> exit(P, other) end),
    server(state, fun(P) -> gen_server:stop(P, {stopped, badly}, infinity) end),
    server(state, fun(P) -> gen_server:stop(P) end),
    server(lists:seq(1, 200), fun(P) -> gen_server:call(P, request) end),
    {ok, Named} = gen_server:start({local, a_server}, ?MODULE, state, []),
    ended(Named, fun(_) -> gen_server:call(a_server, request) end),
    io:format("~P~n", [reason(element(2, gen_server:start(?MODULE, error, []))), 8]),
    io:format("~P~n", [gen_server:start(?MODULE, {stop, no_way}, []), 8]),
    [begin
         {ok, P} = gen_statem:start(?MODULE, {statem, data}, []),
         ended(P, F)
     end || F <- [fun(P) -> P ! fail end,
                  fun(P) -> P ! {stop, stopped} end,
                  fun(P) -> P ! bad end,
                  fun(P) -> gen_statem:cast(P, postpone), gen_statem:cast(P, bad) end]],
    {ok, Events} = gen_event:start(),
    io:format("~P~n", [reason(gen_event:add_handler(Events, ?MODULE, error)), 6]),
    gen_event:stop(Events).

supervisors() ->
    Child = fun(Id, Start) -> #{id => Id, start => {gen_server, start_link, [?MODULE, Start, []]}} end,
    Flags = #{strategy => one_for_one, intensity => 1, period => 60},
    io:format("~P~n", [supervisor:start_link(?MODULE, {supervisor, Flags, [Child(one, {stop, cannot_start})]}), 9]),
    receive {'EXIT', _, R0} -> io:format("~P~n", [R0, 8]) end,
    {ok, Sup} = supervisor:start_link({local, a_supervisor}, ?MODULE,
                                      {supervisor, Flags, [Child(one, state), Child(two, state)]}),
    kill_one(Sup),
    kill_one(Sup),
    receive {'EXIT', Sup, R1} -> io:format("~P~n", [R1, 8]) end,
    {ok, Slow} = supervisor:start_link(?MODULE, {supervisor, Flags, [#{id => slow, shutdown => brutal_kill,
        restart => temporary, start => {gen_server, start_link, [?MODULE, state, []]}}]}),
    [{slow, Pid, _, _}] = supervisor:which_children(Slow),
    ended(Pid, fun(P) -> gen_server:cast(P, last) end),
    io:format("~P~n", [supervisor:which_children(Slow), 8]),
    unlink(Slow),
    exit(Slow, shutdown).

kill_one(Sup) ->
    case [P || {one, P, _, _} <- supervisor:which_children(Sup), is_pid(P)] of
        [Pid] -> ended(Pid, fun(P) -> exit(P, kill) end);
        [] -> ok
    end.

%% ---- what is logged ------------------------------------------------------------------------------------

logged() ->
    [logger:log(L, "level ~p", [L]) || L <- [emergency, alert, critical, error, warning, notice, info, debug]],
    logger:error("a string"),
    logger:error("\x{20AC} ~ts", ["\x{20AC}"]),
    logger:error(#{report => 1, deep => #{list => lists:seq(1, 50)}}),
    logger:error([{a, 1}, {"b", 2}, c]),
    logger:error([]),
    logger:error("~p and no argument", []),
    logger:error("too few ~p ~p", [1]),
    logger:error(#{a => 1}, #{report_cb => fun(R) -> {"by a callback: ~p", [R]} end}),
    logger:error(#{a => 1}, #{report_cb => fun(R, #{depth := D, single_line := S}) -> io_lib:format("~p ~p ~p", [R, D, S]) end}),
    logger:error(#{a => 1}, #{report_cb => fun(_) -> error(callback_fails) end}),
    logger:error(#{a => 1}, #{report_cb => fun(_) -> not_a_format end}),
    logger:error(#{label => {my, label}, report => [{x, y}]}, #{report_cb => fun logger:format_otp_report/1}),
    logger:error(fun(X) -> {"lazy ~p", [X]} end, [1]),
    logger:error("domain otp", [], #{domain => [otp]}),
    logger:error("domain sasl", [], #{domain => [otp, sasl]}),
    logger:error("domain of its own", [], #{domain => [mine]}),
    logger:error("domain beyond", [], #{domain => [otp, elixir]}),
    logger:error("no domain", [], #{domain => []}),
    logger:error("long: ~p", [lists:seq(1, 500)]),
    logger:error("two~nlines~n"),
    logger:set_process_metadata(#{domain => [hidden]}),
    logger:error("by a process of another domain"),
    logger:unset_process_metadata(),
    logger:set_primary_config(level, error),
    logger:warning("not shown"),
    logger:set_module_level(?MODULE, debug),
    logger:log(debug, "of a module that says more"),
    logger:set_primary_config(level, none),
    logger:error("not shown either"),
    logger:unset_module_level(),
    logger:set_primary_config(level, notice).

old_calls() ->
    error_logger:error_msg("error_msg ~p~n", [1]),
    error_logger:error_msg("error_msg~n"),
    error_logger:warning_msg("warning_msg ~p~n", [1]),
    error_logger:info_msg("info_msg ~p~n", [1]),
    error_logger:error_report([{a, 1}, {b, 2}]),
    error_logger:error_report("a text"),
    error_logger:error_report(my_type, [{a, 1}]),
    error_logger:warning_report([{a, 1}]),
    error_logger:info_report([{a, 1}]),
    error_logger:info_report(progress, [{a, 1}]),
    error_logger:format("~p", [formatted]).
