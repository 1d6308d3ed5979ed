%% `:trace` at the prompt and `minivm run --trace`: patterns become trace patterns with match specifications,
%% and a process shows what comes, somewhat as OTP's dbg does.
%%
%% Events go into the flight recorder, whose rings the tracer looks into every few milliseconds; where it does
%% not record what is traced (--record off), they are messages to the tracer.
%%
%% A tracer belongs to one prompt and goes with it, and so does all that it has set: it traces in a session
%% (trace:session_create/3) of its own. It never waits for whoever reads: what cannot be shown is counted. A flood (more events than it can take, or more a second
%% than are allowed) turns the trace into one that only counts calls.
-module(minivm_trace).
-export([start/2, shown/1, set/4, unset/2, list/1, untraced/0, run/1, again/0, flush/0, parse/2]).

-define(SESSION, minivm_prompt).        % the name of all of them
-define(QUEUE, 10000).                  % events that may wait before it is a flood
-define(LOOK_MS, 30).                   % so often are those of the recorder fetched,
-define(BATCH, 2000).                   % so many at once
-define(PER_SECOND, 1000).              % shown in a second, unless the user says more
-define(WRITES, 64).                    % output that may wait for the reader
-define(DEPTH, 10000).                  % calls without a return yet that are kept for one process

%% What one command has set.
-record(trace, {text,                   % as it was typed
                mfa,                    % {M, F | '_', A | '_'}
                spec,                   % match specification
                kind = call,            % call | call_count | call_time | call_memory
                returns = false, exceptions = false,
                scope = local,          % local | global
                who = all,              % pid | new | all
                limit = {?PER_SECOND, second},  % {N, second | total}
                functions = 0,
                events = 0,
                flooded = false}).

-record(event, {what,                   % call | return_from | exception_from | unwound
                who,                    % <<"<0.80.0>">>
                mfa,
                text,                   % what stands behind the name, or a fun that gives it
                at}).                   % nanoseconds of the wall clock

-record(s, {io, context,
            source = none,              % recorder | messages, as long as something is traced,
            session = none,             % and the session of tracing
            cursor = <<>>,              % recorder: what has been seen of it
            looks = false,              % a `look` is under way
            refused = false,            % that it records nothing has been said
            batch = none,               % {Lines, Text} that are to be written as one
            traces = [],
            stacks = #{},               % pid -> [{MFA, microseconds}]
            second = 0, shown = 0, hidden = 0,
            writes = 0}).

%% ---- the words after :trace ------------------------------------------------------------------------------

