%% BIFs that belong to no other group: atoms, references, memory, bump, counters, persistent terms.
-module(bif_misc).
-export([main/1, id/1]).

main(_) ->
    C = counters:new(3, [atomics]),
    counters:add(C, 1, 5), counters:sub(C, 2, 3), counters:put(C, 3, 100),
    io:format("~p~n", [[counters:get(C, I) || I <- [1, 2, 3]]]),
    A = atomics:new(2, [{signed, true}]),
    atomics:put(A, 1, 10),
    io:format("~p~n", [[atomics:add_get(A, 1, 5), atomics:sub_get(A, 1, 3), atomics:exchange(A, 1, 7), atomics:compare_exchange(A, 1, 7, 8), atomics:compare_exchange(A, 1, 7, 9), atomics:get(A, 1)]]),
    Self = self(),
    Ps = [spawn(fun() -> [atomics:add(A, 2, 1) || _ <- lists:seq(1, 1000)], Self ! {done, self()} end) || _ <- lists:seq(1, 10)],
    [receive {done, P} -> ok end || P <- Ps],
    io:format("~p~n", [atomics:get(A, 2)]),
    persistent_term:put({?MODULE, key}, {big, lists:seq(1, 100)}),
    io:format("~p~n", [length(element(2, persistent_term:get({?MODULE, key})))]),
    io:format("~p~n", [persistent_term:get(nokey, default)]),
    io:format("~p~n", [[persistent_term:erase({?MODULE, key}), persistent_term:erase({?MODULE, key})]]),
    io:format("~p~n", [is_integer(erlang:memory(total)) andalso erlang:memory(total) > 0]),
    io:format("~p~n", [[is_list(pid_to_list(self())), list_to_pid(pid_to_list(self())) =:= self()]]),
    R = make_ref(),
    io:format("~p~n", [list_to_ref(ref_to_list(R)) =:= R]),
    io:format("~p~n", [[erlang:is_builtin(erlang, B, N) || {B, N} <- [{abs, 1}, {apply, 3}, {nothing, 0}]]]),
    io:format("~p~n", [[tuple_to_list({1, 2}), list_to_tuple([]), size({1, 2, 3}), size(<<1, 2>>)]]),
    io:format("~p~n", [erlang:fun_to_list(fun lists:map/2)]),
    io:format("~p~n", [[erlang:min(1, a), erlang:max(1, a)]]),
    io:format("~p~n", [erts_debug:flat_size({a, [1, 2]})]),
    io:format("~p~n", [[try F() catch Cl:E -> {Cl, E} end || F <- [fun() -> counters:get(C, 4) end, fun() -> atomics:new(0, []) end, fun() -> list_to_pid(id("x")) end, fun() -> persistent_term:get(id(nokey)) end, fun() -> list_to_ref(id("y")) end]]]),
    io:format("~p~n", [[os:getenv("MINIVM_NO_SUCH_VARIABLE"), os:getenv("MINIVM_NO_SUCH_VARIABLE", "default"), os:putenv("MINIVM_X", "1"), os:getenv("MINIVM_X"), os:unsetenv("MINIVM_X"), os:getenv("MINIVM_X")]]),
    io:format("~p~n", [[is_tuple(os:type()), is_list(os:getpid())]]),
    io:format("~p~n", [erlang:split_binary(<<"ab">>, 1)]),
    io:format("~p~n", [[erlang:is_map_key(a, #{a => 1}), erlang:map_get(a, #{a => 1})]]),
    io:format("~p~n", [erlang:list_to_existing_atom("ok")]).

id(X) -> X.
