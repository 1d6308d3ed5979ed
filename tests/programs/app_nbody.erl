%% Planet orbits by leapfrog steps: energy printed to the last digit.
-module(app_nbody).
-export([main/1]).

-define(PI, 3.141592653589793).
-define(SOLAR, (4 * ?PI * ?PI)).
-define(YEAR, 365.24).

main(_) ->
    B0 = offset(bodies()),
    io:format("~p~n", [energy(B0)]),
    B1 = steps(1000, 0.01, B0),
    io:format("~p~n~p~n", [energy(B1), B1]).

bodies() ->
    [{0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ?SOLAR},
     {4.84143144246472090, -1.16032004402742839, -0.103622044471123109,
      0.00166007664274403694 * ?YEAR, 0.00769901118419740425 * ?YEAR,
      -0.0000690460016972063023 * ?YEAR, 0.000954791938424326609 * ?SOLAR},
     {8.34336671824457987, 4.12479856412430479, -0.403523417114321381,
      -0.00276742510726411042 * ?YEAR, 0.00499852801234917238 * ?YEAR,
      0.0000230417297573763929 * ?YEAR, 0.000285885980666130812 * ?SOLAR},
     {12.8943695621391310, -15.1111514016986312, -0.223307578892655734,
      0.00296460137564761618 * ?YEAR, 0.00237847173959480950 * ?YEAR,
      -0.0000296589568540237556 * ?YEAR, 0.0000436624404335156298 * ?SOLAR}].

offset(Bs) ->
    {Px, Py, Pz} = lists:foldl(fun({_, _, _, Vx, Vy, Vz, M}, {A, B, C}) ->
                                   {A + Vx * M, B + Vy * M, C + Vz * M} end, {0.0, 0.0, 0.0}, Bs),
    [{X, Y, Z, _, _, _, M} | T] = Bs,
    [{X, Y, Z, -Px / ?SOLAR, -Py / ?SOLAR, -Pz / ?SOLAR, M} | T].

steps(0, _, Bs) -> Bs;
steps(N, Dt, Bs) -> steps(N - 1, Dt, [move(Dt, kick(B, Bs, Dt)) || B <- Bs]).

kick({X, Y, Z, Vx, Vy, Vz, M} = B, Bs, Dt) ->
    {Ax, Ay, Az} = lists:foldl(fun(C, Acc) when C =:= B -> Acc;
                                  ({X2, Y2, Z2, _, _, _, M2}, {A1, A2, A3}) ->
                                       Dx = X2 - X, Dy = Y2 - Y, Dz = Z2 - Z,
                                       D2 = Dx * Dx + Dy * Dy + Dz * Dz,
                                           F = M2 / (D2 * math:sqrt(D2)),
                                       {A1 + Dx * F, A2 + Dy * F, A3 + Dz * F}
                               end, {0.0, 0.0, 0.0}, Bs),
    {X, Y, Z, Vx + Ax * Dt, Vy + Ay * Dt, Vz + Az * Dt, M}.
move(Dt, {X, Y, Z, Vx, Vy, Vz, M}) -> {X + Vx * Dt, Y + Vy * Dt, Z + Vz * Dt, Vx, Vy, Vz, M}.

energy([]) -> 0.0;
energy([{X, Y, Z, Vx, Vy, Vz, M} | T]) ->
    K = 0.5 * M * (Vx * Vx + Vy * Vy + Vz * Vz),
    P = lists:sum([M * M2 / math:sqrt((X - X2) * (X - X2) + (Y - Y2) * (Y - Y2) + (Z - Z2) * (Z - Z2)) || {X2, Y2, Z2, _, _, _, M2} <- T]),
    K - P + energy(T).
