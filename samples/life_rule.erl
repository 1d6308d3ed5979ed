%% The rule of the sample life.erl. VERSION 1 is Conway's: a cell is born with three neighbours and lives on
%% with two or three. In version 2 ("high life") it is also born with six.
-module(life_rule).
-export([name/0, lives/2]).

-ifndef(VERSION).
-define(VERSION, 1).
-endif.

-if(?VERSION =:= 1).
name() -> "Conway's life".
born(Neighbours) -> Neighbours =:= 3.
-else.
name() -> "high life".
born(Neighbours) -> Neighbours =:= 3 orelse Neighbours =:= 6.
-endif.

%% lives(IsAlive, Neighbours)
lives(true, Neighbours) -> Neighbours =:= 2 orelse Neighbours =:= 3;
lives(false, Neighbours) -> born(Neighbours).
