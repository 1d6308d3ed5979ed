%% Calls the functions of generated modules and prints what came out, a line for each function:
%%     FUNCTION HASH/REDUCTIONS...      (one pair for each list of arguments)
%% Runs on erl and on minivm. Each call has a process of its own, so that its heap, mailbox,
%% dictionary and reductions do not depend on what ran before.
-module(generated_harness).
-export([start/0, main/1, hash/1, oracle/1, id/1, own/1, caught/1, reason/1]).

%% erl decides what takes too long; minivm may be a debug build, or under an emulator.
-define(ORACLE_LIMIT_MS, 10000).
-define(CALL_LIMIT_MS, 120000).
%% Heap of a process that is not to collect: words, and words of binaries.
-define(ROOMY, [{min_heap_size, 1 bsl 22}, {min_bin_vheap_size, 1 bsl 24}]).
%% Cells and tuples of a result that are looked at: shared parts count each time.
-define(LARGEST_RESULT, 100000).
-define(FRAMES, 5).
-define(LARGEST_SHOWN, 4000).

start() ->
    put(limit_ms, ?ORACLE_LIMIT_MS),
    main(init:get_plain_arguments()),
    halt(0).

main(Arguments) ->
    %% Loads what is used between two readings of reductions: a load on demand takes as many as it
    %% has to wait for.
    [_] = own([{gen_, f, 1, [{file, ""}, {line, 1}]}]),
    run(Arguments).

%% Without the functions MODULE:FUNCTION,... that erl gave up on: they may take any time and memory.
run(["hash", Without | Modules]) ->
    put(without, string:lexemes(Without, ",")),
    lists:foreach(fun(Name) -> hash(list_to_atom(Name)) end, Modules);
run(["detail", Name, Function]) ->
    Module = list_to_atom(Name),
    {_, Plain, Calls} = lists:keyfind(list_to_atom(Function), 1, Module:calls()),
    lists:foldl(fun(Arguments, Index) -> detail(Module, Function, Plain, Arguments, Index) end,
                1, Calls);
%% The reductions of a function's calls, without those that collections count.
run(["roomy", Name, Function]) ->
    Module = list_to_atom(Name),
    _ = load_twin(Module),
    {_, _, Calls} = lists:keyfind(list_to_atom(Function), 1, Module:calls()),
    put(spawn_options, ?ROOMY),
    [begin
         {_, Reductions, _} = call(Module, list_to_atom(Function), Arguments, false),
         io:format("~w~n", [Reductions])
     end || Arguments <- Calls].

oracle(Module) ->
    put(limit_ms, ?ORACLE_LIMIT_MS),
    hash(Module).

hash(Module) ->
    _ = load_twin(Module),
    io:format("module ~s~n", [Module]),
    lists:foreach(
      fun({Function, Plain, Calls}) ->
              Results = [begin
                             {Hash, Reductions, _} = call(Module, Function, Arguments, false),
                             [$\s, Hash | case Plain of
                                              true -> [$/, integer_to_list(Reductions)];
                                              false -> "/-"
                                          end]
                         end || Arguments <- Calls],
              io:put_chars([atom_to_list(Function), Results, $\n])
      end, [Call || {Function, _, _} = Call <- Module:calls(), not is_left_out(Module, Function)]),
    io:format("end ~s~n", [Module]).

is_left_out(Module, Function) ->
    case get(without) of
        undefined -> false;
        Without -> lists:member(lists:concat([Module, ":", Function]), Without)
    end.

%% Before reductions are read. Not every module has one.
load_twin(Module) -> code:ensure_loaded(list_to_atom(atom_to_list(Module) ++ "_twin")).

detail(Module, Function, Plain, Arguments, Index) ->
    _ = load_twin(Module),
    {Hash, Reductions, Text} = call(Module, list_to_atom(Function), Arguments, true),
    io:format("~w ~s ~s ~ts~n", [Index, Hash, case Plain of
                                                  true -> integer_to_list(Reductions);
                                                  false -> "-"
                                              end, Text]),
    Index + 1.

call(Module, Function, Arguments, Wanted) ->
    Caller = self(),
    {Pid, Monitor} =
        spawn_opt(fun() ->
                          Caller ! {self(), outcome(Module, Function, real(Arguments), Wanted)}
                  end, [monitor | spawn_options()]),
    receive
        {Pid, Result} ->
            receive {'DOWN', Monitor, process, Pid, _} -> Result end;
        {'DOWN', Monitor, process, Pid, Reason} ->
            Died = bounded({died, reason(Reason)}),
            {hash_of(Died), 0, text(Died, Wanted)}
    after limit_ms() ->
            exit(Pid, kill),
            receive {'DOWN', Monitor, process, Pid, _} -> ok end,
            receive {Pid, _} -> ok after 0 -> ok end,
            {"timeout", 0, "timeout"}
    end.

spawn_options() ->
    case get(spawn_options) of
        undefined -> [];
        Options -> Options
    end.

limit_ms() ->
    case get(limit_ms) of
        undefined -> ?CALL_LIMIT_MS;
        Limit -> Limit
    end.

