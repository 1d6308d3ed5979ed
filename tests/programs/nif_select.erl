%% Files that the VM waits for on behalf of a library, binaries whose bytes are a resource's, resources that
%% monitor processes as these see it, tainted modules.
-module(nif_select).
-export([start/0]).
-on_load(load/0).
-nifs([new_pipe/0, object/2, ordinary/0, same_file/1, write_to/2, read_from/2, close_file/1, select_file/5,
       select_dirty/5, part/3, set/3, is_in/2, watch/2, select_with_object/1]).

-define(READ, 1).
-define(WRITE, 2).
-define(STOP, 4).
-define(CANCEL, 8).
-define(CUSTOM, 16).
-define(ERROR, 32).

load() -> erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "nif_select"), 0).

new_pipe() -> erlang:nif_error(no).
object(_, _) -> erlang:nif_error(no).
ordinary() -> erlang:nif_error(no).
same_file(_) -> erlang:nif_error(no).
write_to(_, _) -> erlang:nif_error(no).
read_from(_, _) -> erlang:nif_error(no).
close_file(_) -> erlang:nif_error(no).
select_file(_, _, _, _, _) -> erlang:nif_error(no).
select_dirty(_, _, _, _, _) -> erlang:nif_error(no).
part(_, _, _) -> erlang:nif_error(no).
set(_, _, _) -> erlang:nif_error(no).
is_in(_, _) -> erlang:nif_error(no).
watch(_, _) -> erlang:nif_error(no).
select_with_object(_) -> erlang:nif_error(no).

start() ->
    logger:set_primary_config(level, none),
    Cases = [{Name, Custom, How} || Name <- [reading, writing, changing, stopping, errors],
                                    {Custom, How} <- [{0, copy}, {?CUSTOM, copy}, {?CUSTOM, env}]],
    [begin p({Name, Custom, How}, run(Name, Custom, How)), collected() end || {Name, Custom, How} <- Cases],
    p(both, both()),
    p(many, many(100)),
    p(bad_files, in_process(fun bad_files/0)),
    p(ordinary, in_process(fun ordinary_file/0)),
    p(steal, in_process(fun steal/0)),
    p(dead_receiver, in_process(fun dead_receiver/0)),
    collected(),
    p(dropped, in_process(fun dropped/0)),
    p(destructor_selects, in_process(fun destructor_selects/0)),
    p(parts, in_process(fun parts/0)),
    p(kept, in_process(fun kept/0)),
    p(monitored_by, in_process(fun monitored_by/0)),
    p(taints, lists:member(?MODULE, erlang:system_info(taints))),
    p(not_tainted, lists:member(lists, erlang:system_info(taints))).

p(Name, Value) -> io:format("~w: ~0p~n", [Name, Value]).

run(Name, Custom, How) ->
    in_process(fun() ->
        Ref = make_ref(),
        Text = binary:copy(<<"x">>, 100),
        Term = case Custom of 0 -> Ref; _ -> {a, [message, "with"], Text} end,
        Select = fun(F, Mode, To) -> select_file(F, Mode bor Custom, To, Term, How) end,
        Dirty = fun(F, Mode, To) -> select_dirty(F, Mode bor Custom, To, Term, How) end,
        %% What came, with the reference and the resource by name.
        Got = fun(Files) ->
            case next() of
                {select, F, Ref, Event} -> {select, name(F, Files), Event};
                Term -> custom;
                Other -> Other
            end
        end,
        case Name of
            reading -> reading(Select, Got);
            writing -> writing(Select, Dirty, Got);
            changing -> changing(Select, Got, Term);
            stopping -> stopping(Select, Got);
            errors -> errors(Select, Got)
        end
    end).

in_process(F) ->
    {Pid, Ref} = spawn_monitor(fun() -> exit({result, F()}) end),
    receive {'DOWN', Ref, process, Pid, Why} -> Why end.

name(F, Files) ->
    case lists:keyfind(F, 2, Files) of
        {Name, _} -> Name;
        false -> F
    end.

