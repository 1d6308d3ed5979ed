%% Native functions that run on dirty schedulers, with the flags return_to and running: the process goes out and
%% comes in in the native function, and returns to whom its caller returns. {caller} of its specification is that one.
%% (OTP has one more function of its own in which it comes in again; it is left out.)
-module(trace_dirty_functions).
-export([start/0]).

start() ->
    Name = "trace_dirty_functions." ++ os:getpid(),
    {error, enoent} = prim_file:read_file_info("not there"),
    [run(Spec, Name) || Spec <- [true, [{'_', [], [{return_trace}]}], [{'_', [], [{message, {caller}}]}]]].

run(Spec, Name) ->
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> writes(Name) end end),
    erlang:trace(Pid, true, [call, return_to, running, arity]),
    erlang:trace_pattern({?MODULE, '_', '_'}, Spec, [local]),
    erlang:trace_pattern({prim_file, '_', '_'}, Spec, [local]),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    erlang:trace_pattern({'_', '_', '_'}, false, [local]),
    io:format("~w~n", [Spec]),
    told(Pid, erlang:trace_delivered(all), false).

%% Where it waits and yields is not the question: what comes in is shown behind a native function only.
told(Pid, Delivered, Dirty) ->
    receive
        {trace_delivered, all, Delivered} -> ok;
        {trace, Pid, Event, {erts_internal, dirty_nif_finalizer, 1}} when Event =:= in; Event =:= out ->
            told(Pid, Delivered, Dirty);
        {trace, Pid, Event, {prim_file, F, _}} when Event =:= in; Event =:= out ->
            lists:suffix("_nif", atom_to_list(F)) andalso Event =/= Dirty
                andalso io:format("    ~w ~w~n", [Event, F]),
            told(Pid, Delivered, Event);
        {trace, Pid, Event, _} when Event =:= in; Event =:= out ->
            told(Pid, Delivered, Dirty);
        {trace, Pid, return_from, Mfa, _} ->
            io:format("    returns ~w~n", [Mfa]),
            told(Pid, Delivered, false);
        Event when element(2, Event) =:= Pid ->
            io:format("    ~w~n", [tl(tl(tuple_to_list(Event)))]),
            told(Pid, Delivered, false)
    end.

writes(Name) ->
    {ok, File} = prim_file:open(Name, [write]),
    ok = prim_file:write(File, "abc"),
    ok = prim_file:close(File),
    {ok, <<"abc">>} = prim_file:read_file(Name),
    ok = prim_file:delete(Name).
