#!/usr/bin/env python3
"""The prompt as a user meets it: minivm repl and attach at a pseudo-terminal and from a pipe, traces, the
recorder's events. The session of docs/prompt.md is typed and compared.

    tests/tools/prompt_test.py build/release/tools/minivm [TEST...]
"""

import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)
import attach_test  # noqa: E402
from attach_test import ANSWER_S, Vm, compile_erlang, run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]

TRACED = r"""
-module(traced).
-export([main/1, fac/1, divide/1, loop/1, paced/1, nap/1, wait/0, same/1, flood/0]).
main(["wait"]) -> io:format("ready~n"), receive after infinity -> ok end;
main(_) -> io:format("~p~n", [fac(3)]), catch divide(0), divide(2).
fac(0) -> 1;
fac(N) -> N * fac(N - 1).
divide(N) -> 1 / N.
loop(0) -> ok;
loop(N) -> loop(N - 1).
paced(0) -> exit(self(), kill);
paced(N) -> N rem 200 =:= 0 andalso nap(10), paced(N - 1).
nap(Ms) -> timer:sleep(Ms).
wait() -> receive go -> ok end.
same(X) -> X.
flood() -> loop(1000000), flood().
"""

minivm = None   # set by tool_tests.main
folder = None


def repl(text, *arguments):
    return run("repl", *arguments, stdin=text.encode())


def events(out):
    """Of what a prompt printed the events, without what differs from run to run."""
    return [re.sub(r"<0\.\d+\.0>", "PID", re.sub(r"  \(\d+ us\)$", "", line.split(" ", 2)[2]))
            for line in out.splitlines() if re.match(r"\d\d:\d\d:\d\d\.\d{6} <", line)]


