#!/usr/bin/env python3
"""The ways in which a program ends, beside `escript`: status, report, and that it ends at all.

    tests/tools/ends_test.py build/release/tools/minivm [TEST...]
"""

import os
import re
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

ANSWER_S = 60   # longer means that it hangs

SOURCE = r"""
-module(ends).
-behaviour(supervisor).
-export([main/1, init/1, wait/0, spin/0, child/1]).

main(["kernel" | Rest]) ->
    {ok, _} = application:ensure_all_started(sasl),
    main(Rest);
main(["ready" | Rest]) ->
    io:format("ready~n"),
    main(Rest);
main(["return"]) -> ok;
main(["error"]) -> error(boo);
main(["throw"]) -> throw(boo);
main(["exit"]) -> exit(boo);
main(["linked", "error"]) -> spawn_link(fun() -> error(boo) end), wait();
main(["linked", "exit"]) -> spawn_link(fun() -> exit(boo) end), wait();
main(["linked", "long"]) ->
    spawn_link(fun() -> exit({boo, lists:seq(1, 900), "text", [[["deep"]]], <<1>>, #{}, 1.5, ['a b']}) end), wait();
main(["linked", "text"]) -> spawn_link(fun() -> exit(["so", [$\s, "it goes"]]) end), wait();
main(["killed"]) -> exit(self(), kill), wait();
main(["signal"]) -> exit(self(), boo), wait();
main(["killed", "from", "elsewhere"]) ->
    Main = self(),
    register(killer, spawn(fun() -> exit(Main, kill) end)),
    wait();
main(["supervisor"]) ->
    {ok, _} = supervisor:start_link(?MODULE, []),
    wait();
main(["halt"]) -> spawn(fun() -> halt(7) end), wait();
main(["abort"]) -> spawn(fun() -> halt(abort) end), wait();
main(["halt", Text]) -> spawn(fun() -> halt(Text) end), wait();
main(["halt", "with", "characters"]) -> halt(lists:duplicate(1020, 16#20AC) ++ "abcdef");
main(["halt", "badly"]) ->
    [io:format("~p~n", [catch erlang:halt(S, O)]) || {S, O} <- [{-1, []}, {"a" ++ [b], []}, {1.0, []}, {0, [flush]},
                                                                {[16#D800], []}, {0, [{flush, maybe}]}, {0, x}]],
    halt(1 bsl 70 + 5);
main(["stop", N]) -> init:stop(list_to_integer(N)), wait();
main(["stop"]) -> init:stop(), wait();
main(["stop", "with", Text]) -> init:stop(Text), wait();
main(["init", "killed"]) -> exit(whereis(init), kill), wait();
main(["init", "signal"]) -> exit(whereis(init), boo), wait();
main(["logger", "killed"]) -> exit(whereis(logger), kill), wait();
main(["controller", "killed"]) -> exit(whereis(application_controller), kill), wait();
main(["kernel_sup", "killed"]) -> exit(whereis(kernel_sup), kill), wait();
main(["all", "killed"]) -> [exit(P, kill) || P <- processes(), P =/= self()], wait();
main(["purger", "killed"]) -> exit(whereis(erts_code_purger), kill), wait();
%% ---- what was logged last
main(["last", "words", How]) ->
    logger:error("last but one"),
    {_, Ref} = spawn_monitor(fun() -> error(failed) end),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    logger:error("the last words"),
    main([How]);
main(["last", "words", "with", "kernel", How]) ->
    {ok, _} = application:ensure_all_started(sasl),
    main(["last", "words", How]);
%% ---- signals
main(["wait"]) -> wait();
main(["spin", Priority]) ->
    [spawn(fun() -> process_flag(priority, list_to_existing_atom(Priority)), spin() end)
     || _ <- lists:seq(1, 2 * erlang:system_info(schedulers))],
    wait();
main(["dirty"]) -> spawn(fun() -> erts_debug:dirty_cpu(wait, 60000) end), wait();
main(["long", "stop"]) ->
    {ok, _} = application:ensure_all_started(sasl),
    Slow = spawn(fun() -> process_flag(trap_exit, true), wait() end),
    {ok, _} = supervisor:start_child(kernel_safe_sup, #{id => slow, shutdown => infinity,
                                                        start => {?MODULE, child, [Slow]}}),
    wait();
main(["init", "suspended"]) -> erlang:suspend_process(whereis(init)), wait();
main(["user", "suspended"]) -> erlang:suspend_process(whereis(user)), wait();
main(["logger", "busy"]) ->
    logger:error(#{}, #{report_cb => fun(_) -> spin() end}),
    wait().

child(Pid) -> link(Pid), {ok, Pid}.
wait() -> receive never -> ok end.
spin() -> spin().

init([]) ->
    Fails = fun() -> proc_lib:init_ack({ok, self()}), exit(boo) end,
    {ok, {#{intensity => 0}, [#{id => child, start => {proc_lib, start_link, [erlang, apply, [Fails, []]]}}]}}.
"""

