#!/usr/bin/env python3
"""Tests of the program as a user meets it: bad input, options, signals, streams that are closed.

    tests/tools/command_line_test.py build/release/tools/minivm

What a running program prints and how it ends is compared with `erl` by tests/programs; here is what
has no counterpart there.
"""

import os
import pathlib
import signal
import struct
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

ANSWER_S = 60   # longer means that it hangs
AT_ONCE_S = 8   # the boot gives up on a stuck I/O server after 10 s; a busy machine needs some

SOURCE = r"""
-module(command_line).
-export([main/1]).
main(["echo"]) ->
    io:format("ready~n"),
    io:format("got ~tp~n", [io:get_line("")]);
main(["asks"]) ->
    Server = group_leader(),
    spawn(fun() -> io:get_line("") end),
    receive after 100 -> ok end,
    {encoding, _} = lists:keyfind(encoding, 1, io:getopts(Server)),
    io:format("ready~n"),
    receive after infinity -> ok end;
main(["lines", N]) ->
    lists:foreach(fun(I) -> io:format("line ~p~n", [I]) end, lists:seq(1, list_to_integer(N)));
main(["wait"]) ->
    io:format("ready~nno line end"),
    receive after infinity -> ok end;
main(["spin"]) ->
    io:format("ready~n"),
    spin(0);
main(["kernel"]) ->
    true = is_pid(whereis(erl_signal_server)),
    io:format("ready~n"),
    receive after infinity -> ok end;
main(["arguments" | Rest]) ->
    io:format("~p~n", [Rest]).
spin(N) -> spin(N + 1).
"""

minivm = None   # set by tool_tests.main
folder = None   # holds command_line.beam and the damaged ones


