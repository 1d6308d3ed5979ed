%% Which functions the libraries of a release leave to the VM, and which of them this VM has.
%%
%% main([Ebin...]): a line "Module:Function/Arity" for each function of the .beam files there whose
%% body is only a call of erlang:nif_error/1,2, with " missing" behind those that the VM does not
%% have. A module that loads a native library of its own is left out.
-module(vm_functions).
-export([main/1]).

main(Folders) ->
    Files = lists:sort(lists:append([filelib:wildcard(F ++ "/*.beam") || F <- Folders])),
    lists:foreach(fun show/1, Files).

show(File) ->
    {beam_file, Module, _, _, _, Functions} = beam_disasm:file(File),
    Calls = lists:append([calls(Code) || {function, _, _, _, Code} <- Functions]),
    Loads = lists:member({erlang, load_nif, 2}, Calls),
    Left = [{Module, F, A} || {function, F, A, _, Code} <- Functions, is_left_to_vm(Code)],
    [io:format("~tp:~tp/~p~s~n", [M, F, A, case minivm:has_function(M, F, A) of true -> ""; false -> " missing" end])
     || {M, F, A} <- lists:sort(Left), not (Loads andalso not is_static(Module))].

%% Their native functions are part of the VM.
is_static(Module) ->
    lists:member(Module, [erl_tracer, prim_buffer, prim_file, prim_net, prim_socket, zlib]).

is_left_to_vm(Code) ->
    Calls = calls(Code),
    Calls =/= [] andalso lists:all(fun({M, F, _}) -> {M, F} =:= {erlang, nif_error} end, Calls).

calls(Code) ->
    [Mfa || Instruction <- Code, is_tuple(Instruction), Mfa <- called(tuple_to_list(Instruction))].

called([call | _]) -> [{local, call, 0}];
called([call_only | _]) -> [{local, call, 0}];
called([call_last | _]) -> [{local, call, 0}];
called([Name | Operands]) when Name =:= call_ext; Name =:= call_ext_only; Name =:= call_ext_last ->
    [{M, F, A} || {extfunc, M, F, A} <- Operands];
called([bif, Name | _]) -> [{erlang, Name, bif}];
called([gc_bif, Name | _]) -> [{erlang, Name, bif}];
called(_) -> [].
