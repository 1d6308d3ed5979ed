%% The flight recorder for programs: what they record stands between the VM's own records.
%%
%%   recorder:event(orders, "order ~p of ~s for ~p", [Id, Name, Price])
%%   recorder:span(orders, {price, Id}, fun() -> price(Id) end)
-module(recorder).
-export([event/3, span/3]).

%% Records Format with Args. Nothing is formatted now: ~p, ~w, ~s and the like are filled in when the
%% recording is read. Terms are copied as far as there is room (some 20 words).
-spec event(Category :: atom(), Format :: string() | binary(), Args :: [term()]) -> ok.
event(_Category, _Format, _Args) ->
    erlang:nif_error(undef).

%% The value of Fun(), which is a box in the timeline. Boxes of one process may lie in one another.
-spec span(Category :: atom(), Name :: term(), Fun :: fun(() -> Value)) -> Value.
span(Category, Name, Fun) when is_atom(Category), is_function(Fun, 0) ->
    Id = recorder:begin_span(Category, Name),
    try
        Fun()
    after
        recorder:end_span(Id)
    end.
