%% Tracing in sessions, as OTP 27 has it: each session has its tracer, its flags and its patterns, and
%% none is in the way of another, nor of erlang:trace/3.
%%
%% A library tree that has a module `trace` of its own (OTP 27 and later) is used with that one; both
%% call the same functions of erts_internal.
-module(trace).
-export([session_create/3, session_destroy/1, session_info/1, process/4, port/4, function/4,
         send/3, recv/3, info/3, delivered/2, format_error/2]).
-export_type([session/0]).

-opaque session() :: {reference(), weak()} | weak().
-type weak() :: {atom(), non_neg_integer()}.
-type tracer() :: pid() | port() | {module(), term()}.

%% The session lasts until it is destroyed or nobody has what this returns any more.
-spec session_create(Name :: atom(), tracer(), Options :: []) -> session().
session_create(Name, Tracer, Options) ->
    load_tracer(Tracer),
    try erts_internal:trace_session_create(Name, Tracer, Options)
    catch error:R:Stack -> fail(R, [Name, Tracer, Options], Stack)
    end.

%% Only a module that is loaded can be a tracer.
load_tracer({Module, State}) when is_atom(Module) ->
    erlang:module_loaded(Module) orelse (catch Module:enabled(trace_status, self(), State)),
    ok;
load_tracer(_) ->
    ok.

-spec session_destroy(session()) -> boolean().
session_destroy(Session) ->
    try erts_internal:trace_session_destroy(Session)
    catch error:R:Stack -> fail(R, [Session], Stack)
    end.

%% The sessions that have to do with a process, a function, messages, what is new; or all of them.
-spec session_info(all | pid() | port() | new | new_processes | new_ports | mfa() | on_load |
                   send | 'receive') -> [weak() | {legacy, default}] | undefined.
session_info(What) ->
    Of = case What of all -> any; _ -> What end,
    try erts_internal:trace_info(any, Of, session) of
        {session, Sessions} -> Sessions;
        undefined -> undefined
    catch error:R:Stack -> fail(R, [What], Stack)
    end.

-spec process(session(), pid() | all | existing | new, boolean(), [atom()]) -> non_neg_integer().
process(Session, Which, How, Flags) ->
    Of = case Which of
             all -> processes;
             existing -> existing_processes;
             new -> new_processes;
             _ when is_pid(Which) -> Which;
             _ -> none
         end,
    try erts_internal:trace(Session, Of, How, Flags)
    catch error:R:Stack -> fail(R, [Session, Which, How, Flags], Stack)
    end.

-spec port(session(), port() | all | existing | new, boolean(), [atom()]) -> non_neg_integer().
port(Session, Which, How, Flags) ->
    Of = case Which of
             all -> ports;
             existing -> existing_ports;
             new -> new_ports;
             _ when is_port(Which) -> Which;
             _ -> none
         end,
    try erts_internal:trace(Session, Of, How, Flags)
    catch error:R:Stack -> fail(R, [Session, Which, How, Flags], Stack)
    end.

%% Which calls are traced, in processes that have the flag `call`.
-spec function(session(), {module(), atom(), arity() | '_'} | on_load,
               boolean() | restart | pause | list(), [atom()]) -> non_neg_integer().
function(Session, Which, How, Options) ->
    Of = case Which of
             {_, _, _} -> Which;
             on_load -> Which;
             _ -> none
         end,
    try erts_internal:trace_pattern(Session, Of, How, Options)
    catch error:R:Stack -> fail(R, [Session, Which, How, Options], Stack)
    end.

%% Which sent messages are traced.
-spec send(session(), boolean() | list(), []) -> non_neg_integer().
send(Session, How, Options) ->
    try erts_internal:trace_pattern(Session, send, How, Options)
    catch error:R:Stack -> fail(R, [Session, How, Options], Stack)
    end.

%% Which received messages are traced.
-spec recv(session(), boolean() | list(), []) -> non_neg_integer().
recv(Session, How, Options) ->
    try erts_internal:trace_pattern(Session, 'receive', How, Options)
    catch error:R:Stack -> fail(R, [Session, How, Options], Stack)
    end.

-spec info(session() | any, term(), atom()) -> term().
info(Session, Of, Item) ->
    try erts_internal:trace_info(Session, Of, Item)
    catch error:R:Stack -> fail(R, [Session, Of, Item], Stack)
    end.

%% {trace_delivered, Pid, Ref} comes to the caller when all that Pid did before is with the tracers,
%% those of other sessions as well.
-spec delivered(session(), pid() | all) -> reference().
delivered(Session, Pid) ->
    try erlang:trace_delivered(Pid)
    catch error:R:Stack -> fail(R, [Session, Pid], Stack)
    end.

%% What a BIF found wrong, as an error of the function that called it.
fail(Reason, Args, [{_, _, _, Place} | _]) ->
    Cause = case lists:keyfind(error_info, 1, Place) of
                {_, #{cause := C}} -> C;
                _ -> none
            end,
    erlang:error(Reason, Args, [{error_info, #{cause => Cause, module => ?MODULE}}]).

%% For erl_error: what is wrong with which argument.
-spec format_error(term(), erlang:stacktrace()) -> map().
format_error(_Reason, [{_, F, Args, Place} | _]) when is_list(Args) ->
    {_, Info} = lists:keyfind(error_info, 1, Place),
    wrong(F, length(Args), maps:get(cause, Info, none));
format_error(_, _) ->
    #{}.

wrong(session_create, 3, _) ->
    #{general => <<"needs a name (an atom), a tracer (a pid, a port or {Module, State}) and []">>};
wrong(session_destroy, 1, _) -> no_session();
wrong(_, _, session) -> no_session();
wrong(session_info, 1, _) ->
    #{1 => <<"no process, port, function, send, receive, on_load, new or all">>};
wrong(function, 4, badopt) -> #{4 => <<"not options of a trace pattern">>};
wrong(function, 4, match_spec) -> #{3 => <<"not a match specification for a session">>};
wrong(function, 4, none) -> #{2 => <<"not {Module, Function, Arity} or on_load">>};
wrong(_, 4, badopt) -> #{4 => <<"not trace flags; a session has its own tracer">>};
wrong(F, 4, _) when F =:= process; F =:= port ->
    #{general => <<"not a process or port, or it has ended, or neither true nor false">>};
wrong(_, _, _) -> #{}.

no_session() -> #{1 => <<"not a session, or it has been destroyed">>}.
