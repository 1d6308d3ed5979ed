%% What the natives of prim_tty of OTP 26 and 27, or with -DOTP28 those of OTP 28, do on a terminal: main/1 tells it. Both
%% are built into the VM, which knows them by the name of the module.
-module(prim_tty).
-export([main/1]).
-on_load(load/0).

-ifdef(OTP28).
-nifs([tty_create/1, tty_init/2, tty_select/2, read_nif/3]).
-else.
-nifs([tty_create/0, tty_init/3, tty_set/1, tty_select/3, read_nif/2, tty_read_signal/2]).
-endif.
-nifs([isatty/1, setlocale/1, tty_window_size/1, tty_encoding/1, write_nif/2, isprint/1, wcwidth/1, wcswidth/1, sizeof_wchar/0,
       tgetent_nif/1, tgetnum_nif/1, tgetflag_nif/1, tgetstr_nif/1, tgoto_nif/1, tgoto_nif/2, tgoto_nif/3]).

load() -> erlang:load_nif("prim_tty", #{}).

main(_) ->
    T = open(),
    say(T, {isatty(stdin), is_boolean(setlocale(T)), tty_encoding(T), isprint($a), isprint(200), wcwidth($a),
            wcswidth(<<$a:32/native, $b:32/native>>), sizeof_wchar()}),
    say(T, {tgetent_nif(["vt100", 0]), tgetnum_nif(["co", 0]), tgetflag_nif(["am", 0]), tgetstr_nif(["le", 0]),
            tgetstr_nif(["zz", 0]), tgoto_nif(["<%p1%d>", 0]), tgoto_nif(["<%i%p1%d %p2%d>", 0], 7),
            tgoto_nif(["<%i%p1%d %p2%d>", 0], 3, 4)}),
    say(T, refused()),
    Input = make_ref(),
    watch(T, Input),
    say(T, tty_window_size(T)),
    say(T, receive {select, T, Input, ready_input} -> next(T, Input) end),
    say(T, receive {select, T, Input, ready_input} -> next(T, Input) end),
    say(T, done),
    erlang:halt(0).

%% A line as a terminal in raw mode wants it.
say(T, What) -> ok = write_nif(T, [io_lib:format("~0p\r\n", [What])]).
refuses(F) -> try F() catch error:Why -> Why end.

-ifdef(OTP28).
open() ->
    {ok, T} = tty_create(stdout),
    ok = tty_init(T, #{input => raw, output => cooked}),
    T.
refused() ->
    [refuses(F) || F <- [fun() -> tty_create(stdin) end, fun() -> tty_init(x, #{}) end, fun() -> read_nif(x, y, 1) end]].
watch(T, Input) -> ok = tty_select(T, Input).
next(T, Input) -> read_nif(T, Input, 1).
tty_create(_) -> erlang:nif_error(undef).
tty_init(_, _) -> erlang:nif_error(undef).
tty_select(_, _) -> erlang:nif_error(undef).
read_nif(_, _, _) -> erlang:nif_error(undef).
-else.
open() ->
    {ok, T} = tty_create(),
    ok = tty_init(T, stdout, #{canon => false, echo => false, sig => true}),
    ok = tty_set(T),
    T.
refused() ->
    [refuses(F) || F <- [fun() -> tty_init(x, stdout, #{}) end, fun() -> tty_set(x) end, fun() -> read_nif(x, y) end,
                         fun() -> tty_read_signal(x, y) end]].
watch(T, Input) ->
    Signals = make_ref(),
    ok = tty_select(T, Signals, Input),
    spawn_link(fun() -> os:cmd("kill -WINCH " ++ os:getpid()) end),
    say(T, receive {select, T, Signals, ready_input} -> tty_read_signal(T, Signals) end),
    spawn_link(fun() -> os:cmd("kill -CONT " ++ os:getpid()) end),
    say(T, receive {select, T, Signals, ready_input} -> tty_read_signal(T, Signals) end).
next(T, Input) -> read_nif(T, Input).
tty_create() -> erlang:nif_error(undef).
tty_init(_, _, _) -> erlang:nif_error(undef).
tty_set(_) -> erlang:nif_error(undef).
tty_select(_, _, _) -> erlang:nif_error(undef).
read_nif(_, _) -> erlang:nif_error(undef).
tty_read_signal(_, _) -> erlang:nif_error(undef).
-endif.

isatty(_) -> erlang:nif_error(undef).
setlocale(_) -> erlang:nif_error(undef).
tty_window_size(_) -> erlang:nif_error(undef).
tty_encoding(_) -> erlang:nif_error(undef).
write_nif(_, _) -> erlang:nif_error(undef).
isprint(_) -> erlang:nif_error(undef).
wcwidth(_) -> erlang:nif_error(undef).
wcswidth(_) -> erlang:nif_error(undef).
sizeof_wchar() -> erlang:nif_error(undef).
tgetent_nif(_) -> erlang:nif_error(undef).
tgetnum_nif(_) -> erlang:nif_error(undef).
tgetflag_nif(_) -> erlang:nif_error(undef).
tgetstr_nif(_) -> erlang:nif_error(undef).
tgoto_nif(_) -> erlang:nif_error(undef).
tgoto_nif(_, _) -> erlang:nif_error(undef).
tgoto_nif(_, _, _) -> erlang:nif_error(undef).
