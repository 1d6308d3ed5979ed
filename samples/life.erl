%% The game of life, whose rule is changed while it is being drawn.
%%
%%     minivm run life.beam
%%
%% Look at the two processes: one draws generation after generation and knows of no change, the other
%% loads another version of the module life_rule between two of them. A call with a module's name always
%% goes to the version that is current.
-module(life).
-export([main/1]).

-define(WIDTH, 40).
-define(HEIGHT, 12).

main(_) ->
    Dir = filename:dirname(code:which(?MODULE)),
    Main = self(),
    Loader = spawn_link(fun() -> loader(Main, Dir) end),
    World = maps:from_keys([{X + 14, Y + 3} || {X, Y} <- [{2, 0}, {3, 0}, {4, 0}, {1, 1}, {4, 1}, {0, 2},
                                                          {4, 2}, {0, 3}, {3, 3}, {0, 4}, {1, 4}, {2, 4}]],
                           alive),
    draw(World, 0, 30, Loader).

draw(_, N, N, _) -> ok;
draw(World, Generation, End, Loader) ->
    io:format("generation ~b, ~s, ~b cells~n", [Generation, life_rule:name(), map_size(World)]),
    Generation rem 10 =:= 0 andalso picture(World),
    %% Every ten generations the other process gets its chance.
    Generation rem 10 =:= 9 andalso begin
                                        Loader ! {change, self()},
                                        receive changed -> ok end
                                    end,
    draw(next(World), Generation + 1, End, Loader).

picture(World) ->
    [io:format("|~s|~n", [[case World of #{{X, Y} := _} -> $#; _ -> $\s end || X <- lists:seq(1, ?WIDTH)]])
     || Y <- lists:seq(1, ?HEIGHT)].

next(World) ->
    Counts = lists:foldl(fun(Cell, Acc) -> maps:update_with(Cell, fun(N) -> N + 1 end, 1, Acc) end, #{},
                         [{(X + Dx) rem ?WIDTH, (Y + Dy) rem ?HEIGHT}
                          || {X, Y} <- maps:keys(World), Dx <- [?WIDTH - 1, 0, 1], Dy <- [?HEIGHT - 1, 0, 1],
                             {Dx, Dy} =/= {0, 0}]),
    maps:from_keys([Cell || {Cell, Count} <- maps:to_list(Counts),
                            life_rule:lives(is_map_key(Cell, World), Count)], alive).

loader(Main, Dir) ->
    receive
        {change, Main} ->
            Other = case life_rule:name() of
                        "high life" -> "v1";
                        _ -> "v2"
                    end,
            {module, life_rule} = code:load_abs(filename:join([Dir, Other, "life_rule"])),
            true = code:soft_purge(life_rule),
            Main ! changed,
            loader(Main, Dir)
    end.
