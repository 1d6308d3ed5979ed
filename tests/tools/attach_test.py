#!/usr/bin/env python3
"""A running VM talked to from outside, as a user does it: minivm attach, load, record and repl.

    tests/tools/attach_test.py build/release/tools/minivm [-v] [TEST...]
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

ANSWER_S = 60   # longer means that it hangs
PAIRS = 20      # versions of the pair of modules that are loaded together

KV = r"""
-module(kv).
-vsn("VERSION").
-export([version/0, loop/1]).
version() -> VERSION.
loop(Data) ->
    receive
        {From, version} -> From ! VERSION, loop(Data);
        upgrade -> ?MODULE:loop(Data);
        stop -> ok
    end.
"""
# a calls b: both have the same version at all times, or somebody has seen half of a commit.
PAIR_A = r"""
-module(pair_a).
-export([check/1]).
check(Between) -> {VERSION, Between(), pair_b:version()}.
"""
PAIR_B = r"""
-module(pair_b).
-export([version/0]).
version() -> VERSION.
"""
PROGRAM = r"""
-module(program).
-export([main/1]).
main(["pair"]) ->
    Self = self(),
    [spawn(fun() -> worker(Self, 0) end) || _ <- lists:seq(1, 4)],
    register(program, Self),
    io:format("ready~n"),
    gather(0);
main(["kv"]) ->
    io:format("ready~n"),
    kv:loop([]);
main([]) ->
    register(kv, spawn(fun() -> kv:loop([]) end)),
    io:format("ready~n"),
    receive after infinity -> ok end.

%% New a calls old b: never. Old a calls new b: only where a commit fell between, and then the
%% current a is new by the time that b has answered.
worker(Main, N) ->
    case pair_a:check(fun() -> ok end) of
        {V, ok, V} -> ok;
        {A, ok, B} when B > A ->
            {Now, ok, _} = pair_a:check(fun() -> ok end),
            Now > A orelse (Main ! {wrong, A, B, Now});
        {A, ok, B} -> Main ! {wrong, A, B}
    end,
    N rem 1000 =:= 0 andalso (Main ! {checked, 1000}),
    worker(Main, N + 1).

gather(N) ->
    receive
        {checked, M} -> gather(N + M);
        {From, result} -> From ! N, gather(N);
        Wrong -> io:format("~p~n", [Wrong]), halt(3)
    end.
