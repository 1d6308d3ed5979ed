%% The frame of a benchmark: a module defines once/0 and ?REPEAT (how many times it runs when no
%% argument says so) and includes this. Only the work is timed, not the start of the VM. The
%% checksum depends on every result, so that engines can be compared.
-export([main/1]).

main(Args) ->
    N = case Args of
            [Text | _] -> list_to_integer(Text);
            [] -> ?REPEAT
        end,
    {CpuStart, _} = erlang:statistics(runtime),
    Start = erlang:monotonic_time(),
    Check = repeat(N, 0),
    Time = erlang:monotonic_time() - Start,
    {CpuEnd, _} = erlang:statistics(runtime),
    io:format("time_us ~b~ncpu_us ~b~nchecksum ~b~n",
              [erlang:convert_time_unit(Time, native, microsecond), (CpuEnd - CpuStart) * 1000,
               Check]).

repeat(0, Check) -> Check;
repeat(N, Check) -> repeat(N - 1, erlang:phash2({Check, once()})).
