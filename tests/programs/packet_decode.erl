%% erlang:decode_packet/3: every type, whole packets, parts of them, wrong ones, limits.
-module(packet_decode).
-export([main/1]).

main(_) ->
    [parts(T, B) || {T, B} <- packets()],
    [d(T, B, O) || {T, B, O} <- cases()],
    [d(http, iolist_to_binary(L), []) || L <- start_lines()],
    [d(http_bin, iolist_to_binary(L), []) || L <- start_lines()],
    [d(httph, iolist_to_binary(L), []) || L <- headers()],
    [d(httph_bin, iolist_to_binary(L), []) || L <- headers()],
    [d(T, <<"abc">>, []) || T <- [3, -1, 5, 2.0, unknown, [], "line"]],
    [d(0, B, []) || B <- [3, unknown, [], "Bin"]],
    [d(raw, <<"abc">>, O) || O <- [2, false, packet_size, [packet_size], [{packet_size}], [{packet_size, -1}],
                                   [{packet_size, 1.0}], [{packet_size, 1 bsl 32}], [{line_delimiter, $x}],
                                   [{line_length, 2}]]],
    tokens().

d(Type, Bin, Options) ->
    R = try erlang:decode_packet(Type, Bin, Options) catch C:E -> {C, E} end,
    io:format("~p ~p ~p~n    ~p~n", [Type, Bin, Options, R]).

packets() ->
    [{raw, <<"abc">>}, {1, <<3, "abc">>}, {2, <<0, 3, "abc">>}, {4, <<0, 0, 0, 3, "abc">>},
     {asn1, <<17, 3, "abc">>}, {asn1, <<16#1F, 16#81, 17, 3, "abc">>}, {asn1, <<17, 16#81, 3, "abc">>},
     {asn1, <<17, 16#84, 0, 0, 0, 3, "abc">>}, {asn1, <<17, 16#80, "abc">>},
     {sunrm, <<16#80, 0, 0, 3, "abc">>}, {cdr, <<"GIOP", 1, 2, 0, 1, 3:32, "abc">>},
     {cdr, <<"GIOP", 1, 2, 1, 1, 3:32/little, "abc">>}, {fcgi, <<1, 2, 0, 1, 3:16, 2, 0, "abcde">>},
     {line, <<"abc\r\n">>}, {tpkt, <<3, 0, 7:16, "abc">>}, {ssl_tls, <<22, 3, 1, 3:16, "abc">>},
     {ssl_tls, <<16#80, 6, 1, 3, 0, "abc">>}, {http, <<"GET / HTTP/1.1\r\n">>},
     {httph, <<"Host: x\r\n y\r\n\r">>}].

%% All that a packet can be cut to, then with something behind it, whole bytes and not.
parts(Type, Bin) ->
    [d(Type, binary:part(Bin, 0, N), []) || N <- lists:seq(0, byte_size(Bin))],
    d(Type, <<Bin/binary, "rest">>, []),
    d(Type, <<Bin/binary, 5:3>>, []),
    <<_:3, Moved/bits>> = <<5:3, Bin/binary, 1:1>>,
    d(Type, Moved, []),
    [d(Type, <<Bin/binary, "rest">>, [{packet_size, N}]) || N <- [1, 2, 3, 5, 10, 100]].

cases() ->
    [{4, <<16#FFFFFFF0:32, "abc">>, []}, {asn1, <<17, 16#85, 1, 2, 3, 4, 5>>, []}, {cdr, <<"GIOQ", 0:64>>, []},
     {fcgi, <<2, 0:64>>, []}, {tpkt, <<2, 0:64>>, []}] ++
    [{line, B, O} || B <- [<<"abcdef\nghi\n">>, <<"abcdef">>, <<"\n">>],
                     O <- [[{line_length, 0}], [{line_length, 3}], [{line_length, 6}], [{line_length, 7}],
                           [{packet_size, 3}], [{packet_size, 6}], [{packet_size, 7}],
                           [{packet_size, 7}, {line_length, 3}], [{line_delimiter, $d}]]] ++
    [{T, <<"GET / HTTP/1.1\r\nHost: x\r\n">>, O} || T <- [http, httph],
                                                   O <- [[{packet_size, 10}], [{line_length, 10}],
                                                         [{packet_size, 16}], [{packet_size, 30}]]].

start_lines() ->
    [[M, " /a/b?c=d HTTP/1.0\r\n"] || M <- ["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "PATCH",
                                            "get", "", "A(B"]] ++
    [["GET ", U, " HTTP/1.1\n"] || U <- ["*", "/", "x", "http://h", "http://h/", "HTTP://h:80/p/q?r#s",
                                         "https://h:0/p", "https://h:x/p", "http://h:8080", "ftp://a/b:c", "a:b",
                                         "name", ":", "http:/x", "http://", "https://:1"]] ++
    ["GET /\r\n", "GET \r\n", "GET\r\n", "GET / HTTP\r\n", "GET / HTTP/1\r\n", "GET / HTTP/1.\r\n",
     "GET / HTTP/12.34\r\n", "GET  \t / \t HTTP/1.1 trailing\r\n", "GET / HTTX/1.1\r\n", "\r\n", "\n", "x\r\n",
     "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200\r\n", "HTTP/1.1 200 \r\n", "HTTP/1.1  404  Not Found \r\n",
     "HTTP/1 200 OK\r\n", "HTTP/1.1\r\n", "HTTP/1.1 OK\r\n", "HTTP/1.1 20x\r\n", "HTTP/.1 200 OK\r\n"].

headers() ->
    [[N, ": value\r\nx"] ||
        N <- ["Cache-Control", "connection", "DATE", "Pragma", "Transfer-Encoding", "Upgrade", "Via", "Accept",
              "Accept-Charset", "Accept-Encoding", "Accept-Language", "Authorization", "From", "Host",
              "If-Modified-Since", "If-Match", "If-None-Match", "If-Range", "If-Unmodified-Since", "Max-Forwards",
              "Proxy-Authorization", "Range", "Referer", "User-Agent", "Age", "Location", "Proxy-Authenticate",
              "Public", "Retry-After", "Server", "Vary", "Warning", "Www-Authenticate", "Allow", "Content-Base",
              "Content-Encoding", "Content-Language", "Content-Length", "Content-Location", "Content-Md5",
              "Content-Range", "Content-Type", "Etag", "Expires", "Last-Modified", "Accept-Ranges", "Set-Cookie",
              "Set-Cookie2", "X-Forwarded-For", "Cookie", "Keep-Alive", "Proxy-Connection", "oTHER-fIELD--x-",
              "1-a", lists:duplicate(50, $a), lists:duplicate(51, $a)]] ++
    ["Host:\r\nx", "Host\r\nx", "Host : a\r\nx", " : a\r\nx", ": a\r\nx", "Host: \t a b \r\nx", "Host: a\r\n b\r\n\tc\r\nx",
     "Host: a\nx", "\r\n", "\n", "\r\nx", "Ho", "Host: a\r\n"].

tokens() ->
    Bad = [C || C <- lists:seq(0, 255), C =/= $\n,
                {ok, {http_error, _}, _} <- [erlang:decode_packet(httph, <<"a", C, "b: x\r\ny">>, [])]],
    io:format("~w~n", [Bad]).
