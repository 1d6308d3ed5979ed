%% Symbolic derivatives: tagged tuples made and matched.
-module(b_deriv).
-define(REPEAT, 4).
-include("bench.hrl").

once() -> loop(20000, 0).

loop(0, S) -> S;
loop(N, S) ->
    E = {plus, {times, {num, N}, {power, x, 3}}, {plus, {divide, {exp, {times, {num, 2}, x}},
                                                         {ln, x}},
                                                  {minus, {times, x, x}, {num, 7}}}},
    loop(N - 1, S + size_of(simplify(d(simplify(d(E)))))).

d(x) -> {num, 1};
d({num, _}) -> {num, 0};
d({plus, A, B}) -> {plus, d(A), d(B)};
d({minus, A, B}) -> {minus, d(A), d(B)};
d({times, A, B}) -> {plus, {times, d(A), B}, {times, A, d(B)}};
d({divide, A, B}) -> {divide, {minus, {times, d(A), B}, {times, A, d(B)}}, {times, B, B}};
d({power, A, N}) -> {times, {times, {num, N}, {power, A, N - 1}}, d(A)};
d({exp, A}) -> {times, {exp, A}, d(A)};
d({ln, A}) -> {divide, d(A), A}.

simplify({plus, A, B}) -> plus(simplify(A), simplify(B));
simplify({minus, A, B}) -> minus(simplify(A), simplify(B));
simplify({times, A, B}) -> times(simplify(A), simplify(B));
simplify({divide, A, B}) -> {divide, simplify(A), simplify(B)};
simplify({power, A, 1}) -> simplify(A);
simplify({exp, A}) -> {exp, simplify(A)};
simplify({ln, A}) -> {ln, simplify(A)};
simplify(E) -> E.

plus({num, 0}, B) -> B; plus(A, {num, 0}) -> A; plus({num, A}, {num, B}) -> {num, A + B};
plus(A, B) -> {plus, A, B}.
minus(A, {num, 0}) -> A; minus({num, A}, {num, B}) -> {num, A - B}; minus(A, B) -> {minus, A, B}.
times({num, 0}, _) -> {num, 0}; times(_, {num, 0}) -> {num, 0}; times({num, 1}, B) -> B;
times(A, {num, 1}) -> A; times({num, A}, {num, B}) -> {num, A * B}; times(A, B) -> {times, A, B}.

size_of({_, A, B}) -> 1 + size_of(A) + size_of(B);
size_of({_, A}) when is_tuple(A); is_atom(A) -> 1 + size_of(A);
size_of(_) -> 1.
