%% The I/O servers of a bare boot: standard input and output behind the Erlang I/O protocol, and standard
%% error likewise.
%%
%% The first is registered as `user` and everybody's group leader, the second as `standard_error`. Bytes
%% that were read and not yet asked for wait in `input`; while a request waits for more of them, output
%% requests go on being served.
-module(minivm_io).
-export([start/0, start_session/3, init/3, reader/1]).

-record(s, {device = stdout,     % where output goes: stdout | stderr | {client, Port, Columns} | gone
            input = <<>>,        % bytes read and not consumed
            eof = false,
            reader,              % the process that blocks in read(2)
            reading = false,
            encoding = latin1,   % of the bytes on standard input and output
            binary = false,      % input is given as binaries
            echo = true}).

%% Starts both; their pids.
start() ->
    {start(user, stdout), start(standard_error, stderr)}.

start(Name, Device) ->
    Pid = spawn(?MODULE, init, [self(), Name, Device]),
    receive {Pid, ready} -> Pid end.

init(Parent, Name, Device) ->
    process_flag(trap_exit, true),
    process_flag(priority, high),
    erts_internal:group_leader(self(), self()),
    register(Name, self()),
    Server = self(),
    Reader = spawn_link(?MODULE, reader, [Server]),
    Parent ! {self(), ready},
    Eof = Device =:= stderr,                     % nothing can be read from it
    loop(#s{device = Device, reader = Reader, eof = Eof}).

%% The server of a client from outside, linked to the caller, which does the reading: it is sent
%% {read, Pid} and answers {input, Reader, Bytes | eof}.
start_session(Port, Reader, Columns) ->
    spawn_link(fun() ->
                       process_flag(priority, high),
                       erts_internal:group_leader(self(), self()),
                       loop(#s{device = {client, Port, Columns}, reader = Reader, encoding = unicode})
               end).

%% Reads only when told to, so that a program that reads nothing leaves its input alone.
reader(Server) ->
    receive
        read ->
            Server ! {input, self(), minivm:read_stdin()},
            reader(Server)
    end.

%% How often the server of a client that has gone looks whether somebody still needs it.
-define(LOOK_MS, 60000).

loop(#s{device = gone} = S) ->
    receive
        {io_request, From, ReplyAs, Request} when is_pid(From) ->
            loop(serve(From, ReplyAs, Request, S));
        _ ->
            loop(S)
    after ?LOOK_MS ->
        is_needed() andalso loop(S)
    end;
loop(S) ->
    receive
        client_gone ->
            is_needed() andalso loop(gone(S));
        {io_request, From, ReplyAs, Request} when is_pid(From) ->
            loop(serve(From, ReplyAs, Request, S));
        {input, Reader, Data} when Reader =:= S#s.reader ->  % from nobody else
            loop(add_input(Data, S));
        {sync, From, Ref} when is_pid(From) ->                     % all that was asked for before has been written
            From ! {Ref, ok},
            loop(S);
        _ ->
            loop(S)
    end.

%% What a client has left running goes on, and does not fail because nobody reads it.
gone(S) -> S#s{device = gone, reading = false, eof = true}.

is_needed() ->
    process_flag(priority, low),
    Self = self(),
    lists:any(fun(P) -> P =/= Self andalso process_info(P, group_leader) =:= {group_leader, Self} end, processes()).

serve(From, ReplyAs, Request, S) ->
    {Reply, S1} = request(Request, S),
    From ! {io_reply, ReplyAs, Reply},
    S1.

add_input(Bytes, S) when is_binary(Bytes) ->
    S#s{input = <<(S#s.input)/binary, Bytes/binary>>, reading = false};
add_input(_EofOrError, S) ->
    S#s{eof = true, reading = false}.

%% Waits until more input is there or the end is reached; serves output meanwhile.
more_input(#s{eof = true} = S) ->
    {eof, S};
more_input(S0) ->
    S = case S0#s.reading of
            true -> S0;
            false when is_tuple(S0#s.device) -> S0#s.reader ! {read, self()}, S0#s{reading = true};
            false -> S0#s.reader ! read, S0#s{reading = true}
        end,
    receive
        {input, Reader, Data} when is_binary(Data), Reader =:= S#s.reader ->
            {more, add_input(Data, S)};
        {input, Reader, Data} when Reader =:= S#s.reader ->
            {eof, add_input(Data, S)};
        {io_request, From, ReplyAs, Request}
          when is_pid(From), element(1, Request) =:= put_chars;
               is_pid(From), element(1, Request) =:= get_geometry;
               is_pid(From), Request =:= getopts ->
            more_input(serve(From, ReplyAs, Request, S));
        client_gone ->
            {eof, gone(S)};
        {sync, From, Ref} when is_pid(From) ->   % a program that waits for input can be ended too
            From ! {Ref, ok},
            more_input(S)
    end.

%% ---- requests ---------------------------------------------------------------------------------

request({put_chars, Encoding, Chars}, S) ->
    put_chars(Encoding, Chars, S);
request({put_chars, Encoding, M, F, A}, S) ->
    try apply(M, F, A) of
        Chars -> put_chars(Encoding, Chars, S)
    catch
        _:_ -> {{error, F}, S}
    end;
request({put_chars, Chars}, S) ->
    put_chars(latin1, Chars, S);
request({put_chars, M, F, A}, S) ->
    request({put_chars, latin1, M, F, A}, S);
request(Request, #s{device = stderr} = S)
  when element(1, Request) =:= get_line; element(1, Request) =:= get_chars;
       element(1, Request) =:= get_until; element(1, Request) =:= get_password ->
    {{error, enotsup}, S};
request({get_line, Encoding, Prompt}, S) ->
    get_line(Encoding, prompt(Prompt, S));
request({get_line, Prompt}, S) ->
    request({get_line, latin1, Prompt}, S);
request({get_chars, Encoding, Prompt, N}, S) ->
    get_chars(Encoding, N, prompt(Prompt, S));
request({get_chars, Prompt, N}, S) ->
    request({get_chars, latin1, Prompt, N}, S);
request({get_until, Encoding, Prompt, M, F, A}, S) ->
    get_until(Encoding, M, F, A, [], prompt(Prompt, S));
request({get_until, Prompt, M, F, A}, S) ->
    request({get_until, latin1, Prompt, M, F, A}, S);
request({get_password, _}, S) ->
    {{error, enotsup}, S};
request({setopts, Options}, S) when is_list(Options) ->
    setopts(Options, S);
request(getopts, #s{device = stderr} = S) ->
    {[{encoding, S#s.encoding}], S};
request(getopts, S) ->
    {[{binary, S#s.binary}, {encoding, S#s.encoding}], S};
request({get_geometry, columns}, #s{device = {client, _, Columns}} = S) ->
    {Columns, S};
request({get_geometry, _}, S) ->
    {{error, enotsup}, S};
request({requests, Requests}, S) when is_list(Requests) ->
    requests(Requests, ok, S);
request(_, S) ->
    {{error, request}, S}.

requests([R | Rest], _, S) ->
    case request(R, S) of
        {{error, _}, _} = Error -> Error;
        {Reply, S1} -> requests(Rest, Reply, S1)
    end;
requests([], Reply, S) ->
    {Reply, S}.

setopts([{encoding, E} | Rest], S) when E =:= unicode; E =:= utf8 ->
    setopts(Rest, S#s{encoding = unicode});
setopts([{encoding, latin1} | Rest], S) ->
    setopts(Rest, S#s{encoding = latin1});
setopts([{binary, B} | Rest], S) when is_boolean(B) ->
    setopts(Rest, S#s{binary = B});
setopts([binary | Rest], S) ->
    setopts(Rest, S#s{binary = true});
setopts([list | Rest], S) ->
    setopts(Rest, S#s{binary = false});
setopts([], S) ->
    {ok, S};
setopts(_, S) ->
    {{error, enotsup}, S}.

%% ---- output -------------------------------------------------------------------------------------

put_chars(Encoding, Chars, S) ->
    try encode(Chars, Encoding, S#s.encoding) of
        Bytes when is_binary(Bytes) ->
            case write(S#s.device, Bytes) of
                ok -> {ok, S};
                {error, client_gone} -> {ok, gone(S)};
                {error, Reason} -> {{error, Reason}, S}
            end;
        _ ->
            {{error, {no_translation, Encoding, S#s.encoding}}, S}
    catch
        _:_ -> {{error, put_chars}, S}
    end.

write(stdout, Bytes) -> minivm:write_stdout(Bytes);
write(stderr, Bytes) -> minivm:write_stderr(Bytes);
write(gone, _) -> ok;
%% Waits while the client does not read.
write({client, Port, _}, Bytes) -> client(Port, Bytes).

client(_, <<>>) -> ok;
client(Port, <<Piece:65536/binary, Rest/binary>>) ->
    case frame(Port, Piece) of
        ok -> client(Port, Rest);
        Error -> Error
    end;
client(Port, Bytes) -> frame(Port, Bytes).

frame(Port, Bytes) ->
    try port_command(Port, [$O, Bytes]) of
        true -> ok
    catch
        error:_ -> {error, client_gone}
    end.

%% A latin1 device shows what it cannot as \x{...}, as OTP's user does.
encode(Chars, In, latin1) ->
    case unicode:characters_to_binary(Chars, In, latin1) of
        Bytes when is_binary(Bytes) -> Bytes;
        {error, Done, Rest} -> escape(Done, Rest, In);
        Incomplete -> Incomplete
    end;
encode(Chars, In, Out) ->
    unicode:characters_to_binary(Chars, In, Out).

escape(Done, Rest, In) ->
    case unicode:characters_to_list(Rest, In) of
        [_ | _] = List ->
            Text = [if C < 256 -> C; true -> io_lib:format("\\x{~.16B}", [C]) end || C <- List],
            iolist_to_binary([Done | Text]);
        _ ->
            error
    end.

prompt(Prompt, S) ->
    Chars = io_lib:format_prompt(Prompt, S#s.encoding),
    case Chars of
        [] -> S;
        _ -> element(2, put_chars(unicode, Chars, S))
    end.

%% ---- input --------------------------------------------------------------------------------------

get_line(Encoding, S) -> get_line(Encoding, 0, S).

get_line(Encoding, Searched, #s{input = Input} = S) ->
    Scope = {Searched, byte_size(Input) - Searched},
    case binary:match(Input, <<"\n">>, [{scope, Scope}]) of
        {At, 1} ->
            <<Line:(At + 1)/binary, Rest/binary>> = Input,
            deliver(Encoding, line_end(Line), S#s{input = Rest});
        nomatch ->
            case more_input(S) of
                {more, S1} -> get_line(Encoding, byte_size(Input), S1);
                {eof, S1} when Input =:= <<>> -> {eof, S1#s{eof = false}};
                {eof, S1} -> deliver(Encoding, Input, S1#s{input = <<>>})
            end
    end.

%% "\r\n" counts as one line end.
line_end(Line) ->
    N = byte_size(Line) - 2,
    case Line of
        <<L:N/binary, "\r\n">> -> <<L/binary, "\n">>;
        _ -> Line
    end.

get_chars(_, N, S) when not is_integer(N); N < 0 ->
    {{error, get_chars}, S};
get_chars(Encoding, N, #s{input = Input} = S) ->
    case split_chars(Input, N, S#s.encoding) of
        {Taken, Rest} ->
            deliver(Encoding, Taken, S#s{input = Rest});
        more ->
            case more_input(S) of
                {more, S1} -> get_chars(Encoding, N, S1);
                {eof, S1} when Input =:= <<>> -> {eof, S1#s{eof = false}};
                {eof, S1} -> deliver(Encoding, Input, S1#s{input = <<>>})
            end
    end.

split_chars(Bytes, N, latin1) ->
    case Bytes of
        <<Taken:N/binary, Rest/binary>> -> {Taken, Rest};
        _ -> more
    end;
split_chars(Bytes, N, unicode) ->
    split_utf8(Bytes, N, 0).

split_utf8(Bytes, 0, At) ->
    <<Taken:At/binary, Rest/binary>> = Bytes,
    {Taken, Rest};
split_utf8(Bytes, N, At) ->
    case Bytes of
        <<_:At/binary, C/utf8, _/binary>> -> split_utf8(Bytes, N - 1, At + byte_size(<<C/utf8>>));
        <<_:At/binary, Rest/binary>> when byte_size(Rest) < 4 -> more;
        _ -> split_utf8(Bytes, N - 1, At + 1)
    end.

%% Characters as the reader asked for them.
deliver(Encoding, Bytes, S) ->
    case {S#s.binary, S#s.encoding} of
        {true, In} ->
            case unicode:characters_to_binary(Bytes, In, Encoding) of
                Out when is_binary(Out) -> {Out, S};
                _ -> {{error, {no_translation, In, Encoding}}, S}
            end;
        {false, latin1} ->
            {binary_to_list(Bytes), S};
        {false, unicode} ->
            case unicode:characters_to_list(Bytes, unicode) of
                Out when is_list(Out), Encoding =:= latin1 ->
                    case lists:all(fun(C) -> C < 256 end, Out) of
                        true -> {Out, S};
                        false -> {{error, {no_translation, unicode, latin1}}, S}
                    end;
                Out when is_list(Out) -> {Out, S};
                _ -> {{error, {no_translation, unicode, Encoding}}, S}
            end
    end.

get_until(Encoding, M, F, A, Continuation, #s{input = Input} = S) ->
    case Input of
        <<>> ->
            case more_input(S) of
                {more, S1} -> get_until(Encoding, M, F, A, Continuation, S1);
                {eof, S1} -> until(Encoding, M, F, A, Continuation, eof, S1#s{eof = false})
            end;
        _ ->
            {Chars, Rest} = decode(Input, S#s.encoding),
            until(Encoding, M, F, A, Continuation, Chars, S#s{input = Rest})
    end.

until(Encoding, M, F, A, Continuation, Chars, S) ->
    try apply(M, F, [Continuation, Chars | A]) of
        {done, Result, Rest} ->
            Left = case Rest of
                       eof -> <<>>;
                       _ -> unicode:characters_to_binary(Rest, unicode, S#s.encoding)
                   end,
            {until_result(Result, S), S#s{input = <<Left/binary, (S#s.input)/binary>>}};
        {more, Continuation1} ->
            get_until(Encoding, M, F, A, Continuation1, S)
    catch
        _:_ -> {{error, F}, S}
    end.

until_result(Result, #s{binary = true}) when is_list(Result) ->
    try unicode:characters_to_binary(Result) of
        B when is_binary(B) -> B;
        _ -> Result
    catch
        _:_ -> Result
    end;
until_result(Result, _) ->
    Result.

decode(Bytes, latin1) ->
    {binary_to_list(Bytes), <<>>};
decode(Bytes, unicode) ->
    case unicode:characters_to_list(Bytes, unicode) of
        {incomplete, Chars, Rest} -> {Chars, Rest};
        {error, Chars, Rest} -> {Chars ++ binary_to_list(Rest), <<>>};
        Chars -> {Chars, <<>>}
    end.
