%% `:trace` at the prompt and `minivm run --trace`: a process, the tracer, traces what minivm_trace_words has read and
%% shows the events, somewhat as OTP's dbg does.
%%
%% Each pattern is a session of tracing (trace:session_create/3) of its own, with its own processes, so no two of
%% them know of each other, at one prompt or at two. Events of calls go into the flight recorder, whose rings the tracer
%% looks into every few milliseconds. Messages, callers and results that are compared have to be whole: events of such
%% traces, and of all where the recorder does not record them (--record-off trace), are messages to a collector, a
%% process of the trace's own. Both kinds are put into one order by their times.
%%
%% A tracer belongs to one prompt and ends with it, and so does all that it has set. It never waits for its reader: it
%% counts what it cannot show. A flood (more events than it can take, or more a second than are allowed) turns the
%% trace into one that only counts calls.
-module(minivm_trace).
-export([start/2, shown/1, set/4, unset/2, list/1, untraced/0, untraced/1, run/1, again/0, flush/0]).

-define(SESSION, minivm_prompt).        % the name of all of them
-define(QUEUE, 10000).                  % events that may wait before it is a flood
-define(LOOK_MS, 30).                   % so often are events fetched,
-define(BATCH, 2000).                   % so many at once
-define(WRITES, 64).                    % output that may wait for the reader
-define(DEPTH, 10000).                  % calls without a return yet that are kept for one process: the last ones
-define(STACKS, 1000).                  % processes with such calls before those that have ended are looked for

-record(event, {trace,                  % its number
                what,                   % call | return_from | exception_from | unwound | send | 'receive'
                who,                    % <<"<0.80.0>">>
                mfa,
                text = "",              % what stands behind the name, or a fun that gives it
                value,                  % of a message, what returned; {Class, Reason} of an exception
                extra = none,           % {Term}: what the match specification adds
                at}).                   % nanoseconds of the wall clock

%% A trace is a map as minivm_trace_words:parse/2 makes it and
%%   id, session     its number, the session of tracing
%%   source          recorder | the pid of the collector | none, if there are no events
%%   functions       how many;  events: so far
%%   shown, hidden   in this second: {Second, N}; and how many were not shown
%%   flooded         only counted by now
-record(s, {io, context,
            traces = [],                % newest first
            next = 1,                   % number of the next one
            cursor = none,              % recorder: what has been seen of it, while somebody wants that
            offset = none,              % from Erlang monotonic time to the wall clock, in nanoseconds
            held = [],                  % events of collectors that are later than what has been seen of the recorder
            looks = false,              % a `look` is under way
            refused = false,            % that it records nothing has been said
            batch = none,               % {Lines, Text} that are to be written as one
            %% who -> {Depth, How many, [{Trace, MFA, Time, none | Call that is not shown yet}]}
            stacks = #{},
            hidden = 0,                 % lines that found no reader
            writes = 0}).

%% ---- asked by commands -----------------------------------------------------------------------------------

