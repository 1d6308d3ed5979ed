#!/usr/bin/env python3
"""Tests of the program as a user meets it: bad input, options, signals, streams that are closed.

    tests/tools/command_line_test.py build/release/tools/minivm

What a running program prints and how it ends is compared with `erl` by tests/programs; here is what
has no counterpart there.
"""

import os
import pathlib
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

ANSWER_S = 60   # longer means that it hangs
AT_ONCE_S = 8   # the boot gives up on a stuck I/O server after 10 s; a busy machine needs some

SOURCE = r"""
-module(command_line).
-export([main/1, atoms_of/1]).
atoms_of(Atoms) -> io:format("~p~n", [Atoms]).
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
main(["atoms", "limit"]) ->
    io:format("~p~n", [erlang:system_info(atom_limit)]);
main(["atoms", "list"]) ->
    atoms(fun(N) -> list_to_atom(integer_to_list(N)) end, 0);
main(["atoms", "term"]) ->
    atoms(fun(N) ->
              Text = integer_to_binary(N),
              binary_to_term(<<131, 119, (byte_size(Text)), Text/binary>>)
          end, 0);
main(["memory", "heap"]) ->
    grow([a]);
main(["memory", "binary"]) ->
    grow(<<1:64>>);
main(["memory", "literal"]) ->
    keep(0, lists:seq(1, 10000));
main(["memory", "sys"]) ->
    prim_file:read_link(binary:copy(<<"a">>, 600000000)), ok;
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
main(["letters"]) ->
    io:format("~ts ~tp ~p ~w~n", [[8364, 228], [8364], [228], [8364]]),
    io:put_chars([228, 8364, $\n]),
    io:put_chars(standard_error, [228, 8364, $\n]),
    io:format("~p ~p~n", [lists:sort(io:getopts()), io:getopts(standard_error)]),
    [begin ok = io:setopts([{encoding, E}]), io:put_chars([228, 8364, $\n]) end || E <- [unicode, latin1]];
main(["descriptors"]) ->
    {ok, _} = file:read_file_info("/"),   % what opens files is loaded
    Open = open_files([]),
    false = code:is_loaded(queue),
    io:format("~p ~p~n", [length(Open) > 3, queue:to_list(queue:from_list([a]))]);
main(["arguments" | Rest]) ->
    io:format("~p~n", [Rest]).
open_files(Open) ->
    case file:open("/dev/null", [read, raw]) of
        {ok, File} -> open_files([File | Open]);
        {error, emfile} -> Open
    end.
keep(N, L) -> persistent_term:put(N, L), keep(N + 1, L).
grow(L) when is_list(L) -> grow(L ++ L);
grow(B) -> grow(<<B/binary, B/binary>>).

spin(N) -> spin(N + 1).
atoms(F, N) -> F(N), atoms(F, N + 1).
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


class Descriptors(unittest.TestCase):
    PROGRAM = r"""-module(descriptors).
-export([main/1]).
main([Ours]) ->
    Taken = fun(N) -> element(1, prim_file:file_desc_to_ref(N, [binary])) =:= ok end,
    Port = fun(N) -> try open_port({fd, N, N}, [in]) of P -> port_close(P), true catch error:einval -> false end end,
    {ok, Own} = file:open("own", [raw, write]),
    Inherited = list_to_integer(Ours),
    %% First as ports, for a descriptor that has become a file is that file's.
    io:format("ports ~w~n", [[N || N <- lists:seq(3, 200), Port(N)] =:= [Inherited]]),
    io:format("files ~w~n", [[N || N <- lists:seq(3, 200), Taken(N)] =:= [Inherited]]),
    io:format("again ~w~n", [Taken(Inherited)]),
    io:format("none ~w~n", [[catch prim_file:file_desc_to_ref(N, []) || N <- [-1, 100000, 1 bsl 31, 1 bsl 40, a]]]),
    ok = file:write(Own, "text"), ok = file:close(Own),
    {ok, Out} = prim_file:file_desc_to_ref(1, [write]),
    ok = prim_file:write(Out, "by number\n"), ok = prim_file:close(Out),
    erlang:garbage_collect(),
    {ok, Next} = file:open("next", [raw, write]),
    io:format("still there~n"),
    ok = file:close(Next),
    io:format("~p ~p~n", [file:read_file("own"), file:read_file("next")]).
