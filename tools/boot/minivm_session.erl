%% One client and what it asks for. docs/protocols/outside.md has the frames.
%%
%% Three kinds of processes, so that none waits for what another does:
%%   the session    has the connection and reads every frame at once; it waits for nothing else
%%   its output     (minivm_io) the group leader of what runs here; waits while the client does not read
%%   workers        one evaluates expressions and keeps the variables, others run one command each
%% A client that goes takes all of them along, and nothing else.
-module(minivm_session).
-export([start/0, start/1]).

-define(VERSION, 1).

-record(s, {port,
            io,                         % pid of the output
            context = #{},              % what commands know of the client: directory, columns, terminal, colours
            evaluator = none,           % pid, once there was an expression
            memory,                     % variables and results (minivm_eval)
            work = none,                % {Pid, expression | command} that the client waits for
            pending = [],               % characters of an expression that goes on on the next line
            completer = none,
            tracer = none}).            % pid, once something was to be traced (minivm_trace)

start() -> start(fun() -> ok end).

%% Fetched() is called when the client has been fetched.
start(Fetched) ->
    process_flag(trap_exit, true),
    process_flag(priority, high),
    minivm_trace:untraced(),
    Next = minivm:outside_next(),
    Fetched(),
    case Next of
        Port when is_port(Port) -> greet(Port);
        _ -> ok                         % somebody else has fetched it
    end.

%% A client that does not say hello has nothing to say.
greet(Port) ->
    receive
        {Port, {data, <<"H", ?VERSION:32, Columns:32, Flags, Dir/binary>>}} ->
            Terminal = Flags band 1 =:= 1,
            Io = minivm_io:start_session(Port, self(), Columns),
            minivm_trace:untraced(Io),
            put_frame(Port, [<<"H", ?VERSION:32>>, greeting()]),
            S = #s{port = Port, io = Io, memory = minivm_eval:memory(),
                   context = #{dir => unicode:characters_to_list(Dir), columns => max(Columns, 40),
                               terminal => Terminal, colours => Flags band 2 =:= 2, session => self()}},
            done(0, S),
            minivm:outside_more(Port),
            loop(S);
        {Port, {data, <<"H", Version:32, _/binary>>}} ->
            goodbye(Port, 2, io_lib:format("this VM speaks version ~b of the protocol, and you version ~b",
                                           [?VERSION, Version]));
        {Port, {data, _}} ->
            goodbye(Port, 2, "the first frame must be a hello");
        {'EXIT', Port, _} ->
            ok
    after 15000 ->
        goodbye(Port, 2, "no hello for 15 seconds")
    end.

greeting() ->
    io_lib:format("minivm, process ~ts, ~b schedulers, ~ts", [os:getpid(), erlang:system_info(schedulers),
                                                              minivm:engine_name()]).

goodbye(Port, Status, Text) ->
    put_frame(Port, ["X", Status, Text]),
    try port_close(Port) catch error:_ -> ok end.

