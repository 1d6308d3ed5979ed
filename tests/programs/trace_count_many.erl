%% Calls of many functions are counted by all schedulers where they are hit; none is counted twice or for
%% another function, and a counter that pauses, starts again or stands beside another trace is right.
-module(trace_count_many).
-export([main/1]).

-define(PROCESSES, 4).

main(_) ->
    Names = names(),
    io:format("~p~n", [erlang:trace_pattern({?MODULE, '_', '_'}, true, [call_count]) >= length(Names)]),
    all_call(),
    show("counted", Names),
    erlang:trace_pattern({?MODULE, '_', '_'}, pause, [call_count]),
    all_call(),
    show("paused", Names),
    erlang:trace_pattern({?MODULE, f3, 1}, restart, [call_count]),
    all_call(),
    show("one started again", Names),
    %% Beside another trace the same call is counted by another way.
    erlang:trace_pattern({?MODULE, f3, 1}, true, [local]),
    erlang:trace_pattern({?MODULE, f5, 1}, true, [call_count, call_time]),
    1 = erlang:trace(self(), true, [call]),
    io:format("~p~n", [{f3(7), f5(8), f9(9)}]),
    erlang:trace(self(), false, [call]),
    io:format("~p~n", [[receive {trace, _, call, Mfa} -> Mfa after 1000 -> none end || _ <- [1]]]),
    io:format("~p~n", [[erlang:trace_info({?MODULE, F, 1}, call_count) || F <- [f3, f5, f9]]]),
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local, call_count, call_time]),
    all_call(),
    show("gone", Names).

show(What, Names) ->
    Counts = [begin {call_count, N} = erlang:trace_info({?MODULE, F, 1}, call_count), {F, N} end || F <- Names],
    io:format("~s ~p~n", [What, Counts]).

%% Each function I + 1 times in each process.
all_call() ->
    Pids = [spawn_monitor(fun() -> calls(functions()) end) || _ <- lists:seq(1, ?PROCESSES)],
    [receive {'DOWN', M, process, P, normal} -> ok end || {P, M} <- Pids].

calls([]) -> ok;
calls([{I, F} | Rest]) ->
    repeat(I + 1, F),
    calls(Rest).
repeat(0, _) -> ok;
repeat(N, F) ->
    N = F(N),
    repeat(N - 1, F).

names() -> [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39, f40, f41, f42, f43, f44, f45, f46, f47, f48, f49, f50, f51, f52, f53, f54, f55, f56, f57, f58, f59, f60, f61, f62, f63].
functions() ->
    [{0, fun f0/1},
     {1, fun f1/1},
     {2, fun f2/1},
     {3, fun f3/1},
     {4, fun f4/1},
     {5, fun f5/1},
     {6, fun f6/1},
     {7, fun f7/1},
     {8, fun f8/1},
     {9, fun f9/1},
     {10, fun f10/1},
     {11, fun f11/1},
     {12, fun f12/1},
     {13, fun f13/1},
     {14, fun f14/1},
     {15, fun f15/1},
     {16, fun f16/1},
     {17, fun f17/1},
     {18, fun f18/1},
     {19, fun f19/1},
     {20, fun f20/1},
     {21, fun f21/1},
     {22, fun f22/1},
     {23, fun f23/1},
     {24, fun f24/1},
     {25, fun f25/1},
     {26, fun f26/1},
     {27, fun f27/1},
     {28, fun f28/1},
     {29, fun f29/1},
     {30, fun f30/1},
     {31, fun f31/1},
     {32, fun f32/1},
     {33, fun f33/1},
     {34, fun f34/1},
     {35, fun f35/1},
     {36, fun f36/1},
     {37, fun f37/1},
     {38, fun f38/1},
     {39, fun f39/1},
     {40, fun f40/1},
     {41, fun f41/1},
     {42, fun f42/1},
     {43, fun f43/1},
     {44, fun f44/1},
     {45, fun f45/1},
     {46, fun f46/1},
     {47, fun f47/1},
     {48, fun f48/1},
     {49, fun f49/1},
     {50, fun f50/1},
     {51, fun f51/1},
     {52, fun f52/1},
     {53, fun f53/1},
     {54, fun f54/1},
     {55, fun f55/1},
     {56, fun f56/1},
     {57, fun f57/1},
     {58, fun f58/1},
     {59, fun f59/1},
     {60, fun f60/1},
     {61, fun f61/1},
     {62, fun f62/1},
     {63, fun f63/1}].

f0(X) -> X.
f1(X) -> X.
f2(X) -> X.
f3(X) -> X.
f4(X) -> X.
f5(X) -> X.
f6(X) -> X.
f7(X) -> X.
f8(X) -> X.
f9(X) -> X.
f10(X) -> X.
f11(X) -> X.
f12(X) -> X.
f13(X) -> X.
f14(X) -> X.
f15(X) -> X.
f16(X) -> X.
f17(X) -> X.
f18(X) -> X.
f19(X) -> X.
f20(X) -> X.
f21(X) -> X.
f22(X) -> X.
f23(X) -> X.
f24(X) -> X.
f25(X) -> X.
f26(X) -> X.
f27(X) -> X.
f28(X) -> X.
f29(X) -> X.
f30(X) -> X.
f31(X) -> X.
f32(X) -> X.
f33(X) -> X.
f34(X) -> X.
f35(X) -> X.
f36(X) -> X.
f37(X) -> X.
f38(X) -> X.
f39(X) -> X.
f40(X) -> X.
f41(X) -> X.
f42(X) -> X.
f43(X) -> X.
f44(X) -> X.
f45(X) -> X.
f46(X) -> X.
f47(X) -> X.
f48(X) -> X.
f49(X) -> X.
f50(X) -> X.
f51(X) -> X.
f52(X) -> X.
f53(X) -> X.
f54(X) -> X.
f55(X) -> X.
f56(X) -> X.
f57(X) -> X.
f58(X) -> X.
f59(X) -> X.
f60(X) -> X.
f61(X) -> X.
f62(X) -> X.
f63(X) -> X.