%% The tracer of a session, linked to the caller; shows what it gets at Io.
start(Io, Context) ->
    Owner = self(),
    spawn_link(fun() ->
                       process_flag(trap_exit, true),
                       process_flag(priority, high),
                       untraced(),
                       put(owner, Owner),
                       loop(#s{io = Io, context = Context})
               end).

%% {ok, [{What, Functions, What it takes the place of | none}]} | {error, Text}. Known: see
%% minivm_trace_words:parse/2. Spared: processes whose doings are no news.
set(Tracer, Text, Known, Spared) ->
    case minivm_trace_words:parse(Text, Known) of
        {ok, Traces} ->
            case [M || #{what := {M, _, _}, glob := false} <- Traces, not is_there(M)] of
                [] -> call(Tracer, {set, Traces, Spared ++ own_processes()});
                [M | _] -> {error, io_lib:format("~tw: no such module is loaded or in the code path", [M])}
            end;
        Error -> Error
    end.

is_there('_') -> true;
is_there(M) -> erlang:module_loaded(M) orelse element(1, code:ensure_loaded(M)) =:= module.

%% Those of all prompts that do not do what somebody typed.
own_processes() ->
    Sessions = [P || P <- processes(), {initial_call, {minivm_session, start, _}} <- [process_info(P, initial_call)]],
    %% Of `minivm run --trace` and those who collect for it.
    Runs = [[Tracer | element(2, process_info(Tracer, links))] || Tracer <- [whereis(minivm_tracer)], is_pid(Tracer)],
    lists:append(Runs ++ [own_processes(Session) || Session <- Sessions]).

own_processes(Session) ->
    Ref = monitor(process, Session),
    Session ! {own_processes, Ref, self()},
    receive
        {Ref, Pids} ->
            demonitor(Ref, [flush]),
            Pids;
        {'DOWN', Ref, process, _, _} -> []
    after 1000 ->                       % it has had no hello yet
        demonitor(Ref, [flush]),
        [Session]
    end.

%% Returns when all that happened before the call is on its way to the output. none: there is no tracer.
shown(none) -> ok;
shown(Tracer) -> call(Tracer, shown).

%% The text names all or, as it was typed, with its number or by its pattern, a trace, or several with commas between.
unset(Tracer, Text) -> call(Tracer, {unset, string:trim(Text)}).

%% [#{id, text, functions, events, limit, state, numbers}], oldest first.
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
        look ->
            {Waiting, S1} = follow(S#s{looks = false}),
            loop(look(case Waiting of 0 -> ?LOOK_MS; _ -> 0 end, S1));
        {io_reply, _, _} -> loop(notice_unread(S#s{writes = S#s.writes - 1}));
        {'EXIT', Pid, _} ->
            case get(owner) of
                Pid ->
                    [release(T) || T <- S#s.traces],
                    ok;
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
        {second, Id} ->
            loop(case trace_of(Id, S) of
                     false -> S;
                     T -> notice_rate(T, S)
                 end);
        _ -> loop(S)
    end.

flush_writes(0) -> ok;
flush_writes(N) -> receive {io_reply, _, _} -> flush_writes(N - 1) after 5000 -> ok end.

request(shown, S) -> {ok, S};
request({set, Wanted, Spared}, S0) ->
    Before = S0#s.traces,
    try lists:foldl(fun(T, S) -> begin_trace(T, [self(), S#s.io, get(owner) | Spared], S) end, S0, Wanted) of
        S1 ->
            New = lists:sublist(S1#s.traces, length(Wanted)),
            Gone = [{New1, Old} || New1 <- New, Old <- Before, is_same(New1, Old)],
            Set = [{maps:get(what, T), maps:get(functions, T),
                    case [Text || {#{id := Id}, #{text := Text}} <- Gone, Id =:= maps:get(id, T)] of
                        [] -> none;
                        [Text | _] -> Text
                    end} || T <- lists:reverse(New)],
            {{ok, Set}, look(?LOOK_MS, ended([Old || {_, Old} <- Gone], S1))}
    catch
        throw:{Why, Begun} ->
            [release(T) || T <- Begun, not lists:member(T, Before)],
            {{error, Why}, S0}
    end;
request({unset, ""}, S) ->
    {{ok, length(S#s.traces)}, ended(S#s.traces, S)};
request({unset, Text}, S) ->
    Names = case named(Text, S#s.traces) of
                [] -> minivm_trace_words:split(Text);
                _ -> [Text]
            end,
    case [Name || Name <- Names, named(Name, S#s.traces) =:= []] of
        [] ->
            Gone = lists:usort(lists:append([named(Name, S#s.traces) || Name <- Names])),
            {{ok, length(Gone)}, ended(Gone, S)};
        [Unknown | _] -> {{error, io_lib:format("~ts: no such trace; :traces lists them", [Unknown])}, S}
    end;
request(list, S) ->
    {[#{id => maps:get(id, T), text => maps:get(text, T), functions => maps:get(functions, T),
        events => maps:get(events, T), limit => maps:get(limit, T), kind => maps:get(kind, T), state => state(T),
        numbers => numbers(T)} || T <- lists:reverse(S#s.traces)], S}.

%% Without these traces: what they have not shown is said, and the calls that they wait for are forgotten, as those
%% would be indented behind them that a later trace shows.
ended(Gone0, S0) ->
    Gone = lists:usort(Gone0),
    [release(T) || T <- Gone],
    S = lists:foldl(fun notice_rate/2, S0, Gone),
    Ids = [Id || #{id := Id} <- Gone],
    Left = [T || #{id := Id} = T <- S#s.traces, not lists:member(Id, Ids)],
    S#s{traces = Left, stacks = without_flooded(Left, S#s.stacks)}.

%% Of the same calls or messages of the same processes: a new one takes the place of the old one.
is_same(New, Old) ->
    Of = fun(T) ->
                 {maps:with([what, glob, kind, who, party, scope], T),
                  [{Head, Guards} || {Head, Guards, _} <- maps:get(spec, T)]}
         end,
    Of(New) =:= Of(Old).

named(Name, Traces) ->
    case [T || #{text := Text} = T <- Traces, Text =:= Name] of
        [] ->
            [T || #{id := Id, head := Head, name := Short} = T <- Traces,
                  Name =:= integer_to_list(Id) orelse Name =:= Head orelse Name =:= Short];
        As -> As
    end.

state(#{flooded := true}) -> flooded;
state(#{who := [_ | _] = Pids}) ->
    case lists:any(fun is_process_alive/1, Pids) of
        true -> on;
        false -> ended
    end;
state(_) -> on.

trace_of(Id, #s{traces = Traces}) -> find(Id, Traces).

find(Id, [#{id := Id} = T | _]) -> T;
find(Id, [_ | Traces]) -> find(Id, Traces);
find(_, []) -> false.

keep(#{id := Id} = T, S) ->
    S#s{traces = [case Old of #{id := Id} -> T; _ -> Old end || Old <- S#s.traces]}.

%% ---- one trace -------------------------------------------------------------------------------------------

begin_trace(#{kind := Kind} = Wanted, Spared, S0) ->
    {Source, S} = source(Wanted, S0),
    Session = trace:session_create(?SESSION, case Source of
                                                 Pid when is_pid(Pid) -> Pid;
                                                 _ -> {flight_recorder, []}
                                             end, []),
    Own = [P || #{source := P} <- S#s.traces, is_pid(P)] ++ [Source || is_pid(Source)] ++ Spared,
    T = Wanted#{id => S#s.next, session => Session, source => Source, functions => 0, events => 0,
                shown => {0, 0}, hidden => 0, flooded => false},
    S1 = S#s{traces = [T | S#s.traces], next = S#s.next + 1},
    Failed = fun(Why) -> throw({Why, S1#s.traces}) end,
    Kind =:= message andalso events(T, false),
    Kind =:= call_count orelse flags(T, Own, Failed),
    try
        case Kind of
            message -> events(T#{spec := elsewhere(Wanted, Own)}, true);
            call -> functions(T, maps:get(spec, T), [maps:get(scope, T)]);
            _ -> functions(T, true, [Kind])
        end
    of
        0 when map_get(glob, T) -> S1;  % of modules that are loaded later
        0 -> Failed(io_lib:format("no function matches ~ts", [maps:get(name, T)]));
        N -> keep(T#{functions := N}, S1)
    catch
        error:_ ->
            Failed(case Kind of
                       _ when Kind =:= call; Kind =:= message -> "the match specification is refused";
                       _ -> io_lib:format("this VM cannot do ~tw", [Kind])
                   end)
    end.

functions(#{session := Session, what := {M, F, A} = What, glob := true} = T, How, Flags) ->
    N = minivm:trace_matching(Session, What, How, Flags),
    case How =/= false andalso includes_own(M) of
        false -> N;
        true ->
            Without = fun(Own) -> minivm:trace_matching(Session, {Own, F, A}, false, Flags) end,
            Fits = fits(M, T),
            There = lists:sum([Without(Own) || Own <- erlang:loaded(), is_own(Own), Fits(Own)]),
            Without('minivm_*'),        % those that are loaded later
            N - There
    end;
functions(#{session := Session, what := What}, How, Flags) ->
    trace:function(Session, What, How, Flags).

%% The prompt's own modules, of which news is only what somebody asks for by that much of their names.
is_own(Module) -> lists:prefix("minivm_", atom_to_list(Module)).

includes_own('_') -> true;
includes_own(M) ->
    Begins = lists:takewhile(fun(C) -> C =/= $* andalso C =/= $? end, atom_to_list(M)),
    Begins =/= "minivm_" andalso lists:prefix(Begins, "minivm_").

events(#{session := Session, what := What, spec := Spec}, On) ->
    {Here, Elsewhere} = {On andalso Spec, false},
    case What of
        send ->
            trace:send(Session, Here, []),
            trace:recv(Session, Elsewhere, []);
        'receive' ->
            trace:send(Session, Elsewhere, []),
            trace:recv(Session, Here, [])
    end.

%% The messages between those who are asked for, and not to and from what shows them.
elsewhere(#{what := What, spec := Spec, party := Party}, Spared) ->
    Wanted = [list_to_tuple(['orelse', false | [{'=:=', '$100', P} || P <- Party]]) || Party =/= any],
    Others = [{'=/=', '$100', P} || P <- lists:usort(Spared), is_pid(P)],
    Body = [{message, '$100'} || What =:= 'receive'],
    [{Head, Guards ++ Wanted ++ Others, Body} || {Head, Guards, _} <- Spec].

flags(#{who := Who, session := Session, source := Source, kind := Kind, what := What}, Spared, Failed) ->
    Flags = [case Kind of message -> What; _ -> call end | [monotonic_timestamp || is_pid(Source)]],
    Of = case Who of
             _ when is_atom(Who) -> [Who];
             _ -> Who
         end,
    [try trace:process(Session, One, true, Flags)
     catch error:badarg -> Failed(io_lib:format("~tp has ended", [One]))
     end || One <- Of],
    [catch trace:process(Session, Pid, false, [all]) || is_atom(Who), Pid <- Spared],
    ok.

%% Where its events come from.
source(#{kind := call, returns := none, stack := none}, #s{refused = false} = S) ->
    case S#s.cursor of
        none ->
            case minivm:recorder_calls(<<>>, 0, []) of
                {ok, _, Cursor, _, _, _, Offset} -> {recorder, S#s{cursor = Cursor, offset = Offset}};
                {error, _} -> {collector(), with_offset(S)}
            end;
        _ -> {recorder, S}
    end;
source(#{kind := Kind}, S) when Kind =:= call; Kind =:= message -> {collector(), with_offset(S)};
source(_, S) -> {none, S}.

with_offset(#s{offset = none} = S) ->
    S#s{offset = case minivm:recorder_calls(<<>>, 0, []) of
                     {ok, _, _, _, _, _, Offset} -> Offset;
                     {error, _} -> erlang:time_offset(nanosecond)
                 end};
with_offset(S) -> S.

%% Ends it: nothing that it would have told comes any more.
release(#{session := Session, source := Source}) ->
    trace:session_destroy(Session),
    is_pid(Source) andalso begin unlink(Source), exit(Source, kill) end,
    ok.

%% What is typed, from its module's functions: [{MFA, What was counted}]
numbers(#{kind := Kind, flooded := Flooded} = T) when Kind =:= call_count; Kind =:= call_time; Kind =:= call_memory;
                                                      Flooded ->
    #{what := {M, F, A}, session := Session} = T,
    Item = case Kind of call -> call_count; _ -> Kind end,
    {IsModule, IsFunction} = {fits(M, T), fits(F, T)},
    [{Mfa, Value} || Module <- case maps:get(glob, T) orelse M =:= '_' of
                                   true -> [L || L <- erlang:loaded(), IsModule(L)];
                                   false -> [M]
                               end,
                     {Name, Arity} <- functions_of(Module), A =:= '_' orelse A =:= Arity, IsFunction(Name),
                     Mfa <- [{Module, Name, Arity}],
                     {_, Value} <- [trace:info(Session, Mfa, Item)], Value =/= false, Value =/= undefined,
                     Value =/= 0, Value =/= []];
numbers(_) -> [].

%% Without a call that might be counted.
functions_of(M) -> try erlang:get_module_info(M, functions) catch error:_ -> [] end.

fits('_', _) -> fun(_) -> true end;
fits(Name, #{glob := false}) -> fun(N) -> N =:= Name end;
fits(Name, _) ->
    {ok, Glob} = re:compile(minivm_prompt:glob(atom_to_list(Name)), [unicode]),
    fun(N) -> re:run(atom_to_list(N), Glob, [{capture, none}]) =:= match end.

%% ---- what keeps messages until they are wanted -----------------------------------------------------------

collector() ->
    spawn_link(fun() ->
                       process_flag(priority, high),
                       untraced(),
                       collect()
               end).

collect() ->
    receive
        {take, Ref, Tracer} ->
            Tracer ! {Ref, collected()},
            collect()
    end.

collected() ->
    receive
        Event when element(1, Event) =:= trace_ts -> [Event | collected()]
    after 0 -> []
    end.

take(Collector) ->
    Ref = monitor(process, Collector),
    Collector ! {take, Ref, self()},
    receive
        {Ref, Events} ->
            demonitor(Ref, [flush]),
            Events;
        {'DOWN', Ref, process, _, _} -> []
    end.

%% ---- events ----------------------------------------------------------------------------------------------

%% The next look, if there is anything to look for.
look(After, #s{looks = false} = S) ->
    case [T || T <- S#s.traces, has_events(T)] of
        [] -> S;
        _ ->
            erlang:send_after(After, self(), look),
            S#s{looks = true}
    end;
look(_, S) -> S.

has_events(#{source := Source, flooded := Flooded}) -> Source =/= none andalso not Flooded.

%% What has come since the last look, in order. {How many wait behind it, S}
follow(S0) ->
    {Recorded, Until, Waiting, S1} = follow_recorder(S0),
    S2 = lists:foldl(fun follow_collector/2, S1, [T || #{source := P} = T <- S1#s.traces, is_pid(P), has_events(T)]),
    {Now, Later} = lists:splitwith(fun(#event{at = At}) -> At =< Until end, S2#s.held),
    S3 = lists:foldl(fun event/2, S2#s{held = Later, batch = {0, []}}, merged(Recorded, Now)),
    {Waiting, tidy_stacks(write_batch(S3))}.

merged(A, B) -> lists:merge(fun(#event{at = X}, #event{at = Y}) -> X =< Y end, A, B).

%% {Events, no later one is among them, how many wait, S}
follow_recorder(S) ->
    case [{Id, Session} || #{source := recorder, session := Session, id := Id} = T <- S#s.traces, has_events(T)] of
        [] ->
            {[], infinity, 0, case [T || #{source := P} = T <- S#s.traces, is_pid(P)] of
                                  [] -> S#s{cursor = none};
                                  _ -> with_offset(S#s{cursor = none, offset = none})
                              end};
        Told ->
            {Ids, Sessions} = lists:unzip(Told),
            case minivm:recorder_calls(S#s.cursor, ?BATCH, Sessions) of
                {ok, Events, Cursor, Lost, Waiting, Until, Offset} ->
                    S1 = S#s{cursor = Cursor, offset = Offset, refused = false},
                    case Lost + Waiting + length(Events) of
                        Backlog when Backlog > ?QUEUE -> {[], infinity, 0, flood(recorder, Backlog, S1)};
                        _ ->
                            Own = [recorded(E, list_to_tuple(Ids)) || E <- Events],
                            {Own, case Own of
                                      [_ | _] when length(Own) =:= ?BATCH -> (lists:last(Own))#event.at;
                                      _ -> Until
                                  end, Waiting, notice_lost(Lost, S1)}
                    end;
                {error, _} when S#s.refused -> {[], infinity, 0, S};
                {error, Text} ->
                    {[], infinity, 0,
                     write(["nothing is shown: ", Text, " (:record on trace)\n"], S#s{refused = true})}
            end
    end.

follow_collector(#{source := Collector, id := Id}, S) ->
    case process_info(Collector, message_queue_len) of
        {_, N} when N > ?QUEUE -> flood(Collector, N, S);
        undefined -> S;
        _ ->
            New = [E || M <- take(Collector), E <- [message(M, Id, S#s.offset)], E =/= none],
            S#s{held = merged(S#s.held, New)}
    end.

%% Until all that happened before is shown. A flood ends it, as it waits no more.
catch_up(S) ->
    case follow(S) of
        {0, #s{held = []} = S1} -> S1;
        {_, S1} -> catch_up(S1)
    end.

recorded({What, Who, Mfa, Text, Ns, Which}, Ids) ->
    #event{trace = element(Which, Ids), what = What, who = Who, mfa = Mfa, at = Ns,
           text = case {What, Text} of
                      {call, <<>>} -> [$/, integer_to_list(element(3, Mfa))];
                      {return_from, _} -> [" -> ", Text];
                      {exception_from, _} -> [" -> ", Text];
                      _ -> Text
                  end}.

message(Event, Id, Offset) ->
    At = element(tuple_size(Event), Event) + Offset,
    Who = list_to_binary(pid_to_list(element(2, Event))),
    case Event of
        {_, _, call, Call, _} -> called(Call, #event{trace = Id, what = call, who = Who, at = At});
        {_, _, call, Call, Extra, _} ->
            called(Call, #event{trace = Id, what = call, who = Who, at = At, extra = {Extra}});
        {_, _, return_from, Mfa, Value, _} ->
            #event{trace = Id, what = return_from, who = Who, mfa = Mfa, value = Value, at = At,
                   text = fun() -> [" -> ", term(Value)] end};
        {_, _, exception_from, Mfa, {Class, Value}, _} ->
            #event{trace = Id, what = exception_from, who = Who, mfa = Mfa, at = At,
                   text = fun() -> io_lib:format(" -> ~tw:~ts", [Class, term(Value)]) end};
        {_, _, 'receive', Message, From, _} ->
            #event{trace = Id, what = 'receive', who = Who, value = Message, at = At, extra = {From}};
        {_, _, Send, Message, To, _} when Send =:= send; Send =:= send_to_non_existing_process ->
            #event{trace = Id, what = Send, who = Who, value = Message, at = At, extra = {To}};
        _ -> none
    end.

called({M, F, Args}, Event) when is_list(Args) ->
    Event#event{mfa = {M, F, length(Args)},
                text = fun() -> [$(, lists:join(",", [term(A) || A <- Args]), $)] end};
called({_, _, A} = Mfa, Event) -> Event#event{mfa = Mfa, text = [$/, integer_to_list(A)]}.

event(#event{trace = Id, what = What} = Event, S) ->
    case trace_of(Id, S) of
        false -> S;                     % it has been taken back meanwhile
        #{flooded := true} -> S;
        T when What =:= call -> call_event(Event, T, S);
        #{kind := message} = T -> counted([{Event, 0, ""}], T, S);
        T -> return_event(Event, T, S)
    end.

%% A call whose return is of interest is kept, and not shown yet where that decides.
call_event(#event{who = Who, mfa = Mfa, at = At} = Event, #{id := Id} = T, #s{stacks = Stacks} = S) ->
    Stack = maps:get(Who, Stacks, {0, 0, []}),
    case {returns(T), is_held(T)} of
        {false, _} -> counted([{Event, element(1, Stack), ""}], T, S);
        {true, true} ->
            {Depth, Size, Calls} = with_room(Stack),
            S#s{stacks = Stacks#{Who => {Depth, Size + 1, [{Id, Mfa, At, Event} | Calls]}}};
        {true, false} ->
            {Depth, Size, Calls} = with_room(Stack),
            counted([{Event, Depth, ""}], T,
                    S#s{stacks = Stacks#{Who => {Depth + 1, Size + 1, [{Id, Mfa, At, none} | Calls]}}})
    end.

%% In a loop of tail calls no call returns before the last one has, so that there is no end to those that are kept. The
%% oldest go: what returns next are the newest. Half of them at once, as what it takes is then little for each.
with_room({_, Size, Calls}) when Size >= ?DEPTH -> stack(lists:sublist(Calls, ?DEPTH div 2));
with_room(Stack) -> Stack.

stack(Calls) -> {length([x || {_, _, _, none} <- Calls]), length(Calls), Calls}.

return_event(#event{who = Who, mfa = Mfa, at = At} = Event, #{id := Id} = T, #s{stacks = Stacks} = S) ->
    {Depth, Size, Calls} = maps:get(Who, Stacks, {0, 0, []}),
    case lists:splitwith(fun({I, Called, _, _}) -> {I, Called} =/= {Id, Mfa} end, Calls) of
        {Passed, [{_, _, Began, Call} | Rest]} ->
            Now = Depth - length([x || {_, _, _, none} <- Passed]) - case Call of none -> 1; _ -> 0 end,
            S1 = S#s{stacks = case Rest of
                                  [] -> maps:remove(Who, Stacks);
                                  _ -> Stacks#{Who => {Now, Size - length(Passed) - 1, Rest}}
                              end},
            Took = At - Began,
            Elapsed = io_lib:format("  (~b us)", [Took div 1000]),
            case is_wanted(Event, Took, T) of
                false -> S1;
                true when Call =:= none -> counted([{Event, Now, Elapsed}], T, S1);
                true -> counted([{Call, Now, ""}, {Event, Now, Elapsed}], T, S1)
            end;
        {_, []} ->                      % it was called before the trace, or too many calls ago
            case not is_held(T) andalso is_wanted(Event, 0, T) of
                true -> counted([{Event, Depth, ""}], T, S);
                false -> S
            end
    end.

is_held(#{fails := Fails, returns := Returns, slower := Slower}) -> Fails orelse Returns =/= none orelse Slower =/= none.
returns(#{return := Return, exception := Exception} = T) -> Return orelse Exception orelse is_held(T).

is_wanted(#event{what = unwound}, _, _) -> false;
is_wanted(_, Took, #{slower := Least}) when is_integer(Least), Took < Least -> false;
is_wanted(#event{what = return_from, value = Value}, _, #{returns := Matches}) when Matches =/= none -> Matches(Value);
is_wanted(#event{what = return_from}, _, #{fails := true}) -> false;
is_wanted(#event{what = return_from}, _, #{slower := Least}) when is_integer(Least) -> true;
is_wanted(#event{what = return_from}, _, #{return := Return}) -> Return;
is_wanted(#event{what = exception_from}, _, #{exception := Exception, fails := Fails, slower := Slower,
                                              returns := Returns}) ->
    Exception orelse Fails orelse (Slower =/= none andalso Returns =:= none).

%% The stacks of processes that ended in the middle of calls.
tidy_stacks(#s{stacks = Stacks} = S) when map_size(Stacks) =< ?STACKS -> S;
tidy_stacks(#s{stacks = Stacks} = S) ->
    S#s{stacks = maps:filter(fun(Who, _) -> is_process_alive(list_to_pid(binary_to_list(Who))) end, Stacks)}.

%% Lines that are one event: shown, if that is not too many.
counted(Lines, #{events := Before, limit := Limit, shown := {Second0, Shown0}} = T0, S0) ->
    Second = erlang:monotonic_time(second),
    {S, T1} = case Second0 of
                  Second -> {S0, T0};
                  _ ->
                      Shown0 > 0 orelse erlang:send_after(1000, self(), {second, maps:get(id, T0)}),
                      {notice_rate(T0, S0), T0#{hidden := 0}}
              end,
    Shown = case Second0 of Second -> Shown0; _ -> 0 end,
    T = T1#{events := Before + 1, shown := {Second, Shown + 1}},
    Most = case Limit of {N, second} -> N; _ -> 1000 end,
    case Limit of
        {Last, total} when Before + 1 >= Last ->
            S2 = ended([T], show_all(Lines, keep(T, S))),
            write(io_lib:format("~ts: ~b events, as many as were asked for; the trace is off~n", [maps:get(head, T), Last]),
                  S2);
        _ when Shown >= Most ->
            Hidden = maps:get(hidden, T),
            Hidden > 0 orelse erlang:send_after(1000, self(), {second, maps:get(id, T)}),
            keep(T#{hidden := Hidden + 1, shown := {Second, Shown}}, S);
        _ -> show_all(Lines, keep(T, S))
    end.

notice_rate(#{hidden := 0}, S) -> S;
notice_rate(#{hidden := N, head := Head, limit := Limit} = T, S) ->
    Rate = case Limit of {Most, second} -> Most; _ -> 1000 end,
    keep(T#{hidden := 0}, write(io_lib:format("... ~b more events of ~ts that are not shown (limit ~b/s)~n",
                                              [N, Head, Rate]), S)).

notice_lost(0, S) -> S;
notice_lost(N, S) ->
    write(io_lib:format("... ~b events lost: the recorder had overwritten them before they could be shown~n", [N]), S).

notice_hidden(S) -> notice_unread(lists:foldl(fun notice_rate/2, S, S#s.traces)).

%% What found no reader, once there is one again.
notice_unread(#s{hidden = 0} = S) -> S;
notice_unread(#s{hidden = N, writes = Writes} = S) when Writes < ?WRITES ->
    write(io_lib:format("... ~b more events that are not shown~n", [N]), S#s{hidden = 0});
notice_unread(S) -> S.

%% From here on calls are only counted; messages are not even that.
flood(Source, N, S0) ->
    S = lists:foldl(fun notice_rate/2, S0, [T || #{source := From, flooded := false} = T <- S0#s.traces, From =:= Source]),
    {Traces, Heads} =
        lists:foldr(fun(#{source := From, flooded := false} = T, {All, Gone}) when From =:= Source ->
                            {[only_counted(T) | All], [maps:get(head, T) | Gone]};
                       (T, {All, Gone}) -> {[T | All], Gone}
                    end, {[], []}, S#s.traces),
    IsCounted = [] =/= [T || #{kind := call, flooded := true, source := From} = T <- Traces,
                             From =:= none, lists:member(maps:get(head, T), Heads)],
    What = case IsCounted of
               true -> "from now on calls are only counted (:traces shows how many, :untrace ends it)";
               false -> "the trace is off"
           end,
    write(io_lib:format("a flood: ~b events of ~ts wait; ~ts~n", [N, lists:join(", ", Heads), What]),
          S#s{traces = [T || T <- Traces, T =/= off], stacks = without_flooded(Traces, S#s.stacks), cursor = none}).

without_flooded(Traces, Stacks) ->
    Live = [Id || #{id := Id, flooded := false} <- Traces],
    maps:filtermap(fun(_, {_, _, Calls}) ->
                           case [Call || Call <- Calls, lists:member(element(1, Call), Live)] of
                               [] -> false;
                               Left -> {true, stack(Left)}
                           end
                   end, Stacks).

only_counted(#{kind := message} = T) ->
    release(T),
    off;
only_counted(#{scope := Scope, source := Source} = T) ->
    functions(T, false, [Scope]),
    functions(T, true, [call_count]),
    is_pid(Source) andalso begin unlink(Source), exit(Source, kill) end,
    T#{flooded := true, source := none, hidden := 0}.

%% ---- showing ---------------------------------------------------------------------------------------------

show_all(Lines, S) -> lists:foldl(fun show/2, S, Lines).

show({#event{what = What, who = Who, at = At} = Event, Depth, Elapsed}, S) ->
    Context = S#s.context,
    write([minivm_colours:paint(aside, [time(At div 1000), $\s, Who], Context), $\s,
           lists:duplicate(2 * min(Depth, 40), $\s), said(What, Event, Context), Elapsed, $\n,
           callers(Event)], S).

said(call, #event{mfa = {M, F, _}, text = Text}, Context) ->
    ["call ", minivm_colours:paint(call, io_lib:format("~tw:~tw", [M, F]), Context), chars(Text)];
said(return_from, #event{mfa = {M, F, A}, text = Text}, Context) ->
    [minivm_colours:paint(return, "returned", Context), io_lib:format(" from ~tw:~tw/~b", [M, F, A]), chars(Text)];
said(exception_from, #event{mfa = {M, F, A}, text = Text}, Context) ->
    [minivm_colours:paint(exception, "exception", Context), io_lib:format(" from ~tw:~tw/~b", [M, F, A]), chars(Text)];
said('receive', #event{value = timeout, extra = {undefined}}, _) -> "receive timed out";
said('receive', #event{value = Message, extra = {From}}, Context) ->
    [minivm_colours:paint(return, "received", Context), $\s, term(Message), case From of
                                                                                 undefined -> "";
                                                                                 _ -> [" from ", term(From)]
                                                                             end];
said(send, #event{value = Message, extra = {To}}, Context) ->
    [minivm_colours:paint(call, "send", Context), $\s, term(Message), " to ", term(To)];
said(_, #event{value = Message, extra = {To}}, Context) ->
    [minivm_colours:paint(call, "send", Context), $\s, term(Message), " to ", term(To), ", which is not there"].

chars(Text) when is_function(Text) -> Text();
chars(Text) -> Text.

%% Innermost first.
callers(#event{what = call, extra = {Stack}}) when is_list(Stack) ->
    [io_lib:format("    from ~tw:~tw/~w~ts~n", [M, F, case A of _ when is_list(A) -> length(A); _ -> A end, place(Where)])
     || {M, F, A, Where} <- Stack, M =/= minivm_eval, M =/= minivm_boot];
callers(_) -> "".

place(Where) ->
    case {proplists:get_value(file, Where), proplists:get_value(line, Where)} of
        {undefined, _} -> "";
        {File, Line} -> io_lib:format(" (~ts, line ~b)", [File, Line])
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
    case minivm_trace_words:parse(Text, {[], none}) of
        {error, Why} -> throw([Text, ": ", Why]);
        {ok, Traces} ->
            case [M || #{what := {M, _, _}, glob := false} <- Traces, M =/= '_', not erlang:module_loaded(M),
                       code:which(M) =:= non_existing] of
                [M | _] ->
                    Otherwise(Text, io_lib:format("there is no module ~tw", [M])),
                    [Text];
                [] ->
                    case set(whereis(minivm_tracer), Text, {[], none}, Spared) of
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
            case [T || #{numbers := [_ | _]} = T <- list(Tracer)] of
                [] -> ok;
                Counted -> io:put_chars(standard_error, minivm_prompt:numbers(Counted, #{}))
            end
    end.