def run(*arguments, stdin=b"", **more):
    """(status, stdout, stderr)"""
    done = subprocess.run([minivm, *map(str, arguments)], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=ANSWER_S, check=False, **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def chunks(beam):
    """{name: (offset of its header, length)}"""
    at, found = 12, {}
    while at < len(beam):
        length = struct.unpack_from(">I", beam, at + 4)[0]
        found[beam[at:at + 4].decode()] = (at, length)
        at += 8 + (length + 3) // 4 * 4
    return found


class BadInput(unittest.TestCase):
    def damaged(self, change):
        beam = bytearray((folder / "command_line.beam").read_bytes())
        beam = change(beam, chunks(beam)) or beam
        path = folder / "damaged.beam"
        path.write_bytes(beam)
        return path

    def refused(self, path, *words):
        for command in ("run", "disasm"):
            status, out, err = run(command, path)
            self.assertEqual((status, out), (1, ""), err)
            self.assertIn(str(path), err)
            for word in words:
                self.assertIn(word, err)
            self.assertEqual(err.count("\n"), 1, err)

    def test_truncated_file(self):
        self.refused(self.damaged(lambda beam, _: beam[:300]), "cut off", "300 bytes")
        self.refused(self.damaged(lambda beam, _: beam[:5]), "cut off")
        self.refused(self.damaged(lambda beam, _: b"-"), "not a BEAM file")

    def test_unknown_opcode(self):
        def change(beam, where):
            beam[where["Code"][0] + 28] = 200
        self.refused(self.damaged(change), "Code chunk at offset 0x14", "unknown opcode 200")

    def test_native_record_instruction_is_refused_by_name(self):
        def change(beam, where):
            beam[where["Code"][0] + 28] = 186
        self.refused(self.damaged(change), "Code chunk at offset 0x14", "is_any_native_record")

    def test_bad_chunks(self):
        def rows(beam, where):
            struct.pack_into(">I", beam, where["ImpT"][0] + 8, 99999)
        self.refused(self.damaged(rows), "ImpT chunk at offset 0x0", "99999 rows")

        def length(beam, where):
            struct.pack_into(">I", beam, where["Code"][0] + 4, 1000000)
        self.refused(self.damaged(length), "chunk at offset 0x")

        def missing(beam, where):
            at = where["ExpT"][0]
            beam[at:at + 4] = b"ExpX"
        self.refused(self.damaged(missing), "no ExpT chunk")

    def test_not_a_file(self):
        self.refused(folder, "regular file")
        self.refused(folder / "nosuch.beam", "No such file")

    def test_missing_module_and_function(self):
        self.assertEqual(run("run", "no_such_module"),
                         (1, "", "minivm: module no_such_module: no file no_such_module.beam in "
                                 "the code path\n"))
        self.assertEqual(run("run", "lists"),
                         (1, "", "minivm: module lists exports neither main/1 nor start/0\n"))
        for arguments, name in ((["no_such_module"], "no_such_module:start/0"),
                                (["lists", "nope"], "lists:nope/0")):
            status, out, err = run("run", "-s", *arguments)
            self.assertEqual((status, out), (127, ""))
            self.assertIn("undefined function " + name, err)


class Options(unittest.TestCase):
    def test_unknown_command(self):
        status, _, err = run("frobnicate")
        self.assertEqual(status, 2)
        self.assertIn("no command frobnicate", err)
        status, _, err = run()
        self.assertEqual(status, 2)
        self.assertIn("which command?", err)

    def test_unknown_option_is_not_taken_for_a_module(self):
        for command in ("run", "disasm"):
            status, _, err = run(command, "--frobnicate", folder / "command_line.beam")
            self.assertEqual(status, 2)
            self.assertIn("unknown option --frobnicate", err)

    def test_two_dashes_end_options(self):
        beam = folder / "command_line.beam"
        for options in ((), ("--",), ("-S", "1", "--")):
            self.assertEqual(run("run", *options, beam, "arguments", "--help", "-s"),
                             (0, '["--help","-s"]\n', ""))

    def test_arguments_of_the_program_are_left_alone(self):
        given = ["-pa", "x", "-eval", "--", "-s", "--version", "-", ""]
        self.assertEqual(run("run", folder / "command_line.beam", "arguments", *given),
                         (0, '["-pa","x","-eval","--","-s","--version","-",[]]\n', ""))

    def test_extra_arguments_belong_to_no_program(self):
        status, out, err = run("run", "-eval", "io:format(\"~p~n\", [init:get_plain_arguments()])",
                               "-extra", "a", "--", "-b", "--stress-gc")
        self.assertEqual((status, out, err), (0, '["a","--","-b","--stress-gc"]\n', ""))

    def test_eval_with_and_without_a_dot(self):
        for text in ('io:format("~p", [1+1])', 'io:format("~p", [1+1]).', 'X=1,io:format("~p",[X+1]). '):
            self.assertEqual(run("run", "-eval", text), (0, "2", ""), text)
        status, out, err = run("run", "-eval", "1+")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("syntax error before", err)


class Ending(unittest.TestCase):
    def end(self, program, number):
        """Sends the signal once the program is ready; its status, all its output and the time."""
        with subprocess.Popen([minivm, "run", str(folder / "command_line.beam"), program],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            out = child.stdout.readline()
            time.sleep(0.2)  # until it waits; too short only makes the test weaker
            child.send_signal(number)
            start = time.monotonic()
            try:
                # Not communicate(): it would close standard input, and so end a wait for it.
                out += child.stdout.read()
                status = child.wait(ANSWER_S)
            finally:
                child.kill()
            return status, out, time.monotonic() - start

    def test_signals_end_in_order(self):
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            for program, text in (("spin", b"ready\n"), ("wait", b"ready\nno line end")):
                with self.subTest(signal=number, program=program):
                    self.assertEqual(self.end(program, number)[:2], (status, text))

    def test_sigterm_stops_the_kernel_in_order_where_it_is_up(self):
        status, out, _ = self.end("kernel", signal.SIGTERM)
        self.assertEqual(status, 0)
        self.assertIn(b"SIGTERM received - shutting down", out)

    def test_signals_that_nobody_asked_for_have_their_default_action(self):
        for number in (signal.SIGALRM, signal.SIGUSR2):
            with self.subTest(signal=number):
                self.assertEqual(self.end("wait", number)[0], -number)

    def test_a_signal_ends_a_program_that_waits_for_input(self):
        status, out, seconds = self.end("echo", signal.SIGINT)
        self.assertEqual((status, out), (130, b"ready\n"))
        self.assertLess(seconds, AT_ONCE_S)

    def test_the_io_server_answers_while_a_line_is_awaited(self):
        self.assertEqual(self.end("asks", signal.SIGTERM)[:2], (143, b"ready\n"))

    def test_a_closed_pipe_is_no_crash(self):
        with subprocess.Popen([minivm, "run", str(folder / "command_line.beam"), "lines", "200000"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            self.assertEqual(child.stdout.readline(), b"line 1\n")
            child.stdout.close()
            err = child.stderr.read().decode()
            self.assertEqual(child.wait(ANSWER_S), 127)
            self.assertIn("epipe", err)

    def test_closed_standard_streams(self):
        line = '"$1" run "$2" echo <&-', '"$1" run "$2" lines 3 >&-', '"$1" run "$2" lines 3 >&- 2>&- <&-'
        for script, expected in zip(line, (b"ready\ngot eof\n", b"", b"")):
            done = subprocess.run(["sh", "-c", script, "sh", minivm, str(folder / "command_line.beam")],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=ANSWER_S, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, expected, b""), script)


class Scripts(unittest.TestCase):
    """Scripts for escript; the same ones run by it are the oracle."""

    def compared(self, script, *arguments):
        unicode = dict(os.environ, LC_ALL="C.UTF-8")
        done = subprocess.run(["escript", str(script), *arguments], stdin=subprocess.DEVNULL, env=unicode,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=ANSWER_S,
                              check=False)
        status, out, err = run("run", script, *arguments, env=unicode)
        self.assertEqual((status, out), (done.returncode, done.stdout.decode()), err)
        return status, out

    def test_source(self):
        script = folder / "source_script"
        script.write_text("#!/usr/bin/env escript\n"
                          "%%! -smp enable -pa /no/such/dir -own flag values +A 1\n"
                          "main(Args) -> io:format(\"~tp ~p~n\", [Args, init:get_argument(own)]),\n"
                          "              halt(length(Args)).\n")
        status, out = self.compared(script, "a", "b c")
        self.assertEqual((status, out), (2, '["a","b c"] {ok,[["flag","values"]]}\n'))

    def test_source_that_fails(self):
        script = folder / "failing_script"
        script.write_text("#!/usr/bin/env escript\nmain([X]) -> 1 = list_to_integer(X), ok.\n")
        self.assertEqual(self.compared(script, "1")[0], 0)
        self.assertEqual(self.compared(script, "2")[0], 127)
        script.write_text("#!/usr/bin/env escript\nmain(_) -> no_such_function().\n")
        self.assertEqual(self.compared(script)[0], 127)

    def test_archive(self):
        script = folder / "archive_script"
        make = ('{ok, Beam} = file:read_file("%s"), ok = escript:create("%s", [shebang, '
                '{emu_args, "-escript main command_line"}, '
                '{archive, [{"app/ebin/command_line.beam", Beam}], []}]).'
                % (folder / "command_line.beam", script))
        status, _, err = run("run", "--eval", make)
        self.assertEqual(status, 0, err)
        status, out = self.compared(script, "arguments", "x", "--y")
        self.assertEqual((status, out), (0, '["x","--y"]\n'))


class Threads(unittest.TestCase):
    def test_scheduler_threads_have_names(self):
        with subprocess.Popen([minivm, "run", "-S", "2", str(folder / "command_line.beam"), "wait"],
                              stdout=subprocess.PIPE) as child:
            self.assertEqual(child.stdout.readline(), b"ready\n")
            names = sorted(path.read_text().strip()
                           for path in pathlib.Path("/proc/%d/task" % child.pid).glob("*/comm"))
            child.kill()
        self.assertEqual([n for n in names if n.endswith("_scheduler")],
                         ["1_scheduler", "2_scheduler"], names)
        for name in ("dirty cpu", "signals"):
            self.assertIn(name, names)


class CodeMemory(unittest.TestCase):
    def test_modules_without_room_for_native_code_run_as_bytecode(self):
        beam = folder / "command_line.beam"
        status, out, err = run("run", "--engine", "jit", "--code-memory", "128", beam, "lines", "3")
        self.assertEqual((status, out), (0, "line 1\nline 2\nline 3\n"), err)
        told = err.splitlines()
        self.assertTrue(told)
        for line in told:
            self.assertRegex(line, "^minivm: module [a-z_]+ runs as bytecode, for want of code "
                                   "memory: no [0-9]+ bytes in a row are free")
        self.assertEqual(run("run", "--code-memory", "1", beam, "lines", "3")[0], 2)


if __name__ == "__main__":
    sys.exit(tool_tests.main(sys.modules[__name__], {"command_line.erl": SOURCE}))
