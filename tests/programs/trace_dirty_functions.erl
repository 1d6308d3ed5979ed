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
    told(Pid, erlang:trace_delivered(all), {none, []}).

%% Where it waits and yields is not the question: of what goes out and comes in is shown what does behind the call
%% of a native function, once. In: its name and what has been shown.
told(Pid, Delivered, In) ->
    receive
        {trace_delivered, all, Delivered} -> ok;
        {trace, Pid, Event, {prim_file, F, _}} when (Event =:= in orelse Event =:= out), F =:= element(1, In) ->
            Shown = element(2, In),
            lists:member(Event, Shown) orelse io:format("    ~w ~w~n", [Event, F]),
            told(Pid, Delivered, {F, [Event | Shown]});
        {trace, Pid, Event, _} when Event =:= in; Event =:= out ->
            told(Pid, Delivered, In);
        {trace, Pid, return_from, Mfa, _} ->
            io:format("    returns ~w~n", [Mfa]),
            told(Pid, Delivered, {none, []});
        Event when element(2, Event) =:= Pid ->
            io:format("    ~w~n", [tl(tl(tuple_to_list(Event)))]),
            told(Pid, Delivered, called(Event))
    end.

called(Event) when element(3, Event) =:= call ->
    {prim_file, F, _} = setelement(1, element(4, Event), prim_file),
    case lists:suffix("_nif", atom_to_list(F)) of
        true -> {F, []};
        false -> {none, []}
    end;
called(_) -> {none, []}.

writes(Name) ->
    {ok, File} = prim_file:open(Name, [write]),
    ok = prim_file:write(File, "abc"),
    ok = prim_file:close(File),
    {ok, <<"abc">>} = prim_file:read_file(Name),
    ok = prim_file:delete(Name).
