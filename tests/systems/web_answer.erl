%% What web_server.erl answers, in two versions.
-module(web_answer).
-export([page/1, chunks/0, version/0]).

version() -> ?VERSION.

page(<<"small">>) -> <<"Hello, world!">>;
page(<<"big">>) -> binary:copy(<<"0123456789">>, 10000).

chunks() -> lists:duplicate(100, binary:copy(<<"x">>, 1024)).
