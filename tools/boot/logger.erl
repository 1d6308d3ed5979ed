%% The module `logger` of a bare boot: OTP's calls and macros, one handler that writes to standard error.
%%
%% Events go to the process registered as `logger` (minivm_boot), which formats them with OTP's own
%% logger_formatter and its default configuration. There is one level for all modules unless
%% set_module_level/2 says otherwise. With the first call of anything that is not here (handlers,
%% filters) OTP's kernel comes up, and its logger takes the place of this one.
-module(logger).
-export([emergency/1, emergency/2, emergency/3, alert/1, alert/2, alert/3, critical/1, critical/2,
         critical/3, error/1, error/2, error/3, warning/1, warning/2, warning/3, notice/1, notice/2,
         notice/3, info/1, info/2, info/3, debug/1, debug/2, debug/3,
         log/2, log/3, log/4, allow/2, macro_log/3, macro_log/4, macro_log/5,
         set_primary_config/2, set_module_level/2,
         unset_module_level/0, unset_module_level/1, get_module_level/0, get_module_level/1,
         set_process_metadata/1, update_process_metadata/1, get_process_metadata/0,
         unset_process_metadata/0, compare_levels/2, timestamp/0, format_report/1,
         format_otp_report/1,
         own_levels/0, '$handle_undefined_function'/2]).

emergency(X) -> log(emergency, X).
emergency(X, Y) -> log(emergency, X, Y).
emergency(X, Y, Z) -> log(emergency, X, Y, Z).
alert(X) -> log(alert, X).
alert(X, Y) -> log(alert, X, Y).
alert(X, Y, Z) -> log(alert, X, Y, Z).
critical(X) -> log(critical, X).
critical(X, Y) -> log(critical, X, Y).
critical(X, Y, Z) -> log(critical, X, Y, Z).
error(X) -> log(error, X).
error(X, Y) -> log(error, X, Y).
error(X, Y, Z) -> log(error, X, Y, Z).
warning(X) -> log(warning, X).
warning(X, Y) -> log(warning, X, Y).
warning(X, Y, Z) -> log(warning, X, Y, Z).
notice(X) -> log(notice, X).
notice(X, Y) -> log(notice, X, Y).
notice(X, Y, Z) -> log(notice, X, Y, Z).
info(X) -> log(info, X).
info(X, Y) -> log(info, X, Y).
info(X, Y, Z) -> log(info, X, Y, Z).
debug(X) -> log(debug, X).
debug(X, Y) -> log(debug, X, Y).
debug(X, Y, Z) -> log(debug, X, Y, Z).