minivm = None   # set by tool_tests.main
folder = None
ENGINES = ("jit", "interp")
ENVIRONMENT = dict(os.environ, ERL_CRASH_DUMP_SECONDS="0", LC_ALL="C.UTF-8")


def run(command):
    """(status, stdout, stderr)"""
    for _ in range(20):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=ANSWER_S, check=False, cwd=folder, env=ENVIRONMENT)
        answer = done.returncode, done.stdout.decode(), done.stderr.decode()
        # Init writes its line in pieces, and so on either VM logger may get a report between two of them.
        if not re.search(r"[^\r\n]=[A-Z ]+ REPORT====", answer[1] + answer[2]):
            break
    return answer


def command(*arguments, engine="jit", options=()):
    return [minivm, "run", "--engine", engine, "--dump-on", "never", *options, "ends.beam", *arguments]


def escript(*arguments):
    return run(["escript", "ends.beam", *arguments])


def reports(text):
    """The last lines that say why the VM ended, without pids. A logger that is being ended may have begun a line."""
    lines = re.findall(r"(?:\{\")?(?:init terminating|Kernel pid|System process|the kernel ended).*", text)
    return re.sub(r"<0\.\d+\.0>", "PID", "\n".join(lines))


class Endings(unittest.TestCase):
    def compare(self, *arguments, whole=True):
        status, out, err = escript(*arguments)
        for engine in ENGINES:
            with self.subTest(arguments=arguments, engine=engine):
                got = run(command(*arguments, engine=engine))
                self.assertEqual(got[0], status, got)
                if whole:
                    self.assertEqual(got[1:], (out, err))
                self.assertEqual(reports(got[1]), reports(out))
                self.assertEqual(reports(got[2]), reports(err))

    def test_in_order(self):
        for arguments in ("return",), ("halt",), ("stop",), ("stop", "3"), ("stop", "with", "a reason"), \
                ("halt", "a slogan"), ("halt", ""), ("halt", "with", "characters"):
            self.compare(*arguments)
        for arguments in ("return",), ("halt",), ("stop", "3"):
            self.compare("kernel", *arguments, whole=False)

    def test_the_kernel_that_was_stopped_first_does_not_end_the_vm(self):
        # It was taken for a crash where init got to run before the process that stops.
        for number in range(10):
            seed = str(tool_tests.seed() + number)
            got = run(command("kernel", "stop", "3", options=("--stress-sched", seed)))
            self.assertEqual(got, (3, "", ""), seed)

    def test_an_abort_that_was_asked_for_is_no_fault(self):
        # A report of a fault of the VM stood on standard error.
        self.compare("abort")

    def test_halt_takes_what_erl_takes(self):
        self.compare("halt", "badly")

    def test_with_an_exception(self):
        for how in "error", "throw", "exit":
            self.compare(how, whole=False)
            self.compare("kernel", how, whole=False)

    def test_with_an_exit_signal(self):
        for arguments in ("linked", "error"), ("linked", "exit"), ("linked", "long"), ("linked", "text"), \
                ("killed",), ("signal",), ("killed", "from", "elsewhere"), ("supervisor",), ("init", "signal"):
            self.compare(*arguments, whole=False)
            self.compare("kernel", *arguments, whole=False)

    def test_of_what_the_vm_needs(self):
        for arguments in ("init", "killed"), ("purger", "killed"), ("logger", "killed"), ("all", "killed"):
            self.compare(*arguments, whole=False)
        for name in "controller", "kernel_sup":
            self.compare("kernel", name, "killed", whole=False)

    def test_of_a_script(self):
        script = folder / "script"
        script.write_text("#!/usr/bin/env escript\nmain(_) ->\n    spawn_link(fun() -> exit(boo) end),\n"
                          "    receive never -> ok end.\n", encoding="utf-8")
        status, out, err = run(["escript", script])
        for engine in ENGINES:
            got = run([minivm, "run", "--engine", engine, "--dump-on", "never", script])
            self.assertEqual((got[0], reports(got[1]), reports(got[2])), (status, reports(out), reports(err)))


