%% Regular expressions by derivatives, with simplification, against a backtracking matcher.
-module(app_regex).
-export([main/1]).

main(_) ->
    Cases = [{"a*b", ["b", "aaab", "aab", "a", "ba"]}, {"(ab|c)*", ["", "abab", "cabc", "ac"]},
             {"a(b|c)?d", ["ad", "abd", "acd", "abcd"]},
             {"[0-9]+(.[0-9]+)?", ["1", "12.5", ".5", "1.", "007"]},
             {"(a|b)*abb", ["abb", "aabb", "babb", "ab"]}, {"((a*)*)*", ["", "aaaa", "b"]},
             {"..", ["ab", "a", "abc"]}],
    [io:format("~s ~p~n", [R, [{S, derive(parse(R), S)} || S <- Ss]]) || {R, Ss} <- Cases],
    [true = derive(parse(R), S) =:= back(parse(R), S) || {R, Ss} <- Cases, S <- Ss],
    io:format("~p~n", [derive(parse("(a?a?a?a?a?a?a?a?a?a?)aaaaaaaaaa"), "aaaaaaaaaa")]),
    io:format("~p~n", [derive(parse("(a|aa)*"), lists:duplicate(300, $a))]).

parse(S) -> {R, []} = alternative(S), R.
alternative(S) -> case sequence(S, eps) of {A, [$| | T]} -> {B, R} = alternative(T),
                      {{alt, A, B}, R}; Done -> Done end.
sequence([C | _] = S, Acc) when C =:= $|; C =:= $) -> {Acc, S};
sequence([], Acc) -> {Acc, []};
sequence(S, Acc) -> {A, R} = factor(S), sequence(R, cat(Acc, A)).
factor(S) -> {A, R} = base(S), suffix(A, R).
suffix(A, [$* | R]) -> suffix({star, A}, R);
suffix(A, [$+ | R]) -> suffix(cat(A, {star, A}), R);
suffix(A, [$? | R]) -> suffix({alt, eps, A}, R);
suffix(A, R) -> {A, R}.
base([$( | T]) -> {A, [$) | R]} = alternative(T), {A, R};
base([$[, A, $-, B, $] | R]) -> {{range, A, B}, R};
base([$. | R]) -> {any, R};
base([C | R]) -> {{range, C, C}, R}.

derive(R, S) -> nullable(lists:foldl(fun(C, A) -> d(C, A) end, R, S)).
nullable(eps) -> true;
nullable({star, _}) -> true;
nullable({alt, A, B}) -> nullable(A) orelse nullable(B);
nullable({cat, A, B}) -> nullable(A) andalso nullable(B);
nullable(_) -> false.
d(_, eps) -> none;
d(_, none) -> none;
d(_, any) -> eps;
d(C, {range, A, B}) when C >= A, C =< B -> eps;
d(_, {range, _, _}) -> none;
d(C, {alt, A, B}) -> alt(d(C, A), d(C, B));
d(C, {star, A} = S) -> cat(d(C, A), S);
d(C, {cat, A, B}) ->
    case nullable(A) of true -> alt(cat(d(C, A), B), d(C, B)); false -> cat(d(C, A), B) end.
alt(none, B) -> B; alt(A, none) -> A; alt(A, A) -> A;
alt(A, {alt, B, C}) when A =:= B; A =:= C -> {alt, B, C};
alt({alt, A, B}, C) -> alt(A, alt(B, C));
alt(A, B) -> {alt, A, B}.
cat(none, _) -> none; cat(_, none) -> none; cat(eps, B) -> B; cat(A, eps) -> A;
cat({cat, A, B}, C) -> {cat, A, cat(B, C)}; cat(A, B) -> {cat, A, B}.

back(R, S) -> m(R, S, fun(Rest) -> Rest =:= [] end).
m(eps, S, K) -> K(S);
m(any, [_ | T], K) -> K(T);
m({range, A, B}, [C | T], K) when C >= A, C =< B -> K(T);
m({alt, A, B}, S, K) -> m(A, S, K) orelse m(B, S, K);
m({cat, A, B}, S, K) -> m(A, S, fun(R) -> m(B, R, K) end);
m({star, A} = R, S, K) ->
    K(S) orelse m(A, S, fun(T) -> length(T) < length(S) andalso m(R, T, K) end);
m(_, _, _) -> false.
