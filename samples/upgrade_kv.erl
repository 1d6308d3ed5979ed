%% A key-value server in three versions, for the sample upgrade.erl. The build compiles this file three
%% times: VERSION is 1, 2 or 3.
%%
%%   1 keeps a list of pairs   2 keeps a map   3 keeps a map and counts how often each key was written
-module(upgrade_kv).
-export([start/0, version/0, continue/3, code_change/3]).

-ifndef(VERSION).
-define(VERSION, 1).
-endif.

start() -> spawn_link(fun() -> loop(empty()) end).
version() -> ?VERSION.

loop(Data) ->
    receive
        {put, From, Ref, Key, Value} ->
            From ! {Ref, ok},
            loop(put(Key, Value, Data));
        {get, From, Ref, Key} ->
            From ! {Ref, get(Key, Data)},
            loop(Data);
        {upgrade, From, Ref} ->
            %% A call with the module's name goes to the current version; loop/1 alone would stay here.
            ?MODULE:continue(?VERSION, Data, {From, Ref})
    end.

%% Called by the version that was.
continue(Old, Data, {From, Ref}) ->
    {ok, Ours} = code_change(Old, Data, []),
    From ! {Ref, {Old, ?VERSION}},
    loop(Ours).

%% As a gen_server's: the data of version Old become ours.
code_change(Old, Data, _Extra) ->
    {ok, lists:foldl(fun({Key, Value}, D) -> put(Key, Value, D) end, empty(), pairs(Old, Data))}.

pairs(1, List) -> List;
pairs(2, Map) -> maps:to_list(Map);
pairs(3, Map) -> [{Key, Value} || {Key, {Value, _Times}} <- maps:to_list(Map)].

-if(?VERSION =:= 1).
empty() -> [].
put(Key, Value, List) -> lists:keystore(Key, 1, List, {Key, Value}).
get(Key, List) -> proplists:get_value(Key, List, none).
-elif(?VERSION =:= 2).
empty() -> #{}.
put(Key, Value, Map) -> Map#{Key => Value}.
get(Key, Map) -> maps:get(Key, Map, none).
-else.
empty() -> #{}.
put(Key, Value, Map) ->
    maps:update_with(Key, fun({_, Times}) -> {Value, Times + 1} end, {Value, 1}, Map).
get(Key, Map) ->
    case Map of
        #{Key := {Value, _}} -> Value;
        _ -> none
    end.
-endif.
