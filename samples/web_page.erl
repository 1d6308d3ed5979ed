%% What the sample web.erl answers, in two versions. The build compiles this file for each: VERSION is 1 or 2.
-module(web_page).
-export([answer/1, version/0]).

-ifndef(VERSION).
-define(VERSION, 1).
-endif.

version() -> ?VERSION.

%% {Status, type, body} for {Method, Path}.
answer({'GET', Path}) -> {<<"200 OK">>, <<"text/plain">>, page(Path)};
answer(_) -> {<<"405 Method Not Allowed">>, <<"text/plain">>, <<"Only GET is known here.\n">>}.

-if(?VERSION =:= 1).
page(Path) -> [<<"This is ">>, Path, <<".\n">>].
-else.
page(Path) -> [<<"You asked for ">>, Path, <<", and this is version 2.\n">>].
-endif.
