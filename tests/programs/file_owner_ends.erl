%% A file is closed when the process that opened it has ended, though another process has its reference.
-module(file_owner_ends).
-export([main/1]).

main(_) ->
    Name = "/tmp/minivm_file_owner_" ++ os:getpid(),
    ok = file:write_file(Name, "text"),
    Before = open_files(),
    {Kept, Ended} = owner(Name, fun(P) -> exit(P, kill) end),
    io:format("killed: ~p more~n", [settled(Before)]),
    io:format("~p~n", [element(1, element(2, catch {ok, file:read(Kept, 1)}))]),
    {Kept2, Ended2} = owner(Name, fun(P) -> P ! stop end),
    io:format("ended: ~p more~n", [settled(Before)]),
    %% Many at once, some of them closed before.
    All = [owner(Name, fun(P) -> P ! Stop end) || Stop <- lists:append(lists:duplicate(50, [stop, close, fail]))],
    io:format("many: ~p more~n", [settled(Before)]),
    ok = file:delete(Name),
    true = is_list([Kept2, Ended, Ended2 | All]).

owner(Name, End) ->
    Me = self(),
    {P, Ref} = spawn_monitor(fun() ->
                                     {ok, F} = file:open(Name, [raw, read]),
                                     {ok, G} = file:open(Name, [raw, read, binary]),
                                     Me ! {self(), F},
                                     receive
                                         stop -> G;
                                         close -> ok = file:close(F);
                                         fail -> exit(failed)
                                     end
                             end),
    F = receive {P, X} -> X end,
    End(P),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    {F, P}.

open_files() -> length(element(2, file:list_dir("/proc/self/fd"))).

settled(Before) -> settled(Before, 100).
settled(Before, Tries) ->
    case open_files() - Before of
        N when N =< 0; Tries =:= 0 -> max(N, 0);
        _ -> timer:sleep(20), settled(Before, Tries - 1)
    end.
