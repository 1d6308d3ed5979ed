%% gen_statem of the stock stdlib: a door with a code, timeouts, postponed events, state enter
%% calls.
-module(lib_gen_statem).
-behaviour(gen_statem).
-export([main/1, init/1, callback_mode/0, locked/3, open/3]).

main(_) ->
    {ok, D} = gen_statem:start_link(?MODULE, {self(), "123"}, []),
    [gen_statem:cast(D, {button, B}) || B <- "124"],
    io:format("~p~n", [gen_statem:call(D, state)]),
    [gen_statem:cast(D, {button, B}) || B <- "123"],
    io:format("~p~n", [gen_statem:call(D, state)]),
    io:format("~p~n", [receive {entered, X} -> X end]),
    io:format("~p~n", [receive {entered, Y} -> Y end]),
    io:format("~p~n", [receive {entered, Z} -> Z after 5000 -> none end]),
    io:format("~p~n", [gen_statem:call(D, state)]),
    gen_statem:cast(D, {when_open, self()}),
    [gen_statem:cast(D, {button, B}) || B <- "123"],
    io:format("~p~n", [receive was_open -> postponed_until_open after 5000 -> none end]),
    io:format("~p~n", [gen_statem:stop(D)]).

callback_mode() -> [state_functions, state_enter].
init({Main, Code}) -> {ok, locked, #{main => Main, code => Code, got => ""}}.
locked(enter, _, #{main := M} = S) -> M ! {entered, locked}, {keep_state, S#{got := ""}};
locked(cast, {button, B}, #{code := Code, got := Got} = S) ->
    case lists:sublist(lists:reverse([B | lists:reverse(Got)]),
                       max(1, length(Got) + 1 - length(Code) + 1), length(Code)) of
        Code -> {next_state, open, S};
        New -> {keep_state, S#{got := New}}
    end;
locked(cast, {when_open, _}, _) -> {keep_state_and_data, [postpone]};
locked({call, From}, state, _) -> {keep_state_and_data, [{reply, From, locked}]}.
open(enter, _, #{main := M}) ->
    M ! {entered, open}, {keep_state_and_data, [{state_timeout, 600, close}]};
open(state_timeout, close, S) -> {next_state, locked, S};
open(cast, {when_open, P}, _) -> P ! was_open, keep_state_and_data;
open(cast, {button, _}, _) -> keep_state_and_data;
open({call, From}, state, _) -> {keep_state_and_data, [{reply, From, open}]}.
