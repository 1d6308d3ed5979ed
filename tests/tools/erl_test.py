#!/usr/bin/env python3
"""`minivm erl` beside `erl`: OTP's own boot, unchanged, with the same arguments. What both write and the status that
they end with are the same.

    tests/tools/erl_test.py MINIVM [TEST...]
"""

import base64
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

minivm, folder = None, None  # tool_tests.main() sets them
WAIT_S = 60
CHANGING = (
    (re.compile(r"\d\d?-[A-Z][a-z]{2}-\d{4}::\d\d:\d\d:\d\d\.\d+"), "TIME"),
    (re.compile(r"<0\.\d+\.0>"), "PID"),
    (re.compile(r"#Ref<[\d.]+>"), "REF"),
    (re.compile(r"\n\n+"), "\n"),
    (re.compile(r"(?s)\A(.*?)\s*\Z"), r"\1\n"),
    # Which emulator it is.
    (re.compile(r"^Erlang/OTP \d+ \[.*$", re.MULTILINE), "BANNER"),
)


def ours():
    return [minivm, "erl"]


def run(program, arguments, text="", env=None, cwd=None):
    done = subprocess.run([*program, *arguments], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=cwd or folder, env=dict(os.environ, **(env or {})), timeout=WAIT_S, check=False)
    output = done.stdout.replace("\r\n", "\n")
    for pattern, word in CHANGING:
        output = pattern.sub(word, output)
    return done.returncode, output


def release():
    """Of the erl beside which we run."""
    return int(run(["erl"], ["-noshell", "-eval", "io:put_chars(erlang:system_info(otp_release)), halt()."])[1])


