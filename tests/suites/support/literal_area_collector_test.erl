%% In the place of the module of this name in OTP's folder: waits until literals of code and of persistent terms that
%% are gone have been given back. OTP has a process that does this, and that is asked; minivm does it by itself
%% and says how far it is.
-module(literal_area_collector_test).
-export([check_idle/0, check_idle/1]).

check_idle() ->
    check_idle(5000).

check_idle(Timeout) ->
    End = erlang:monotonic_time(millisecond) + Timeout * test_server:timetrap_scale_factor(),
    wait(End, Timeout).

wait(End, Timeout) ->
    case is_idle() of
        true -> ok;
        false ->
            erlang:monotonic_time(millisecond) < End orelse error({busy_literal_area_collecor_timout, Timeout}),
            receive after 10 -> ok end,
            wait(End, Timeout)
    end.

is_idle() ->
    case [P || P <- processes(), process_info(P, initial_call) =:=
                   {initial_call, {erts_literal_area_collector, start, 0}}] of
        [Collector] ->
            Ref = make_ref(),
            Collector ! {get_status, Ref, self()},
            receive {Ref, Status} -> Status =:= idle end;
        [] ->
            {Taken, Freed} = minivm:literal_areas(),
            Taken =:= Freed
    end.