loop(#s{port = Port, work = Work, evaluator = Evaluator, completer = Completer} = S) ->
    receive
        {Port, {data, Frame}} ->
            minivm:outside_more(Port),
            loop(frame(Frame, S));
        {read, _} ->                    % somebody reads from the client
            put_frame(Port, "R"),
            loop(S);
        {done, Pid, Result} when Work =/= none, Pid =:= element(1, Work) ->
            loop(finished(Result, S));
        {completions, Pid, Common, Choices} when Pid =:= Completer ->
            Bytes = unicode:characters_to_binary(Common),
            put_frame(Port, ["T", <<(byte_size(Bytes)):32>>, Bytes, unicode:characters_to_binary(Choices)]),
            loop(S#s{completer = none});
        {'EXIT', Port, _} ->
            %% What the session runs may trap exits.
            [end_of(Pid) || Pid <- lists:usort([Evaluator, Completer | [P || {P, _} <- [Work]]]), is_pid(Pid)],
            S#s.io ! client_gone,
            exit(normal);
        {'EXIT', Pid, Reason} when Work =/= none, Pid =:= element(1, Work) ->
            loop(worker_died(Reason, S));
        {'EXIT', Evaluator, Reason} ->
            loop(evaluator_died(Reason, S#s{evaluator = none}));
        {'EXIT', Completer, _} ->
            put_frame(Port, <<"T", 0:32>>),
            loop(S#s{completer = none});
        {is_traced, From} ->            % an expression has been evaluated
            From ! {is_traced, S#s.tracer},
            loop(S);
        {tracer, From} ->               % a command wants it
            S1 = tracer(S),
            From ! {tracer, S1#s.tracer},
            loop(S1);
        {own_processes, Ref, From} ->   % those that do not do what the client asks for
            Collectors = case S#s.tracer of
                             none -> [];
                             Tracer -> case process_info(Tracer, links) of {_, Ps} -> Ps; undefined -> [] end
                         end,
            From ! {Ref, [P || P <- [self(), S#s.io, S#s.tracer, S#s.completer | [W || {W, command} <- [S#s.work]]]
                               ++ Collectors, is_pid(P)]},
            loop(S);
        {'EXIT', Tracer, _} when Tracer =:= S#s.tracer ->
            loop(S#s{tracer = none});
        {put_again, Frame} ->
            put_frame(Port, Frame),
            loop(S);
        _ ->
            loop(S)
    end.

end_of(Pid) ->
    exit(Pid, kill),
    receive {'EXIT', Pid, _} -> ok end.

%% ---- frames ----------------------------------------------------------------------------------------------

frame(<<"I">>, S) -> interrupt(S);
frame(<<"A", IsLine, Line/binary>>, S) ->
    S#s.io ! {input, self(), case IsLine of 1 -> Line; 0 -> eof end},
    S;
frame(<<"T", Text/binary>>, #s{completer = none} = S) ->
    Session = self(),
    Memory = S#s.memory,
    Line = unicode:characters_to_list(Text),
    S#s{completer = spawn_link(fun() ->
                                       minivm_trace:untraced(),
                                       {Common, Choices} = minivm_complete:line(Line, Memory, (S#s.context)#{tracer => S#s.tracer}),
                                       Session ! {completions, self(), Common, Choices}
                               end)};
frame(<<"C", Whole, Text/binary>>, #s{work = none} = S) ->
    case unicode:characters_to_list(Text) of
        Chars when is_list(Chars) -> input(Chars, Whole =:= 1, S);
        _ -> failed("this is not UTF-8\n", S#s{pending = []})
    end;
frame(<<"M", Purge, N:32, Rest/binary>>, #s{work = none} = S) ->
    case files(N, Rest, []) of
        error ->
            goodbye(S#s.port, 2, "a load that is cut off"),
            S;
        Files -> worker(fun() -> minivm_load:files(Files, Purge =:= 1) end, S)
    end;
frame(<<"L", Text/binary>>, #s{work = none} = S) ->
    Words = [unicode:characters_to_list(W) || W <- binary:split(Text, <<0>>, [global]), W =/= <<>>],
    worker(fun() -> minivm_prompt:record(Words, #{dir => "/"}) end, S);
frame(_, #s{work = none} = S) ->
    goodbye(S#s.port, 2, "a frame that this VM does not know"),
    S;
frame(_, S) ->
    goodbye(S#s.port, 2, "a command before the one before it was done"),
    S.

files(0, <<>>, Files) -> lists:reverse(Files);
files(N, <<Length:32, Name:Length/binary, Size:32, Bytes:Size/binary, Rest/binary>>, Files) when N > 0 ->
    files(N - 1, Rest, [{unicode:characters_to_list(Name), Bytes} | Files]);
files(_, _, _) -> error.

%% The session never waits for its client: what finds no room is tried again.
put_frame(Port, Frame) ->
    try port_command(Port, Frame, [nosuspend]) of
        true -> ok;
        false -> erlang:send_after(20, self(), {put_again, Frame})
    catch
        error:_ -> ok                   % it has gone; the exit signal is on its way
    end.

done(Status, S) ->
    put_frame(S#s.port, ["D", Status, prompt(S)]),
    S#s{work = none}.

%% Text says what is wrong.
failed(Text, S) ->
    put_frame(S#s.port, ["E", unicode:characters_to_binary(Text)]),
    done(1, S).

prompt(S) -> [integer_to_list(minivm_eval:number(S#s.memory)), "> "].

%% ---- input -----------------------------------------------------------------------------------------------

%% A line: a command, or (a part of) expressions.
input(Chars, Whole, #s{pending = []} = S) ->
    case string:trim(Chars, both, "\s\t\r\n") of
        [] -> done(0, S);
        ":" ++ Command ->
            Context = (S#s.context)#{memory => S#s.memory},
            worker(fun() -> minivm_prompt:command(Command, Context) end, S);
        _ -> expressions(Chars, Whole, S)
    end;
input(Chars, Whole, #s{pending = Pending} = S) ->
    expressions(Pending ++ Chars, Whole, S#s{pending = []}).

expressions(Chars, Whole, S0) ->
    case minivm_eval:parse(Chars, Whole) of
        more ->
            Width = length(lists:flatten(prompt(S0))) - 2,
            put_frame(S0#s.port, ["N", lists:duplicate(max(Width - 2, 0), $\s), ".. "]),
            S0#s{pending = Chars};
        [] -> done(0, S0);
        Forms ->
            S = evaluator(S0),
            S#s.evaluator ! {evaluate, self(), Forms},
            S#s{work = {S#s.evaluator, expression}}
    end.

evaluator(#s{evaluator = none} = S) ->
    Io = S#s.io,
    Memory = S#s.memory,
    Context = S#s.context,
    S#s{evaluator = spawn_link(fun() ->
                                       group_leader(Io, self()),
                                       minivm_eval:loop(Memory, Context)
                               end)};
evaluator(S) -> S.

tracer(#s{tracer = none} = S) -> S#s{tracer = minivm_trace:start(S#s.io, S#s.context)};
tracer(S) -> S.

%% Fun() -> ok | {error, Text} | quit
worker(Fun, S) ->
    Session = self(),
    Io = S#s.io,
    Pid = spawn_link(fun() ->
                             group_leader(Io, self()),
                             minivm_trace:untraced(),
                             Session ! {done, self(), Fun()}
                     end),
    S#s{work = {Pid, command}}.

finished(ok, S) -> done(0, S);
finished({error, Text}, S) -> failed(Text, S);
finished({ok, Memory}, S) -> done(0, S#s{memory = Memory});
%% Said before anything was evaluated, or caught.
finished({refused, Text, Memory}, S) -> failed(Text, S#s{memory = Memory});
%% Its process ends as it would have elsewhere; that is no news any more.
finished({failed, Text, Memory}, #s{evaluator = Pid} = S) ->
    unlink(Pid),
    receive {'EXIT', Pid, _} -> ok after 0 -> ok end,
    failed(Text, S#s{evaluator = none, memory = Memory});
finished({Quit, _}, S) when Quit =:= quit -> finished(quit, S);
finished(quit, S) ->
    goodbye(S#s.port, 0, ""),
    S#s{work = none}.

worker_died(Reason, #s{work = {_, expression}} = S) ->
    evaluator_died(Reason, S#s{evaluator = none});
worker_died(killed, S) -> failed("** interrupted\n", S);
worker_died(Reason, S) -> failed(io_lib:format("the command failed: ~tp\n", [Reason]), S).

%% Somebody has ended it: whoever it was linked to, or the client.
evaluator_died(Reason, #s{work = {_, expression}} = S) ->
    Text = case Reason of
               killed -> "** interrupted\n";
               _ -> io_lib:format("** exception exit: ~tp\n", [Reason])
           end,
    failed(Text, S#s{memory = minivm_eval:next(S#s.memory)});
evaluator_died(_, S) -> S.

interrupt(#s{work = {Pid, _}} = S) ->
    exit(Pid, kill),
    S;
interrupt(S) ->
    %% The client gives up what it had typed so far.
    S#s{pending = []}.
