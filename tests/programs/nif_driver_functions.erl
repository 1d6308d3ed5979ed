%% Libraries of NIFs find what erl_driver.h has for every thread: bitcask's did not load without erl_errno_id.
-module(nif_driver_functions).
-export([start/0]).
-nifs([errno_ids/0, threads/0, memory/0, system_info/0, environment/0]).

errno_ids() -> erlang:nif_error(no).
threads() -> erlang:nif_error(no).
memory() -> erlang:nif_error(no).
system_info() -> erlang:nif_error(no).
environment() -> erlang:nif_error(no).

start() ->
    ok = erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), ?MODULE_STRING), 0),
    io:format("~p~n~p~n~p~n", [errno_ids(), threads(), memory()]),
    {Major, Minor, Smp, Release} = system_info(),
    io:format("~p~n", [{Major, is_integer(Minor), Smp, Release =:= erlang:system_info(otp_release)}]),
    io:format("~p ~p~n", [environment(), os:getenv("NIF_DRIVER")]).
