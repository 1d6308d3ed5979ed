%% A small ray tracer: spheres over a plane, shadows, reflections, drawn with characters.
-module(app_raytracer).
-export([main/1]).

-define(W, 60).
-define(H, 28).

main(_) ->
    Scene = [{sphere, {0.0, 0.5, 4.0}, 1.0, 0.4}, {sphere, {-1.6, 0.0, 3.2}, 0.6, 0.1},
             {sphere, {1.4, -0.1, 2.8}, 0.5, 0.6}, {plane, -0.6, 0.2}],
    Rows = [[shade(trace({0.0, 0.4, -1.5}, norm({(X - ?W / 2) / ?W * 2.2, (?H / 2 - Y) / ?H * 1.6,
                                                 2.0}), Scene, 3)) || X <- lists:seq(0, ?W - 1)]
            || Y <- lists:seq(0, ?H - 1)],
    [io:format("~s~n", [R]) || R <- Rows].

shade(L) -> lists:nth(min(10, max(1, trunc(L * 10) + 1)), " .:-=+*#%@").

trace(O, D, Scene, Depth) ->
    case nearest(O, D, Scene) of
        none -> 0.15 + 0.2 * max(0.0, element(2, D));
        {T, Thing} ->
            P = add(O, scale(T, D)), N = normal(P, Thing), Light = norm(sub({3.0, 5.0, -2.0}, P)),
            Lit = case nearest(add(P, scale(0.001, N)), Light, Scene) of none ->
                      max(0.0, dot(N, Light)); _ -> 0.0 end,
            Base = 0.08 + 0.8 * Lit * pattern(P, Thing),
            R = mirror(Thing),
            case Depth > 0 of
                true -> Base * (1 - R) + R * trace(add(P, scale(0.001, N)),
                                                   sub(D, scale(2 * dot(D, N), N)), Scene,
                                                   Depth - 1);
                false -> Base
            end
    end.

nearest(O, D, Scene) ->
    case lists:sort(fun({A, _}, {B, _}) -> A =< B end, [{T, S} || S <- Scene, T <- hit(O, D, S),
                                                        T > 0.0001]) of [] -> none;
        [H | _] -> H end.

hit(O, D, {sphere, C, R, _}) ->
    L = sub(O, C), B = dot(L, D), Disc = B * B - dot(L, L) + R * R,
    if Disc < 0 -> []; true -> S = math:sqrt(Disc), [-B - S, -B + S] end;
hit({_, Y, _}, {_, DY, _}, {plane, H, _}) when DY =/= 0.0 -> [(H - Y) / DY];
hit(_, _, _) -> [].

normal(P, {sphere, C, _, _}) -> norm(sub(P, C));
normal(_, {plane, _, _}) -> {0.0, 1.0, 0.0}.
mirror({sphere, _, _, R}) -> R;
mirror({plane, _, R}) -> R.
pattern({X, _, Z}, {plane, _, _}) ->
    case (floor(X * 2) + floor(Z * 2)) band 1 of 0 -> 1.0; 1 -> 0.4 end;
pattern(_, _) -> 1.0.

add({A, B, C}, {D, E, F}) -> {A + D, B + E, C + F}.
sub({A, B, C}, {D, E, F}) -> {A - D, B - E, C - F}.
scale(S, {A, B, C}) -> {S * A, S * B, S * C}.
dot({A, B, C}, {D, E, F}) -> A * D + B * E + C * F.
norm(V) -> scale(1 / math:sqrt(dot(V, V)), V).
