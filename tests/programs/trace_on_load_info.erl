%% trace_info(on_load, Item): what trace_pattern(on_load, ...) has asked for so far. Kinds of breakpoints add up;
%% a global trace takes their place, and they its.
-module(trace_on_load_info).
-export([start/0]).

start() ->
    info(begins),
    Spec = [{'_', [], [{return_trace}]}],
    [begin
         Result = try erlang:trace_pattern(on_load, What, How) catch error:Reason -> Reason end,
         info({What, How, Result})
     end
     || {What, How} <-
            [{[], []}, {false, []}, {true, [local]}, {false, [local]}, {Spec, []}, {true, [local]},
             {false, [local]}, {Spec, [local]}, {true, [meta]}, {true, [call_count]}, {false, [local]},
             {true, [call_time]}, {false, [call_count]}, {Spec, [{meta, self()}]}, {false, [meta]},
             {false, [call_time]}, {true, [local, meta, call_count]}, {false, [local, meta]},
             {pause, [call_count]}, {restart, [call_count]}, {true, [global]}, {false, [local]},
             {false, [global]}]].

info(Title) ->
    io:format("~w~n", [plain(Title)]),
    [io:format("    ~w~n", [plain(try erlang:trace_info(on_load, Item) catch error:R -> {Item, R} end)])
     || Item <- [traced, match_spec, meta, meta_match_spec, call_count, call_time, all, nonsense]].

plain(Pid) when is_pid(Pid) -> pid;
plain([H | T]) -> [plain(H) | plain(T)];
plain(T) when is_tuple(T) -> list_to_tuple(plain(tuple_to_list(T)));
plain(Other) -> Other.