next() -> receive X -> X after 5000 -> nothing end.
nothing() -> receive X -> X after 15 -> nothing end.

reading(Select, Got) ->
    {R, W} = new_pipe(),
    Files = [{r, R}, {w, W}],
    [read_from(R, 3),
     Select(R, ?READ, null), nothing(), write_to(W, <<"abc">>), Got(Files), nothing(),
     %% Still there, so at once.
     Select(R, ?READ, self()), Got(Files), nothing(),
     read_from(R, 10), read_from(R, 10),
     Select(R, ?READ, null), select_file(R, ?READ bor ?CANCEL, null, x, copy), write_to(W, <<"d">>), nothing(),
     select_file(R, ?READ bor ?CANCEL, null, x, copy), select_file(R, ?WRITE bor ?CANCEL, null, x, copy),
     %% The end of the file is something to read.
     read_from(R, 5), Select(R, ?READ, null), select_file(W, ?STOP, null, x, copy), both_orders(Got, Files), read_from(R, 5),
     select_file(R, ?STOP, null, x, copy), nothing()].

both_orders(Got, Files) -> lists:sort([Got(Files), Got(Files)]).

writing(Select, Dirty, Got) ->
    {R, W} = new_pipe(),
    Files = [{r, R}, {w, W}],
    Size = fill(W, 0),
    [Size > 0, Dirty(W, ?WRITE, self()), nothing(), empty(R) =:= Size, Got(Files), nothing(),
     fill(W, 0) > 0, Dirty(W, ?WRITE, null), select_file(W, ?WRITE bor ?CANCEL, null, x, copy), empty(R) > 0, nothing(),
     Select(W, ?WRITE, null), Got(Files),
     select_file(R, ?STOP, null, x, copy), select_file(W, ?STOP, null, x, copy), next(), next(), nothing()].

fill(W, N) ->
    case write_to(W, binary:copy(<<"f">>, 1024)) of
        Written when is_integer(Written) -> fill(W, N + Written);
        eagain -> N
    end.
empty(R) ->
    case read_from(R, 10000) of
        Bytes when is_binary(Bytes) -> byte_size(Bytes) + empty(R);
        eagain -> 0
    end.

%% The last one who asks gets it.
changing(Select, Got, Term) ->
    {R, W} = new_pipe(),
    Files = [{r, R}, {w, W}],
    Self = self(),
    {Other, Ref} = spawn_monitor(fun() -> Self ! {selected, Select(R, ?READ, null)}, exit({got, Got(Files)}) end),
    Selected = next(),
    [Selected, write_to(W, <<"abc">>), receive {'DOWN', Ref, process, Other, Why} -> Why end, nothing(), read_from(R, 9),
     select_file(R, ?READ, null, make_ref(), copy), Select(R, ?READ, self()), write_to(W, <<"abc">>), Got(Files), nothing(),
     is_reference(Term),
     select_file(R, ?STOP, null, x, copy), select_file(W, ?STOP, null, x, copy), next(), next(), nothing()].

%% What is stopped sends nothing any more, and is stopped once.
stopping(Select, _) ->
    {R, W} = new_pipe(),
    [Select(R, ?READ, null), Select(W, ?WRITE, null),
     element(1, next()), select_file(R, ?STOP, null, x, copy), nothing(), select_file(W, ?STOP, null, x, copy), nothing(), nothing()].

errors(Select, Got) ->
    {R, W} = new_pipe(),
    Files = [{r, R}, {w, W}],
    {R2, W2} = new_pipe(),
    Files2 = [{r, R2}, {w, W2}],
    [Select(W, ?ERROR, null), nothing(), close_file(R), Got(Files), nothing(), select_file(W, ?STOP, null, x, copy), next(),
     Select(W2, ?ERROR, null), select_file(W2, ?ERROR bor ?CANCEL, null, x, copy), close_file(R2), nothing(),
     Select(W2, ?ERROR, null), Got(Files2), select_file(W2, ?STOP, null, x, copy), next(), nothing()].