class Repl(unittest.TestCase):
    def test_expressions_and_modules_from_a_pipe(self):
        self.assertEqual(repl("X = traced:fac(4).\nX + 1.\n", folder / "traced.beam"), (0, "24\n25\n", ""))

    def test_status(self):
        self.assertEqual(repl("halt(5).\n")[0], 5)
        self.assertEqual(repl("1 / 0.\nok.\n")[:2], (1, "ok\n"))
        self.assertEqual(repl(":quit\n1 / 0.\n"), (0, "", ""))
        self.assertEqual(repl("1 +\n 1")[:2], (0, "2\n"))  # the input's end ends it

    def test_file_that_cannot_be_loaded(self):
        status, out, err = repl("1.\n", folder / "traced.beam", folder / "missing.beam")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("missing.beam: no such file or directory\nnothing has been loaded", err)
        (folder / "bad.beam").write_bytes(b"FOR1 and no more")
        status, _, err = repl("1.\n", folder / "bad.beam")
        self.assertEqual(status, 1)
        self.assertIn(f"** {folder}/bad.beam: ", err)

    def test_source_is_compiled(self):
        (folder / "typed.erl").write_text("-module(typed).\n-export([f/0]).\nf() -> X = 1, 17.\n")
        (folder / "wrong.erl").write_text("-module(wrong).\n-export([f/0]).\nf() -> X.\n")
        before = sorted(folder.iterdir())
        warning = f"{folder}/typed.erl:3:8: Warning: variable 'X' is unused\n"
        status, out, err = repl("typed:f().\n", folder / "traced.beam", folder / "typed.erl")
        self.assertEqual((status, out), (0, "17\n"))
        self.assertTrue(err.startswith(warning), err)
        for command in (lambda: repl("1.\n", folder / "wrong.erl", folder / "typed.erl"),
                        lambda: repl(f":load {folder}/wrong.erl {folder}/typed.erl\n")):
            status, out, err = command()
            self.assertEqual((status, out), (1, ""))
            self.assertIn(f"{folder}/wrong.erl:3:8: variable 'X' is unbound\n", err)
            self.assertIn("\nnothing has been loaded\n", err)
        status, out, err = repl(f":load {folder}/typed.erl\ntyped:f().\n")
        self.assertEqual((status, err), (0, ""))
        self.assertTrue(out.startswith(warning), out)
        self.assertRegex(out, r"\ntyped: version [0-9a-f]+, [a-z]+, [0-9]+ bytes\n17\n$")
        self.assertEqual(sorted(folder.iterdir()), before)

    def test_output_of_more_than_a_frame_holds(self):
        for size in (65536, 65537, 300000):
            status, out, err = repl(f'io:put_chars(binary:copy(<<"a">>, {size})), io:nl().\n')
            self.assertEqual((status, out, err), (0, "a" * size + "\nok\n", ""))

    def test_takes_the_options_of_run(self):
        self.assertEqual(repl(":engine\n", "--engine", "interp")[1][:6], "interp")
        self.assertEqual(repl("erlang:system_info(schedulers).\n", "-S", "3")[1], "3\n")
        self.assertEqual(repl("traced:fac(3).\n", "-pa", folder)[1], "6\n")
        self.assertEqual(repl("1.\n", "--nonsense")[0], 2)

    def test_ends_with_a_prompt_that_is_killed(self):
        process = subprocess.Popen([minivm, "repl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(b"os:getpid().\n")
        process.stdin.flush()
        vm = int(process.stdout.readline().strip(b'"\n'))
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        end = time.time() + ANSWER_S
        while pathlib.Path(f"/proc/{vm}/cmdline").exists() and \
                pathlib.Path(f"/proc/{vm}/cmdline").read_bytes() != b"":
            self.assertLess(time.time(), end)
            time.sleep(0.05)


class Shell(unittest.TestCase):
    """What OTP's shell does."""

    def test_results_and_commands_of_before(self):
        self.assertEqual(repl("5.\nv(1) + v(-1).\ne(1).\nv(9).\n")[1:],
                         ("5\n10\n5\n", "* 9: command not found\n"))

    def test_variables(self):
        self.assertEqual(repl("{A, B} = {1, 2}.\nb().\nf(A).\nA = 3.\nf().\nB = 7.\nA.\n")[1:],
                         ("{1,2}\nA = 1\nB = 2\nok\nok\n3\nok\n7\n",
                          "* 1:1: variable 'A' is unbound\n"))

    def test_an_exception_takes_linked_processes_along(self):
        _, out, _ = repl("P = spawn_link(fun() -> receive after infinity -> ok end end), is_process_alive(P).\n"
                         "exit(boom).\ntimer:sleep(50), is_process_alive(P).\n")
        self.assertEqual(out, "true\nfalse\n")

    def test_an_exit_of_somebody_linked_is_told(self):
        status, out, err = repl("spawn_link(fun() -> exit(boom) end), receive after infinity -> ok end.\n1.\n")
        self.assertEqual((status, out, err), (1, "1\n", "** exception exit: boom\n"))

    def test_funs_throws_and_strings(self):
        _, out, err = repl('F = fun(X) -> X + 1 end.\nF(2).\nthrow(x).\n"text".\n[1,2|3].\n<<"bin">>.\n'
                           "exit(why).\nc:pwd().\n")
        self.assertRegex(out, '^#Fun<erl_eval\\.[0-9.]+>\n3\n"text"\n\\[1,2\\|3\\]\n<<"bin">>\n.*\nok\n$')
        self.assertEqual(err, "** exception throw: x\n** exception exit: why\n")


class AsOtpsShell(unittest.TestCase):
    """The same lines in `erl` and here: the same texts, in the same order."""

    RECORDS = ("-record(person, {name = \"\" :: string(), age = 0}).\n"
               "-record(pet, {owner = #person{} :: #person{}, kind}).\n-ifdef(T).\n-record(more, {a}).\n-endif.\n")
    USES = ("-module(uses).\n-export([f/0]).\n-include(\"records.hrl\").\n-record(own, {a, b = {1, 2}}).\n"
            "f() -> {#own{}, #pet{}}.\n")

    @classmethod
    def setUpClass(cls):
        cls.dir = folder / "shell"
        cls.dir.mkdir()
        (cls.dir / "records.hrl").write_text(cls.RECORDS)
        (cls.dir / "uses.erl").write_text(cls.USES)
        (cls.dir / "stripped").mkdir()
        for options in ["+debug_info"], ["+no_debug_info", "-o", "stripped"]:
            subprocess.run(["erlc", *options, "uses.erl"], cwd=cls.dir, check=True)

    def compared(self, *lines):
        text = "".join(line + "\n" for line in lines).encode()
        said = []
        for command in (["erl"], [minivm, "repl"]):
            done = subprocess.run(command, cwd=self.dir, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=ANSWER_S, check=False, env=dict(os.environ, LC_ALL="C.UTF-8", HOME=str(folder)))
            said.append(done.stdout.decode())
        # erl shows prompts, and how it begins and ends.
        shell = re.sub(r"(?m)^(?:\d+> |Eshell V.*\n|\*\*\* Terminating .*\n)+", "", said[0])
        self.assertEqual(said[1], shell)
        return said[1]

    def test_commands_and_results_of_before(self):
        said = self.compared("1+1.", "v(9).", "e(9).", "X = 3.", "v(1) + v(-1).", "[e(1), e(-1)].", "case v(1) of 2 -> two end.",
                             "h().", "history(2).", "a.", "h().", "e(1).", "history(20).",
                             "results(1).", "{big, term}.", "v(-1).", "other.", "v(-3).", "results(0).", "b.", "v(-1).",
                             "results(a).", "history(-1).", "history(x).")
        self.assertIn("2: X = 3\n-> 3\n", said)

    def test_variables(self):
        self.compared("X.", "X = 3.", "Y = X + 1, Z = Y.", "b().", "f(X), X = 4.", "begin f(X), X = 5 end.", "f(1).", "f().", "b().",
                      "F = fun(A) -> A + 1 end.", "G = fun G(0) -> done; G(N) -> G(N - 1) end.", "b().", "f(nothing), 1.")

    def test_what_is_wrong_before_anything_runs(self):
        self.compared("put(k, v).", "P = self(), ok.", "foo bar.", "X + Y.", "1 = 2, Z.", "P =:= self().", "get(k).", "nofun(1).",
                      "lists:nofun(1).", "P =:= self().", "$a.", "1 +", "2.", "'atom'.", "<0.0.0>.", "\"text", "goes on\".")

    def test_records(self):
        said = self.compared(
            "rd(point, {x, y = 0}).", "#point{x = 1}.", "P = #point{x = [a]}.", "P#point.x.", "P#point.z.", "#nope{}.", "rl().",
            "rl(point).", "rl([point, nothing]).", "rp(P).", "rp(lists:seq(1, 40)).", "is_record(P, point).",
            "is_record(P, point, 3).", "F = fun(#point{x = A}) -> A end.", "F(P).", "F(#point{}).", "[Q] = [P#point{y = 2}].",
            "#point.y.", "b().", "case P of #point{y = Y} -> Y end.", "[X || #point{x = X} <- [P, a]].", "{P, [P]}.", "error(P).",
            "rd(line, {from = #point{x = 7}, to}).", "#line{}.", "(#line{})#line.from#point.x.", "rf(point).", "P.", "#point{}.",
            "rd(bad, 17).", "rd(1, 2).", "rf().", "rl().", "rd(a, {b :: #c{}}).", "rf(['no', such]).", "rf('_').")
        self.assertIn("\n#point{x = 1,y = 0}\n", said)
        self.assertIn("\n{#point{x = [a],y = 0},[#point{x = [a],y = 0}]}\n", said)

    def test_records_that_are_read(self):
        said = self.compared(
            'rr("records.hrl").', 'rr("records.hrl", person).', "rr(\"records.hrl\", [pet, more], [{d, 'T'}]).",
            "rr(\"records.hrl\", '_', {d, 'T', 1}).", "rf().", "rr(nosuchmodule).", 'rr("no_such_file.hrl").', "rr(uses).",
            "#own{}.", "uses:f().", "rl(pet).", 'rf(), rr("uses.beam").', 'rf(), rr("stripped/uses.beam").', 'rr("*.hrl").',
            "rr(lists).", "rr(uses, own).", "rr(17).")
        self.assertIn("\n#own{a = undefined,b = {1,2}}\n", said)

    def test_exceptions_that_are_caught(self):
        self.compared("catch_exception(true).", "put(k, v).", "P = self(), ok.", "1/0.", "throw(x).", "is_tuple(v(-1)).", "exit(y).", "get(k).",
                      "P =:= self().", "catch_exception(false).", "1/0.", "get(k).", "P =:= self().", "catch_exception(maybe).")

    def test_what_a_newcomer_types(self):
        self.compared(
            "c(nosuch).", "ls(\"nosuchdir\").", "cd(\"nosuchdir\").", "l(nosuch).", "m(nosuch).", "x:y:z.",
            "X = [1,2", ",3].", "\"abc\" ++ .", "?FOO.", "-module(foo).", "foo() -> ok.", "fun() -> 1 end.",
            "receive after 10 -> ok end.", "spawn(fun() -> ok end), ok.", "lists:map(fun(A) -> A/0 end, [1]).",
            "erlang:error(foo, [a]).", "error({a,b}).", "exit(normal).", "1.", "self() ! hi, flush().",
            "flush().", "put(a,1), get().", "#{a => 1}.", "maps:get(b, #{}).", "regs_nosuch().",
            "case 1 of 2 -> ok end.", "if false -> 1 end.", "try throw(a) catch throw:B -> B end.",
            "fun lists:foo/3.", "apply(lists, foo, []).", "1 / a.", "X + foo.", "lists:seq(1, 1.5).", "u(1).",
            "uptime_no().")

    def test_of_modules_that_are_compiled_in_memory(self):
        out = repl("rr(uses).\nuses:f().\n", self.dir / "uses.erl")
        self.assertEqual(out, (0, "[own,person,pet]\n{#own{a = undefined,b = {1,2}},\n #pet{owner = #person{name = [],age = 0},kind = undefined}}\n",
                               ""))


class Trace(unittest.TestCase):
    def test_from_the_first_call_of_a_program(self):
        status, out, err = run("run", "--trace", "traced:fac/1 return", "--trace", "traced:divide exception",
                               folder / "traced.beam")
        self.assertEqual((status, out), (0, "6\n"))
        lines = [re.sub(r"^\S+ <\S+> |  \(\d+ us\)$", "", line) for line in err.splitlines()]
        self.assertEqual(lines, [
            "call traced:fac(3)", "  call traced:fac(2)", "    call traced:fac(1)", "      call traced:fac(0)",
            "      returned from traced:fac/1 -> 1", "    returned from traced:fac/1 -> 1",
            "  returned from traced:fac/1 -> 2", "returned from traced:fac/1 -> 6",
            "call traced:divide(0)", "exception from traced:divide/1 -> error:badarith",
            "call traced:divide(2)"])

    def test_of_a_program_counts_as_well(self):
        _, _, err = run("run", "--trace", "traced:fac/1 count", folder / "traced.beam")
        self.assertEqual(err, "traced:fac/1  4 calls\n")

    def test_bad_patterns(self):
        for pattern, why in (
                ("traced:nothing/1", "no function matches traced:nothing/1"),
                ("no_such_module:x", "there is no module no_such_module"),
                ("traced:fac(N) when foo(N)", "the guard: "),
                ("traced:fac/1 when N > 1", "give the arguments names"),
                ("traced:fac/1 when [A, B] -> A > B", "the guard has 2 arguments, the function 1"),
                ("traced:fac/1 sometimes", "not understood: sometimes"),
                ("traced:fac sometimes", "not understood: sometimes"),
                ("traced:fac(N) when N > 1 sometimes", "the guard: syntax error before: sometimes"),
                ("traced:fac(N) when", "a guard is expected behind `when`"),
                ("traced:fac(N) when N >", "column 22: the guard ends too soon"),
                ("traced:fac/1 limit few", "limit: a number is expected"),
                ("traced:fac/1 pid nobody", "nobody: no process has this name"),
                ("traced:fac/", "the pattern must be"),
                ("traced:fac('", "unterminated"),
                ("17", "the pattern must be")):
            status, out, err = run("run", "--trace", pattern, folder / "traced.beam")
            self.assertEqual((status, out), (1, ""), (pattern, err))
            self.assertIn(f"minivm: run: --trace {pattern}: ", err)
            self.assertIn(why, err)
            status, _, err = repl(f":trace {pattern}\n:traces\n", folder / "traced.beam")
            self.assertEqual(status, 1)
            if "module" not in why:
                self.assertIn(why, err)

    def test_guards_use_variables_of_the_prompt(self):
        _, out, _ = repl("Least = 3.\n:trace traced:fac(N) when N >= Least\ntraced:fac(4).\ntimer:sleep(200).\n",
                         folder / "traced.beam")
        self.assertEqual(re.findall(r"call (\S+)", out), ["traced:fac(4)", "traced:fac(3)"])

    def test_guards_with_commas_and_semicolons(self):
        for guard, traced in (("N > 1, N < 4", ["3", "2"]), ("N > 3; N =:= 0", ["5", "4", "0"]),
                              ("N > 3, is_integer(N); is_list(N); N =:= 1", ["5", "4", "1"])):
            _, out, err = repl(f":trace traced:fac(N) when {guard}\ntraced:fac(5).\n", folder / "traced.beam")
            self.assertEqual((re.findall(r"call traced:fac\((\d)\)", out), err), (traced, ""))

    def test_a_limit_ends_it(self):
        _, out, _ = repl(":trace traced:fac/1 limit 3\ntraced:fac(9).\ntimer:sleep(200).\n:traces\n"
                         "erlang:trace_info({traced,fac,1}, traced).\n", folder / "traced.beam")
        self.assertEqual(len(re.findall("call traced", out)), 3)
        self.assertIn("traced:fac/1: 3 events, as many as were asked for; the trace is off\n", out)
        self.assertIn("nothing is traced\n{traced,false}\n", out)

    def test_a_limit_a_second_counts_what_it_does_not_show(self):
        _, out, _ = repl(":trace traced:loop/1 limit 5/s\ntraced:loop(500).\ntimer:sleep(1500).\n",
                         folder / "traced.beam")
        shown = len(re.findall("call traced", out))
        hidden = sum(int(n) for n in re.findall(r"\.\.\. (\d+) more events", out))
        self.assertEqual(shown + hidden, 501, out)
        self.assertLess(shown, 20)

    def test_a_flood_turns_into_counting(self):
        _, out, err = repl(":trace traced:loop/1\nF = spawn(fun traced:flood/0).\ntimer:sleep(3000).\n"
                           "exit(F, kill).\n:traces\n:untrace\ntrace:session_info({traced,loop,1}).\n",
                           folder / "traced.beam")
        self.assertRegex(out, r"a flood: \d+ events of traced:loop/1 wait; from now on calls are only counted")
        self.assertRegex(out, r"traced:loop/1  \d+ calls\n")
        self.assertTrue(out.endswith("1 trace off\n[]\n"), out[-200:])
        self.assertEqual(err, "")

    def test_goes_through_the_recorder(self):
        status, out, err = repl(":trace traced:fac/1 pid new\n:trace traced:divide/1\n"
                                "P = spawn(fun() -> receive after infinity -> ok end end).\n"
                                "[A, B] = trace:session_info(P), C = A, ok.\n"
                                "[trace:info(S, Q, tracer) || S <- [A, B], Q <- [P, new]].\n"
                                ":untrace traced:fac/1\nlength(trace:session_info(P)).\n"
                                ":untrace\ntrace:session_info(P).\ntrace:session_info(new).\n",
                                folder / "traced.beam")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out.count("{tracer,{flight_recorder,[]}}"), 4, out)
        self.assertTrue(out.endswith("1 trace off\n1\n1 trace off\n[]\n[]\n"), out)

    def test_without_a_recorder_events_are_messages(self):
        _, out, _ = repl(":trace traced:fac/1 return\n"
                         "trace:info(hd(trace:session_info(self())), self(), tracer).\ntraced:fac(1).\n"
                         "timer:sleep(200).\n", "--record-off", "trace", folder / "traced.beam")
        self.assertRegex(out, r"\{tracer,<0\.\d+\.0>\}")
        self.assertEqual(re.findall(r"> ( *\S+ .*?)(?:  \(\d+ us\))?\n", out),
                         ["call traced:fac(1)", "  call traced:fac(0)", "  returned from traced:fac/1 -> 1",
                          "returned from traced:fac/1 -> 1"])

    def test_what_the_recorder_is_told_not_to_record_is_not_shown_and_says_so(self):
        _, out, _ = repl(":trace traced:fac/1\n:record off trace\ntraced:fac(1).\ntimer:sleep(100).\n",
                         folder / "traced.beam")
        self.assertEqual(out.count("nothing is shown: the recorder does not record what is traced (:record on trace)"),
                         1, out)

    def test_events_stand_in_front_of_the_result(self):
        _, out, _ = repl(":trace traced:fac/1 return\ntraced:fac(1).\ncatch traced:fac(x).\n",
                         folder / "traced.beam")
        self.assertRegex(out, r"(?s)call traced:fac\(1\).*returned from traced:fac/1 -> 1 [^\n]*\n1\n.*"
                              r"call traced:fac\(x\)\n.*\{'EXIT',")

    def test_processes_that_trace_at_a_moderate_rate_lose_nothing_and_come_in_order(self):
        _, out, err = repl(":trace traced:loop/1 limit 1000000/s\n"
                           "F = fun() -> [begin traced:loop(20), timer:sleep(2) end || _ <- lists:seq(1, 100)] end.\n"
                           "[receive {'DOWN', M, process, P, normal} -> ok end || "
                           "{P, M} <- [spawn_monitor(F) || _ <- lists:seq(1, 8)]].\n",
                           "-S", "4", folder / "traced.beam")
        self.assertEqual(err, "")
        calls = {}
        last = 0
        for time_of, pid, n in re.findall(r"(\S+) (<0\.\d+\.0>) call traced:loop\((\d+)\)", out):
            calls.setdefault(pid, []).append(int(n))
            self.assertLessEqual(last, int(re.sub(r"\D", "", time_of)) + 100, "out of order")
            last = max(last, int(re.sub(r"\D", "", time_of)))
        self.assertEqual(sorted(map(len, calls.values())), [2100] * 8, out[-2000:])
        for numbers in calls.values():
            self.assertEqual(numbers, list(range(20, -1, -1)) * 100)
        self.assertNotIn(" lost", out)

    def test_what_is_overwritten_before_it_is_shown_is_told_to_the_number(self):
        _, out, err = repl(":trace traced:loop/1 limit 1000000/s\ntraced:loop(6000).\n",
                           "-S", "1", "--record-size", "512K", folder / "traced.beam")
        shown = len(re.findall("call traced", out))
        lost = sum(int(n) for n in re.findall(r"\.\.\. (\d+) events lost", out))
        self.assertGreater(lost, 1000, out[-1000:])
        self.assertEqual((shown + lost, err), (6001, ""))

    def test_a_prompt_that_goes_leaves_the_traces_of_another(self):
        with Vm() as vm, Terminal("attach", vm.socket) as terminal:
            terminal.expect("1> ")
            terminal.type(":trace kv:version/0\n")
            terminal.expect("1 function\n")
            self.assertEqual(vm.attach(":trace lists:keyfind/3", "1")[0], 0)
            time.sleep(0.3)
            self.assertEqual(vm.attach(":trace lists:nth/2", ":untrace")[0], 0)
            vm.value("spawn(fun() -> kv:version() end), timer:sleep(100)")
            terminal.expect(r"<0\.\d+\.0> call kv:version\(\)\n")

    def test_two_prompts_at_one_function_each_see_their_own(self):
        with Vm() as vm, Terminal("attach", vm.socket) as first, Terminal("attach", vm.socket) as second:
            for terminal, pattern in (first, "lists:duplicate(N, _) when N < 3"), (second, "lists:duplicate(N, _) when N > 1 return"):
                terminal.expect("1> ")
                terminal.type(f":trace {pattern}\n")
                terminal.expect("1 function\n")
            vm.value("spawn(fun() -> [lists:duplicate(N, a) || N <- [1, 2, 3]] end), timer:sleep(100)")
            first.expect(r'call lists:duplicate\(1,a\)\n\S+ <[0-9.]+> call lists:duplicate\(2,a\)\n')
            second.expect(r'call lists:duplicate\(2,a\)\n\S+ <[0-9.]+> returned from lists:duplicate/2 -> \[a,a\].*\n'
                          r'.*call lists:duplicate\(3,a\)\n\S+ <[0-9.]+> returned from lists:duplicate/2 -> \[a,a,a\].*\n')
            first.type(":untrace\n")
            first.expect("1 trace off\n")
            vm.value("spawn(fun() -> lists:duplicate(4, a) end), timer:sleep(100)")
            second.expect(r'call lists:duplicate\(4,a\)\n\S+ <[0-9.]+> returned from lists:duplicate/2 -> \[a,a,a,a\]')
            first.type(":traces\n")
            self.assertNotIn("duplicate(4", first.expect("nothing is traced\n"))

    def test_beside_dbg_both_see_all_calls(self):
        _, out, err = repl("W = fun W() -> receive N -> traced:fac(N), W() end end.\nP = spawn(W).\n"
                           "erlang:trace(P, true, [call]).\nerlang:trace_pattern({traced, fac, 1}, true, [local]).\n"
                           ":trace traced:fac/1\nP ! 1.\ntimer:sleep(100).\n:untrace\nP ! 0.\n"
                           "[receive {trace, P, call, {traced, fac, [X]}} -> X end || _ <- [1, 2, 3]].\n",
                           folder / "traced.beam")
        self.assertEqual((re.findall(r"call (\S+)", out), err), (["traced:fac(1)", "traced:fac(0)"], ""))
        self.assertTrue(out.endswith("\n[1,0,0]\n"), out)

    def test_only_one_process(self):
        _, out, _ = repl("W = fun W() -> receive N -> traced:fac(N), W() end end.\nregister(one, spawn(W)).\n"
                         "P = spawn(W).\n:trace traced:fac/1 pid one\nP ! 2.\none ! 1.\ntimer:sleep(200).\n",
                         folder / "traced.beam")
        self.assertEqual(re.findall(r"call (\S+)", out), ["traced:fac(1)", "traced:fac(0)"])

    def test_goes_with_the_client_that_set_it(self):
        with Vm() as vm:
            self.assertEqual(vm.attach(":trace kv:version/0 return", "kv:version()", "timer:sleep(100)")[0], 0)
            end = time.time() + ANSWER_S
            while vm.value("trace:session_info({kv, version, 0})") != "[]":
                self.assertLess(time.time(), end)


class TraceOptions(unittest.TestCase):
    """What may stand behind :trace, and that each trace is what was asked for."""

    TWO = ("W = fun W() -> receive {F, N} -> catch traced:F(N), W() end end.\n"
           "register(one, spawn(W)), register(two, spawn(W)).\n")

    def trace(self, text, *arguments):
        status, out, err = repl(text, folder / "traced.beam", *arguments)
        self.assertEqual((status, err), (0, ""), out[-3000:])
        return out

    def test_traces_of_two_processes_do_not_leak_into_each_other(self):
        out = self.trace(self.TWO + ":trace traced:fac/1 pid one\n:trace traced:divide/1 pid two\n"
                         "one ! {divide, 3}, two ! {fac, 2}, one ! {fac, 0}, two ! {divide, 1}, timer:sleep(100).\n")
        self.assertEqual(sorted(events(out)), ["call traced:divide(1)", "call traced:fac(0)"])

    def test_the_same_function_in_two_processes_is_two_traces(self):
        out = self.trace(self.TWO + ":trace traced:fac/1 pid one\n:trace traced:fac/1 pid two return\n:traces\n"
                         ":untrace traced:fac/1 pid one\none ! {fac, 0}, two ! {fac, 0}, timer:sleep(100).\n:traces\n")
        self.assertEqual(events(out), ["call traced:fac(0)", "returned from traced:fac/1 -> 1"])
        self.assertEqual(len(re.findall(r"^traced:fac/1 pid", out, re.M)), 3)

    def test_a_process_whose_number_ends_in_zero_is_that_process(self):
        out = self.trace("P = [spawn(fun W() -> receive N -> traced:fac(N), W() end end) || _ <- lists:seq(1, 20)].\n"
                         "[Q] = [X || X <- P, lists:suffix(\"0.0>\", pid_to_list(X)), "
                         "not lists:suffix(\"<0.0.0>\", pid_to_list(X))] -- "
                         "[X || X <- lists:nthtail(10, P)].\nq.\n")
        pid = re.findall(r"<0\.\d+0\.0>", out)[-1]
        out = self.trace("P = [spawn(fun W() -> receive N -> traced:fac(N), W() end end) || _ <- lists:seq(1, 20)].\n"
                         f":trace traced:fac/1 pid {pid}\n[X ! 0 || X <- P], timer:sleep(100).\n")
        self.assertEqual(re.findall(r"(<\S+>) call", out), [pid])

    def test_untrace_ends_what_is_named_and_nothing_else(self):
        out = self.trace(":trace traced:fac/1\n:trace traced\n:untrace traced\n:traces\n"
                         "traced:fac(0), traced:divide(1).\n")
        self.assertEqual(events(out), ["call traced:fac(0)"])
        status, out, err = repl(":trace traced:fac/1\n:trace traced:divide/1\n:untrace traced\n:untrace 7\n"
                                ":untrace traced:fac/1, traced:nothing/1\n:traces\n:untrace 1, traced:divide/1\n:traces\n",
                                folder / "traced.beam")
        self.assertEqual(err, "".join(f":untrace: {what}: no such trace; :traces lists them\n"
                                      for what in ("traced", "7", "traced:nothing/1")))
        self.assertEqual(len(re.findall(r"^traced:", out, re.M)), 2)
        self.assertTrue(out.endswith("2 traces off\nnothing is traced\n"))

    def test_a_trace_of_the_same_takes_the_place_of_the_former(self):
        out = self.trace(":trace traced:fac/1\n:trace traced:fac/1 return\ntraced:fac(0).\n:traces\n")
        self.assertEqual(events(out), ["call traced:fac(0)", "returned from traced:fac/1 -> 1"])
        self.assertIn("in place of traced:fac/1\n", out)

    def test_wildcards(self):
        out = self.trace(":trace tra*:f?c/*\n:trace traced:d*(N) when N > 1\ntraced:fac(0), traced:divide(1), traced:divide(2).\n")
        self.assertEqual(events(out), ["call traced:fac(0)", "call traced:divide(2)"])
        out = self.trace(":trace *:fac/1\n:trace nothing_yet*:x/1\ntraced:fac(0).\n")
        self.assertEqual(events(out), ["call traced:fac(0)"])
        self.assertIn("no function yet; those of modules that are loaded from now on\n", out)

    def test_wildcards_are_for_modules_that_are_loaded_later(self):
        status, out, err = run("repl", "-pa", folder,
                               stdin=b":trace trac*:f*/1\ntraced:fac(0), traced:divide(1).\n:untrace\n"
                                     b"c:l(traced), traced:fac(1).\n")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(events(out), ["call traced:fac(0)"])
        status, out, err = run("run", "--trace", "*d:f*/1", folder / "traced.beam")
        self.assertEqual(events(err), [f"call traced:fac({n})" for n in (3, 2, 1, 0)])

    def test_stars_alone_are_for_modules_that_are_loaded_later(self):
        for pattern in ("*:*", "*"):
            status, out, err = run("repl", "-pa", folder, stdin=f":trace {pattern} count\n{{module, _}} = c:l(traced), "
                                                                f"traced:fac(1).\n:traces\n".encode())
            self.assertEqual((status, err), (0, ""))
            self.assertIn("\ntraced:fac/1  2 calls\n", out, pattern)

    def test_open_patterns_leave_the_modules_of_the_prompt_out(self):
        out = self.trace(":trace *:* limit 1000000/s\n{x, [1]}.\ntraced:fac(0).\n:untrace\n"
                         ":trace * count\n{x, [1]}.\ntraced:fac(0).\n:traces\n")
        self.assertIn(" call traced:fac(0)\n", out)
        self.assertRegex(out, "(?m)^traced:fac/1  1 calls$")
        self.assertNotRegex(out, r"(?m) call minivm_|^minivm_\w+:")
        # Who asks for them by name gets them.
        out = self.trace(":trace mini*_eval:* count\n:untrace\n:trace minivm_ev*:* count\nx.\n:traces\n")
        self.assertIn("no function yet; those of modules that are loaded from now on\n1 trace off\n", out)
        self.assertRegex(out, r"(?m)^minivm_eval:show/5  1 calls$")

    def test_several_patterns_are_set_or_none_is(self):
        out = self.trace(":trace traced:fac/1, traced:divide(N) return\ntraced:fac(0), traced:divide(1).\n:traces\n")
        self.assertIn("2 functions\n", out)
        self.assertEqual(events(out), ["call traced:fac(0)", "returned from traced:fac/1 -> 1",
                                       "call traced:divide(1)", "returned from traced:divide/1 -> 1.0"])
        status, out, err = repl(":trace traced:fac/1, traced:nothing/1\n:traces\ntrace:session_info(all).\n",
                                folder / "traced.beam")
        self.assertIn("no function matches traced:nothing/1", err)
        self.assertEqual(out, "nothing is traced\n[{legacy,default}]\n")

    def test_results_that_match(self):
        out = self.trace("Two = 2.\n:trace traced:fac/1 returns Two\ntraced:fac(3).\n:untrace\n"
                         ":trace traced:fac/1 returns N when N > Two\ntraced:fac(3).\n")
        self.assertEqual(events(out), ["call traced:fac(2)", "returned from traced:fac/1 -> 2",
                                       "call traced:fac(3)", "returned from traced:fac/1 -> 6"])

    RECORD = "rd(pt, {x = 0, y}).\n"
    POINTS = "[traced:same(X) || X <- [#pt{x = 3, y = 1}, #pt{}, {pu, 3, 1}, pt]], ok.\n"

    def test_patterns_and_guards_know_the_records_of_the_prompt(self):
        same = "call traced:same({pt,3,1})"
        for pattern, shown in (
                ("traced:same(#pt{x = 3})", [same]),
                ("traced:same(#pt{_ = 1})", []),
                ("traced:same(P) when P#pt.x > 2", [same]),
                ("traced:same(P) when element(#pt.x, P) > 2, is_record(P, pt)", [same]),
                ("traced:same(P) when P =:= #pt{}; is_record(P, pt) andalso P#pt.y =:= 1",
                 [same, "call traced:same({pt,0,undefined})"]),
                ("traced:same(P) when is_record(P, pu, 3) orelse P =:= pt", ["call traced:same({pu,3,1})", "call traced:same(pt)"]),
                ("traced:same/1 when [#pt{y = Y}] -> Y =:= 1", [same]),
                ("traced:same/1 returns #pt{y = 1}", [same, "returned from traced:same/1 -> {pt,3,1}"]),
                ("traced:same/1 returns P when P#pt.y =:= 1", [same, "returned from traced:same/1 -> {pt,3,1}"])):
            out = self.trace(self.RECORD + f":trace {pattern}\n" + self.POINTS)
            self.assertEqual(events(out), shown, pattern)
        out = self.trace(self.RECORD + ":trace send #pt{x = 3}\n:trace receive #pt{y = Y} when Y > 0\n"
                         "self() ! #pt{x = 3, y = 0}, self() ! #pt{x = 4, y = 1}, ok.\n")
        self.assertEqual(events(out), ["send {pt,3,0} to PID", "received {pt,4,1} from PID"])

    def test_a_record_that_a_trace_does_not_know_is_named(self):
        for pattern, why in (
                ("traced:same(#no{x = 3})", "column 13: the arguments: there is no record no; rr and rd make one known"),
                ("traced:same(P) when P#no.x > 1", "the guard: there is no record no;"),
                ("traced:same(P) when is_record(P, no)", "the guard: there is no record no;"),
                ("send {a, #no{}}", "column 10: the message: there is no record no;"),
                ("traced:same/1 returns #no{}", "column 23: returns: there is no record no;"),
                ("traced:same(#pt{z = 1})", "column 17: the arguments: field z undefined in record pt"),
                ("traced:same(P) when P#pt.z > 1", "the guard: field z undefined in record pt"),
                ("traced:same/1 returns #pt{z = 1}", "returns: field z undefined in record pt")):
            status, out, err = repl(self.RECORD + f":trace {pattern}\n", folder / "traced.beam")
            self.assertEqual((status, out), (1, "pt\n"), pattern)
            self.assertIn(f":trace: {why}" if why.startswith("column") else why, err)
        _, _, err = run("run", "--trace", "traced:same(#pt{})", folder / "traced.beam")
        self.assertIn("there is no record pt without a prompt", err)

    def test_variables_of_the_prompt_are_not_shadowed_by_patterns(self):
        def calls(pattern, *values):
            out = self.trace("V = 10, P = self(), A = '_', D = '$1', K = k, R = make_ref().\n"
                             f":trace {pattern}\n[traced:same(X) || X <- [{', '.join(values)}]], ok.\n")
            return [line.removeprefix("call traced:same") for line in events(out)]
        self.assertEqual(calls("traced:same(V)", "3", "10", "10.0"), ["(10)"])
        self.assertEqual(calls("traced:same(Free)", "3", "10"), ["(3)", "(10)"])
        self.assertEqual(calls("traced:same({P, N})", "{P, 1}", "{a, 1}"), ["({PID,1})"])
        self.assertEqual(calls("traced:same([A, D])", "['_', '$1']", "[a, b]"), ["(['_','$1'])"])
        self.assertEqual(calls("traced:same({V, V, N, N}) when N > V", "{10, 10, 11, 11}", "{10, 10, 11, 12}",
                               "{11, 11, 11, 11}", "{10, 10, 9, 9}"), ["({10,10,11,11})"])
        self.assertEqual(calls("traced:same(#{K := V})", "#{k => 10}", "#{k => 11}", "#{v => 10}"), ["(#{k=>10})"])
        self.assertEqual(calls("traced:same/1 when [{V, N}] -> N > 1; N < 0", "{10, 2}", "{10, 1}", "{10, -1}", "{9, 2}"),
                         ["({10,2})", "({10,-1})"])
        out = self.trace("V = 10, P = self().\n:trace send {V, _}\n:trace receive {N, P} when N > V\n"
                         "P ! {10, b}, P ! {11, b}, P ! {11, P}, P ! {10, a}, ok.\n")
        self.assertEqual(sorted(events(out)), ["received {11,PID} from PID", "send {10,a} to PID", "send {10,b} to PID"])
        out = self.trace("V = 2.\n:trace traced:fac/1 returns V\ntraced:fac(3).\n")
        self.assertEqual(events(out), ["call traced:fac(2)", "returned from traced:fac/1 -> 2"])
        for pattern, why in (("traced:same(#{Free := 1})", "column 15: variable 'Free' is unbound"),
                             ("traced:same(#{R := 1})", "column 15: the value of 'R' cannot be a key here")):
            self.assertIn(why, repl(f"R = make_ref(), ok.\n:trace {pattern}\n", folder / "traced.beam")[2])

    def test_only_calls_that_fail(self):
        out = self.trace(":trace traced:* fails\ntraced:fac(3), catch traced:divide(0), traced:divide(1).\n")
        self.assertEqual(events(out), ["call traced:divide(0)", "exception from traced:divide/1 -> error:badarith"])

    def test_slower_than(self):
        out = self.trace(":trace timer:sleep/1 slower 50ms\ntimer:sleep(1), timer:sleep(60).\n")
        self.assertEqual(events(out), ["call timer:sleep(60)", "returned from timer:sleep/1 -> ok"])

    def test_who_called(self):
        out = self.trace(":trace traced:fac(0) stack 2\ntraced:fac(1).\n")
        self.assertRegex(out, r"call traced:fac\(0\)\n    from traced:fac/1 \(\S+, line \d+\)\n    from erl_eval:")
        _, _, err = run("run", "--trace", "traced:fac(0) stack 4", folder / "traced.beam")
        self.assertEqual(re.findall(r"    from (\S+)", err), ["traced:fac/1", "traced:main/1"])  # as OTP: repeated ones once

    def test_messages(self):
        out = self.trace(self.TWO + ":trace send {fac, _} to one\n:trace receive {fac, N} when N > 0 pid one\n"
                         "one ! {fac, 0}, one ! {fac, 1}, two ! {fac, 2}, one ! {divide, 1}, timer:sleep(100).\n")
        self.assertEqual(sorted(events(out)), ["received {fac,1} from PID", "send {fac,0} to one", "send {fac,1} to one"])
        out = self.trace(self.TWO + ":trace send\n:trace receive\none ! {fac, 1}, io:format(\"x~n\"), timer:sleep(100).\n:traces\n")
        # What the prompt itself sends and gets is left out.
        self.assertEqual(sorted(events(out)), ["receive timed out", "received {fac,1} from PID", "send {fac,1} to one"])

    def test_times_and_memory_are_a_table(self):
        out = self.trace(":trace traced:fac/1 time\n:trace traced:loop/1 memory\ntraced:fac(3), traced:loop(5).\n:traces\n")
        self.assertRegex(out, r"function +process +calls +us +us/call\ntraced:fac/1 +<0\.\d+\.0> +4 +\d+ +[\d.]+\n")
        self.assertRegex(out, r"function +process +calls +words +words/call\ntraced:loop/1 +<0\.\d+\.0> +6 +0 +0.00\n")

    def test_limits_are_told(self):
        out = self.trace(":trace traced:fac/1 limit 7\n:trace traced:loop/1 limit 5/s\n:traces\ntraced:loop(50).\n"
                         "timer:sleep(1200).\n")
        self.assertRegex(out, r"traced:fac/1 limit 7 .* 7 +1\n")
        self.assertRegex(out, r"traced:loop/1 limit 5/s .* 5/s +2\n")
        self.assertRegex(out, r"\.\.\. \d+ more events of traced:loop/1 that are not shown \(limit 5/s\)\n")

    def test_what_the_rate_hides_is_told_when_a_trace_ends(self):
        for limit, end, shown in (("3000", "", 1001), ("20/s", ":untrace\n", 20), ("20/s", ":trace traced:same/1 return\n", 20)):
            out = self.trace(f":trace traced:same/1 limit {limit}\n[traced:same(N) || N <- lists:seq(1, 4000)], ok.\n" + end)
            hidden = re.findall(r"\.\.\. (\d+) more events of traced:same/1 that are not shown", out)
            total = 3000 if limit == "3000" else 4000
            if len(events(out)) == shown:                   # they came in one second
                self.assertEqual(len(hidden), 1, out[-500:])
            self.assertEqual(len(events(out)) + sum(map(int, hidden)), total, out[-500:])

    def test_a_trace_is_not_indented_behind_one_that_has_ended(self):
        for words, end in (("", ":untrace\n"), ("", ":trace traced:wait/0\n"), (" limit 1", "")):
            out = self.trace(f":trace traced:wait/0 return{words}\n"
                             "P = spawn(fun() -> traced:wait(), traced:same(1) end), timer:sleep(50).\n" + end +
                             ":trace traced:same/1\nP ! go, timer:sleep(50).\n")
            self.assertEqual(events(out), ["call traced:wait()", "call traced:same(1)"])
            self.assertIn("> call traced:same(1)\n", out)

    # It is killed in the end: as many returns at once would be a flood.
    PACED = ("{{_, M}} = spawn_monitor(traced, paced, [{}]), receive {{'DOWN', M, process, _, killed}} -> ok end.\n").format

    def test_a_loop_of_tail_calls_does_not_fill_the_memory(self):
        for words in ("slower 1s", "returns never"):
            out = self.trace(f":trace traced:paced/1 {words}\n" + self.PACED(50000) +
                             "{bytes, lists:max([Bytes || P <- processes(), garbage_collect(P), "
                             "{memory, Bytes} <- [process_info(P, memory)]])}.\n:traces\n")
            self.assertNotIn("flood", out)
            self.assertLess(int(re.search(r"{bytes,(\d+)}", out).group(1)), 9000000, words)

    def test_calls_in_a_loop_of_tail_calls_are_shown_however_long_it_runs(self):
        out = self.trace(":trace traced:* slower 5ms\n" + self.PACED(13000))
        self.assertEqual(events(out), ["call traced:nap(10)", "returned from traced:nap/1 -> ok"] * 65)

    def test_what_cannot_be_meant(self):
        for words, why in (
                ("limit 0", "column 20: limit: a number above 0"),
                ("limit 3 limit 4", "column 22: limit is there twice"),
                ("count time", "column 20: count and time contradict each other"),
                ("count return", "column 20: return: count shows a sum and no events"),
                ("time limit 3", "column 19: limit: time shows a sum and no events"),
                ("count pid init", "column 20: pid: count counts in all processes"),
                ("pid init new", "column 23: pid and new contradict each other"),
                ("fails returns ok", "column 20: fails and returns contradict each other"),
                ("returns ok return fails", "column 32: returns and fails contradict each other"),
                ("to init", "column 14: to: it is for messages"),
                ("slower", "slower: a time is expected: 5ms, 200us or 1s"),
                ("slower 5min", "column 22: min: no unit of time; there are s, ms and us"),
                ("stack 0", "column 20: stack: from 1 to 100"),
                ("returns", "returns: a pattern is expected"),
                ("returns X when Y", "returns: variable 'Y' is unbound"),
                ("retrun", "column 14: not understood: retrun; there are return, exception, "),
                (", ", "one more pattern is expected behind the comma"),
                ("return, traced:divide/1", "column 20: not understood: a comma; guard and options stand behind all")):
            status, out, err = repl(f":trace traced:fac/1 {words}\n:traces\n", folder / "traced.beam")
            self.assertEqual((status, out), (1, "nothing is traced\n"), words)
            self.assertIn(why, err)
        for pattern, why in (("traced:fac(3) count", "count looks at no arguments"),
                             ("Traced:fac/1", "stands in quotes, 'Traced'"),
                             ("send {a} return", "return: send shows messages"),
                             ("send {a} from init", "send knows `to`, receive knows `from`"),
                             ("send {a", "the message ends too soon"),
                             ("traced:fac/256", "an arity from 0 to 255")):
            status, out, err = repl(f":trace {pattern}\n", folder / "traced.beam")
            self.assertEqual((status, out), (1, ""), pattern)
            self.assertIn(why, err)

    def test_one_clock_for_traces_and_events(self):
        out = self.trace(":trace traced:fac/1\n:trace traced:fac(0) returns _\n:trace send {clock, _}\n"
                         "self() ! {clock, 1}, traced:fac(0), self() ! {clock, 2}.\n"
                         ":events 1000 --match traced:fac\n")
        lines = [line for line in out.splitlines() if re.search(r"(call|send) ", line)]
        # Of the recorder and of collectors, in one order.
        self.assertEqual([re.search(r"send {clock,\d}|call traced:fac", line).group(0) for line in lines[:4]],
                         ["send {clock,1}", "call traced:fac", "call traced:fac", "send {clock,2}"], out[-2000:])
        clock = [line.split()[0] for line in lines[:4]]
        self.assertEqual(clock, sorted(clock))
        event = re.search(r"^\d+ +(\d\d:\d\d:\d\d\.\d{6}) .* call +call traced:fac\(0\)$", out, re.M)
        self.assertIn(event.group(1), clock)

    def test_names_of_processes_where_pids_are_taken(self):
        out = self.trace(":events 5 --pid init\n")
        self.assertEqual(len(out.splitlines()), 5)
        self.assertEqual(len(re.findall("(?m)^.*init<0.0.0>", out)), 5, out)
        recording = folder / "names.rec"
        self.assertEqual(run("run", "--record", recording, "--dump-on", "exit", folder / "traced.beam")[0], 0)
        status, out, err = run("dump", "--pid", "init", recording)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("register: init<0.0.0> as init", out)
        status, out, err = run("dump", "--pid", "nobody_at_all", recording)
        self.assertEqual((status, out), (2, ""))
        self.assertIn("--pid nobody_at_all: no process of that name is in the recording", err)

    def test_what_the_prompts_do_themselves_is_not_traced(self):
        with Vm() as vm, Terminal("attach", vm.socket) as first, Terminal("attach", vm.socket) as second:
            for terminal in (first, second):
                terminal.expect("1> ")
                terminal.type(":trace lists:*/*\n")
                terminal.expect(r"\d+ functions\n")
            first.type(":traces\n:ps\n:modules\nself(), lists:duplicate(2, \"last one\").\n")
            seen = second.expect(r'call lists:duplicate\(2,"last one"\)\n')
            self.assertEqual(len(set(re.findall(r"<0\.\d+\.0> call", seen))), 1, seen[-2000:])

    def test_wrong_words_of_other_commands(self):
        for command, why in ((":dump --format bogus", "--format bogus: there are text, json, ctf, perfetto, terms\n"),
                             (":load --bogus", ":load: --bogus: no such option; there is --purge"),
                             (":load --purge --purge x", ":load: --purge is there twice"),
                             (":events --pid nobody_there", "--pid nobody_there: no process of that name"),
                             (":untrace nothing", ":untrace: nothing: no such trace")):
            status, out, err = repl(command + "\n")
            self.assertEqual((status, out), (1, ""), command)
            self.assertIn(why, err)

    def test_a_command_that_is_ambiguous_says_which_it_may_be(self):
        for command, why in ((":t", ":t: ambiguous; it may be :top, :trace or :traces\n"),
                             (":tr lists", ":tr: ambiguous; it may be :trace or :traces\n"),
                             (":help d", "d: ambiguous; it may be :disasm or :dump\n"),
                             (":tt", ":tt: no such command; :help lists them\n"),
                             (":", ":: no such command; :help lists them\n")):
            self.assertEqual(repl(command + "\n"), (1, "", why), command)
        self.assertEqual(repl(":trace lists:last/1\n:trac lists:last/1\n:un\n")[1:], ("1 function\n1 trace off\n",
                         ":trac: ambiguous; it may be :trace or :traces\n"))

    def test_help_has_every_word(self):
        out = repl(":help trace\n")[1]
        for word in ("return", "exception", "fails", "returns PATTERN", "slower TIME", "stack [N]", "count", "time",
                     "memory", "global", "pid P", "new", "all", "to P", "from P", "limit N | N/s"):
            self.assertRegex(out, "(?m)^    " + re.escape(word) + " ")


class Recorder(unittest.TestCase):
    def test_events(self):
        with Vm() as vm:
            out = vm.attach("recorder:event(test, \"number ~p\", [17])", ":events 500 --match number")[1]
            self.assertRegex(out, r"user user_format +test: number 17\n|number 17")
            self.assertEqual(len(vm.attach(":events 7")[1].splitlines()), 7)
            out = vm.attach(":events 500 --match number --places")[1]
            self.assertRegex(out, r"number 17  \(vm/bif/system/recorder.cpp:\d+ in recorder_event_3\)")
            for command, why in ((":events --last soon", "give a time such as 5s"),
                                 (":events --nothing x", "an option that is not known"),
                                 (":events few", "a number above 0"),
                                 (":events --category fun", "there are sched, message")):
                status, _, err = vm.attach(command)
                self.assertEqual(status, 1)
                self.assertIn(why, err)

    def test_events_are_followed_until_an_interrupt(self):
        with Vm() as vm:
            client = subprocess.Popen([minivm, "attach", str(vm.socket), "-c",
                                       ":events -f 1 --match followed"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(1)
            for n in range(3):
                vm.value(f"recorder:event(test, \"followed ~p\", [{n}])")
            for n in range(3):
                self.assertIn(f"followed {n}", client.stdout.readline().decode())
            client.send_signal(signal.SIGINT)
            _, err = client.communicate(timeout=ANSWER_S)
            self.assertEqual((client.returncode, err), (1, b"** interrupted\n"))

    def test_dump(self):
        with Vm() as vm:
            self.assertIn("# recording of minivm", vm.attach(":dump --last 1s")[1])
            path = vm.folder / "dump.json"
            self.assertEqual(vm.attach(f":dump {path} --format json")[:2], (0, f"written to {path}\n"))
            self.assertTrue(path.read_text().startswith('{"type":"recording"'))
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            self.assertIn("No such file", vm.attach(":dump /no/such/dir/x")[2])
            self.assertEqual(vm.attach(":dump a b")[0], 1)

    def test_record(self):
        with Vm() as vm:
            def record(*words):
                return run("record", vm.socket, *words)
            self.assertIn("recorded: sched,message,gc,", record()[1])
            self.assertNotIn("gc", record("off", "gc", "timer")[1].splitlines()[0])
            self.assertIn(",gc,", record("on", "gc")[1])
            self.assertEqual(record("filter", "user,fault")[1].splitlines()[0], "recorded: user,fault")
            self.assertEqual(record("off")[1].splitlines()[0], "recorded: nothing")
            self.assertEqual(record("on")[0], 0)
            self.assertIn("categories: 0x", vm.attach(":events 100000 --match categories:")[1])
            # At the prompt as well, cut short too.
            self.assertIn("recorded: sched,message,gc,", vm.attach(":record")[1])
            self.assertIn("recorded: ", vm.attach(":rec")[1])
            self.assertIn("start FILE", vm.attach(":help record")[1])
            shown = vm.folder / "shown.rec"
            self.assertIn(f"to {shown}", vm.attach(f":record start {shown} user")[1])
            self.assertNotIn(str(shown), vm.attach(f":record stop {shown}")[1])
            more = vm.folder / "more.rec"
            status, out, _ = record("start", more, "1M", "code", "user")
            self.assertEqual(status, 0)
            self.assertEqual(out.splitlines()[2:], ["also: code,user", f"to {more}"])
            self.assertEqual(more.stat().st_mode & 0o777, 0o600)
            vm.attach('recorder:event(mine, "~p times", [3]).')
            self.assertIn("is being recorded into", record("start", more)[2])
            self.assertIn("No such file", record("start", "/no/such/dir/x")[2])
            self.assertEqual(len(record("stop", more)[1].splitlines()), 2)
            self.assertIn("nothing is recorded into it", record("stop", more)[2])
            text = run("dump", more)[1]
            self.assertIn("state: closed", text)
            self.assertIn("mine: 3 times", text)
            self.assertNotIn("sched_in", text)
            for words, why in ((["start"], "which file?"), (["stop"], "which file?"),
                               (["start", more, "many"], "no such category"),
                               (["start", more, "1"], "too small"), (["on", "fun"], "fun: no such category; there are sched"),
                               (["filter"], "which categories?"), (["maybe"], "on, off or filter")):
                status, out, err = record(*words)
                self.assertEqual((status, out), (1, ""))
                self.assertIn(why, err)

    def test_disasm(self):
        with Vm() as vm:
            self.assertIn("func_info `kv`, `version`, 0", vm.attach(":disasm kv:version/0")[1])
            self.assertIn("kv:version/0", vm.attach(":disasm kv:version/0 native")[1])
            for command, why in ((":disasm kv:nothing", "no such function"), (":disasm nothing", "not loaded")):
                status, _, err = vm.attach(command)
                self.assertEqual(status, 1)
                self.assertIn(why, err)


class Terminal:
    """A program at a pseudo-terminal."""

    def __init__(self, *command, cwd=None, settings=None):
        home = tempfile.mkdtemp()
        self.home = home
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            if cwd is not None:
                os.chdir(cwd)
            env = {**os.environ, "TERM": "xterm", "HOME": home, "LC_ALL": "C.UTF-8", **(settings or {})}
            env.pop("XDG_STATE_HOME", None)
            os.execve(minivm, [minivm, *map(str, command)], env)
        self.seen = self.all = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.file)
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)  # not waited for yet, so still there
            os.waitpid(self.pid, 0)
        shutil.rmtree(self.home)

    def type(self, text):
        os.write(self.file, text.encode())

    def read_some(self):
        ready, _, _ = select.select([self.file], [], [], 0.5)
        if ready:
            try:
                text = os.read(self.file, 65536).decode(errors="replace")
                self.seen += text
                self.all += text
            except OSError:
                pass
        return bool(ready)

    def expect(self, pattern):
        """Reads until the pattern has come; what was before it."""
        end = time.time() + ANSWER_S
        while True:
            text = plain(self.seen)
            found = re.search(pattern, text)
            if found:
                self.seen = text[found.end():]
                return text[:found.start()]
            assert time.time() < end, (pattern, text)
            self.read_some()


def plain(text):
    """Without what moves the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r", "", text)


def screen(text):
    """The lines that are seen in the end, where nothing moves the cursor up."""
    lines, column = [""], 0
    for part in re.findall(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|.", text, re.S):
        if part == "\n":
            lines.append("")
            column = 0
        elif part == "\r":
            column = 0
        elif part == "\b":
            column = max(column - 1, 0)
        elif part in ("\x1b[K", "\x1b[0K"):
            lines[-1] = lines[-1][:column]
        elif not part.startswith("\x1b"):
            lines[-1] = lines[-1][:column].ljust(column) + part + lines[-1][column + 1:]
            column += 1
    return lines


class AtATerminal(unittest.TestCase):
    def test_a_program_that_asks_shows_its_question_once(self):
        # The editor of lines showed what stood in front of the cursor already.
        for kind in "xterm", "dumb":
            with Terminal("repl", settings={"TERM": kind}) as terminal:
                terminal.expect("1> ")
                terminal.type("io:put_chars(\"your \"), io:get_line(\"name> \").\n")
                terminal.expect("\n(your name> )+")
                terminal.type("ann\n")
                terminal.expect(r'"ann\\n"\n')
                self.assertIn("your name> ann", screen(terminal.all))

    def test_edits_completes_and_remembers(self):
        with Terminal("repl", folder / "traced.beam") as terminal:
            terminal.expect(":help lists the commands")
            terminal.expect("1> ")
            terminal.type("traced:fa\t4).\n")
            terminal.expect("\n24\n")
            terminal.expect("2> ")
            terminal.type("\x1b[A\n")                    # the line before
            terminal.expect("\n24\n")
            terminal.type("1 + 2\x024\x05.\n")            # back, a digit, to the end
            terminal.expect("\n43\n")
            terminal.type(":mod\ttraced\n")
            terminal.expect("\ntraced +[0-9a-f]{8} ")
            terminal.type("Variable = 5.\n")
            terminal.expect("\n5\n")
            terminal.type("Vari\t.\n")
            terminal.expect("\n5\n")
            terminal.type("traced:\t\t")
            terminal.expect("traced:divide +traced:fac +traced:flood")
            terminal.expect(r"\n\d+> traced:\Z")         # the line again, below the list
            terminal.type("\x03")                        # the line is given up
            terminal.expect(r"\n\d+> \Z")
            terminal.type("io:put_chars(\"spins\\n\"), (fun F() -> F() end)().\n")
            terminal.expect("\nspins\n")
            terminal.type("\x03")
            terminal.expect(r"\*\* interrupted")
            terminal.type("lists:seq(1, 100).\n")        # cut to what a person reads
            terminal.expect(r"27,28,29\|\.\.\.\]")
            terminal.expect(r"\n\d+> \Z")
            terminal.type("\x04")
            self.assert_ends(terminal)

    def assert_ends(self, terminal):
        end = time.time() + ANSWER_S
        while os.waitpid(terminal.pid, os.WNOHANG)[0] == 0:
            self.assertLess(time.time(), end)
            terminal.read_some()
        terminal.pid = None

    def test_colours(self):
        def colours(settings):
            with Terminal("repl", folder / "traced.beam", settings=settings) as terminal:
                terminal.expect("1> ")
                terminal.type(":trace traced:fac/1 return\n")
                terminal.expect("1 function")
                terminal.type("traced:fac(0).\ntraced:fac(x).\n:traces\n")
                terminal.expect("return +1 +[0-9]+")
                return re.findall(r"\033\[([0-9]+)m([^\033]*)\033\[0m", terminal.all)
        seen = colours({"NO_COLOR": ""})
        for what in (("1", "traced:fac"), ("32", "returned"), ("1", "trace                functions  events  at most  number")):
            self.assertIn(what, seen)
        self.assertTrue(any(code == "31" and text.startswith("** exception error") for code, text in seen), seen)
        self.assertTrue(any(code == "2" and re.search(r" <0\.\d+\.0>$", text) for code, text in seen), seen)
        self.assertEqual(colours({"NO_COLOR": "1"}), [])
        self.assertEqual(colours({"NO_COLOR": "", "TERM": "dumb"}), [])

    def test_what_is_typed_while_a_command_runs_is_for_the_next(self):
        with Terminal("repl") as terminal:
            terminal.expect("1> ")
            terminal.type("io:put_chars(\"runs\\n\"), timer:sleep(500).\n")
            terminal.expect("\nruns\n")
            terminal.type("11 * 11.\n")
            terminal.expect("\n121\n")
            terminal.expect(r"3> \Z")
            terminal.type("io:put_chars(\"runs\\n\"), timer:sleep(500).\n")
            terminal.expect("\nruns\n")
            terminal.type("\x04")  # was kept as a zero byte, which quoted the next character
            self.assert_ends(terminal)

    def test_events_come_while_a_line_is_typed(self):
        with Vm() as vm, Terminal("attach", vm.socket) as terminal:
            terminal.expect("1> ")
            terminal.type(":trace kv:version/0\n")
            terminal.expect("1 function\n")
            terminal.type("half a li")
            terminal.expect("half a li")
            vm.value("kv:version()")                     # by somebody else
            terminal.expect(r"<0\.\d+\.0> call kv:version\(\)\n")
            terminal.expect("1> half a li")              # it is there again

    def test_completes_the_words_of_a_trace(self):
        with Terminal("repl", folder / "traced.beam") as terminal:
            terminal.expect("1> ")
            terminal.type(":trace traced:fa\t retu\t\t")
            terminal.expect("return +returns")
            terminal.type(" slo\t9s\n")
            terminal.expect("\n1 function\n")
            terminal.type(":untr\ttraced:fac/1 ret\t\n")
            terminal.expect("\n1 trace off\n")

    def test_the_session_of_the_page(self):
        page = (ROOT / "docs" / "prompt.md").read_text(encoding="utf-8")
        blocks = page.split("<!-- session -->")[1].split("```")[1::2]
        steps = []
        for line in "".join(blocks).strip("\n").split("\n"):
            if not line:
                continue
            entry = re.match(r"\d+> (.*)$", line)
            if entry:
                steps.append((entry.group(1), []))
            else:
                steps[-1][1].append(line)
        self.assertGreater(len(steps), 8)
        samples = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, samples)
        for version, into in ((1, samples), (2, samples / "v2")):
            into.mkdir(exist_ok=True)
            subprocess.run(["erlc", f"-DVERSION={version}", "-o", str(into), str(ROOT / "samples" / "till.erl")],
                           check=True)
        with subprocess.Popen([minivm, "run", "--listen", str(samples / "vm" / "s"),
                               str(samples / "till.beam")], stdout=subprocess.PIPE) as vm:
            self.assertEqual(vm.stdout.readline(), b"the till is open\n")
            try:
                with Terminal("attach", samples / "vm" / "s", cwd=samples) as terminal:
                    terminal.expect(r"\d+> ")
                    for text, expected in steps:
                        self.step(terminal, text, [normal(line) for line in expected])
            finally:
                vm.kill()

    def step(self, terminal, text, expected):
        terminal.type(text + "\n")
        end = time.time() + ANSWER_S
        while True:
            # Events come on their own way, so that the result may stand before or behind them, and the
            # prompt may be there already, which makes room for the event.
            got = [re.sub(r"^(\d+> )+(?=.)", "", normal(line))
                   for line in plain(terminal.seen).split("\n")]
            missing = list(expected)
            for line in got:
                if line in missing:
                    missing.remove(line)
            if not missing:
                break
            self.assertLess(time.time(), end, (text, missing, got))
            terminal.read_some()
        while terminal.read_some():
            pass
        unexpected = [line for line in map(normal, plain(terminal.seen).split("\n"))
                      if line.strip() and line not in expected and not re.search(r"^\d+>|" + re.escape(text), line)]
        self.assertEqual(unexpected, [])
        terminal.seen = ""


def normal(line):
    """Without what differs from run to run."""
    line = re.sub(r"\d\d:\d\d:\d\d\.\d{6}", "TIME", line.rstrip())
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE", line)
    line = re.sub(r"<0\.\d+\.0>(, <0\.\d+\.0>)*", "PID", line)
    line = re.sub(r"\(\d+ us\)", "(US)", line)
    line = re.sub(r"#Ref<[0-9.]+>", "REF", line)
    line = re.sub(r"\(\S*till.erl, line \d+\)", "(LINE)", line)
    line = re.sub(r"\b[0-9a-f]{8}\b", "MD5", line)
    line = re.sub(r"\b(jit|interp)\b,? +\d+", "ENGINE", line)
    return re.sub(r" +", " ", line)


def prepare():
    attach_test.minivm, attach_test.folder = minivm, folder
    compile_erlang("kv", attach_test.KV, folder / "v1", 1)
    compile_erlang("program", attach_test.PROGRAM, folder)
    compile_erlang("traced", TRACED, folder)


if __name__ == "__main__":
    sys.exit(tool_tests.main(sys.modules[__name__], prepare=prepare))
