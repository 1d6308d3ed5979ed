%% Calls, returns, exceptions and messages of one process, as its tracer sees them.
-module(trace_calls).
-export([main/1,fact/1,f/1,loop/0,g/1,thrower/1]).
fact(0) -> 1;
fact(N) -> N * fact(N-1).
f(X) -> g(X) + 1.
g(X) -> h(X) * 2.
h(X) -> X.
thrower(X) -> erlang:error({bad,X}).
loop() -> receive {call,F,From} -> From ! {res,catch F()}, loop(); stop -> ok end.
drain() -> receive M -> [M|drain()] after 100 -> [] end.
show(P,Ms) -> lists:foreach(fun(M) -> io:format("~p~n",[norm(P,M)]) end, Ms).
norm(P,P) -> tracee; norm(_,S) when S =:= self() -> tracer;
norm(_,R) when is_reference(R) -> ref;
norm(_,R) when is_pid(R) -> pid;
norm(P,T) when is_tuple(T) -> list_to_tuple([norm(P,E)||E<-tuple_to_list(T)]);
norm(P,[H|T]) -> [norm(P,H)|norm(P,T)]; norm(_,F) when is_function(F) -> a_fun; norm(_,X) -> X.
call(P,F) -> P ! {call,F,self()}, receive {res,R} -> R end.
show_error(F) ->
  try F() catch error:R:St -> [{M,N,_,I}|_] = St, io:format("~p ~p:~p ~p~n",[R,M,N,proplists:get_value(error_info,I)]) end.
main(_) ->
  P = spawn(?MODULE,loop,[]),
  io:format("~p~n",[erlang:trace(P,true,[call])]),
  io:format("~p~n",[erlang:trace_pattern({trace_calls,fact,1},[{'_',[],[{return_trace}]}],[local])]),
  io:format("~p~n",[call(P,fun()->fact(3) end)]),
  show(P,drain()),
  io:format("~p~n",[erlang:trace_info({trace_calls,fact,1},all)]),
  io:format("~p~n",[erlang:trace_pattern({trace_calls,fact,1},false,[local])]),
  io:format("~p~n",[call(P,fun()->fact(3) end)]),
  show(P,drain()),
  io:format("~p~n",[erlang:trace_pattern({trace_calls,'_','_'},[{['$1'],[{is_integer,'$1'}],[{message,{caller}}]}],[local])]),
  io:format("~p~n",[call(P,fun()->f(3) end)]), show(P,drain()),
  io:format("~p~n",[erlang:trace_pattern({trace_calls,'_','_'},true,[local])]),
  erlang:trace(P,true,[return_to]),
  io:format("~p~n",[call(P,fun()->f(3) end)]), show(P,drain()),
  erlang:trace(P,false,[return_to]),
  erlang:trace_pattern({trace_calls,'_','_'},false,[local]),
  erlang:trace_pattern({trace_calls,thrower,1},[{'_',[],[{exception_trace}]}],[local]),
  io:format("~p~n",[element(1,call(P,fun()->thrower(1) end))]), show(P,drain()),
  erlang:trace_pattern({trace_calls,'_','_'},false,[local]),
  io:format("~p~n",[erlang:trace_pattern({lists,reverse,2},true,[global])]),
  io:format("~p~n",[erlang:trace_pattern({lists,seq,2},true,[])]),
  io:format("~p~n",[call(P,fun()-> lists:reverse(lists:seq(1,3),[]) end)]), show(P,drain()),
  io:format("~p~n",[erlang:trace_info({lists,seq,2},all)]),
  erlang:trace_pattern({'_','_','_'},false,[]),
  erlang:trace_pattern({trace_calls,fact,1},true,[call_count]),
  call(P,fun()->fact(10) end),
  io:format("~p~n",[erlang:trace_info({trace_calls,fact,1},call_count)]),
  erlang:trace_pattern({trace_calls,fact,1},false,[call_count]),
  erlang:trace(P,true,[send,'receive',procs,timestamp]),
  call(P,fun()-> Q=spawn_link(fun() -> receive x -> ok end end), register(qq,Q), Q ! x, receive after 10 -> ok end, unlink(Q) end),
  show(P,[setelement(tuple_size(M),M,ts) || M<-drain()]),
  io:format("~p~n",[erlang:trace_info(P,tracer) =:= {tracer,self()}]),
  io:format("~p~n",[lists:sort(element(2,erlang:trace_info(P,flags)))]),
  erlang:trace(P,false,[all]),
  R=erlang:trace_delivered(P), receive {trace_delivered,P,R} -> io:format("delivered~n") end,
  show_error(fun() -> erlang:trace_pattern({trace_calls,f,1},[{bad}],[local]) end),
  show_error(fun() -> erlang:trace_pattern({trace_calls,f,1},true,[bad]) end),
  show_error(fun() -> erlang:trace_pattern({'_',f,1},true,[]) end),
  show_error(fun() -> erlang:trace(P,true,[foo]) end),
  show_error(fun() -> erlang:trace(P,maybe_so,[call]) end),
  show_error(fun() -> erlang:trace(self(),true,[call]) end),
  io:format("~p~n",[erlang:match_spec_test([1,2],[{['$1','$2'],[{'<','$1','$2'}],[{message,{{'$2','$1'}}},{return_trace}]}],trace)]),
  io:format("~p~n",[erlang:match_spec_test([1,2],[{'_',[{message,1}],[]}],trace)]),
  P ! stop.