%% Two events of one file, in one call or two.
both() ->
    in_process(fun() ->
        {R, W} = new_pipe(),
        Ref = make_ref(),
        A = select_file(W, ?READ bor ?WRITE, null, Ref, copy),
        B = element(4, next()),
        C = select_file(W, ?READ bor ?WRITE bor ?CANCEL, null, Ref, copy),
        D = [{select_file(W, ?READ bor ?WRITE bor ?CUSTOM, null, {x, Ref}, How), next() =:= {x, Ref}} || How <- [env, copy]],
        E = nothing(),
        F = select_file(W, ?STOP, null, x, copy),
        [A, B, C, D, E, F, next(), select_file(R, ?STOP, null, x, copy), next()]
    end).

%% Many files at once, each more than once.
many(N) ->
    in_process(fun() ->
        Pipes = [new_pipe() || _ <- lists:seq(1, N)],
        Rounds = [begin
            [0 = select_file(R, ?READ, null, undefined, copy) || {R, _} <- Pipes],
            [1 = write_to(W, <<"x">>) || {_, W} <- lists:reverse(Pipes)],
            Ready = [receive {select, R, undefined, ready_input} -> read_from(R, 5) after 5000 -> none end || {R, _} <- Pipes],
            {lists:usort(Ready), nothing()}
        end || _ <- lists:seq(1, 5)],
        [select_file(F, ?STOP, null, x, copy) || {R, W} <- Pipes, F <- [R, W]],
        {lists:usort(Rounds), length([next() || _ <- lists:seq(1, 2 * N)]), nothing()}
    end).

bad_files() ->
    [[select_file(F, Mode, null, undefined, copy) || F <- [object(-1, 1), object(-5, 1), object(1 bsl 30, 1)],
                                                     Mode <- [?READ, ?WRITE, ?READ bor ?CANCEL, ?STOP]], nothing()].

%% One that can always be read.
ordinary_file() ->
    F = ordinary(),
    Ref = make_ref(),
    Events = [begin A = select_file(F, ?READ, null, Ref, copy), {A, next() =:= {select, F, Ref, ready_input}, nothing()} end || _ <- [1, 2]],
    [Events, read_from(F, 1) =/= eof, select_file(F, ?READ bor ?CANCEL, null, Ref, copy), select_file(F, ?STOP, null, Ref, copy), next(), nothing()].

%% Another resource of the same file: it takes it over.
steal() ->
    {R, W} = new_pipe(),
    S = same_file(R),
    [select_file(R, ?READ, null, undefined, copy), select_file(S, ?READ, null, undefined, copy),
     write_to(W, <<"abc">>), case next() of {select, S, undefined, ready_input} -> stealer; X -> X end, nothing(),
     select_file(R, ?READ, null, undefined, copy), case next() of {select, R, undefined, ready_input} -> owner; X -> X end,
     select_file(S, ?READ bor ?CANCEL, null, undefined, copy), nothing(),
     select_file(W, ?STOP, null, undefined, copy), next(), select_file(R, ?STOP, null, undefined, copy), next()].