class LastWords(unittest.TestCase):
    def test_are_written_whichever_way_it_ends(self):
        for how in "return", "error", "killed", "signal", "halt", "stop":
            for boot in ("last", "words"), ("last", "words", "with", "kernel"):
                with self.subTest(how=how, boot=boot):
                    _, out, err = run(command(*boot, how))
                    words = err + out
                    for text in "last but one", "with exit value", "the last words":
                        self.assertEqual(words.count(text), 1, words)


class Signals(unittest.TestCase):
    def end(self, arguments, signals, options=(), engine="jit"):
        """Sends the signals one after the other, once the program is ready; its status."""
        with subprocess.Popen(command("ready", *arguments, options=options, engine=engine), cwd=folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            try:
                self.assertEqual(child.stdout.readline(), b"ready\n")
                for number in signals:
                    child.send_signal(number)
                    try:
                        child.wait(1)
                    except subprocess.TimeoutExpired:
                        pass
                return child.wait(ANSWER_S)
            finally:
                child.kill()

    def test_the_second_ends_the_vm_whatever_it_does(self):
        for arguments in ("long", "stop"), ("user", "suspended"), ("logger", "busy"), ("spin", "max"), ("dirty",):
            for number in signal.SIGTERM, signal.SIGINT:
                with self.subTest(arguments=arguments, signal=number):
                    # The first one may be enough.
                    self.assertIn(self.end(arguments, (number, number)), (128 + number,))

    def test_one_ends_what_does_not_hold_it_up(self):
        for arguments in ("wait",), ("spin", "normal"), ("spin", "max"), ("dirty",), ("init", "suspended"), \
                ("logger", "busy"), ("user", "suspended"):
            for number in signal.SIGTERM, signal.SIGINT:
                with self.subTest(arguments=arguments, signal=number):
                    self.assertEqual(self.end(arguments, (number,)), 128 + number)

    def test_two_at_once_are_not_lost(self):
        # The second comes while the first is looked at, or is the same.
        with subprocess.Popen(command("ready", "wait"), cwd=folder, stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            child.send_signal(signal.SIGTERM)
            child.send_signal(signal.SIGINT)
            self.assertIn(child.wait(ANSWER_S), (130, 143))

    def test_at_any_moment(self):
        for delay in range(0, 60, 3):
            with subprocess.Popen(["sh", "-c", 'sleep 0.0%02d; exec "$@"' % delay, "sh", *command("return")],
                                  cwd=folder) as child:
                child.send_signal(signal.SIGTERM)
                self.assertIn(child.wait(ANSWER_S), (0, 143, -signal.SIGTERM))


if __name__ == "__main__":
    sys.exit(tool_tests.main(sys.modules[__name__], {"ends.erl": SOURCE}))