%% PATTERN [when GUARD] [return] [exception] [count | time | memory] [global] [pid P | new | all]
%% [limit N | N/s] -> {ok, Trace} | {error, Text}
parse(Text, Bindings) ->
    case erl_scan:string(Text, {1, 1}) of
        {error, {_, Module, Why}, _} -> {error, Module:format_error(Why)};
        {ok, [], _} -> {error, "what is to be traced? M:F/A, M:F, M or M:F(ARGUMENTS)"};
        {ok, Tokens, _} ->
            {Pattern, Options} = lists:split(pattern_length(Tokens), Tokens),
            try
                options(Options, pattern(Pattern, #trace{text = string:trim(Text)}, Bindings))
            of
                Trace -> {ok, body(Trace)}
            catch
                throw:Why -> {error, Why}
            end
    end.

%% Options begin at the first of their words that stands outside of all brackets, behind something complete.
pattern_length(Tokens) -> pattern_length(Tokens, none, 0, 0).
pattern_length([], _, _, N) -> N;
pattern_length([{atom, _, Word} | Rest], Before, 0, N) ->
    case lists:member(Word, [return, exception, count, time, memory, global, pid, new, all, limit])
        andalso is_complete(Before) of
        true -> N;
        false -> pattern_length(Rest, atom, 0, N + 1)
    end;
pattern_length([T | Rest], _, Depth, N) ->
    Kind = element(1, T),
    Change = case Kind of
                 _ when Kind =:= '('; Kind =:= '['; Kind =:= '{'; Kind =:= '<<' -> 1;
                 _ when Kind =:= ')'; Kind =:= ']'; Kind =:= '}'; Kind =:= '>>' -> -1;
                 _ -> 0
             end,
    pattern_length(Rest, Kind, Depth + Change, N + 1).

is_complete(Kind) -> lists:member(Kind, [atom, var, integer, float, string, char, ')', ']', '}', '>>']).

pattern(Tokens, Trace, Bindings) ->
    {Head, Guard} = lists:splitwith(fun(T) -> element(1, T) =/= 'when' end, Tokens),
    {M, F, A, Args} = mfa(Head),
    {Clause, Arity} = clause(Args, A, Guard),
    Trace#trace{mfa = {M, F, Arity}, spec = spec(Clause, Bindings)}.

mfa([{atom, _, M}]) -> {M, '_', '_', none};
mfa([{atom, _, M}, {':', _}, {var, _, '_'}]) -> {M, '_', '_', none};
mfa([{atom, _, M}, {':', _}, {var, _, '_'}, {'/', _}, {var, _, '_'}]) -> {M, '_', '_', none};
mfa([{atom, _, M}, {':', _}, {atom, _, F}]) -> {M, F, '_', none};
mfa([{atom, _, M}, {':', _}, {atom, _, F}, {'/', _}, {integer, _, A}]) -> {M, F, A, none};
mfa([{atom, _, M}, {':', _}, {atom, _, F}, {'/', _}, {var, _, '_'}]) -> {M, F, '_', none};
mfa([{atom, _, M}, {':', _}, {atom, _, F}, {'(', _} = Open | Rest]) ->
    case lists:reverse(Rest) of
        [{')', _} | Reversed] -> {M, F, '_', [setelement(1, Open, '[') | lists:reverse(Reversed)] ++ [{']', 1}]};
        _ -> throw("the arguments do not end with )")
    end;
mfa([{atom, _, _}, {':', _}, {atom, _, _}, {'/', _}, {integer, _, _}, Token | _]) -> not_understood(Token);
mfa([{atom, _, _}, {':', _}, {atom, _, _}, {atom, _, _} = Token | _]) -> not_understood(Token);
mfa([{atom, _, _}, {atom, _, _} = Token | _]) -> not_understood(Token);
mfa(_) -> throw("the pattern must be M:F/A, M:F, M or M:F(ARGUMENTS), with M and F atoms").

%% {Clause of a fun of the argument list | none, Arity}. The guard is `when G`, or `when [Args] -> G`.
clause(Args, A, Guard) ->
    {Given, Condition} =
        case {Args, Guard} of
            {_, []} -> {Args, []};
            {none, [_When | Tokens]} ->
                case lists:splitwith(fun(T) -> element(1, T) =/= '->' end, Tokens) of
                    {Names, [_Arrow | G]} -> {Names, G};
                    {_, []} -> throw("give the arguments names: M:F(A, B) when GUARD, or M:F/2 when [A, B] -> GUARD")
                end;
            {_, [_When | Tokens]} -> {Args, Tokens}
        end,
    case Given of
        none -> {none, A};
        _ ->
            List = expression(Given, "the arguments"),
            Arity = case {length_of(List), A} of
                        {'_', _} -> A;
                        {N, '_'} -> N;
                        {N, N} -> N;
                        {N, _} -> throw(io_lib:format("the guard has ~b arguments, the function ~b", [N, A]))
                    end,
            {{clause, erl_anno:new(1), [List], guards(Guard, Condition), [{atom, erl_anno:new(1), true}]}, Arity}
    end.

length_of({nil, _}) -> 0;
length_of({cons, _, _, Tail}) ->
    case length_of(Tail) of
        '_' -> '_';
        N -> N + 1
    end;
length_of(_) -> '_'.

guards([], []) -> [];
guards(_, []) -> throw("a guard is expected behind `when`");
guards(_, Tokens) ->
    Fun = [{'fun', 1}, {'(', 1}, {')', 1}, {'when', 1}] ++ Tokens ++ [{'->', 1}, {atom, 1, true}, {'end', 1}],
    case parsed(Fun, "the guard") of
        [{'fun', _, {clauses, [{clause, _, [], Guards, _}]}}] -> Guards;
        _ -> throw("the guard ends too soon")
    end.

expression(Tokens, What) ->
    case parsed(Tokens, What) of
        [Expr] -> Expr;
        _ -> throw([What, ": one expression is expected"])
    end.

parsed(Tokens, What) ->
    case erl_parse:parse_exprs(Tokens ++ [{dot, 1}]) of
        {ok, Exprs} -> Exprs;
        {error, {_, Module, Why}} -> throw([What, ": ", Module:format_error(Why)])
    end.

spec(none, _) -> [{'_', [], []}];
spec(Clause, Bindings) ->
    case ms_transform:transform_from_shell(dbg, [Clause], Bindings) of
        {error, [{_, [{_, Module, Why} | _]} | _], _} -> throw(["the guard: ", Module:format_error(Why)]);
        Alternatives -> Alternatives    % one for each guard between semicolons
    end.

options([], Trace) -> Trace;
options([{atom, _, return} | Rest], T) -> options(Rest, T#trace{returns = true});
options([{atom, _, exception} | Rest], T) -> options(Rest, T#trace{exceptions = true});
options([{atom, _, count} | Rest], T) -> options(Rest, T#trace{kind = call_count});
options([{atom, _, time} | Rest], T) -> options(Rest, T#trace{kind = call_time});
options([{atom, _, memory} | Rest], T) -> options(Rest, T#trace{kind = call_memory});
options([{atom, _, global} | Rest], T) -> options(Rest, T#trace{scope = global});
options([{atom, _, pid}, {atom, _, Who} | Rest], T) when Who =:= new; Who =:= all -> options(Rest, T#trace{who = Who});
options([{atom, _, Who} | Rest], T) when Who =:= new; Who =:= all -> options(Rest, T#trace{who = Who});
options([{atom, _, pid}, {'<', _}, {float, _, _}, {'.', _}, {integer, _, _}, {'>', _} | _] = [_ | Pid], T) ->
    {Tokens, Rest} = lists:split(5, Pid),
    options(Rest, T#trace{who = pid(lists:flatten([text(Token) || Token <- Tokens]))});
options([{atom, _, pid}, {integer, _, N} | Rest], T) ->
    options(Rest, T#trace{who = pid("<0." ++ integer_to_list(N) ++ ".0>")});
options([{atom, _, pid}, {atom, _, Name} | Rest], T) ->
    case whereis(Name) of
        Pid when is_pid(Pid) -> options(Rest, T#trace{who = Pid});
        _ -> throw(io_lib:format("~tw: no process has this name", [Name]))
    end;
options([{atom, _, pid} | _], _) -> throw("pid: a process is expected: <0.80.0>, 80 or a registered name");
options([{atom, _, limit}, {integer, _, N}, {'/', _}, {atom, _, s} | Rest], T) ->
    options(Rest, T#trace{limit = {N, second}});
options([{atom, _, limit}, {integer, _, N} | Rest], T) -> options(Rest, T#trace{limit = {N, total}});
options([{atom, _, limit} | _], _) -> throw("limit: a number is expected, or one a second: limit 100/s");
options([Token | _], _) -> not_understood(Token).

not_understood(Token) -> throw(["not understood: ", text(Token)]).

text({Kind, _}) -> atom_to_list(Kind);
text({float, _, F}) -> float_to_list(F, [short]);
text({_, _, Value}) -> io_lib:format("~tp", [Value]).

pid(Text) ->
    Pid = try list_to_pid(Text) catch error:_ -> throw([Text, ": no process"]) end,
    is_process_alive(Pid) orelse throw([Text, ": there is no such process (any more)"]),
    Pid.

%% What the match specification does beside letting the call through.
body(#trace{spec = Spec, returns = R, exceptions = E} = T) ->
    Body = [{exception_trace} || E] ++ [{return_trace} || R, not E],
    T#trace{spec = [{Head, Guards, Body} || {Head, Guards, _} <- Spec]}.

%% ---- asked by commands -----------------------------------------------------------------------------------

%% The tracer of a session, linked to the caller; shows what it gets at Io.
start(Io, Context) ->
    spawn_link(fun() ->
                       process_flag(trap_exit, true),
                       process_flag(priority, high),
                       put(owner, hd(element(2, process_info(self(), links)))),
                       loop(#s{io = Io, context = Context})
               end).

set(Tracer, Text, Bindings, Spared) ->
    case parse(Text, Bindings) of
        {ok, #trace{mfa = {M, _, _}} = Trace} ->
            case erlang:module_loaded(M) orelse code:ensure_loaded(M) of
                true -> call(Tracer, {set, Trace, Spared});
                {module, M} -> call(Tracer, {set, Trace, Spared});
                {error, _} -> {error, io_lib:format("~tw: no such module is loaded or in the code path", [M])}
            end;
        Error -> Error
    end.

%% Returns when all that happened before the call is on its way to the output. none: there is no tracer.
shown(none) -> ok;
shown(Tracer) -> call(Tracer, shown).

unset(Tracer, Text) -> call(Tracer, {unset, string:trim(Text)}).
list(Tracer) -> call(Tracer, list).

call(Tracer, Request) ->
    Ref = monitor(process, Tracer),
    Tracer ! {Ref, self(), Request},
    receive
        {Ref, Answer} ->
            demonitor(Ref, [flush]),
            Answer;
        {'DOWN', Ref, process, _, Reason} ->
            {error, io_lib:format("the tracer has ended: ~tp", [Reason])}
    end.

%% The calling process is of the prompt itself: what it does is no news.
untraced() -> untraced(self()).

untraced(Pid) ->
    [catch trace:process(Prompt, Pid, false, [all]) || {?SESSION, _} = Prompt <- trace:session_info(Pid)],
    ok.

%% ---- the tracer ------------------------------------------------------------------------------------------

loop(S) ->
    receive
        {trace_ts, _, _, _, _} = Event -> loop(event(message(Event), waiting(S)));
        {trace_ts, _, _, _, _, _} = Event -> loop(event(message(Event), waiting(S)));
        look ->
            {Waiting, S1} = follow(S),
            loop(look(case Waiting of 0 -> ?LOOK_MS; _ -> 0 end, S1#s{looks = false}));
        {io_reply, _, _} -> loop(S#s{writes = S#s.writes - 1});
        {'EXIT', Pid, _} ->
            case get(owner) of
                Pid ->
                    release(S);
                _ -> loop(S)
            end;
        {Ref, From, {flush}} ->
            S1 = notice_hidden(catch_up(S)),
            flush_writes(S1#s.writes),
            From ! {Ref, ok},
            loop(S1#s{writes = 0});
        {Ref, From, Request} ->
            {Answer, S1} = request(Request, catch_up(S)),
            From ! {Ref, Answer},
            loop(S1);
        second -> loop(notice_hidden(S));
        _ -> loop(S)
    end.

flush_writes(0) -> ok;
flush_writes(N) -> receive {io_reply, _, _} -> flush_writes(N - 1) after 5000 -> ok end.

request(shown, S) -> {ok, S};
request({set, Trace, Spared}, S0) ->
    S = source(S0),
    try trace_pattern(Trace, S#s.session) of
        0 -> {{error, io_lib:format("no function matches ~ts", [name(Trace)])}, unused(S)};
        N ->
            flags(Trace, S, [self(), S#s.io, get(owner) | Spared]),
            {{ok, N}, look(?LOOK_MS, S#s{traces = [Trace#trace{functions = N} | without(Trace, S#s.traces)]})}
    catch
        error:_ ->
            {{error, case Trace#trace.kind of
                         call -> "the match specification is refused";
                         Kind -> io_lib:format("this VM cannot do ~tw", [Kind])
                     end}, unused(S)}
    end;
request({unset, ""}, S) ->
    {{ok, length(S#s.traces)}, release(S#s{traces = []})};
request({unset, Text}, S) ->
    case [T || T <- S#s.traces, T#trace.text =:= Text orelse lists:flatten(name(T)) =:= Text] of
        [] -> {{error, io_lib:format("~ts: no such trace; :traces lists them", [Text])}, S};
        Gone ->
            [clear(T, S#s.session) || T <- Gone],
            {{ok, length(Gone)}, unused(S#s{traces = S#s.traces -- Gone})}
    end;
request(list, S) ->
    {[{T#trace.text, T#trace.functions, T#trace.events, numbers(T, S#s.session), T#trace.flooded} || T <- lists:reverse(S#s.traces)], S}.

without(#trace{mfa = Mfa, kind = Kind}, Traces) ->
    [T || T <- Traces, {T#trace.mfa, T#trace.kind} =/= {Mfa, Kind}].

trace_pattern(#trace{mfa = Mfa, kind = call, spec = Spec, scope = Scope}, Session) ->
    trace:function(Session, Mfa, Spec, [Scope]);
trace_pattern(#trace{mfa = Mfa, kind = Kind}, Session) ->
    trace:function(Session, Mfa, true, [Kind]).

clear(#trace{mfa = Mfa, kind = call, scope = Scope, flooded = Flooded}, Session) ->
    Flooded andalso trace:function(Session, Mfa, false, [call_count]),
    trace:function(Session, Mfa, false, [Scope]);
clear(#trace{mfa = Mfa, kind = Kind}, Session) ->
    trace:function(Session, Mfa, false, [Kind]).

flags(#trace{kind = call_count}, _, _) -> ok;
flags(#trace{who = Who}, #s{source = Source, session = Session}, Spared) ->
    try trace:process(Session, Who, true, [call | [monotonic_timestamp || Source =:= messages]])
    catch error:badarg -> ok            % a process that has ended meanwhile
    end,
    [catch trace:process(Session, Pid, false, [all]) || Pid <- Spared],
    ok.

%% Where events come from, and the session that tells them, once something is traced.
source(#s{source = none} = S) ->
    case minivm:recorder_calls(<<>>, 0, none) of
        {ok, _, Cursor, _, _} ->
            S#s{source = recorder, cursor = Cursor, session = trace:session_create(?SESSION, {flight_recorder, []}, [])};
        {error, _} -> S#s{source = messages, session = trace:session_create(?SESSION, self(), [])}
    end;
source(S) -> S.

unused(#s{traces = []} = S) -> release(S);
unused(S) -> S.

%% Nothing is traced any more.
release(#s{session = none} = S) -> S;
release(#s{session = Session} = S) ->
    trace:session_destroy(Session),
    S#s{source = none, session = none, stacks = #{}}.

%% The next look at the recorder, if there is anything to look for.
look(After, #s{source = recorder, looks = false} = S) ->
    case counts_events(S) of
        true ->
            erlang:send_after(After, self(), look),
            S#s{looks = true};
        false -> S
    end;
look(_, S) -> S.

waiting(S) ->
    case process_info(self(), message_queue_len) of
        {_, N} when N > ?QUEUE -> flood(S, N);
        _ -> S
    end.

%% [{MFA, What was counted}]
numbers(#trace{kind = call, flooded = false}, _) -> [];
numbers(#trace{mfa = {M, F, A}} = T, Session) ->
    Kind = case T#trace.kind of call -> call_count; K -> K end,
    [{Mfa, Value} || {Name, Arity} <- functions(M), F =:= '_' orelse F =:= Name, A =:= '_' orelse A =:= Arity,
                     Mfa <- [{M, Name, Arity}],
                     {_, Value} <- [trace:info(Session, Mfa, Kind)], Value =/= false, Value =/= undefined,
                     Value =/= 0, Value =/= []].

functions(M) -> try M:module_info(functions) catch error:_ -> [] end.

name(#trace{mfa = {M, '_', _}}) -> io_lib:format("~tw", [M]);
name(#trace{mfa = {M, F, '_'}}) -> io_lib:format("~tw:~tw", [M, F]);
name(#trace{mfa = {M, F, A}}) -> io_lib:format("~tw:~tw/~b", [M, F, A]).

%% ---- events ----------------------------------------------------------------------------------------------

%% Of the recorder: what has come since the last look, in order.
follow(#s{source = recorder, session = Session} = S) ->
    case minivm:recorder_calls(S#s.cursor, ?BATCH, Session) of
        {ok, Events, Cursor, Lost, Waiting} ->
            S1 = S#s{cursor = Cursor, refused = false},
            Backlog = Lost + Waiting + length(Events),
            case counts_events(S1) of
                false -> {Waiting, S1};
                true when Backlog > ?QUEUE -> {0, flood(S1, Backlog)};
                true ->
                    S2 = lists:foldl(fun(E, Acc) -> event(recorded(E), Acc) end, S1#s{batch = {0, []}}, Events),
                    {Waiting, write_batch(notice_lost(Lost, S2))}
            end;
        {error, _} when S#s.refused -> {0, S};
        {error, Text} -> {0, write(["nothing is shown: ", Text, " (:record on trace)\n"], S#s{refused = true})}
    end;
follow(S) -> {0, S}.

%% Until all that happened before is shown. A flood ends it, as it waits no more.
catch_up(S) ->
    case follow(S) of
        {0, S1} -> S1;
        {_, S1} -> catch_up(S1)
    end.

counts_events(#s{traces = Traces}) ->
    lists:any(fun(#trace{kind = Kind, flooded = Flooded}) -> Kind =:= call andalso not Flooded end, Traces).

notice_lost(0, S) -> S;
notice_lost(N, S) -> write(io_lib:format("... ~b events lost: the recorder had overwritten them before they could be shown~n", [N]), S).

recorded({What, Who, Mfa, Text, Ns}) ->
    #event{what = What, who = Who, mfa = Mfa, at = Ns,
           text = case {What, Text} of
                      {call, <<>>} -> [$/, integer_to_list(element(3, Mfa))];
                      {return_from, _} -> [" -> ", Text];
                      {exception_from, _} -> [" -> ", Text];
                      _ -> Text
                  end}.

%% Without a recorder: a message.
message({_, Pid, call, {M, F, Args}, At}) when is_list(Args) ->
    sent(call, Pid, {M, F, length(Args)}, fun() -> [$(, lists:join(",", [term(A) || A <- Args]), $)] end, At);
message({_, Pid, call, {M, F, A}, At}) -> sent(call, Pid, {M, F, A}, [$/, integer_to_list(A)], At);
message({_, Pid, return_from, Mfa, Value, At}) -> sent(return_from, Pid, Mfa, fun() -> [" -> ", term(Value)] end, At);
message({_, Pid, exception_from, Mfa, {Class, Value}, At}) ->
    sent(exception_from, Pid, Mfa, fun() -> io_lib:format(" -> ~tw:~ts", [Class, term(Value)]) end, At);
message(_) -> none.

sent(What, Pid, Mfa, Text, At) ->
    #event{what = What, who = list_to_binary(pid_to_list(Pid)), mfa = Mfa, text = Text,
           at = erlang:convert_time_unit(At + erlang:time_offset(), native, nanosecond)}.

event(none, S) -> S;
event(Event, S) ->
    case of_event(Event, S) of
        false -> S;                     % of a trace that has been taken back meanwhile, or somebody else's
        #trace{flooded = true} -> S;
        #trace{returns = false} when Event#event.what =:= return_from -> show_nothing(Event, S);
        _ when Event#event.what =:= unwound -> show_nothing(Event, S);
        Trace -> limited(Event, Trace#trace{events = Trace#trace.events + 1}, S)
    end.

of_event(#event{mfa = {M, F, A}}, #s{traces = Traces}) ->
    case [T || #trace{mfa = {TM, TF, TA}, kind = call} = T <- Traces, TM =:= M, TF =:= F orelse TF =:= '_',
               TA =:= A orelse TA =:= '_'] of
        [T | _] -> T;
        [] -> false
    end.

limited(Event, #trace{limit = {Most, total}, events = N} = T, S) when N >= Most ->
    S1 = show(Event, S),
    clear(T, S#s.session),
    write(io_lib:format("~ts: ~b events, as many as were asked for; the trace is off~n", [name(T), N]),
          S1#s{traces = lists:delete(lists:keyfind(T#trace.mfa, #trace.mfa, S#s.traces), S#s.traces)});
limited(Event, #trace{limit = Limit} = T, S0) ->
    S = keep(T, S0),
    Second = erlang:monotonic_time(second),
    Most = case Limit of {N, second} -> N; _ -> ?PER_SECOND end,
    case S of
        #s{second = Second, shown = Shown} when Shown >= Most ->
            show_nothing(Event, S#s{hidden = S#s.hidden + 1});
        #s{second = Second, shown = Shown} -> show(Event, S#s{shown = Shown + 1});
        _ ->
            erlang:send_after(1000, self(), second),
            show(Event, (notice_hidden(S))#s{second = Second, shown = 1})
    end.

keep(#trace{mfa = Mfa, kind = Kind} = T, S) ->
    S#s{traces = [case Old of #trace{mfa = Mfa, kind = Kind} -> T; _ -> Old end || Old <- S#s.traces]}.

notice_hidden(#s{hidden = 0} = S) -> S;
notice_hidden(#s{hidden = N} = S) -> write(io_lib:format("... ~b more events that are not shown~n", [N]), S#s{hidden = 0}).

%% From here on calls are only counted.
flood(S, N) ->
    Traces = [case T of
                  #trace{kind = call, flooded = false} ->
                      clear(T, S#s.session),
                      trace:function(S#s.session, T#trace.mfa, true, [call_count]),
                      T#trace{flooded = true};
                  _ -> T
              end || T <- S#s.traces],
    drop(),
    S1 = S#s{traces = Traces, stacks = #{}, hidden = 0},
    case Traces of
        _ when Traces =:= S#s.traces -> S1;  % what was on its way when the last one was told
        _ ->
            write(io_lib:format("a flood: ~b events wait; from now on calls are only counted (:traces shows how "
                                "many, :untrace ends it)~n", [N]), from_now(S1))
    end.

%% What is in the recorder so far is not shown.
from_now(#s{source = recorder} = S) ->
    case minivm:recorder_calls(<<>>, 0, none) of
        {ok, _, Cursor, _, _} -> S#s{cursor = Cursor};
        {error, _} -> S
    end;
from_now(S) -> S.

drop() ->
    receive
        {trace_ts, _, _, _, _} -> drop();
        {trace_ts, _, _, _, _, _} -> drop()
    after 0 -> ok
    end.

%% ---- showing ---------------------------------------------------------------------------------------------

%% The calls that have not returned are kept in any case.
show_nothing(Event, S) -> element(1, depth(Event, S)).

show(#event{what = What, who = Who, mfa = {M, F, A}, at = At} = Event, S0) ->
    {S, Depth, Elapsed} = depth(Event, S0),
    Context = S#s.context,
    Name = case What of
               call -> ["call ", minivm_colours:paint(call, io_lib:format("~tw:~tw", [M, F]), Context)];
               return_from ->
                   [minivm_colours:paint(return, "returned", Context), io_lib:format(" from ~tw:~tw/~b", [M, F, A])];
               exception_from ->
                   [minivm_colours:paint(exception, "exception", Context), io_lib:format(" from ~tw:~tw/~b", [M, F, A])]
           end,
    Text = case Event#event.text of Fun when is_function(Fun) -> Fun(); Chars -> Chars end,
    write([minivm_colours:paint(aside, [time(At div 1000), $\s, Who], Context), $\s,
           lists:duplicate(2 * min(Depth, 40), $\s), Name, Text, Elapsed, $\n], S).

%% {State, Depth, How long it took}
depth(#event{what = call, who = Who, mfa = Mfa, at = At} = Event, #s{stacks = Stacks} = S) ->
    Stack = maps:get(Who, Stacks, []),
    case of_event(Event, S) of
        #trace{returns = R, exceptions = E} when R; E ->
            case length(Stack) of
                Depth when Depth < ?DEPTH -> {S#s{stacks = Stacks#{Who => [{Mfa, At} | Stack]}}, Depth, ""};
                Depth -> {S, Depth, ""}
            end;
        _ -> {S, length(Stack), ""}
    end;
depth(#event{who = Who, mfa = Mfa, at = At}, #s{stacks = Stacks} = S) ->
    case lists:dropwhile(fun({Called, _}) -> Called =/= Mfa end, maps:get(Who, Stacks, [])) of
        [{_, Began} | Rest] ->
            {S#s{stacks = case Rest of [] -> maps:remove(Who, Stacks); _ -> Stacks#{Who => Rest} end}, length(Rest),
             io_lib:format("  (~b us)", [(At - Began) div 1000])};
        [] -> {S, 0, ""}
    end.

term(T) -> io_lib:format("~0tp", [T], [{chars_limit, 400}]).

time(Us) ->
    {{_, _, _}, {H, M, S}} = calendar:system_time_to_local_time(Us div 1000000, second),
    io_lib:format("~2..0b:~2..0b:~2..0b.~6..0b", [H, M, S, Us rem 1000000]).

write_batch(#s{batch = {0, _}} = S) -> S#s{batch = none};
write_batch(#s{batch = {Lines, _}, writes = Writes} = S) when Writes >= ?WRITES ->
    S#s{batch = none, hidden = S#s.hidden + Lines};
write_batch(#s{batch = {_, Text}} = S) -> write(Text, S#s{batch = none}).

%% Not io:put_chars/2, which waits.
write(Text, #s{batch = {Lines, Before}} = S) -> S#s{batch = {Lines + 1, [Before, Text]}};
write(_, #s{writes = Writes} = S) when Writes >= ?WRITES -> S#s{hidden = S#s.hidden + 1};
write(Text, #s{io = Io} = S) ->
    Io ! {io_request, self(), make_ref(), {put_chars, unicode, unicode:characters_to_binary(Text)}},
    S#s{writes = S#s.writes + 1}.

%% ---- minivm run --trace ----------------------------------------------------------------------------------

%% Sets what the command line asks for; the calling process is the program. What belongs to a module that
%% is not there yet is tried once more by again/0. ok | {error, Text}
run(Patterns) ->
    Program = self(),
    Tracer = spawn(fun() ->
                           process_flag(priority, high),
                           process_flag(trap_exit, true),
                           register(minivm_tracer, self()),
                           put(owner, none),
                           Program ! {self(), registered},
                           loop(#s{io = whereis(standard_error), context = #{}})
                   end),
    receive {Tracer, registered} -> ok end,
    put(minivm_trace, Patterns),
    pending(fun(_, _) -> ok end).

again() -> pending(fun(Text, Why) -> throw([Text, ": ", Why]) end).

pending(Otherwise) ->
    Spared = processes() -- [self()],
    try
        put(minivm_trace, lists:append([one(Text, Spared, Otherwise) || Text <- get(minivm_trace)])),
        ok
    catch
        throw:Why -> {error, Why}
    end.

one(Text, Spared, Otherwise) ->
    case parse(Text, []) of
        {error, Why} -> throw([Text, ": ", Why]);
        {ok, #trace{mfa = {M, _, _}}} ->
            case erlang:module_loaded(M) orelse code:which(M) =/= non_existing of
                false ->
                    Otherwise(Text, io_lib:format("there is no module ~tw", [M])),
                    [Text];
                true ->
                    case set(whereis(minivm_tracer), Text, [], Spared) of
                        {error, Why} -> throw([Text, ": ", Why]);
                        _ -> []
                    end
            end
    end.

%% Everything that has happened has been shown.
flush() ->
    case whereis(minivm_tracer) of
        undefined -> ok;
        Tracer ->
            Ref = erlang:trace_delivered(all),
            receive {trace_delivered, all, Ref} -> ok after 5000 -> ok end,
            call(Tracer, {flush}),
            case [{T, Numbers} || {T, _, _, Numbers, _} <- list(Tracer), Numbers =/= []] of
                [] -> ok;
                Counted ->
                    [io:format(standard_error, "~ts~n  ~tp~n", [T, Numbers]) || {T, Numbers} <- Counted],
                    ok
            end
    end.
