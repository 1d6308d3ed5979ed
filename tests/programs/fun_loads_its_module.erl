%% A call of a fun whose module was not loaded any more loaded it, and then gave the fun the module's name for its first argument.
-module(fun_loads_its_module).
-export([main/1]).

-define(MADE, fun_loads_its_module_made).

main(_) ->
    Dir = "fun_loads_its_module.dir",
    ok = file:make_dir(Dir),
    File = filename:join(Dir, atom_to_list(?MADE)),
    ok = file:write_file(File ++ ".beam", made()),
    true = code:add_patha(Dir),
    Add = ?MADE:make(1),
    Many = ?MADE:make(5),
    None = ?MADE:make(0),
    p(called, fun() -> Add(2) end),
    p(called_with_many, fun() -> Many(1, 2, 3, 4, 5) end),
    p(called_without_any, fun() -> None() end),
    p(applied, fun() -> apply(Add, [3]) end),
    p(in_the_body, fun() -> [Add(4) | Many(a, b, c, d, e)] end),
    p(of_the_library, fun() -> lists:map(Add, [5, 6]) end),
    p(of_the_vm, fun() -> maps:map(fun(_, V) -> Add(V) end, #{a => 7}) end),
    p(spawned, fun() -> {_, Ref} = spawn_monitor(None), receive {'DOWN', Ref, _, _, Why} -> Why end end),
    p(fails, fun() -> Add(no_number) end),
    true = code:del_path(Dir),
    ok = file:delete(File ++ ".beam"),
    ok = file:del_dir(Dir),
    p(not_there, fun() -> Add(8) end).

p(What, Call) ->
    code:purge(?MADE),
    code:delete(?MADE),
    code:purge(?MADE),
    Result = try Call()
             catch Class:Reason -> {Class, Reason}
             end,
    io:format("~w: ~tp~n", [What, Result]).

made() ->
    Code = "-module(" ++ atom_to_list(?MADE) ++ ").\n"
           "-export([make/1]).\n"
           "make(0) -> Free = list_to_tuple([free]), fun() -> {none, Free} end;\n"
           "make(1) -> Free = length([a]), fun(A) -> A + Free end;\n"
           "make(5) -> Free = [length([a])], fun(A, B, C, D, E) -> [A, B, C, D, E | Free] end.\n",
    {ok, Tokens, _} = erl_scan:string(Code),
    {ok, _, Beam} = compile:forms(forms(Tokens, []), []),
    Beam.

forms([], []) -> [];
forms([{dot, _} = Dot | Rest], Form) ->
    {ok, Parsed} = erl_parse:parse_form(lists:reverse([Dot | Form])),
    [Parsed | forms(Rest, [])];
forms([Token | Rest], Form) -> forms(Rest, [Token | Form]).
