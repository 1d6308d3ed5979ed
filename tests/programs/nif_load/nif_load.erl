%% Libraries that cannot be loaded: each is refused with OTP's reason and text, and leaves the module
%% as it was.
-module(nif_load).
-export([start/0]).

start() ->
    [bad(Name, 0) || Name <- ["wrong_module", "no_init", "null", "newer", "newer_major", "older",
                              "experimental", "variant", "unknown_function", "unknown_name", "flags",
                              "missing"]],
    bad("refuses", 7),
    bad("refuses", -3),
    Not = filename:join(dir(), "nif_load_not_elf"),
    ok = file:write_file(Not ++ ".so", <<"this is text, and long enough to be looked at as a program: ",
                                         (binary:copy(<<"x">>, 5000))/binary>>),
    bad("not_elf", 0),
    ok = file:write_file(Not ++ ".so", <<>>),
    bad("not_elf", 0),
    show(nif_load_bad:load("no_directory_and_not_there", 0)),
    [show(catch element(1, element(2, catch nif_load_bad:load(Name, 0))))
     || Name <- [42, {a, b}, [a], "with\0zero", [-1]]],
    %% A binary is a name too; after all the refusals it works.
    erlang = nif_load_bad:f(1),
    show(nif_load_bad:load(list_to_binary(file("good")), 0)),
    show(nif_load_bad:f(1)),
    bad("good", 0),
    bad("wrong_module", 0),
    %% With an attribute nifs, others must not be replaced.
    show(nif_load_declares:load(file("undeclared"), 0)),
    show({nif_load_declares:f(1), nif_load_declares:g()}),
    show(nif_load_declares:load(file("declared"), 0)),
    show({nif_load_declares:f(1), nif_load_declares:g()}),
    show(nif_load_declares:module_info(nifs)),
    show(nif_load_old:load(file("old_layout"), 0)),
    show({nif_load_old:f(1), nif_load_old:h(1, 2)}).

dir() -> os:getenv("PROGRAM_DIR").
file(Name) -> filename:join(dir(), "nif_load_" ++ Name).

bad(Name, Info) ->
    show(nif_load_bad:load(file(Name), Info)).

show({error, {Reason, Text}}) ->
    io:format("~p ~ts~n", [Reason, re:replace(Text, dir(), "DIR", [global, {return, list}])]);
show(Other) ->
    io:format("~p~n", [Other]).
