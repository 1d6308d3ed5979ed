%% Colours, where the client is a terminal that shows them (the SGR sequences of ECMA-48).
-module(minivm_colours).
-export([paint/3]).

%% The context of a command, or a map with `colours` alone.
paint(Style, Text, #{colours := true}) -> ["\e[", sgr(Style), $m, Text, "\e[0m"];
paint(_, Text, _) -> Text.

sgr(title) -> "1";
sgr(aside) -> "2";
sgr(call) -> "1";
sgr(return) -> "32";
sgr(exception) -> "31".