log(Level, StringOrReport) -> log(Level, StringOrReport, #{}).

log(Level, StringOrReport, Meta) when is_map(Meta), not is_function(StringOrReport) ->
    maybe_send(Level, message(StringOrReport), Meta);
log(Level, Format, Args) when is_list(Args) -> log(Level, Format, Args, #{});
log(Level, Fun, Args) when is_function(Fun, 1) -> log(Level, Fun, Args, #{}).

log(Level, Fun, Args, Meta) when is_function(Fun, 1) ->
    case allow(Level, undefined) of
        true -> lazy(Level, Fun(Args), Meta);
        false -> ok
    end;
log(Level, Format, Args, Meta) ->
    maybe_send(Level, {Format, Args}, Meta).

maybe_send(Level, Message, Meta) ->
    case allow(Level, maps:get(module, Meta, undefined)) of
        true -> send(Level, Message, Meta);
        false -> ok
    end.

%% The level of the module, or the one for all.
allow(Level, Module) ->
    rank(Level) =< persistent_term:get({?MODULE, level, Module}, primary_rank()).

primary_rank() -> persistent_term:get({?MODULE, level}, rank(notice)).

%% What the ?LOG macros expand to; they have asked allow/2.
macro_log(Location, Level, StringOrReport) ->
    macro_log(Location, Level, StringOrReport, #{}).
macro_log(Location, Level, StringOrReport, Meta)
  when is_map(Meta), not is_function(StringOrReport) ->
    send(Level, message(StringOrReport), maps:merge(Location, Meta));
macro_log(Location, Level, Fun, Args) when is_function(Fun, 1) ->
    lazy(Level, Fun(Args), Location);
macro_log(Location, Level, Format, Args) ->
    macro_log(Location, Level, Format, Args, #{}).
macro_log(Location, Level, Fun, Args, Meta) when is_function(Fun, 1) ->
    lazy(Level, Fun(Args), maps:merge(Location, Meta));
macro_log(Location, Level, Format, Args, Meta) ->
    send(Level, {Format, Args}, maps:merge(Location, Meta)).

lazy(_, ignore, _) -> ok;
lazy(Level, {StringOrReport, More}, Meta) when is_map(More) ->
    send(Level, message(StringOrReport), maps:merge(Meta, More));
lazy(Level, Result, Meta) ->
    send(Level, message(Result), Meta).

message({Format, Args}) when is_list(Args) -> {Format, Args};
message(Report) when is_map(Report) -> {report, Report};
message([{_, _} | _] = Report) -> {report, Report};
message(String) -> {string, String}.

send(Level, Message, Meta0) ->
    Own = case get_process_metadata() of
              undefined -> #{};
              Map -> Map
          end,
    Default = #{time => timestamp(), pid => self(), gl => group_leader()},
    Meta = maps:merge(maps:merge(Default, Own), Meta0),
    is_shown(Meta) andalso (catch whereis(?MODULE) ! {event, #{level => Level, msg => Message, meta => Meta}}),
    ok.

%% What the filters of OTP's default handler let through.
is_shown(#{domain := Domain}) -> Domain =:= [] orelse Domain =:= [otp] orelse Domain =:= [otp, sasl];
is_shown(_) -> true.

timestamp() -> os:system_time(microsecond).

%% ---- configuration ------------------------------------------------------------------------------

rank(none) -> -1;
rank(emergency) -> 0;
rank(alert) -> 1;
rank(critical) -> 2;
rank(error) -> 3;
rank(warning) -> 4;
rank(notice) -> 5;
rank(info) -> 6;
rank(debug) -> 7;
rank(all) -> 10.

level(Rank) ->
    {_, Level} = lists:keyfind(Rank, 1, [{rank(L), L} || L <- [none, emergency, alert, critical, error,
                                                               warning, notice, info, debug, all]]),
    Level.

set_primary_config(level, Level) ->
    try rank(Level) of
        Rank -> persistent_term:put({?MODULE, level}, Rank)
    catch
        error:function_clause -> '$handle_undefined_function'(set_primary_config, [level, Level])
    end;
set_primary_config(Key, Value) ->
    '$handle_undefined_function'(set_primary_config, [Key, Value]).

set_module_level(Modules, Level) when is_list(Modules) ->
    lists:foreach(fun(M) -> persistent_term:put({?MODULE, level, M}, rank(Level)) end, Modules);
set_module_level(Module, Level) ->
    set_module_level([Module], Level).
unset_module_level() ->
    unset_module_level([M || {M, _} <- get_module_level()]).
unset_module_level(Modules) when is_list(Modules) ->
    lists:foreach(fun(M) -> persistent_term:erase({?MODULE, level, M}) end, Modules);
unset_module_level(Module) ->
    unset_module_level([Module]).
get_module_level() ->
    [{M, level(R)} || {{?MODULE, level, M}, R} <- persistent_term:get()].
get_module_level(Modules) when is_list(Modules) ->
    [{M, L} || {M, L} <- get_module_level(), lists:member(M, Modules)];
get_module_level(Module) ->
    get_module_level([Module]).

set_process_metadata(Meta) when is_map(Meta) ->
    put('$logger_metadata$', Meta),
    ok.
update_process_metadata(Meta) when is_map(Meta) ->
    case get_process_metadata() of
        undefined -> set_process_metadata(Meta);
        Old -> set_process_metadata(maps:merge(Old, Meta))
    end.
get_process_metadata() -> get('$logger_metadata$').
unset_process_metadata() ->
    erase('$logger_metadata$'),
    ok.

%% What OTP's logger has to be told when it takes over.
own_levels() -> {ok, level(primary_rank()), get_module_level()}.

'$handle_undefined_function'(Function, Args) ->
    minivm_kernel:start(),
    apply(?MODULE, Function, Args).

compare_levels(A, B) ->
    case {rank(A), rank(B)} of
        {R, R} -> eq;
        {Ra, Rb} when Ra < Rb -> gt;
        _ -> lt
    end.

format_report(Report) when is_map(Report) -> format_report(maps:to_list(Report));
format_report(Report) when is_list(Report) ->
    case lists:flatten(Report) of
        [_ | _] = Flat ->
            case io_lib:printable_unicode_list(Flat) of
                true -> {"~ts", [Flat]};
                false -> format_items(Report)
            end;
        [] -> {"~tp", [[]]}
    end;
format_report(Report) -> {"~tp", [Report]}.

format_otp_report(#{label := _, report := Report}) -> format_report(Report);
format_otp_report(Report) -> format_report(Report).

format_items(Items) ->
    Parts = [case I of
                 {K, V} -> {"    ~tp: ~tp", [K, V]};
                 _ -> {"    ~tp", [I]}
             end || I <- Items],
    {lists:append(lists:join("\n", [F || {F, _} <- Parts])), lists:append([A || {_, A} <- Parts])}.
