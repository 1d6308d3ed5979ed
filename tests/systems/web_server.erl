%% Web servers that people run, for web.py: cowboy with pages of its own, /small (13 bytes), /big (100 KB) and /chunked (100 chunks of
%% 1 KB), and inets' httpd with the first two as files. Standard input takes commands, a line each, and each is answered by one.
%%
%%     erl -noshell -pa ... -s web_server main -- cowboy|httpd tls|tcp DIR
%%
%% DIR has v1/web_answer.beam, v2/web_answer.beam, cert.pem, key.pem, and the files small and big.
-module(web_server).
-export([main/0, init/2]).

main() ->
    ["--" | Arguments] = lists:dropwhile(fun(A) -> A =/= "--" end, ["--" | init:get_plain_arguments()]),
    [Kind, How, Dir] = [A || A <- Arguments, A =/= "--"],
    {ok, _} = application:ensure_all_started(ssl),
    load(Dir, "v1"),
    Port = serve(Kind, How, Dir),
    io:format("port ~b~n", [Port]),
    Tracer = spawn(fun() -> count(0) end),
    command(Dir, Tracer, none).

command(Dir, Tracer, Reloader) ->
    case io:get_line("") of
        "upgrade\n" -> load(Dir, "v2"), say("ok", []), command(Dir, Tracer, Reloader);
        "trace\n" ->
            erlang:trace(all, true, [call, {tracer, Tracer}]),
            say("ok ~b", [erlang:trace_pattern({web_answer, '_', '_'}, true, [local])]),
            command(Dir, Tracer, Reloader);
        "traced\n" -> Tracer ! {count, self()}, receive {traced, N} -> say("~b", [N]) end, command(Dir, Tracer, Reloader);
        "untrace\n" -> erlang:trace(all, false, [call]), say("ok", []), command(Dir, Tracer, Reloader);
        "reload\n" -> Pid = spawn(fun() -> reload(0) end), say("ok", []), command(Dir, Tracer, Pid);
        "reloaded\n" -> Reloader ! {stop, self()}, receive {reloaded, N} -> say("~b", [N]) end, command(Dir, Tracer, none);
        "memory\n" -> say("~b", [erlang:memory(total)]), command(Dir, Tracer, Reloader);
        _ -> halt(0)
    end.

say(Format, Arguments) -> io:format(Format ++ "~n", Arguments).

load(Dir, Version) ->
    _ = code:soft_purge(web_answer),
    {module, web_answer} = code:load_abs(filename:join([Dir, Version, "web_answer"])).

count(N) ->
    receive
        {count, From} -> From ! {traced, N}, count(N);
        {trace, _, call, _} -> count(N + 1)
    end.

%% All that is loaded and may be, again and again.
reload(N) ->
    Modules = [M || {M, File} <- code:all_loaded(), is_list(File), M =/= ?MODULE, M =/= web_answer, not code:is_sticky(M)],
    Done = length([M || M <- Modules, code:soft_purge(M), {module, _} <- [code:load_file(M)]]),
    receive
        {stop, From} -> From ! {reloaded, N + Done}
    after 0 -> reload(N + Done)
    end.

serve("cowboy", How, Dir) ->
    {ok, _} = application:ensure_all_started(cowboy),
    Routes = cowboy_router:compile([{'_', [{"/[...]", ?MODULE, []}]}]),
    Options = #{env => #{dispatch => Routes}, max_keepalive => infinity, idle_timeout => infinity, request_timeout => infinity},
    Local = [{port, 0}, {ip, {127, 0, 0, 1}}],
    {ok, _} = case How of
        "tls" -> cowboy:start_tls(web, Local ++ certificate(Dir), Options);
        "tcp" -> cowboy:start_clear(web, Local, Options)
    end,
    ranch:get_port(web);
serve("httpd", How, Dir) ->
    {ok, _} = application:ensure_all_started(inets),
    {ok, Pid} = inets:start(httpd, [{port, 0}, {bind_address, {127, 0, 0, 1}}, {server_name, "web"}, {server_root, Dir},
                                    {document_root, Dir}, {modules, [mod_get]}, {keep_alive_timeout, 600}, {socket_type, case How of
                                        "tls" -> {ssl, certificate(Dir)};
                                        "tcp" -> ip_comm
                                    end}]),
    proplists:get_value(port, httpd:info(Pid)).

certificate(Dir) -> [{certfile, filename:join(Dir, "cert.pem")}, {keyfile, filename:join(Dir, "key.pem")}].

%% ---- cowboy ----

init(Request, State) ->
    case cowboy_req:path(Request) of
        <<"/chunked">> ->
            Stream = cowboy_req:stream_reply(200, headers(), Request),
            [cowboy_req:stream_body(Chunk, nofin, Stream) || Chunk <- web_answer:chunks()],
            cowboy_req:stream_body(<<>>, fin, Stream),
            {ok, Stream, State};
        <<"/", Name/binary>> -> {ok, cowboy_req:reply(200, headers(), web_answer:page(Name), Request), State}
    end.

headers() -> #{<<"content-type">> => <<"text/plain">>, <<"version">> => integer_to_binary(web_answer:version())}.