outcome(Module, Function, Arguments, Wanted) ->
    Before = reductions(),
    Value = try {value, apply(Module, Function, Arguments)}
            catch Class:Reason:Stack -> {Class, Reason, top(Stack) ++ own(Stack)}
            end,
    Reductions = reductions() - Before,
    All = {Value, element(2, process_info(self(), messages)), lists:sort(get())},
    Normal = bounded(All),
    Hash = hash_of(Normal),
    erlang:garbage_collect(),
    case hash_of(bounded(All)) of
        Hash -> {Hash, Reductions, text(Normal, Wanted)};
        _ -> {"changed_by_collection", Reductions, text({Normal, bounded(All)}, Wanted)}
    end.

%% The term without what differs from run to run, or too_large.
bounded(Term) ->
    put('$nodes', ?LARGEST_RESULT),
    try normal(Term)
    catch throw:'$too_large' -> too_large
    end.

count() ->
    case put('$nodes', get('$nodes') - 1) of
        0 -> throw('$too_large');
        _ -> ok
    end.

reductions() -> element(2, process_info(self(), reductions)).

hash_of(Term) ->
    Digest = erlang:md5(term_to_binary(Term, [{minor_version, 2}, deterministic])),
    <<Number:48, _/binary>> = Digest,
    integer_to_list(Number, 36).

text(_, false) -> "";
text(Term, true) ->
    Text = lists:flatten(io_lib:format("~0tp", [Term])),
    case length(Text) > ?LARGEST_SHOWN of
        true -> [lists:sublist(Text, ?LARGEST_SHOWN), "..."];
        false -> Text
    end.

%% What generated code asks for.
id(X) -> X.

%% The frames of generated modules, with their lines. The JIT of OTP 25 has the frame of a function
%% that calls what is no fun, or one of another arity, twice. A function that called itself there may
%% have one more. So of equal frames at the begin there is one here, and from the end what may have been
%% lost for them is taken away. Where a function of the VM that was called as a fun raises, it gives the
%% line of what comes after the call.
own([{erlang, abs, _, _} = Bif, {Module, Function, Arity, _} | Stack]) ->
    frames([Bif, {Module, Function, Arity, []} | Stack]);
own(Stack) ->
    frames(Stack).

frames(Stack) when is_list(Stack), length(Stack) >= 0 ->
    Own = [{Module, Function, Arity, line(Location)}
           || {Module, Function, Arity, Location} <- Stack, is_atom(Module), is_generated(Module)],
    lists:sublist(first_once(Own), ?FRAMES);
frames(Stack) ->
    {no_stack, Stack}.

first_once([Frame, Frame | Rest]) -> first_once([Frame | Rest]);
first_once(Frames) -> Frames.

%% Where it was raised, when that is a function of the VM. OTP 25 has no frame for the addition of
%% a small constant, later ones have.
top([{erlang, Plus, [_ | _], _} | _]) when Plus =:= '+'; Plus =:= '-' -> [];
top([{erlang, Function, Arity, _} | _]) -> [{erlang, Function, Arity}];
top(_) -> [].

line(Location) when is_list(Location) -> proplists:get_value(line, Location, none);
line(_) -> none.

is_generated(Module) -> lists:prefix("gen_", atom_to_list(Module)).

caught({'EXIT', {Reason, Stack}}) -> {'EXIT', Reason, own(Stack)};
caught(Other) -> Other.

reason({Reason, Stack}) -> {Reason, own(Stack)};
reason(Reason) -> Reason.

normal(Pid) when is_pid(Pid) -> '$pid';
normal(Reference) when is_reference(Reference) -> '$ref';
normal(Port) when is_port(Port) -> '$port';
normal(Fun) when is_function(Fun) ->
    [{_, Module}, {_, Name}, {_, Arity}, {_, Type}, {_, Env}] =
        [erlang:fun_info(Fun, Item) || Item <- [module, name, arity, type, env]],
    {'$fun', Module, Name, Arity, Type, normal(Env)};
normal([Head | Tail]) -> count(), [normal(Head) | normal(Tail)];
normal(Tuple) when is_tuple(Tuple) -> count(), list_to_tuple(normal(tuple_to_list(Tuple)));
normal(Map) when is_map(Map) ->
    count(),
    maps:from_list([{normal(K), normal(V)} || {K, V} <- maps:to_list(Map)]);
normal(Other) -> Other.

%% Arguments that no literal can be.
real({'$self'}) -> self();
real({'$ref'}) -> make_ref();
real({'$extfun', 1}) -> fun erlang:abs/1;
real({'$fun', 0}) -> fun() -> zero end;
real({'$fun', 1}) -> fun([H | _]) -> H; (X) -> {one, X} end;
real({'$fun', 2}) -> Y = id(y), fun(A, B) -> {A, B, Y} end;
real({'$sub', Binary, Skip}) -> <<_:Skip, Rest/bits>> = Binary, Rest;
real({'$grown', Binary}) -> <<(id(Binary))/binary, "grown">>;
real([Head | Tail]) -> [real(Head) | real(Tail)];
real(Tuple) when is_tuple(Tuple) -> list_to_tuple(real(tuple_to_list(Tuple)));
real(Other) -> Other.
