%% A way that no process goes, left there by a compiler that does not optimise: what is no bit string is
%% taken apart as one, so that it could only be a match context, and becomes part of a term.
-module(bs_unreached_context).
-compile([no_copt]).
-export([main/1, take/2]).

main(_) ->
    [io:format("~p~n", [take(Bits, N)]) || Bits <- [<<>>, <<1, 2, 3>>], N <- [1, 2.0, -7]].

take(Bits, N) ->
    Copy = << <<Byte>> || <<Byte>> <= Bits >>,
    case id(N) of
        _ when is_bitstring(Copy) ->
            {bits, Copy};
        M when M > 1 ->
            Part = case Copy of
                <<A:16, _:36>> -> A;
                <<A:4/binary, A:2/binary, _:24>> -> 7
            end,
            Whole = <<Copy/bits, Part:8>>,
            self() ! {id(1), Copy},
            {Whole, Copy, N}
    end.

id(X) ->
    X.