"""

minivm = None
folder = None


def compile_pairs():
    """Version n of the pair goes to the folder pn; one compiler for all, since it starts slowly."""
    for n in range(2, PAIRS):
        into = folder / f"p{n}"
        into.mkdir()
        for name, source in (("pair_a", PAIR_A), ("pair_b", PAIR_B)):
            (into / f"{name}.erl").write_text(source.replace("VERSION", str(n)), encoding="utf-8")
    subprocess.run(["erl", "-noshell", "-eval",
                    '[{ok, _} = compile:file(F, [{outdir, filename:dirname(F)}]) || '
                    f'F <- filelib:wildcard("{folder}/p*/*.erl")], halt().'], check=True)


def compile_erlang(name, source, into, version=1):
    into.mkdir(exist_ok=True)
    text = into / f"{name}.erl"
    text.write_text(source.replace("VERSION", str(version)), encoding="utf-8")
    subprocess.run(["erlc", "-o", str(into), str(text)], check=True)
    return into / f"{name}.beam"


def run(*arguments, stdin=b"", **more):
    """(status, stdout, stderr)"""
    done = subprocess.run([minivm, *map(str, arguments)], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=ANSWER_S, check=False, **more)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Vm:
    """A VM that listens, for a with statement."""

    def __init__(self, *arguments, options=(), where=None):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.socket = where or self.folder / "s"
        self.process = subprocess.Popen(
            [minivm, "run", "--listen", str(self.socket), "-pa", str(folder / "v1"), *options,
             str(folder / "program.beam"), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.process.stdout.readline()
        assert line == b"ready\n", (line, self.process.stderr.read())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        shutil.rmtree(self.folder)

    def attach(self, *commands, stdin=b""):
        options = [o for c in commands for o in ("-c", c)]
        return run("attach", self.socket, *options, stdin=stdin)

    def load(self, *files):
        return run("load", self.socket, *files)

    def value(self, expression):
        status, out, err = self.attach(expression)
        assert (status, err) == (0, ""), (expression, status, out, err)
        return out.rstrip("\n")

    def raw(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(ANSWER_S)
        client.connect(str(self.socket))
        return client


def frame(kind, content=b""):
    return struct.pack(">I", len(content) + 1) + kind + content


HELLO = frame(b"H", struct.pack(">IIB", 1, 80, 0) + b"/")


def read_frame(client):
    header = b""
    while len(header) < 4:
        piece = client.recv(4 - len(header))
        if not piece:
            return None
        header += piece
    left = struct.unpack(">I", header)[0]
    content = b""
    while len(content) < left:
        piece = client.recv(left - len(content))
        if not piece:
            return None
        content += piece
    return content


def until_done(client):
    frames = []
    while True:
        got = read_frame(client)
        frames.append(got)
        if got is None or got[:1] in b"DX":
            return frames


class Socket(unittest.TestCase):
    def refused(self, path, text):
        status, out, err = run("run", "--listen", path, folder / "program.beam")
        self.assertEqual((status, out), (2, ""))
        self.assertIn(f"minivm: run: --listen {path}", err)
        self.assertIn(text, err)

    def unreachable(self, path, text):
        for command in (["attach", path, "-c", "1."], ["load", path, folder / "v1" / "kv.beam"]):
            status, out, err = run(*command)
            self.assertEqual((status, out), (2, ""), err)
            self.assertIn(f"minivm: {command[0]}: {path}", err)
            self.assertIn(text, err)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def test_is_made_for_its_user_alone_and_goes_with_the_vm(self):
        path = self.folder / "new" / "s"
        with Vm(where=path) as vm:
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            self.assertEqual(path.parent.stat().st_mode & 0o777, 0o700)
            self.assertEqual(vm.value("1 + 1"), "2")
            vm.process.send_signal(signal.SIGTERM)
            vm.process.wait(ANSWER_S)
        self.assertFalse(path.exists())
        self.unreachable(path, "no such socket")

    def test_that_a_dead_vm_has_left_is_taken_over(self):
        path = self.folder / "s"
        with Vm(where=path) as vm:
            vm.process.kill()
            vm.process.wait()
        self.assertTrue(path.exists())
        self.unreachable(path, "nobody listens there any more")
        with Vm(where=path) as vm:
            self.assertEqual(vm.value("a"), "a")

    def test_of_a_living_vm_is_not_taken(self):
        with Vm() as vm:
            self.refused(vm.socket, f"another VM listens there (process {vm.process.pid})")
            self.assertEqual(vm.value("a"), "a")

    def test_behind_a_link(self):
        with Vm(where=self.folder / "s"):
            (self.folder / "link").symlink_to(self.folder / "s")
            self.refused(self.folder / "link", "is a symbolic link")
            self.unreachable(self.folder / "link", "is a symbolic link")
        other = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, other)
        (other / "dir").symlink_to(self.folder)
        self.refused(other / "dir" / "s", "is not a directory")

    def test_where_something_else_is(self):
        (self.folder / "file").write_text("precious")
        self.refused(self.folder / "file", "is there already and is no socket")
        self.unreachable(self.folder / "file", "is no socket")
        self.assertEqual((self.folder / "file").read_text(), "precious")
        self.refused(self.folder / "file" / "s", "is not a directory")
        self.refused(self.folder / "no" / "such" / "s", "No such file or directory")

    def test_with_a_path_that_is_too_long(self):
        path = self.folder / ("x" * 100)
        text = f"is {len(str(path))} bytes long, and a socket's path has at most 107"
        self.refused(path, text)
        self.unreachable(path, text)

    def test_in_a_directory_that_is_open_to_others(self):
        self.folder.chmod(0o755)
        self.refused(self.folder / "s", "is open to other users")

    @unittest.skipUnless(os.geteuid() == 0, "only root can be two users")
    def test_of_another_user(self):
        with Vm(where=self.folder / "s") as vm:
            self.folder.chmod(0o777)
            (self.folder / "s").chmod(0o777)
            # The client's own check first, then the VM's.
            done = subprocess.run([minivm, "attach", str(vm.socket), "-c", "1."],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                  user=65534)
            self.assertEqual(done.returncode, 2)
            self.assertIn("belongs to user 0, and you are user 65534", done.stderr.decode())
            from_child, to_parent = os.pipe()
            child = os.fork()
            if child == 0:
                os.setuid(65534)
                os.write(to_parent, vm.raw().recv(1000))
                os._exit(0)
            os.waitpid(child, 0)
            self.assertIn(b"this VM belongs to user 0, and you are user 65534", os.read(from_child, 1000))
            os.close(from_child)
            os.close(to_parent)
            self.assertEqual(vm.value("1"), "1")
        # And a socket that another user has put there.
        os.chown(self.folder, 65534, 65534)
        self.refused(self.folder / "s", "belongs to another user")

    def test_at_which_no_vm_answers_that_we_understand(self):
        path = self.folder / "s"
        for answer, text in ((frame(b"X", b"\2this VM speaks version 9"), f"{path}: this VM speaks version 9\n"),
                             (frame(b"H", b"\1"), f"{path}: what answers there is no VM of this kind\n")):
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(path))
                path.chmod(0o600)
                listener.listen()
                listener.settimeout(ANSWER_S)
                client = subprocess.Popen([minivm, "attach", str(path), "-c", "1."], stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE)
                with listener.accept()[0] as vm:
                    vm.sendall(answer)
                    out, err = client.communicate(timeout=ANSWER_S)
            path.unlink()
            self.assertEqual((client.returncode, out), (2, b""))
            self.assertTrue(err.decode().endswith(text), err)

    def test_command_lines_that_lack_something(self):
        for command in (["attach"], ["load"], ["load", "s"]):
            status, out, err = run(*command)
            self.assertEqual((status, out), (2, ""))
            self.assertIn(f"minivm: {command[0]}: ", err)


class Attach(unittest.TestCase):
    def test_modules(self):
        with Vm() as vm:
            status, out, err = vm.attach(":modules")
            self.assertEqual((status, err), (0, ""))
            rows = {line.split()[0]: line for line in out.split("\n") if line}
            self.assertRegex(rows["module"], r"module +version +engine +bytes +loaded +in old code")
            self.assertRegex(rows["kv"], r'^kv +"1" \([0-9a-f]{8}\) +(jit|interp) +\d+ +\d{4}-\d\d-\d\d '
                                         r'\d\d:\d\d:\d\d +-$')
            self.assertIn("minivm_boot", rows)

    def test_modules_shows_who_is_in_old_code(self):
        with Vm() as vm:
            pid = vm.value("whereis(kv)")
            self.assertEqual(vm.load(folder / "v2" / "kv.beam")[0], 0)
            self.assertRegex(vm.attach(":modules kv")[1], rf'kv +"2".* 1: {pid}\n')
            vm.value("kv ! upgrade")
            self.assertRegex(vm.attach(":modules kv")[1], r'kv +"2".* nobody\n')

    def test_expressions_from_a_pipe(self):
        with Vm() as vm:
            text = b"A = 1. B =\n A + 1.\nlists:map(fun(X) -> X * B end,\n [1,2]).\nv(-1).\nf(A).\nA = 7.\n% x\n"
            self.assertEqual(vm.attach(stdin=text), (0, "1\n2\n[2,4]\n[2,4]\nok\n7\n", ""))

    def test_an_error_sets_the_status_and_the_next_lines_run(self):
        with Vm() as vm:
            status, out, err = vm.attach(stdin=b"X = 1.\n1 / 0.\nX.\n")
            self.assertEqual((status, out), (1, "1\n1\n"))
            self.assertIn("** exception error: an error occurred when evaluating an arithmetic", err)
            self.assertEqual(vm.attach("foo:bar(1)", "2"),
                             (1, "", "** exception error: undefined function foo:bar/1\n"))
            self.assertEqual(vm.attach(stdin=b"foo(.\n")[::2], (1, "* 1:5: syntax error before: '.'\n"))
            self.assertEqual(vm.attach("[1,")[0], 1)
            self.assertEqual(vm.attach(":nonsense")[::2],
                             (1, ":nonsense: no such command; :help lists them\n"))

    def test_output_and_input_are_the_clients(self):
        with Vm() as vm:
            self.assertEqual(vm.attach('io:format("~ts~n", [[1046]])')[1], "\u0416\nok\n")
            self.assertEqual(vm.attach(stdin=b'io:get_line("").\nhello\n')[1], '"hello\\n"\n')
            self.assertEqual(vm.attach('io:get_line("")')[1], "eof\n")

    def test_two_expressions_do_not_share_variables_between_clients(self):
        with Vm() as vm:
            self.assertEqual(vm.value("X = 1"), "1")
            self.assertEqual(vm.value("X = 2"), "2")

    def test_halt_ends_the_vm(self):
        with Vm() as vm:
            status, _, err = vm.attach("halt(7)")
            self.assertEqual(status, 2)
            self.assertIn("the VM has closed the connection", err)
            self.assertEqual(vm.process.wait(ANSWER_S), 7)

    def test_quit_leaves_the_vm_alone(self):
        with Vm() as vm:
            for text in (b":quit\n", b"q().\n"):
                self.assertEqual(vm.attach(stdin=text + b"1.\n"), (0, "", ""))
            self.assertEqual(vm.value("1"), "1")

    def test_interrupt_gives_up_the_command(self):
        with Vm() as vm:
            client = subprocess.Popen([minivm, "attach", str(vm.socket)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            client.stdin.write(b"X = 5.\nio:format(\"spins~n\"), (fun F() -> F() end)().\n")
            client.stdin.flush()
            while client.stdout.readline() != b"spins\n":
                pass
            client.send_signal(signal.SIGINT)
            out, err = client.communicate(b"X.\n", timeout=ANSWER_S)
            self.assertEqual((client.returncode, out, err), (1, b"5\n", b"** interrupted\n"))

    def test_processes(self):
        with Vm() as vm:
            self.assertRegex(vm.attach(":ps")[1], r"<0\.\d+\.0> +kv +waiting +kv:loop/1 ")
            status, out, _ = vm.attach(":info kv")
            self.assertEqual(status, 0)
            self.assertIn("current_function   {kv,loop,1}", out)
            pid = vm.value("whereis(kv)")
            self.assertEqual(vm.attach(f":info {pid}")[0], 0)
            self.assertEqual(vm.attach(":info <0.999999.0>")[0], 1)
            self.assertIn("neither a process", vm.attach(":info nobody_at_all")[2])
            self.assertRegex(vm.attach("spawn(fun F() -> F() end)", ":top")[1], r"<0\.\d+\.0> +\d\d+\.\d ")

    def test_engine(self):
        with Vm() as vm:
            self.assertRegex(vm.attach(":engine kv interp")[1], r'^kv: version "1" .*, interp, \d+ bytes')
            self.assertIn("is not loaded", vm.attach(":engine no_such_module interp")[2])
            self.assertIn("an engine is jit or interp", vm.attach(":engine kv fast")[2])


class Load(unittest.TestCase):
    def test_replaces_a_module(self):
        with Vm() as vm:
            status, out, err = vm.load(folder / "v2" / "kv.beam")
            self.assertEqual((status, err), (0, ""))
            self.assertRegex(out, r'^kv: version "2" .*; the code before is still run by <0\.\d+\.0>\n$')
            self.assertEqual(vm.value("kv:version()"), "2")
            self.assertEqual(vm.value("code:which(kv)"), f'"{folder}/v2/kv.beam"')

    def test_does_not_end_who_runs_old_code_unless_told(self):
        with Vm() as vm:
            vm.load(folder / "v2" / "kv.beam")
            status, _, err = vm.load(folder / "v3" / "kv.beam")
            self.assertEqual(status, 1)
            self.assertRegex(err, r"^\*\* kv: code before the present one is still run by <0\.\d+\.0>; "
                                  r"--purge ends them\nnothing has been loaded\n$")
            self.assertEqual(vm.value("kv:version()"), "2")
            self.assertEqual(vm.load("--purge", folder / "v3" / "kv.beam")[0], 0)
            self.assertEqual(vm.value("{kv:version(), whereis(kv)}"), "{3,undefined}")

    def test_that_ends_the_program_leaves_a_record_of_it(self):
        with tempfile.TemporaryDirectory() as place:
            recording = pathlib.Path(place) / "box.rec"
            with Vm("kv", options=["--record", recording]) as vm:
                vm.load(folder / "v2" / "kv.beam")
                vm.load("--purge", folder / "v3" / "kv.beam")
                self.assertEqual(vm.process.wait(ANSWER_S), 1)
                self.assertIn(b"init terminating in do_boot (killed)", vm.process.stderr.read())
            status, crash, _ = run("dump", "--crash", recording)
            self.assertEqual(status, 0)
            self.assertRegex(crash, r"the program's process <0\.\d+\.0> is ended by an exit signal "
                                    r"from erts_code_purger<0\.\d+\.0>: killed\n")
            self.assertRegex(crash, r"the end: status 1, crash, ")
            self.assertNotIn("in good order", crash)

    def test_of_a_bad_file_loads_nothing(self):
        damaged = folder / "damaged.beam"
        damaged.write_bytes((folder / "v2" / "kv.beam").read_bytes()[:-40])
        with Vm() as vm:
            for order in ([folder / "v2" / "kv.beam", damaged], [damaged, folder / "v2" / "kv.beam"]):
                status, out, err = vm.load(*order)
                self.assertEqual((status, out), (1, ""))
                self.assertIn(f"** {damaged}: ", err)
                self.assertIn("nothing has been loaded\n", err)
            status, _, err = vm.load(folder / "v2" / "kv.beam", folder / "v3" / "kv.beam")
            self.assertEqual(status, 1)
            self.assertIn("kv: more than one of the files holds it", err)
            status, _, err = vm.load(folder / "v2" / "kv.beam", folder / "missing.beam")
            self.assertEqual(status, 1)
            self.assertIn("missing.beam: No such file or directory", err)
            self.assertEqual(vm.value("kv:version()"), "1")

    def test_of_modules_that_may_not_be_replaced(self):
        lists = subprocess.run(["erl", "-noshell", "-eval", "io:put_chars(code:which(lists)), halt()."],
                               stdout=subprocess.PIPE, check=True).stdout.decode()
        with Vm() as vm:
            vm.value("lists:reverse([])")
            status, _, err = vm.load(folder / "v2" / "kv.beam", lists)
            self.assertEqual(status, 1)
            self.assertIn("** lists: belongs to kernel, stdlib", err)
            self.assertEqual(vm.value("kv:version()"), "1")

    def test_of_several_files_is_one_commit(self):
        with Vm("pair") as vm:
            for n in range(2, PAIRS):
                files = [folder / f"p{n}" / f"pair_{name}.beam" for name in ("a", "b")]
                status, _, err = vm.load(*files)
                if status == 1 and "is still run by" in err:
                    status, _, err = vm.load(*files)  # a worker was between the two calls
                self.assertEqual((status, err), (0, ""))
            vm.value("program ! {self(), result}, receive N when N > 0 -> ok end")
            self.assertIsNone(vm.process.poll())

    def test_upgrades_the_sample_while_it_serves(self):
        source = pathlib.Path(__file__).resolve().parents[2] / "samples"
        place = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, place)
        for version in (1, 2, 3):
            (place / f"v{version}").mkdir()
            subprocess.run(["erlc", f"-DVERSION={version}", "-o", str(place / f"v{version}"),
                            str(source / "upgrade_kv.erl")], check=True)
        subprocess.run(["erlc", "-o", str(place), str(source / "upgrade.erl")], check=True)
        with subprocess.Popen([minivm, "run", "--listen", str(place / "vm" / "s"), "-pa", str(place / "v1"),
                               str(place / "upgrade.beam"), "watch"], stdout=subprocess.PIPE) as vm:
            try:
                self.assertEqual(vm.stdout.readline(), b"version 1 serves 8 clients\n")
                for version in (2, 3, 1, 2, 3, 1):
                    status, _, err = run("load", place / "vm" / "s", place / f"v{version}" / "upgrade_kv.beam")
                    self.assertEqual((status, err), (0, ""))
                    self.assertRegex(vm.stdout.readline().decode(),
                                     rf"^version {version}: \d+ requests so far, 0 lost, 0 wrong, "
                                     r"worst latency [0-9.]+ ms\n$")
            finally:
                vm.kill()

    def test_at_the_prompt_is_relative_to_the_client(self):
        with Vm() as vm:
            done = subprocess.run([minivm, "attach", str(vm.socket), "-c", ":load v2/kv.beam"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(vm.value("kv:version()"), "2")
            self.assertIn("v9/kv.beam: no such file", vm.attach(":load v9/kv.beam")[2])
            self.assertIn("it is used so: :engine", vm.attach(":engine kv")[2])


class Clients(unittest.TestCase):
    def test_twenty_at_once(self):
        with Vm() as vm:
            answers = []
            clients = [threading.Thread(
                target=lambda n=n: answers.append(vm.attach(f"lists:sum(lists:seq(1, {n} * 1000))")))
                for n in range(1, 21)]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
            self.assertEqual(sorted(int(out) for status, out, _ in answers if status == 0),
                             [sum(range(1, n * 1000 + 1)) for n in range(1, 21)])

    def test_that_dies_takes_its_command_along(self):
        with Vm() as vm:
            client = subprocess.Popen([minivm, "attach", str(vm.socket), "-c",
                                       "register(spinner, self()), process_flag(trap_exit, true), "
                                       "io:format(\"spins~n\"), (fun F() -> F() end)()"],
                                      stdout=subprocess.PIPE)
            self.assertEqual(client.stdout.readline(), b"spins\n")
            client.kill()
            client.wait()
            client.stdout.close()
            self.assertEqual(vm.value("(fun W() -> case whereis(spinner) of undefined -> ok; "
                                      "_ -> timer:sleep(10), W() end end)()"), "ok")

    def test_that_dies_is_no_failure_of_what_it_had_running(self):
        with Vm() as vm:
            for command, first in (
                    ("[io:format(\"~p~n\", [lists:seq(1, 1000)]) || _ <- lists:seq(1, 1000)].", b"[1,2"),
                    ("lists:seq(1, 200000).", b"[1,2"), (":disasm lists", b"module"), (":disasm lists native", b"module"),
                    ("spawn(fun() -> io:format(\"begins~n\"), "
                     "[io:format(\"~p~n\", [lists:seq(1, 1000)]) || _ <- lists:seq(1, 1000)], "
                     "eof = io:get_line(\"\"), register(went_on, self()), receive stop -> ok end end), "
                     "receive stop -> ok end.", b"begins")):
                with subprocess.Popen([minivm, "attach", str(vm.socket), "-c", command],
                                      stdout=subprocess.PIPE) as client:
                    self.assertIn(first, client.stdout.read(200))
                    client.kill()
            self.assertEqual(vm.value("(fun W() -> case whereis(went_on) of undefined -> timer:sleep(10), W(); "
                                      "_ -> ok end end)()"), "ok")
            vm.process.send_signal(signal.SIGTERM)
            self.assertEqual(vm.process.stderr.read(), b"")

    def test_that_stops_reading_holds_up_nobody(self):
        with Vm(options=["-S", "1"]) as vm:
            stuck = vm.raw()
            stuck.sendall(HELLO)
            until_done(stuck)
            stuck.sendall(frame(b"C", b"\1register(flood, self()), "
                                      b"(fun F() -> io:put_chars(lists:duplicate(1000, $x)), F() end)()"))
            # It has filled what the kernel and the port hold, and waits; everybody else goes on.
            state = "case whereis(flood) of undefined -> none; P -> process_info(P, reductions) end"
            end = time.time() + ANSWER_S
            while vm.value(f"A = {state}, timer:sleep(500), A =/= none andalso A =:= {state}") != "true":
                self.assertLess(time.time(), end)
            before = int(vm.value("erlang:memory(total)"))
            started = time.time()
            self.assertEqual(vm.value("1"), "1")
            self.assertLess(time.time() - started, 10)
            self.assertLess(int(vm.value("erlang:memory(total)")) - before, 20_000_000)
            # It reads again, and what it is sent goes on where it stopped.
            got = read_frame(stuck)
            self.assertEqual(got[:1], b"O")
            stuck.close()
            self.assertEqual(vm.value("(fun W() -> case whereis(flood) of undefined -> ok; "
                                      "_ -> timer:sleep(10), W() end end)()"), "ok")

    def test_that_does_not_speak_the_protocol(self):
        with Vm() as vm:
            for bytes_, answer in (
                    (frame(b"Z"), b"X\2the first frame must be a hello"),
                    (frame(b"H", struct.pack(">IIB", 9, 80, 0)),
                     b"X\2this VM speaks version 1 of the protocol, and you version 9"),
                    (HELLO + frame(b"Z"), b"X\2a frame that this VM does not know"),
                    (HELLO + frame(b"M", b"\0\0\0\0\7xx"), b"X\2a load that is cut off")):
                client = vm.raw()
                client.sendall(bytes_)
                frames = until_done(client)
                if frames[-1][:1] == b"D":
                    frames = until_done(client)
                self.assertEqual(frames[-1], answer)
                client.close()
            # A length that no frame has: the connection ends, and no memory is kept for it.
            client = vm.raw()
            client.sendall(b"\xff\xff\xff\xff")
            with contextlib.suppress(ConnectionError):  # it may be gone by now, with this byte unread
                client.sendall(b"x")
                self.assertIsNone(until_done(client)[-1])
            client.close()
            self.assertEqual(vm.value("1"), "1")

    def test_that_asks_before_it_has_the_answer(self):
        with Vm() as vm:
            client = vm.raw()
            client.sendall(HELLO + frame(b"C", b"\1timer:sleep(infinity)") + frame(b"C", b"\1" + b"1"))
            until_done(client)
            self.assertEqual(until_done(client)[-1], b"X\2a command before the one before it was done")
            client.close()


def prepare():
    for version in (1, 2, 3):
        compile_erlang("kv", KV, folder / f"v{version}", version)
    for name, source in (("pair_a", PAIR_A), ("pair_b", PAIR_B)):
        compile_erlang(name, source, folder / "v1", 1)
    compile_erlang("program", PROGRAM, folder)
    compile_pairs()


if __name__ == "__main__":
    sys.exit(tool_tests.main(sys.modules[__name__], prepare=prepare))
