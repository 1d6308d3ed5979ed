%% A process that was suspended on its way into a dirty function, here one that writes to a file, ran it all the same.
-module(proc_suspend_going_dirty).
-export([main/1]).

-define(SIZE, 2000000).

main(_) ->
    Name = "proc_suspend_going_dirty.out",
    {P, Ref} = writer(Name),
    p(wrote_while_suspended, [N || N <- lists:seq(1, 100), changed(P, Name)]),
    exit(P, kill),
    receive {'DOWN', Ref, process, P, killed} -> ok end,
    %% The end of one that is suspended there.
    p(ended, [ended_suspended(Name) || _ <- lists:seq(1, 20)]),
    file:delete(Name).

p(What, Value) -> io:format("~w: ~0tp~n", [What, Value]).

writer(Name) ->
    Parent = self(),
    {P, Ref} = spawn_monitor(fun() ->
                                 {ok, File} = file:open(Name, [raw, write]),
                                 Zeros = binary:copy(<<0>>, ?SIZE),
                                 write(File, Zeros),
                                 loop(File, Parent, lists:seq(1, 300000), lists:seq(1, 300000), binary:copy(<<1>>, ?SIZE), Zeros)
                             end),
    {P, Ref}.

%% Suspended in its work, it comes to the function before the end of its slice.
loop(File, Parent, Work, Same, This, Next) ->
    Parent ! {self(), works},
    true = Work =:= Same,
    write(File, This),
    loop(File, Parent, Work, Same, Next, This).

write(File, Bytes) -> ok = file:pwrite(File, 0, Bytes).

await_news(P) ->
    receive {P, works} -> await_news(P)
    after 0 -> await(P)
    end.

%% Who sleeps might get the scheduler of the writer when that is done with it.
await(P) ->
    receive {P, works} -> ok
    after 0 -> await(P)
    end.

%% False: OTP 25 fails where the process is about to leave such a function.
suspended(P) ->
    await_news(P),
    try erlang:suspend_process(P)
    catch error:_ -> catch erlang:resume_process(P), false
    end.

changed(P, Name) ->
    suspended(P) andalso
        begin
            Before = look(Name),
            receive after 2 -> ok end,
            After = look(Name),
            true = erlang:resume_process(P),
            Before =/= After
        end.

look(Name) ->
    {ok, File} = file:open(Name, [raw, read, binary]),
    {ok, Bytes} = file:pread(File, [{0, 1}, {?SIZE - 1, 1}]),
    ok = file:close(File),
    Bytes.

ended_suspended(Name) ->
    {P, Ref} = writer(Name),
    suspended(P),
    exit(P, kill),
    receive {'DOWN', Ref, process, P, Why} -> Why end.