dead_receiver() ->
    {R, W} = new_pipe(),
    {Pid, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    [select_file(R, ?READ, Pid, undefined, copy), write_to(W, <<"a">>), nothing(), select_file(R, ?READ, null, undefined, copy),
     case next() of {select, R, undefined, ready_input} -> ready end,
     select_file(R, ?STOP, null, undefined, copy), select_file(W, ?STOP, null, undefined, copy), next(), next()].

%% A file that is selected keeps its resource, and no longer.
dropped() ->
    Self = self(),
    spawn(fun() -> {R, W} = new_pipe(), 0 = select_file(R, ?READ, Self, undefined, copy), Self ! {w, W} end),
    {w, W} = next(),
    erlang:garbage_collect(),
    1 = write_to(W, <<"a">>),
    {select, R, undefined, ready_input} = next(),
    [read_from(R, 5), select_file(R, ?STOP, null, undefined, copy), select_file(W, ?STOP, null, undefined, copy)].

collected() -> erlang:garbage_collect().

%% A destructor that the emptied environment of a message runs waited for the lock of select for ever.
destructor_selects() ->
    {R, W} = new_pipe(),
    0 = select_with_object(R),
    1 = write_to(W, <<"a">>),
    [next(), read_from(R, 5), select_file(R, ?STOP, null, undefined, copy), close_file(W)].

%% A binary of a resource has its bytes, not a copy of them.
parts() ->
    O = object(-1, $a),
    All = part(O, 0, 200),
    Some = part(O, 10, 100),
    <<_:20/binary, Sub:70/binary, _/binary>> = Some,
    Before = [byte_size(All), byte_size(Some), is_in(O, All), is_in(O, Some), is_in(O, Sub), binary:part(Some, 0, 5)],
    set(O, 10, $b), set(O, 11, $c), set(O, 30, $d),
    <<X, Y, _/binary>> = Some,
    <<Z, _/bitstring>> = Sub,
    Copy = binary:copy(All),
    set(O, 10, $e),
    Self = self(),
    spawn(fun() -> Self ! {sent, Some, is_in(O, Some)} end),
    {sent, Sent, SentIn} = next(),
    set(All, 40, $f),  % the binary stands for its resource
    $f = binary:at(All, 40),
    [Before, X, Y, Z, binary:at(Copy, 10), binary:at(All, 10), binary:at(Sent, 0), SentIn, is_in(O, Sent), Sent =:= Some,
     binary_to_term(term_to_binary(Some)) =:= Some, size(<<Some/binary, "more">>), is_in(O, <<Some/binary, "more">>),
     binary:match(All, <<"d">>), erlang:crc32(All), is_in(O, part(O, 0, 0)),
     binary:encode_unsigned(binary:decode_unsigned(Some)) =:= Some, lists:sum(binary_to_list(All))].

%% A binary keeps its resource.
kept() ->
    Self = self(),
    Holder = spawn(fun() ->
        receive {keep, B} -> erlang:garbage_collect(), receive look -> Self ! {seen, binary:at(B, 150)} end end
    end),
    spawn(fun() ->
        %% The owner is who made it; its last word goes there.
        Owner = self(),
        {Worker, Ref} = spawn_monitor(fun() -> O = object(-1, $k), Holder ! {keep, part(O, 0, 200)}, O2 = object(-1, $n), exit({O =/= O2, Owner =/= self()}) end),
        receive {'DOWN', Ref, process, Worker, Why} -> Self ! {worker, Why} end
    end),
    Worker = next(),
    erlang:garbage_collect(),
    Holder ! look,
    Seen = next(),
    %% The same with the destructor's word.
    self() ! go,
    B = binary_of_own($q),
    erlang:garbage_collect(),
    Quiet = [next(), nothing()],
    200 = byte_size(B),
    [Worker, Seen, Quiet, dropped_binary()].

binary_of_own(Byte) -> part(object(-1, Byte), 0, 200).

dropped_binary() ->
    _ = binary_of_own($z),
    erlang:garbage_collect(),
    case next() of
        {destroyed, $z} -> both_gone(nothing());
        {destroyed, $q} -> both_gone(next())
    end.
both_gone(X) -> X =:= nothing orelse element(1, X).

%% A process that resources monitor names them.
monitored_by() ->
    Self = self(),
    Pid = spawn(fun() -> receive stop -> ok end end),
    A = object(-1, 1),
    B = object(-1, 2),
    By = fun() -> {monitored_by, L} = process_info(Pid, monitored_by), L end,
    None = By(),
    Results = [watch(A, Pid), watch(A, Pid), watch(B, Pid)],
    Ref = monitor(process, Pid),
    All = By(),
    Sorted = lists:sort(All) =:= lists:sort([Self, A, A, B]),
    Types = lists:usort([case X of X when is_reference(X) -> reference; X when is_pid(X) -> pid end || X <- All]),
    {monitors, Mine} = process_info(Self, monitors),
    Pid ! stop,
    receive {'DOWN', Ref, process, Pid, Why} -> ok end,
    [None, Results, length(All), Sorted, Types, Mine =:= [{process, Pid}], Why, lists:sort([next(), next(), next()]), nothing()].