"""

    def test_the_vms_own_descriptors_cannot_be_taken(self):
        (folder / "descriptors.erl").write_text(self.PROGRAM)
        for engine in ("interp", "jit"):
            ours, other_end = os.pipe()
            try:
                status, out, err = run("run", "--engine", engine, "--record", folder / "descriptors.mvr",
                                       "descriptors.erl", ours, pass_fds=[ours], cwd=folder)
            finally:
                os.close(ours)
                os.close(other_end)
            self.assertEqual((0, ""), (status, err))
            self.assertEqual(["ports true", "files true", "again false",
                              "none [{error,badarg},{error,ebadf},{error,badarg},{error,badarg},{error,badarg}]",
                              "by number", "still there", '{ok,<<"text">>} {ok,<<>>}'], out.splitlines())


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
        for name in "foo.beam", "foo.erl", "foo.exs":
            self.assertEqual(run(name), (2, "", f"minivm: there is no command {name}; to run it: minivm run {name}\n"))
        status, _, err = run("--engine", "interp", "foo.beam")
        self.assertEqual(status, 2)
        self.assertIn("minivm run --engine interp FILE", err)
        status, _, err = run()
        self.assertEqual(status, 2)
        self.assertIn("which command?", err)

    def test_unknown_option_is_not_taken_for_a_module(self):
        for command in ("run", "disasm"):
            status, _, err = run(command, "--frobnicate", folder / "command_line.beam")
            self.assertEqual(status, 2)
            self.assertIn("unknown option --frobnicate", err)

    def test_options_are_not_taken_apart(self):
        # -sname was -s name.
        for option, why in (("-sname", "no distribution"), ("-setcookie", "no distribution"), ("-name", "no distribution"),
                            ("-sx", ""), ("-noshell", "has no shell"), ("-boot", ""), ("+K", "there are +S and +t"), ("+sbwt", "")):
            for more in ([], ["a"], ["-eval", "1"], ["-s", "init"]):
                status, out, err = run("run", option, *more)
                self.assertEqual((status, out), (2, ""), (option, more))
                self.assertTrue(err.startswith(f"minivm: run: unknown option {option}"), err)
                self.assertIn(why, err)
            status, out, err = run("repl", option)
            self.assertEqual((status, out), (2, ""))
            self.assertIn(f"minivm: repl: unknown option {option}", err)
        self.assertEqual(run("run", folder / "command_line.beam", "arguments", "-sname", "+S", "-s")[1], '["-sname","+S","-s"]\n')

    def test_all_calls_run_in_their_order(self):
        calls = ["-s", "command_line", "main", "arguments", "1", "-eval", 'io:format("two~n")', "-s", "command_line", "main",
                 "arguments", "3", "-s", "command_line", "main", "arguments", "-eval", 'io:format("five~n")']
        # Atoms, as erl's -s: so it is the same in both that they are no strings.
        done = subprocess.run(["erl", "-noshell", "-pa", str(folder), *[c.replace("main", "atoms_of") for c in calls],
                               "-s", "init", "stop"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=ANSWER_S,
                              check=False)
        self.assertEqual(run("run", "-pa", folder, *[c.replace("main", "atoms_of") for c in calls]),
                         (0, done.stdout.decode(), ""))
        self.assertEqual(done.stdout, b"[arguments,'1']\ntwo\n[arguments,'3']\n[arguments]\nfive\n")
        for wrong in (["-s"], ["-s", "-eval", "1"], ["-s", "init", "-s"]):
            status, _, err = run("run", *wrong)
            self.assertEqual((status, "-s: which module?" in err), (2, True), err)

    def test_schedulers_as_erl_counts_them(self):
        shows = 'io:format("~p ~p~n", [erlang:system_info(I) || I <- [schedulers, schedulers_online]])'
        for value in ("1", "2:1", "2:2", "3:2", "1:1", "1025", "2:3", "x"):
            done = subprocess.run(["erl", "+S", value, "-noshell", "-eval", shows + ", halt()."], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ANSWER_S, check=False)
            first = done.stdout.decode().splitlines()[0]
            for words in ["+S", value], ["+S" + value]:
                if words == ["+Sx"]:
                    continue
                status, out, err = run("run", *words, "-eval", shows)
                self.assertEqual((status, out + err), (0, first + "\n") if done.returncode == 0 else
                                 (2, f"minivm: +S {value}: {first}\n"))

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

    def test_sigterm_again_while_it_halts(self):
        # The second one may come when the tables of names are gone: it was a SIGSEGV in one of five.
        for _ in range(40):
            process = subprocess.Popen([minivm, "run", "-eval", 'io:format("ready~n"), receive x -> ok end'],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            while process.poll() is None:
                process.send_signal(signal.SIGTERM)
                time.sleep(0.0005)
            _, err = process.communicate()
            self.assertEqual((process.returncode, err), (143, b""))

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


class Letters(unittest.TestCase):
    """What is written of characters above 127, in each locale, as `erl -noshell` writes it."""

    def test_without_a_shell(self):
        for locale in ("C", "C.UTF-8", "en_US.ISO-8859-1", ""):
            with self.subTest(locale=locale):
                environment = dict(os.environ, LC_ALL=locale)
                written = []
                for command in (["erl", "-noshell", "-pa", str(folder), "-eval",
                                 'command_line:main(["letters"]), halt().'],
                                [minivm, "run", str(folder / "command_line.beam"), "letters"]):
                    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, timeout=ANSWER_S, check=False,
                                          env=environment)
                    written.append((done.returncode, done.stdout, done.stderr))
                self.assertEqual(written[1], written[0])


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
        self.check_archive("app/ebin/command_line.beam")

    def test_archive_with_modules_at_its_top(self):
        """As `mix escript.build` makes them."""
        self.check_archive("command_line.beam")

    def check_archive(self, name):
        script = folder / "archive_script"
        make = ('{ok, Beam} = file:read_file("%s"), ok = escript:create("%s", [shebang, '
                '{emu_args, "-escript main command_line"}, '
                '{archive, [{"%s", Beam}], []}]).'
                % (folder / "command_line.beam", script, name))
        status, _, err = run("run", "--eval", make)
        self.assertEqual(status, 0, err)
        status, out = self.compared(script, "arguments", "x", "--y")
        self.assertEqual((status, out), (0, '["x","--y"]\n'))


def said_by(command, directory):
    """(status, what it prints) there."""
    done = subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=ANSWER_S, check=False)
    return done.returncode, done.stdout.decode()


class Source(unittest.TestCase):
    """Programs that are given as source; erlc is the oracle of what is said of them, escript that of texts that do not
    say what they are."""

    FILES = {
        "good.erl": "-module(good).\n-export([main/1]).\n-include(\"good.hrl\").\n"
                    "main(Args) -> io:format(\"~p ~p ~s~n\", [Args, ?BESIDE, code:which(?MODULE)]).\n",
        "good.hrl": "-define(BESIDE, yes).\n",
        "warned.erl": "-module(warned).\n-export([start/0]).\nstart() -> X = 1, io:format(\"~p~n\", [started]).\n",
        "unparsed.erl": "-module(unparsed).\n-export([main/1]).\nmain(A) -> foo(.\nf() -> Y.\n",
        "unbound.erl": "-module(unbound).\n-export([main/1, g/0]).\nmain(A) -> X = B, foo().\n",
        "no_header.erl": "-module(no_header).\n-include(\"nowhere.hrl\").\n",
        "empty.erl": "",
        "no_text.erl": "\udcff\udcfe",
        "other.erl": "-module(another).\n-export([main/1]).\nmain(A) -> X = 1.\n",
        "no_main.erl": "-module(no_main).\n-export([f/0]).\nf() -> ok.\n",
        "on_load.erl": "-module(on_load).\n-export([main/1]).\n-on_load(f/0).\nf() -> put(a, b), ok.\n"
                       "main(A) -> io:format(\"~p~n\", [A]).\n",
        "tells.erl": "-module(tells).\n-export([name/0]).\nname() -> \"tells\".\n",
        "asks.erl": "-module(asks).\n-export([main/1]).\nmain(_) -> io:format(\"~s~n\", [tells:name()]).\n",
        "src/app.erl": "-module(app).\n-export([main/1]).\n-include(\"app.hrl\").\nmain(_) -> io:format(\"~p~n\", [?ABOVE]).\n",
        "include/app.hrl": "-define(ABOVE, above).\n",
    }

    @classmethod
    def setUpClass(cls):
        cls.dir = folder / "source"
        for name, text in cls.FILES.items():
            (cls.dir / name).parent.mkdir(parents=True, exist_ok=True)
            (cls.dir / name).write_bytes(text.encode(errors="surrogateescape"))
        cls.before = cls.files()

    @classmethod
    def files(cls):
        return sorted(cls.dir.rglob("*"))

    def run_there(self, *arguments):
        done = run("run", *arguments, cwd=self.dir)
        self.assertEqual(self.files(), self.before, "something was left on disk")
        return done

    def test_is_compiled_and_run(self):
        for name in ("good.erl", "./good.erl", self.dir / "good.erl"):
            self.assertEqual(self.run_there(name, "a", "--", "-b"),
                             (0, f'["a","--","-b"] yes {self.dir / "good.erl"}\n', ""))
        self.assertEqual(self.run_there("src/app.erl"), (0, "above\n", ""))
        self.assertEqual(self.run_there("on_load.erl", "a"), (0, '["a"]\n', ""))

    def test_what_the_compiler_says_is_what_erlc_says(self):
        out = folder / "erlc_output"
        out.mkdir(exist_ok=True)
        for name in ("warned", "unparsed", "unbound", "no_header", "empty", "no_text"):
            for directory, file in (self.dir, name + ".erl"), (folder, f"source/{name}.erl"):
                status, said = said_by(["erlc", "-o", str(out), file], directory)
                self.assertEqual(run("run", file, cwd=directory), (status, "started\n" if status == 0 else "", said))
        self.assertEqual(self.files(), self.before)

    def test_whose_module_has_another_name_than_the_file(self):
        status, out, err = self.run_there("other.erl")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("other.erl: Module name 'another' does not match file name 'other'\n", err)
        self.assertIn("other.erl:3:12: Warning: variable 'X' is unused\n", err)

    def test_that_cannot_be_run(self):
        self.assertEqual(self.run_there("no_main.erl"),
                         (1, "", "minivm: module no_main exports neither main/1 nor start/0\n"))
        self.assertEqual(self.run_there("nowhere.erl"), (1, "", "minivm: nowhere.erl: no such file or directory\n"))
        self.assertEqual(self.run_there("good"), (1, "", "minivm: module good: no file good.beam in the code path; "
                                                         "there is good.erl: minivm run good.erl\n"))
        status, out, err = self.run_there("hello.exs")
        self.assertEqual((status, out), (2, ""))
        self.assertIn("hello.exs is source of Elixir", err)

    def test_with_more_modules(self):
        self.assertEqual(self.run_there("--load", "tells.erl", "asks.erl"), (0, "tells\n", ""))
        status, _, err = self.run_there("asks.erl")
        self.assertEqual(status, 127)
        self.assertIn("undefined function tells:name/0", err)
        self.assertEqual(self.run_there("--load", "nowhere.erl", "asks.erl"),
                         (1, "", "minivm: nowhere.erl: no such file or directory\n"))

    def test_a_text_that_does_not_say_what_it_is_is_for_escript(self):
        for text in ("% a comment\nmain(Args) -> io:format(\"~p~n\", [Args]).\n", "% a comment\nmain(\n", "", "one line\n",
                     "\n\nmain(_) -> halt(3).\n"):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                (pathlib.Path(place) / "text").write_text(text)
                for name in ("text", "./text"):
                    done = subprocess.run(["escript", name, "a", "b"], cwd=place, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=ANSWER_S, check=False)
                    status, out, err = run("run", name, "a", "b", cwd=place)
                    self.assertEqual((status, out), (done.returncode, done.stdout.decode()), err)
                    self.assertIn(done.stderr.decode(), err)


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


class Limits(unittest.TestCase):
    """What the system does not give is said, and done without where that is possible."""

    def limited(self, limit, amount, *arguments, program=("arguments", "a")):
        return run("run", *arguments, folder / "command_line.beam", *program,
                   preexec_fn=lambda: resource.setrlimit(limit, (amount, amount)))

    def test_files_that_may_not_grow(self):
        for engine in ("interp", "jit"):
            for amount in (0, 512):
                status, out, said = self.limited(resource.RLIMIT_FSIZE, amount, "--engine", engine)
                self.assertEqual((0, '["a"]\n'), (status, out), said)
                self.assertIn("the flight recorder is off", said)

    def test_little_address_space(self):
        for engine in ("interp", "jit"):
            status, out, said = self.limited(resource.RLIMIT_AS, 3 << 30, "--engine", engine)
            self.assertEqual((0, '["a"]\n'), (status, out), said)

    def test_few_open_files(self):
        for amount in range(4, 17):
            status, out, said = self.limited(resource.RLIMIT_NOFILE, amount)
            if status == 0:
                self.assertEqual('["a"]\n', out)
            else:
                self.assertIn("Too many open files", said)
                self.assertNotIn("undef", said)

    def test_a_module_is_loaded_when_no_descriptor_is_left(self):
        # What was opened at the same time by two loading schedulers took the last one, and io_lib was "undef".
        for engine in ("interp", "jit"):
            status, out, said = self.limited(resource.RLIMIT_NOFILE, 40, "--engine", engine, program=("descriptors",))
            self.assertEqual((0, "true [a]\n"), (status, out), said)

    def test_memory_that_runs_out_ends_the_vm_with_a_report(self):
        for what, frame, words in (
                ("heap", "grow/1", 'eheap_alloc: Cannot allocate N bytes of memory (of type "heap").'),
                ("binary", "grow/1", 'binary_alloc: Cannot allocate N bytes of memory (of type "binary").'),
                ("literal", "keep/2", 'literal_alloc: Cannot allocate N bytes of memory (of type "literal").'),
                ("sys", "main/1", "sys_alloc: Cannot allocate memory (std::bad_alloc).")):
            status, _, said = run("run", folder / "command_line.beam", "memory", what,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30)))
            self.assertEqual(1, status, said)
            self.assertEqual(words, re.sub(r"\d+", "N", said.splitlines()[0]))
            self.assertIn("command_line:" + frame, said)
            self.assertIn("minivm dump --crash", said)


class Atoms(unittest.TestCase):
    def test_how_many_there_can_be(self):
        for options, limit in (((), "1048576\n"), (("+t", "20000"), "20000\n"), (("+t20000",), "20000\n"),
                               (("+t", "2147483647"), "2147483647\n")):
            self.assertEqual((0, limit), run("run", *options, folder / "command_line.beam", "atoms", "limit")[:2])
        for bad in ("8191", "2147483648", "many"):
            self.assertEqual(2, run("run", "+t", bad, folder / "command_line.beam", "atoms", "limit")[0])

    def test_a_full_table_ends_the_vm_with_a_report(self):
        for how in ("list", "term"):
            status, _, said = run("run", "+t", "20000", folder / "command_line.beam", "atoms", how)
            self.assertEqual(1, status)
            self.assertTrue(said.startswith("no more index entries in atom_tab (max=20000)\n"), said)
            self.assertIn("command_line:atoms/2", said)
            self.assertIn("minivm dump --crash", said)


if __name__ == "__main__":
    sys.exit(tool_tests.main(sys.modules[__name__], {"command_line.erl": SOURCE}))
