%% Modules that are given as source: compiled in memory by OTP's compiler, which says what erlc would say.
%% No file is written. Headers are looked for in `include` beside the file and above it as well, as rebar3 does.
-module(minivm_compile).
-export([file/1, is_source/1, headers/1]).

is_source(File) -> filename:extension(File) =:= ".erl".

%% File, an .erl file -> {ok, Module, Code, Warnings} | {error, Text}: what the compiler printed.
file(File) ->
    Name = short(filename:absname(File)),
    {Result, Text} = printed(fun() -> compile:file(Name, [binary, report | headers(Name)]) end),
    Base = filename:basename(Name, ".erl"),
    case Result of
        %% An option of -compile() or ERL_COMPILER_OPTIONS can ask for other results.
        Made when element(1, Made) =:= ok, tuple_size(Made) >= 3, is_binary(element(3, Made)) ->
            case atom_to_list(element(2, Made)) of
                Base -> {ok, element(2, Made), element(3, Made), Text};
                _ ->
                    Why = compile:format_error({module_name, element(2, Made), Base}),
                    {error, [Name, ": ", Why, $\n, Text]}
            end;
        Other when Text =:= [], Other =/= error ->
            {error, io_lib:format("~ts: the compiler made no code of it: ~0tP~n", [Name, Other, 20])};
        _ ->
            {error, Text}
    end.

%% Where its headers may be, beside those that the compiler looks into anyway.
headers(File) ->
    [{i, filename:join([filename:dirname(File) | Dirs])} || Dirs <- [["include"], ["..", "include"]]].

%% As erlc calls it: without the directory we are in.
short(File) ->
    case file:get_cwd() of
        {ok, Cwd} ->
            case string:prefix(File, string:trim(Cwd, trailing, "/") ++ "/") of
                nomatch -> File;
                Rest -> Rest
            end;
        _ -> File
    end.

%% What Fun() gives, or fails with, and what it and those that it spawns print.
printed(Fun) ->
    Caller = self(),
    Ref = make_ref(),
    Printer = spawn_link(fun() -> print([]) end),
    {Pid, Monitor} =
        spawn_monitor(fun() ->
                              group_leader(Printer, self()),
                              Caller ! {Ref, Fun()}
                      end),
    Result = receive
                 {Ref, Value} -> demonitor(Monitor, [flush]), Value;
                 {'DOWN', Monitor, process, Pid, Reason} -> Reason
             end,
    Printer ! {text, self(), Ref},
    receive {Ref, Text} -> {Result, Text} end.

%% A group leader that keeps what is printed, and has no input.
print(Text) ->
    receive
        {io_request, From, As, Request} ->
            {Reply, More} = try request(Request) catch _:_ -> {{error, request}, []} end,
            From ! {io_reply, As, Reply},
            print(case More of [] -> Text; _ -> [Text | More] end);
        {text, From, Ref} ->
            unlink(From),
            From ! {Ref, Text}
    end.

request({put_chars, Encoding, Chars}) -> {ok, unicode:characters_to_list(Chars, Encoding)};
request({put_chars, Encoding, M, F, A}) -> request({put_chars, Encoding, apply(M, F, A)});
request({requests, Requests}) ->
    {Replies, Texts} = lists:unzip([request(R) || R <- Requests]),
    {lists:last(Replies), lists:append(Texts)};
request(getopts) -> {[{binary, false}, {encoding, unicode}], []};
request(_) -> {{error, enotsup}, []}.