class Erl(unittest.TestCase):
    maxDiff = None

    def same(self, *arguments, text="", env=None):
        expected = run(["erl"], arguments, text, env)
        self.assertEqual(run(ours(), arguments, text, env), expected, arguments)
        return expected

    def evals(self, expression, *arguments, text="", env=None):
        return self.same("-noshell", *arguments, "-eval", expression, text=text, env=env)

    def test_it_starts_and_stops(self):
        self.assertEqual(self.evals('io:format("hello~n"), halt(3).'), (3, "hello\n"))
        self.assertEqual(self.evals("init:stop(4)."), (4, "\n"))
        self.same("-noshell", "-s", "erlang", "halt")
        self.same("-noinput", "-s", "init", "stop")
        self.same("-noshell", "-run", "erlang", "display", "a", "-s", "init", "stop")

    def test_its_processes_are_otps(self):
        infos = "[[process_info(P, I) || I <- [registered_name, initial_call, priority]] || P <- %s]"
        # Of those that come after one another; who starts beside others may get another pid.
        self.evals('io:format("~p~n", [' + infos % "lists:sublist(processes(), 6)" + ']), halt().')
        _, text = self.evals('io:format("~p~n", [lists:sort(' + infos % "processes()" + ')]), halt().')
        self.assertIn("application_controller", text)

    def test_heart_asks_whether_the_schedulers_come_by(self):
        self.evals('io:format("~p~n", [{erts_internal:system_check(schedulers), element(1, element(2, '
                   'catch erts_internal:system_check(processes)))}]), halt().')

    def test_what_is_loaded_and_where_from(self):
        # Without sockets nobody asks for the name of the machine.
        self.evals('io:format("~p~n", [lists:sort([{M, code:is_loaded(M)} || {M, _} <- code:all_loaded(), '
                   'M =/= inet_gethost_native])]), halt().')
        self.evals('io:format("~p~n", [{lists:sort(erlang:pre_loaded()), code:get_mode(), code:get_path()}]), halt().')
        self.evals('io:format("~p~n", [catch no_such_module:f(1)]), halt().')
        self.evals('{ok, B} = file:read_file(code:which(lists)), io:format("~p~n", [{code:module_md5(B), '
                   'code:module_md5(<<1>>)}]), halt().')

    def test_arguments_reach_init(self):
        self.evals('io:format("~p~n", [{init:get_plain_arguments(), init:get_argument(x), init:get_argument(home)}]), '
                   'halt().', "-x", "1", "2", "-x", "3", "plain")
        self.evals('io:format("~p~n", [init:get_plain_arguments()]), halt().', env={"ERL_AFLAGS": "-a b", "ERL_FLAGS": "c",
                                                                               "ERL_ZFLAGS": "d -extra e"})
        (pathlib.Path(folder) / "vm.args").write_text("-x 7 # a comment\n+S 1\n", encoding="utf-8")
        self.evals('io:format("~p~n", [{init:get_argument(x), erlang:system_info(schedulers)}]), halt().',
                   "-args_file", "vm.args")
        self.evals('io:format("~p~n", [os:getenv("A_NAME")]), halt().', "-env", "A_NAME", "a value")
        (pathlib.Path(folder) / "my.config").write_text("[{my, [{key, value}]}].\n", encoding="utf-8")
        self.evals('application:load({application, my, []}), io:format("~p~n", [application:get_env(my, key)]), halt().',
                   "-config", "my")

    def test_what_the_end_leaves_is_as_erl_leaves_it(self):
        # Bytes of standard error: line feeds of a slogan had no carriage returns. The dump, with messages and stacks in it, was
        # readable by everybody.
        def ended(program):
            where = pathlib.Path(folder) / "end_dump"
            where.unlink(missing_ok=True)
            done = subprocess.run(["sh", "-c", 'umask 0; exec "$@"', "sh", *program, "-noshell", "-eval", 'halt("slo\ngan").'],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT_S,
                                  env=dict(os.environ, ERL_CRASH_DUMP=str(where)), cwd=folder, check=False)
            return done.returncode, done.stdout, done.stderr, oct(where.stat().st_mode)
        self.assertEqual(ended(ours()), ended(["erl"]))

    def test_a_crash_report_names_the_node(self):
        # It was that of a VM without a name. Two nodes: each has its own, so they may run beside each other.
        report = r"Error in process PID on node \w+@\S+ with exit value:\n"
        for program, name in ((["erl"], "named_a"), (ours(), "named_b")):
            _, text = run(program, ["-noshell", "-sname", name, "-eval", "spawn(fun() -> exit(error(boo)) end), timer:sleep(300), halt()."])
            self.assertRegex(text, report)

    def test_what_nobody_can_log_is_said(self):
        # An error of the boot before there is a logger was lost. erl says it as well, now and then.
        (pathlib.Path(folder) / "no.boot").write_text("no boot file", encoding="utf-8")
        status, text = run(ours(), ["-noshell", "-boot", "./no"], env={"ERL_CRASH_DUMP": "/dev/null"})
        self.assertEqual(status, 1)
        self.assertIn("(no logger present) unexpected logger message: {log,error,\"Error in process", text)

    def test_what_processes_display_is_not_mixed_within_a_line(self):
        call = ("S = self(), [spawn(fun() -> [erlang:display({N, lists:seq(1, 30)}) || _ <- lists:seq(1, 50)], S ! done end) "
                "|| N <- lists:seq(1, 20)], [receive done -> ok end || _ <- lists:seq(1, 20)], halt().")
        _, text = run(ours(), ["-noshell", "-eval", call])
        self.assertEqual({text.splitlines().count(line) for line in text.splitlines()}, {50}, text[:2000])

    def test_flags_of_the_emulator(self):
        self.evals('io:format("~p~n", [[erlang:system_info(I) || I <- [schedulers, schedulers_online, atom_limit, '
                   'min_heap_size, max_heap_size]] ++ [io:printable_range(), error_logger:warning_map()]]), halt().',
                   "+S", "3:2", "+t", "200000", "+hms", "1000", "+hmax", "100000", "+hmaxk", "false", "+pc", "unicode",
                   "+W", "i")
        self.evals('io:format("~ts~n", [[1234]]), halt().', "+pc", "unicode")
        self.evals("halt().", "+A", "64", "+K", "true", "+sbwt", "none", "+swt", "low", "+MBas", "aobf", "+Mea", "min",
                   "+MMscs", "10", "+zdbbl", "10000", "+stbt", "db", "+fnu", "+P", "legacy", "+Bd", "+c", "true", "+ec")

    def test_flags_show_in_system_info_and_limits_hold(self):
        show = ('io:format("~p~n", [[{I, erlang:system_info(I)} || I <- [process_limit, port_limit, ets_limit, schedulers,'
                " schedulers_online, dirty_cpu_schedulers, dirty_cpu_schedulers_online, dirty_io_schedulers, compat_rel,"
                " thread_pool_size, message_queue_data, time_warp_mode, time_offset, time_correction, tolerant_timeofday,"
                " port_parallelism, modified_timing_level, break_ignored, min_bin_vheap_size, dist,"
                " outstanding_system_requests_limit]]]),")
        self.evals(show + "halt().")
        # As many as there are places for and no more; the queue of a new process is where the flag says.
        fill = ("logger:set_primary_config(level, none),"  # its own report of too many comes when it comes
                "L = fun L(N) -> case catch spawn(timer, sleep, [infinity]) of P when is_pid(P) -> L(N + 1); E -> {N, E} end"
                " end, {N, {'EXIT', {Why, _}}} = L(length(processes())),"
                'io:format("~p~n", [{N, Why, process_info(whereis(init), message_queue_data)}]),')
        self.evals(show + fill + "halt().", *"+P 2000 +Q 3000 +e 9000 +hmqd off_heap +C multi_time_warp +A 10 +spp true +T 5"
                   " +SDio 7 +SDcpu 2:1 +Bi +hmbs 1000 +zosrl 7".split(), "+R", str(release() - 2))
        self.evals(show + 'O = fun O(N) -> case catch open_port({spawn_driver, "udp_inet"}, []) of P when is_port(P) -> O(N + 1);'
                   " {'EXIT', {E, _}} -> {N, E} end end, Had = length(erlang:ports()), {N, Why} = O(Had),"
                   'io:format("~p~n", [{N, Why}]), halt().',
                   *"+Q 1024 +SP 50:50 +SDPcpu 50:50 +c".split())
        self.evals(show + "halt().", *"+S 4:2 +C single_time_warp".split())

    def test_flags_of_newer_releases_are_known(self):
        # erlexec of OTP 25 does not know that something follows +hmaxib.
        flags = "+JMsingle true +JPcover line_counters +hmaxibtrue"
        self.assertEqual(run(ours(), [*flags.split(), "-noshell", "-eval", "halt()."]), (0, "\n"))

    def test_flags_for_perf_add_up(self):
        directory = pathlib.Path(folder) / "perf"
        directory.mkdir()
        done = run(ours(), ["+JPperf", "map", "+JPperfdirectory", str(directory), "+JPperf", "no_fp", "-noshell", "-eval", "halt()."])
        self.assertEqual(done, (0, "\n"))
        self.assertEqual([file.name[:5] for file in directory.iterdir()], ["perf-"])

    def test_flags_that_are_none_are_refused_as_the_emulator_does(self):
        for flag in ("+P 5", "+Q abc", "+t 1", "+A 2000", "+C x", "+sbwt foo", "+hms x", "+xyz", "+s zz", "+W q",
                     "+pc foo", "+sbt x", "+JPperf zz", "+hmqd z", "+swt zz", "+fnx", "+S 0:3", "+S 3:9", "+n q", "+R 2",
                     "+T 44", "+a x", "+rg x", "+SDio 3000", "+zosrl x", "+zz", "+Mfoo", "+Q", "+R %d" % (release() - 3),
                     "+R %d" % (release() + 1), "+hms 0", "+hmbs 0", "+h 0", "+SP 100:9223372036854775807"):
            with self.subTest(flag=flag):
                (status, line), (own_status, own_line) = (
                    (status, re.sub(r"^\S*/beam\.smp", "beam.smp", text.splitlines()[0]))  # the usage behind it is ours
                    for status, text in (run(erl, [*flag.split(), "-noshell", "-eval", "halt()."])
                                         for erl in (["erl"], ours())))
                self.assertEqual((own_status, own_line), (status, line))
                self.assertEqual(status, 1)
        self.same("-version")

    def test_failing_ends(self):
        self.evals("exit(boom).")
        self.evals("foo:bar().")
        self.same("-noshell", "-s", "foo", "bar")
        self.same("-boot", "no_such_file")
        self.same("-noshell", "-config", "no_such_file")
        self.evals("exit(whereis(init), kill), receive after infinity -> ok end.")
        self.evals('halt("a slogan").')
        self.evals("spawn(fun() -> error(x) end), timer:sleep(300), init:stop(4).")

    def test_the_menu_behind_sigint(self):
        def run_with(program, flags, typed, shows):
            child = subprocess.Popen([*program, *flags, "-noshell", "-eval", 'io:format("up~n").'], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder)
            try:
                self.assertEqual(child.stdout.readline(), b"up\n")
                child.send_signal(signal.SIGINT)
                out = b""
                while shows and b"(d)istribution\r\n" not in out:
                    out += child.stdout.readline()
                if flags == ["+Bi"]:
                    child.send_signal(signal.SIGTERM)
                out += child.communicate(typed, timeout=WAIT_S)[0]
                return child.returncode, re.sub(rb"::[\d:.]+", b"", out)
            finally:
                child.kill()
        for flags, typed, shows in (([], b"a\n", True), ([], b"q", True), ([], b"", True), (["+Bc"], b"\na", True),
                                    (["+Bd"], b"", False), (["+Bi"], b"", False)):
            with self.subTest(flags=flags, typed=typed):
                self.assertEqual(run_with(ours(), flags, typed, shows), run_with(["erl"], flags, typed, shows))

    def test_nothing_runs_while_the_menu_waits_and_nobody_waits_for_what_it_has_read(self):
        child = subprocess.Popen([*ours(), "-noshell", "-eval", "F = fun F(N) -> io:format(\"~p~n\", [N]), timer:sleep(10),"
                                  " F(N + 1) end, F(0)."], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        watchdog = threading.Timer(WAIT_S, child.kill)
        watchdog.start()
        try:
            for _ in range(10):
                lines = [child.stdout.readline() for _ in range(3)]
                child.send_signal(signal.SIGINT)
                while "BREAK" not in lines[-1]:
                    lines.append(child.stdout.readline())
                    self.assertNotEqual(lines[-1], "", "it did not go on")
                time.sleep(0.15)
                child.stdin.write("c\n")
                child.stdin.flush()
                self.assertIn("(v)ersion", child.stdout.readline())
                last = int([x for x in lines if x.strip().isdigit()][-1])
                self.assertLessEqual(int(child.stdout.readline()), last + 3)  # fifteen would have come
        finally:
            watchdog.cancel()
            child.kill()
            child.wait()

    def test_standard_streams(self):
        self.evals('io:format("~p~n", [{io:get_line(""), io:get_line(""), io:get_line("")}]), halt().', text="one\ntwo")
        self.evals('io:put_chars(lists:duplicate(200000, $x)), halt().')
        self.evals('io:format(standard_error, "to stderr~n", []), halt().')
        self.same("-noinput", "-eval", 'io:format("~p~n", [init:get_argument(noinput)]), halt().', text="unread\n")

    def test_the_shell_without_a_terminal(self):
        self.same(text='1 + 2.\nX = [1, 2, 3].\nlists:reverse(X).\nfoo(.\n1 / 0.\nc:pwd().\n')

    def test_restart(self):
        status, text = self.evals(
            'case os:getenv("AGAIN") of false -> os:putenv("AGAIN", "1"), io:format("first~n"), persistent_term:put(k, 1), '
            'init:restart(); _ -> io:format("second ~p~n", [persistent_term:get(k, none)]), init:stop(5) end.')
        self.assertEqual((status, text), (5, "first\nsecond none\n"))

    def test_sigterm_stops_it_in_order(self):
        with subprocess.Popen([*ours(), "-noshell", "-eval", 'io:format("up~n"), receive after infinity -> ok end.'],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder) as vm:
            self.assertEqual(vm.stdout.readline(), "up\n")
            vm.send_signal(signal.SIGTERM)
            self.assertIn("SIGTERM received - shutting down", vm.stdout.read())
            self.assertEqual(vm.wait(WAIT_S), 0)

    def test_a_crash_dump_says_what_was_left(self):
        dump = pathlib.Path(folder) / "left.dump"
        env = {"ERL_CRASH_DUMP": str(dump)}
        status, output = self.evals(
            "register(left, self()), put(kept, [1, 2]), left ! {told, <<\"a binary\">>}, ets:new(kept_table, [named_table]), "
            "erlang:halt(\"why it ended\").", env=env)
        self.assertEqual((status, output), (1, "why it ended\nCrash dump is being written to: %s...done\n" % dump))
        text = dump.read_text(encoding="utf-8")
        for part in ("=erl_crash_dump:0.5\n", "Slogan: why it ended\n", "Name: left\n", "Message queue length: 1\n",
                     "Table: kept_table\n", "=mod:lists\n", "Return addr", "(erlang:halt/1"):
            self.assertIn(part, text)
        self.assertTrue(text.endswith("=end\n"))
        # Terms as binary_to_term/1 reads them.
        written = [base64.b64decode(m[1]) for m in re.finditer(r"^[0-9A-F]+:E[0-9A-F]+:(\S+)$", text, re.M)]
        self.assertTrue(any(b"a binary" in w and b"told" in w for w in written))
        dump.unlink()
        # As asked for: nowhere, not at all, no more than so much.
        # erl leaves it at "written to: /nowhere/at/all...".
        self.assertEqual(run(ours(), ["-noshell", "-eval", 'erlang:halt("x").'], env={"ERL_CRASH_DUMP": "/nowhere/at/all"}),
                         (1, "x\nCrash dump is being written to: /nowhere/at/all...No such file or directory\n"))
        self.evals('erlang:halt("x").', env={"ERL_CRASH_DUMP_SECONDS": "0"})
        self.evals('erlang:halt("x").', env=dict(env, ERL_CRASH_DUMP_BYTES="2000"))
        self.assertLess(dump.stat().st_size, 2100)
        self.assertTrue(dump.read_text(encoding="utf-8").endswith("\n=abort:CRASH DUMP SIZE LIMIT REACHED\n"))
        # What is sensitive is not in it.
        self.evals('process_flag(sensitive, true), put(k, list_to_binary(["a", "_secret"])), erlang:halt("x").', env=env)
        self.assertFalse(any(b"a_secret" in base64.b64decode(m[1])
                             for m in re.finditer(r"^[0-9A-F]+:E[0-9A-F]+:(\S+)$", dump.read_text(encoding="utf-8"), re.M)))

    def test_lines_of_a_crash_dump_are_whole(self):
        dump = pathlib.Path(folder) / "long.dump"
        self.evals("register(list_to_atom(lists:duplicate(255, 16#20AC)), self()), erlang:halt(\"x\").",
                   env={"ERL_CRASH_DUMP": str(dump), "ERL_CRASH_DUMP_SECONDS": "9223372036854775807"})
        text = dump.read_text(encoding="utf-8")
        self.assertRegex(text, r"\nName: .{255,}\nSpawned as: ")
        self.assertTrue(text.endswith("=end\n"))

    def test_an_environment_that_is_no_utf8_is_bytes(self):
        values = {"A": b"\xc3\xa9\xff", "B": b"x\xe2\x82\xacy\xe2\x82", "C": b"\xed\xa0\x80", "D": "\u00e9\u20ac".encode()}
        self.evals('Is = fun(N) -> N < "E" end, io:format("~w~n~w~n~w~n", [[os:getenv(N) || N <- ["A", "B", "C", "D"]], '
                   'lists:sort([V || {[N], _} = V <- os:env(), Is([N])]), '
                   'lists:sort([V || [N, $= | _] = V <- os:getenv(), Is([N])])]), halt().',
                   env=dict({name: os.fsdecode(value) for name, value in values.items()}, LC_ALL="C.UTF-8"))

    def test_sigusr1_ends_with_a_crash_dump(self):
        dump = pathlib.Path(folder) / "usr1.dump"
        self.evals('os:cmd("kill -USR1 " ++ os:getpid()), timer:sleep(20000).', env={"ERL_CRASH_DUMP": str(dump)})
        self.assertIn("Slogan: Received SIGUSR1", dump.read_text(encoding="utf-8"))

    def test_code_is_changed_and_purged_by_otps_own(self):
        self.evals('Make = fun(N) -> {ok, v, B} = compile:forms([{attribute, 1, module, v}, {attribute, 1, export, [{f, 0}]},'
                   '{function, 1, f, 0, [{clause, 1, [], [], [{integer, 1, N}]}]}]), {module, v} = code:load_binary(v, "v", B), '
                   'v:f() end, io:format("~p~n", [[Make(1), Make(2), catch Make(3), code:purge(v), code:soft_purge(v), Make(4), '
                   'code:purge(v), code:delete(v), code:purge(v), element(1, catch v:f())]]), halt().')

    def test_preloaded_modules_tell_as_little_as_otps(self):
        self.evals('io:format("~p~n", [lists:sort([{M, M:module_info(compile), M:module_info(attributes), code:which(M)}'
                   ' || M <- erlang:pre_loaded()])]), halt().')

    def test_a_fun_that_its_module_has_no_more_is_a_badfun(self):
        # OTP's own error handler would load the module, which is there, and call the fun again, for ever.
        self.evals('Make = fun(N) -> {ok, v, B} = compile:forms([{attribute, 1, module, v}, {attribute, 1, export, [{f, 0}]},'
                   '{function, 1, f, 0, [{clause, 1, [], [], [{\'fun\', 1, {clauses, [{clause, 1, [], [], [{integer, 1, N}]}]}}]}]}]),'
                   ' {module, v} = code:load_binary(v, "v", B) end, Make(1), F = v:f(), code:delete(v), Make(2), code:purge(v),'
                   ' io:format("~p ~p~n", [element(1, element(2, catch F())), element(1, element(2, catch apply(F, [])))]),'
                   ' code:delete(v), code:purge(v), io:format("~p~n", [element(1, element(2, catch F()))]), halt().')

    def test_a_folder_for_scripts(self):
        with tempfile.TemporaryDirectory() as place:
            place = os.path.realpath(place) + "/it's here"
            done = subprocess.run([minivm, "install", place], stdout=subprocess.PIPE, text=True, check=True)
            path = place + "/bin:" + os.environ["PATH"]
            self.assertIn("PATH=%s/bin:$PATH" % place, done.stdout)
            self.assertEqual(run(["erl"], ["-noshell", "-eval", 'io:format("~s~n", [os:find_executable("erl")]), halt().'],
                                 env={"PATH": path}), (0, place + "/erts/bin/erl\n"))
            script = pathlib.Path(folder) / "a.escript"
            script.write_text("#!/usr/bin/env escript\nmain(A) -> io:format(\"~p ~p~n\", [A, is_list(os:find_executable("
                              "\"erl\"))]), halt(6).\n", encoding="utf-8")
            self.assertEqual(run(["escript"], [script, "x"], env={"PATH": path}), (6, '["x"] true\n'))
            source = pathlib.Path(folder) / "compiled.erl"
            source.write_text("-module(compiled).\n-export([f/0]).\nf() -> 1.\n", encoding="utf-8")
            self.assertEqual(run(["erlc"], ["-o", folder, source], env={"PATH": path}), (0, "\n"))
            self.assertTrue((pathlib.Path(folder) / "compiled.beam").exists())
            # What is there already and not ours stays.
            other = pathlib.Path(place) / "other"
            (other / "bin").mkdir(parents=True)
            (other / "bin" / "erl").write_text("mine", encoding="utf-8")
            refused = subprocess.run([minivm, "install", other], stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("is there already, and not from minivm install", refused.stderr)
            self.assertEqual((other / "bin" / "erl").read_text(encoding="utf-8"), "mine")

    def test_a_release_with_an_erts_of_its_own(self):
        # What relx and mix put into one: no erts-*/ebin, so the modules that OTP starts with are in its beam.smp alone.
        root, version = run(["erl"], ["-noshell", "-eval",
                                      'io:format("~s ~s", [code:root_dir(), erlang:system_info(version)]), halt().'])[1].split()
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(os.path.realpath(place))
            programs = place / ("erts-" + version) / "bin"
            shutil.copytree("%s/erts-%s/bin" % (root, version), programs)
            for application in ("kernel", "stdlib"):
                found, = (p for p in (pathlib.Path(root) / "lib").glob(application + "-*") if (p / "ebin").is_dir())
                shutil.copytree(found / "ebin", place / "lib" / found.name / "ebin")
            (place / "bin").mkdir()
            shutil.copy(pathlib.Path(root) / "bin" / "start_clean.boot", place / "bin" / "start.boot")
            start = [programs / "erlexec", "-noshell", "-mode", "embedded", "-eval",
                     'io:format("~0p~n", [{code:which(erlang), code:root_dir(), lists:sort(erlang:pre_loaded()),'
                     ' lists:member(minivm, [list_to_atom(string:trim(W, both, "[]")) ||'
                     ' W <- string:lexemes(erlang:system_info(system_version), " ")])}]), halt().']
            env = {"ROOTDIR": str(place), "BINDIR": str(programs), "EMU": "beam", "PROGNAME": "erl"}
            expected = run(start, [], env=env)
            self.assertIn(",false}", expected[1])
            for _ in range(2):  # again brings it up to date
                told = subprocess.run([minivm, "install", place], stdout=subprocess.PIPE, text=True, check=True).stdout
                self.assertIn('ERL_FLAGS="-emu_flavor minivm"', told)
            env["ERL_FLAGS"] = "-emu_flavor minivm"
            self.assertEqual(run(start, [], env=env), (0, expected[1].replace(",false}", ",true}")))
            (programs / "beam.smp").write_bytes(b"FOR1\0\0\0\x10BEAMnone")
            status, said = run(start, [], env=env)
            self.assertEqual((status, said), (1, "minivm: %s/beam.smp: no modules there\n" % programs))
            (programs / "beam.smp").unlink()
            status, said = run(start, [], env=env)
            self.assertEqual((status, said), (1, "minivm: the modules that OTP starts with are neither in %s/lib/erts-*/ebin nor, as in"
                                              " a release, in %s/beam.smp: No such file or directory\n" % (place, programs)))

    def test_elixirs_own_scripts(self):
        with tempfile.TemporaryDirectory() as place:
            env = subprocess.run([minivm, "env"], stdout=subprocess.PIPE, text=True, check=True).stdout
            done = subprocess.run(["sh", "-c", env + "elixir -e 'IO.puts(1 + 2)' && mix new hello && cd hello && mix test"],
                                  cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                                  env=dict(os.environ, HOME=place, MIX_HOME=place), timeout=2 * WAIT_S)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertTrue(done.stdout.startswith("3\n"), done.stdout)
            # Counts of a small map, whose order is the release's.
            self.assertRegex(done.stdout, "1 doctest, 1 test, 0 failures|1 test, 1 doctest, 0 failures")

    def test_starts_at_the_same_time_share_one_folder(self):
        env = dict(os.environ, XDG_RUNTIME_DIR=str(folder))
        vms = [subprocess.Popen([minivm, "env"], env=env, stdout=subprocess.PIPE, text=True) for _ in range(20)]
        outputs = {vm.communicate(timeout=WAIT_S)[0] for vm in vms}
        self.assertEqual(len(outputs), 1, outputs)
        left = [p.name for p in pathlib.Path(folder).rglob("*.new")]
        self.assertEqual(left, [])


if __name__ == "__main__":
    sys.exit(tool_tests.main(sys.modules[__name__]))
