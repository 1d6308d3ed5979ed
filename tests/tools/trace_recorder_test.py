#!/usr/bin/env python3
"""The tracer flight_recorder, as `minivm dump` shows what it recorded, on both engines.

    trace_recorder_test.py --minivm build/release/tools/minivm
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

MINIVM = ""
PROGRAM = """-module(tr).
-export([main/1, fact/1, boom/1, loop/1, lost/1, same/1, none/0, three/3, most/16, more/17, bytes/1]).
fact(0) -> 1;
fact(N) -> N * fact(N - 1).
boom(X) -> error({oops, X}).
lost(X) -> boom(X).
down(0) -> 0;
down(N) -> 1 + down(N - 1).
loop(0) -> ok;
loop(N) -> loop(N - 1).
same(X) -> X.
none() -> 0.
three(A, _, _) -> A.
most(A, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _) -> A.
more(A, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _) -> A.
bytes(<<>>) -> [];
bytes(<<B, Rest/binary>>) -> [B | bytes(Rest)].

traced(Flags, {_, _} = Pattern, F) -> traced(Flags, [Pattern], F);
traced(Flags, Patterns, F) ->
    S = self(),
    P = spawn(fun() -> receive go -> ok end, F(), S ! done, receive stop -> ok end end),
    1 = erlang:trace(P, true, [{tracer, flight_recorder, []} | Flags]),
    {tracer, {flight_recorder, []}} = erlang:trace_info(P, tracer),
    [1 = erlang:trace_pattern(Function, Spec, [local]) || {Function, Spec} <- Patterns],
    P ! go,
    receive done -> ok end,
    erlang:trace_pattern({tr, '_', '_'}, false, [local]),
    io:format("~p~n", [P]),
    P.

main(["calls"]) ->
    traced([call], {{tr, fact, 1}, [{'_', [], [{return_trace}]}]}, fun() -> fact(2) end),
    traced([call, arity], {{tr, loop, 1}, true}, fun() -> loop(1) end),
    traced([call], {{tr, boom, 1}, [{'_', [], [{exception_trace}, {message, {{here, 1}}}]}]},
           fun() -> catch boom([a, "text", <<1>>]) end),
    traced([call], {{tr, lost, 1}, [{'_', [], [{return_trace}]}]}, fun() -> catch lost(1) end),
    traced([call, return_to], {{tr, fact, 1}, true}, fun() -> fact(0) end),
    ok;
main(["shapes"]) ->
    Returns = [{'_', [], [{return_trace}]}],
    traced([call], [{{tr, F, A}, Returns} || {F, A} <- [{none, 0}, {three, 3}, {most, 16}, {more, 17}, {same, 1},
                                                       {bytes, 1}]],
           fun() ->
                   none(), three(1, -2, 3), three(a, 2, "x"), apply(tr, most, lists:seq(1, 16)),
                   apply(tr, more, lists:seq(1, 17)), [same(X) || X <- [(1 bsl 59) - 1, 1 bsl 59, 1 bsl 70, -1, [], x]],
                   bytes(<<1, 2>>)
           end),
    ok;
main(["guards"]) ->
    Spec = [{['$1'], [{'>', '$1', 5}, {'<', '$1', 10}], [{return_trace}]},
            {['$1'], [{'=:=', {hd, '$1'}, 7}], []},
            {[{'$1', '$1'}], [], [{exception_trace}]}],
    traced([call], {{tr, same, 1}, Spec},
           fun() -> [same(X) || X <- [5, 6, x, [6], [7], {1, 2}, {2, 2}, 10]] end),
    traced([call], {{tr, boom, 1}, Spec}, fun() -> [catch boom(X) || X <- [5, 6, [7], {3, 3}]] end),
    S = trace:session_create(shapes, {flight_recorder, []}, []),
    P = spawn(fun() -> receive go -> ok end, same(8), same(3), boom({4, 4}) end),
    1 = trace:process(S, P, true, [call]),
    [1 = trace:function(S, {tr, F, 1}, Spec, [local]) || F <- [same, boom]],
    M = monitor(process, P),
    P ! go,
    receive {'DOWN', M, process, P, _} -> ok end;
main(["sensitive"]) ->
    traced([call], {{tr, fact, 1}, true}, fun() -> process_flag(sensitive, true), fact(1) end),
    ok;
main(["deep"]) ->
    P = traced([call], {{tr, loop, 1}, [{'_', [], [{return_trace}]}]}, fun() -> loop(10000000) end),
    io:format("words ~w~n", [element(2, process_info(P, total_heap_size))]),
    timer:sleep(1000);  % the logger writes the warning
main(["frames"]) ->
    io:format("~w~n", [minivm:trace_frames(2)]),
    io:format("~w~n", [minivm:trace_frames(3)]),
    io:format("~w~n", [try minivm:trace_frames(0) catch error:R -> R end]),
    traced([call], {{tr, down, 1}, [{'_', [], [{return_trace}]}]}, fun() -> down(9) end),
    ok;
main(["bad"]) ->
    Try = fun(Pid, Flags) ->
                  io:format("~w~n", [try erlang:trace(Pid, true, Flags) catch error:R -> R end])
          end,
    [Try(self(), [call, {tracer, M, []}]) || M <- [no_such, lists]],
    P = spawn(fun() -> receive stop -> ok end end),
    1 = erlang:trace(P, true, [call, {tracer, flight_recorder, []}]),
    Try(P, [call]).
"""


class Recorder(unittest.TestCase):
    engine = ""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="minivm-trace-")
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        (self.path / "tr.erl").write_text(PROGRAM)
        subprocess.run(["erlc", "-o", self.path, self.path / "tr.erl"], check=True)

    def run_program(self, what, *options):
        return subprocess.run([MINIVM, "run", "--engine", self.engine, "--record", self.path / "rec", "-S", "1",
                               *options, self.path / "tr.beam", what],
                              check=True, capture_output=True, text=True, timeout=60)

    def dump(self, *options):
        return subprocess.run([MINIVM, "dump", self.path / "rec", *options], check=True,
                              capture_output=True, text=True, timeout=60).stdout

    def messages(self):
        """Trace events in text, with their indentation."""
        lines = self.dump("--category", "trace").splitlines()
        return [line[72:] for line in lines if not line.startswith("#") and " trace " in line]

    def test_calls(self):
        self.run_program("calls")
        self.assertEqual(self.messages()[:6],
                         ["call tr:fact(2)", "  call tr:fact(1)", "    call tr:fact(0)",
                          "    returned from tr:fact/1 -> 1", "  returned from tr:fact/1 -> 1",
                          "returned from tr:fact/1 -> 2"])
        rest = [m.strip() for m in self.messages()[6:]]
        self.assertEqual(rest,
                         ["call tr:loop/1", "call tr:loop/1",
                          'call tr:boom([a,"text",<<1>>]) ({here,1})',
                          'exception from tr:boom/1: error:{oops,[a,"text",<<1>>]}',
                          "call tr:lost(1)", "tr:lost/1 is left by an exception",
                          "call tr:fact(0)", rest[-1]])
        self.assertRegex(rest[-1], r"^returning to tr:")

    def test_calls_and_values_of_any_shape(self):
        self.run_program("shapes")
        most = ",".join(str(n) for n in range(1, 17))
        wanted = []
        for function, arity, arguments, value in (
                ("none", 0, "", "0"), ("three", 3, "1,-2,3", "1"), ("three", 3, 'a,2,"x"', "a"),
                ("most", 16, most, "1"), ("more", 17, most + ",...", "1"),
                *(("same", 1, v, v) for v in (str(2 ** 59 - 1), str(2 ** 59), str(2 ** 70), "-1", "[]", "x"))):
            wanted += [f"call tr:{function}({arguments})", f"returned from tr:{function}/{arity} -> {value}"]
        self.assertEqual(self.messages()[:len(wanted)], wanted)
        self.assertEqual([m.strip() for m in self.messages()[len(wanted):]],
                         ["call tr:bytes(<<1,2>>)", "call tr:bytes(<<2>>)", "call tr:bytes(<<>>)",
                          "returned from tr:bytes/1 -> []", 'returned from tr:bytes/1 -> [2]',
                          'returned from tr:bytes/1 -> [1,2]'])

    def test_specifications_that_match_or_do_not(self):
        self.run_program("guards")
        self.assertEqual([re.sub(r" *\(session \d+\)|^ *", "", m) for m in self.messages()],
                         ["call tr:same(6)", "returned from tr:same/1 -> 6", "call tr:same([7])",
                          "call tr:same({2,2})", "returned from tr:same/1 -> {2,2}",
                          "call tr:boom(6)", "tr:boom/1 is left by an exception", "call tr:boom([7])",
                          "call tr:boom({3,3})", "exception from tr:boom/1: error:{oops,{3,3}}",
                          "call tr:same(8)", "returned from tr:same/1 -> 8",
                          "call tr:boom({4,4})", "exception from tr:boom/1: error:{oops,{4,4}}"])

    def test_other_formats(self):
        self.run_program("calls")
        events = [json.loads(line) for line in self.dump("--format", "json", "--category", "trace").splitlines()]
        text = json.dumps(events)
        self.assertIn("tr:fact", text)
        self.assertIn("return_from", text)
        self.assertIn("call_framed", self.dump("--format", "terms", "--category", "trace"))
        self.assertIn("tr:fact", self.dump("--format", "perfetto", "--category", "trace"))

    def test_sensitive_processes_are_not_traced(self):
        self.run_program("sensitive")
        self.assertEqual(self.messages(), [])

    def test_a_tail_loop_keeps_its_stack_bounded(self):
        done = self.run_program("deep")
        words = int(re.search(r"words (\d+)", done.stdout)[1])
        self.assertLess(words, 2000000)
        self.assertIn("100000 trace frames on its stack", done.stdout + done.stderr)
        dump = self.dump("--category", "trace")
        self.assertEqual(len(re.findall(r"trace frames wait", dump)), 1)

    def test_as_many_frames_as_asked_for(self):
        for options, former in ((), 100000), (("--trace-frames", "30"), 30):
            done = self.run_program("frames", *options)
            self.assertEqual(done.stdout.split()[:3], [str(former), "2", "badarg"])
            dump = self.dump("--category", "trace")
            self.assertEqual((dump.count("call tr:down"), dump.count("returned from tr:down")), (10, 3))

    def test_bad_tracers(self):
        self.assertEqual(self.run_program("bad").stdout.split(), ["undef", "badarg", "badarg"])


class OnInterpreter(Recorder):
    engine = "interp"


class OnJit(Recorder):
    engine = "jit"


del Recorder

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minivm", required=True)
    options, rest = parser.parse_known_args()
    MINIVM = options.minivm
    sys.exit(tool_tests.total(unittest.main(argv=[sys.argv[0], *rest], exit=False).result))
