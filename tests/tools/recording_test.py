#!/usr/bin/env python3
"""Tests of `minivm run --record...` and `minivm dump` as a user meets them: what is left of a program
that failed, that was killed, that still runs, and what is said about files that are no good.

    recording_test.py --minivm build/release/tools/minivm [--beams DIR] [NAME...]

DIR has the samples' .beam files; without it they are compiled with erlc.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

ROOT = pathlib.Path(__file__).resolve().parents[2]
MINIVM = ""
BEAMS = None
WAIT_S = 30


def run(*arguments, **options):
    options = {"timeout": WAIT_S, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([MINIVM, *map(str, arguments)], check=False, text=True, errors="replace", **options)


def records(text):
    """The lines that are records, as (index, seconds, rest)."""
    found = []
    for line in text.splitlines():
        m = re.match(r"(\d+)\s+([\d.]+)~?\s+(.*)", line)
        if m and not line.startswith("#"):
            found.append((int(m[1]), float(m[2]), m[3]))
    return found


class Recording(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="minivm-recording-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "box.rec"

    def blackbox(self, how, *options, **more):
        return run("run", "--record", self.file, *options, BEAMS / "blackbox.beam", how, **more)

    def dump(self, *options, file=None, status=0):
        done = run("dump", file or self.file, *options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def erlang(self, text, *options, **more):
        """Runs main/1 of a module with this text."""
        source = self.folder / "prog.erl"
        source.write_text("-module(prog).\n-export([main/1]).\n" + text, encoding="utf-8")
        subprocess.run(["erlc", "-o", self.folder, source], check=True)
        return run("run", "--record", self.file, *options, self.folder / "prog.beam", **more)

    def start_blackbox(self):
        """A VM that waits to be killed; it has done its work."""
        vm = subprocess.Popen([MINIVM, "run", "--record", str(self.file),
                               str(BEAMS / "blackbox.beam"), "kill"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (vm.kill(), vm.communicate()))
        self.assertEqual(int(vm.stdout.readline()), vm.pid)
        return vm

    # ---- three ways to fail

    def test_an_erlang_error_deep_in_a_call_chain(self):
        done = self.blackbox("error")
        self.assertEqual(done.returncode, 127)
        self.assertIn("minivm dump --crash " + str(self.file), done.stderr)
        crash = self.dump("--crash")
        self.assertIn("error badarith", crash)
        frames = [l.strip() for l in crash.splitlines() if l.startswith("    ")]
        names = [f.split(" ")[0] for f in frames]
        self.assertEqual(names[:3], ["erlang:+/2", "blackbox:total/2", "blackbox:total/2"])
        self.assertIn("blackbox:close_accounts/1", names)
        self.assertRegex(crash, r"blackbox:total/2 \(blackbox.erl, line \d+\)|/blackbox.erl, line \d+\)")
        # What the process had been told last, and that it was about to close the accounts.
        tail = crash[crash.index("its last records"):]
        self.assertRegex(tail, r"till<0\.\d+\.0>.*send_message.*\{left,9\d\d\d\}")
        self.assertIn("shop: closing time, 9", tail)
        self.assertIn("of stock left", tail)
        self.assertIn("begins: shop accounts", tail)

    def test_the_vm_fails_in_code_that_erlang_code_called(self):
        done = self.blackbox("segv", "--debug-bifs")
        self.assertEqual(done.returncode, -signal.SIGSEGV, done.stderr)
        for text in (done.stderr, self.dump("--crash")):
            self.assertIn("SIGSEGV", text)
            self.assertIn("at address 0x10", text)
            self.assertRegex(text, r"\d 0x[0-9a-f]+ .*write_nowhere")
            self.assertRegex(text, r"provoke")
            self.assertRegex(text, r"(rip|pc) [0-9a-f]{16}")
            erlang = re.findall(r"\d+ (\w+:\w+/\d+)", text[text.index("Erlang frames"):])
            self.assertEqual(erlang[:3], ["blackbox:into_the_vm/1"] * 3)
            self.assertIn("minivm_boot:run/1", erlang)
            self.assertRegex(text, r"blackbox.erl, line \d+")
        crash = self.dump("--crash")
        self.assertIn("State: crashed, signal 11", crash)
        self.assertRegex(crash, r"Running at the end:\n  scheduler \d+: <0\.\d+\.0>")
        self.assertRegex(crash, r"\{sold,last_order,3,9\d+\}")

    def test_a_fault_below_native_code_shows_erlang_frames(self):
        if " jit" not in run("run", "--help").stdout:
            self.skipTest("no native engine")
        done = self.blackbox("segv", "--debug-bifs", "--engine", "jit")
        self.assertEqual(done.returncode, -signal.SIGSEGV, done.stderr)
        erlang = re.findall(r"^  \d+ (\w+:\w+/\d+)(?: \(|$)", done.stderr, re.MULTILINE)
        self.assertEqual(erlang[:4], ["blackbox:into_the_vm/1"] * 4)
        self.assertIn("minivm_boot:run/1", erlang)
        self.assertRegex(done.stderr, r"\d 0x[0-9a-f]+ .*write_nowhere")

    def stderr_of_a_fault_while_it_spins(self):
        vm = subprocess.Popen([MINIVM, "run", "--engine", "jit", "-S", "1", "--record",
                               str(self.file), str(self.folder / "spin.beam")],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (vm.kill(), vm.communicate()))
        pid = int(vm.stdout.readline())

        def of_thread(thread, what):
            return pathlib.Path("/proc/%d/task/%s/%s" % (pid, thread, what)).read_text(encoding="utf-8")

        def cpu_ticks(thread):
            return int(of_thread(thread, "stat").rpartition(")")[2].split()[11])

        scheduler, = [t for t in os.listdir("/proc/%d/task" % pid)
                      if of_thread(t, "comm").strip() == "1_scheduler"]
        # It spins from now on, whatever it has done before.
        before, deadline = cpu_ticks(scheduler), time.monotonic() + WAIT_S
        while cpu_ticks(scheduler) < before + 10 and time.monotonic() < deadline:  # 10 ms each
            time.sleep(0.05)
        libc = ctypes.CDLL(None, use_errno=True)
        self.assertEqual(libc.tgkill(pid, int(scheduler), int(signal.SIGSEGV)), 0)
        _, stderr = vm.communicate(timeout=WAIT_S)
        self.assertEqual(vm.returncode, -signal.SIGSEGV, stderr)
        return stderr

    def test_a_fault_in_native_code_names_its_function_and_line(self):
        # The signal is sent to the thread that runs the loop: it comes between two instructions of
        # native code, or in a fragment or the C++ that they call.
        if " jit" not in run("run", "--help").stdout:
            self.skipTest("no native engine")
        source = self.folder / "spin.erl"
        source.write_text("-module(spin).\n-export([main/1]).\n"
                          "main(_) ->\n"
                          "    io:format(\"~s~n\", [os:getpid()]),\n"
                          "    [outer(1, 2)].\n"
                          "outer(A, B) -> [loop(A, B)].\n"
                          "loop(A, A) -> A;\n"
                          "loop(A, B) ->\n"
                          "    loop(B + 1, (A + 1) band 1023).\n", encoding="utf-8")
        subprocess.run(["erlc", "-o", self.folder, source], check=True)
        for _ in range(5):
            stderr = self.stderr_of_a_fault_while_it_spins()
            if "no process was running" not in stderr:  # as when it comes while the scheduler chooses one: one in some hundred
                break
        self.assertIn("Erlang frames", stderr)
        frames = re.findall(r"^  \d+ (\w+:\w+/\d+)(?: \(.*, line (\d+)\))?$",
                            stderr[stderr.index("Erlang frames"):], re.MULTILINE)
        self.assertEqual([name for name, _ in frames[:3]],
                         ["spin:loop/2", "spin:outer/2", "spin:main/1"], stderr)
        self.assertIn(frames[0][1], ("7", "9"), stderr)
        self.assertEqual([line for _, line in frames[1:3]], ["6", "5"], stderr)

    def test_kill_9_leaves_what_the_processes_said_last(self):
        vm = self.start_blackbox()
        vm.kill()
        vm.wait(WAIT_S)
        text = self.dump()
        self.assertIn("state: killed", text)
        messages = [r[2] for r in records(text) if "send_message" in r[2] and "last_order" in r[2]]
        self.assertEqual(len(messages), 2)
        self.assertIn("{buy,", messages[0])
        self.assertIn("{sold,last_order,5,", messages[1])
        # In order: no receive stands before its send.
        flows = {}
        for _, _, rest in records(text):
            flow = re.search(r"flow (0x[0-9a-f]+)", rest)
            if flow and ("send_message" in rest or "signal_to" in rest):
                flows[flow[1]] = flows.get(flow[1], 0) + 1
            elif flow and " receive " in rest and "from nobody" not in rest:
                flows[flow[1]] = flows.get(flow[1], 0) - 1
                self.assertGreaterEqual(flows[flow[1]], 0, rest)
        crash = self.dump("--crash")
        self.assertIn("killed from outside", crash)
        self.assertIn("last_order", crash)

    def test_failures_outlive_ordinary_work(self):
        program = """
main(_) ->
    logger:set_primary_config(level, none),
    code:ensure_loaded(lists),
    One = fun(F) -> {_, R} = spawn_monitor(F), receive {'DOWN', R, _, _, _} -> ok end end,
    [One(fun() -> error({gone, I}) end) || I <- lists:seq(1, 1000)],
    One(fun() -> exit(given_up) end),
    [One(fun() -> lists:seq(1, 3000), ok end) || _ <- lists:seq(1, 40000)].
"""
        for schedulers in ("1", "2", "8", "200"):
            done = self.erlang(program, "-S", schedulers)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = self.dump()
            spawned = re.findall(r" process spawn ", text)
            self.assertLess(len(spawned), 40000)  # most of the ordinary work is overwritten
            gone = re.findall(r" process uncaught +uncaught in \S+: error \{gone,(\d+)\}", text)
            self.assertEqual(sorted(map(int, gone)), list(range(1, 1001)), schedulers)
            self.assertRegex(text, r" process exit_failed +exit: \S+, exit given_up")
            # How many came too fast is said by the page as well.
            over = re.search(r"^# rare events beyond their rate, .*: (\d+)$", text, re.M)
            page = self.folder / "rate.html"
            self.assertEqual(run("report", self.file, "-o", page).returncode, 0)
            self.assertIn(f"<p>{over[1]} rare events came beyond their rate.</p>", page.read_text(encoding="utf-8"))

    def test_each_scheduler_records_however_many_there_are(self):
        for schedulers in (158, 159, 160, 200, 1024):
            done = self.erlang("main(_) -> ok.\n", "-S", str(schedulers))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            started = set(re.findall(r"thread \d+ starts: scheduler (\d+)$", self.dump(), re.M))
            self.assertEqual(len(started), schedulers)
            self.assertLess(self.file.stat().st_size, 100 << 20)

    def test_no_two_messages_have_one_flow(self):
        done = self.erlang("""
main(_) ->
    P = spawn(fun F() -> receive {From, N} -> From ! N, F() end end),
    [begin P ! {self(), N}, receive N -> ok end end || N <- lists:seq(1, 500)].
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.dump()
        for event in ("send_message", "receive"):
            flows = re.findall(r" message %s .*?flow (0x[0-9a-f]+)" % event, text)
            self.assertGreater(len(flows), 1000)
            self.assertEqual(len(set(flows)), len(flows))
        trace = json.loads(self.dump("--format", "perfetto"))["traceEvents"]
        sent = {e["id"]: e["ts"] for e in trace if e["ph"] == "s"}
        ends = [e for e in trace if e["ph"] == "f"]
        self.assertGreater(len(ends), 1000)
        for end in ends:
            self.assertGreater(end["ts"], sent[end["id"]])

    # ---- a VM that runs

    def test_a_running_vm_can_be_looked_at(self):
        vm = self.start_blackbox()
        text = self.dump()
        self.assertIn("state: running", text)
        self.assertIn("last_order", text)
        self.assertIsNone(vm.poll())

    def test_sigusr1_writes_a_report_and_the_vm_goes_on(self):
        vm = self.start_blackbox()
        report = pathlib.Path(str(self.file) + ".report.txt")
        for _ in range(2):
            report.unlink(missing_ok=True)
            vm.send_signal(signal.SIGUSR1)
            line = vm.stderr.readline()
            self.assertIn("report: " + str(report), line)
            text = report.read_text(encoding="utf-8")
            self.assertIn("Scheduler 1: 0 processes wait to run", text)
            self.assertIn("State: running", text)
            self.assertIn("send_message", text)
            self.assertEqual(stat.S_IMODE(report.stat().st_mode), 0o600)
        self.assertIsNone(vm.poll())

    # ---- formats and filters

    def test_formats(self):
        self.blackbox("error")
        count = len(records(self.dump()))
        self.assertGreater(count, 300)
        lines = [json.loads(l) for l in self.dump("--format", "json").splitlines()]
        self.assertEqual(len(lines), count + 1)
        for ring in lines[0]["rings"]:
            self.assertEqual(ring["written"], ring["decoded"] + ring["overwritten"] +
                             ring["in_progress"] + ring["dropped"])
        trace = json.loads(self.dump("--format", "perfetto"))
        phases = [e["ph"] for e in trace["traceEvents"]]
        self.assertGreater(phases.count("s"), 100)
        self.assertGreater(phases.count("f"), 100)
        lanes = [e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"]
        self.assertIn("scheduler 1", lanes)
        self.assertTrue(any(l.startswith("till<0.") for l in lanes))
        terms = self.folder / "box.terms"
        self.dump("--format", "terms", "-o", terms)
        read = subprocess.run(
            ["erl", "-noshell", "-eval",
             "{ok, L} = file:consult(\"%s\"), io:format(\"~p\", [length(L)]), halt()." % terms],
            stdout=subprocess.PIPE, check=True, timeout=WAIT_S)
        self.assertEqual(int(read.stdout), count)
        ctf = self.folder / "ctf"
        self.dump("--format", "ctf", "-o", ctf)
        self.assertTrue((ctf / "metadata").is_file())
        read = subprocess.run(["babeltrace2", str(ctf)], stdout=subprocess.PIPE, check=True,
                              timeout=WAIT_S)
        self.assertEqual(len(read.stdout.splitlines()), count)

    def test_filters(self):
        self.blackbox("error")
        everything = records(self.dump())
        till = next(r[2] for r in everything if "register: till" in r[2])
        pid = re.search(r"<0\.\d+\.0>", till)[0]
        of_till = records(self.dump("--pid", pid))
        self.assertTrue(0 < len(of_till) < len(everything))
        self.assertTrue(all(pid in r[2] for r in of_till))
        self.assertEqual(of_till, records(self.dump("--pid", pid.split(".")[1])))
        gc = records(self.dump("--category", "gc"))
        self.assertTrue(gc and all(" gc gc_" in r[2] for r in gc))
        matched = records(self.dump("--match", "{sold,ben"))
        self.assertEqual(len(matched), 50)
        last = records(self.dump("--last", "1ms"))
        self.assertTrue(0 < len(last) < len(everything))
        self.assertLessEqual(everything[-1][1] - last[0][1], 0.0015)
        self.assertEqual(records(self.dump("--last", "1h")), everything)

    def test_each_place_in_the_source_is_in_the_recording(self):
        self.blackbox("error")
        head = json.loads(self.dump("--format", "json").splitlines()[0])
        recorded = {(p["event"], p["file"], p["line"]) for p in head["places"]}
        self.assertEqual(len(recorded), len(head["places"]))
        written = set()
        for folder in ("recorder", "vm", "loader", "interp", "jit", "trace", "tools"):
            for file in sorted((ROOT / folder).rglob("*.cpp")):
                for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                    m = re.search(r"\bMINIVM_EVENT(?:_COARSE)?\((\w+)|"
                                  r"\bMINIVM_EVENT_PLACE\(\w+, (\w+)", line)
                    if m:
                        written.add((m[1] or m[2], str(file.relative_to(ROOT)), number))
        self.assertGreater(len(written), 70)
        self.assertEqual(recorded, written)
        for place in head["places"]:
            self.assertRegex(place["function"], r"^[a-z_0-9]+$")

    def test_records_say_where_they_were_made(self):
        self.blackbox("error")
        count = len(records(self.dump()))
        self.assertNotIn("vm/process/signal.cpp:", self.dump())
        placed = records(self.dump("--places"))
        self.assertEqual(len(placed), count)
        for _, _, rest in placed:
            self.assertRegex(rest, r"  \((recorder|vm|loader|trace|tools)/[a-z_/]+\.cpp:\d+ in \w+\)$")
        head, *lines = map(json.loads, self.dump("--format", "json").splitlines())
        where = set()
        for line in lines:
            place = head["places"][line["place"]]
            self.assertEqual(place["event"], line["event"])
            where.add((place["event"], place["line"]))
        # With the time of the record before, and with one of its own.
        self.assertEqual(len([w for w in where if w[0] == "sched_in"]), 2)
        ctf = self.folder / "ctf"
        self.dump("--format", "ctf", "-o", ctf)
        read = subprocess.run(["babeltrace2", str(ctf)], stdout=subprocess.PIPE, check=True,
                              timeout=WAIT_S, text=True).stdout.splitlines()
        self.assertEqual(len(read), count)
        for line in read:
            self.assertRegex(line, r'place = \( "[a-z_/]+\.cpp:\d+ in \w+" : container = \d+ \)')

    def test_wrong_filters_are_named(self):
        self.blackbox("error")
        for options, what in ((("--last", "soon"), "--last soon: give a time such as 5s"),
                              (("--pid", "<1.2.3>"), "--pid <1.2.3>: no process of that name"),
                              (("--category", "gc,news"), "--category news: there are sched, message"),
                              (("--format", "ctf"), "name it with -o")):
            self.assertIn(what, self.dump(*options, status=2))

    def page(self):
        page = self.folder / "page.html"
        done = run("report", self.file, "-o", page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return page.read_text(encoding="utf-8")

    def test_a_report_shows_what_is_retained_apart_from_what_was_written(self):
        done = self.erlang("""
main(_) -> [recorder:event(x, "~p", [N]) || N <- lists:seq(1, 200000)], ok.
""", "--record-size", "1M")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = self.page()
        retained, written = map(int, re.search(r"; (\d+) records retained of (\d+) ever written",
                                               page).groups())
        self.assertEqual(retained, len(records(self.dump())))
        self.assertGreater(written, 200000)
        self.assertLess(retained, 100000)
        table = re.search(r"<table id=rings>(.*?)</table>", page)[1]
        self.assertIn("<th>retained<th>ever written<th>overwritten", table)
        rows = [list(map(int, re.findall(r"<td class=n>(\d+)", r))) for r in table.split("<tr>")[2:]]
        self.assertEqual((sum(r[0] for r in rows), sum(r[1] for r in rows)), (retained, written))
        for here, ever, overwritten, dropped, in_progress, _ in rows:
            self.assertEqual(ever, here + overwritten + dropped + in_progress)

    def test_a_report_has_the_prompts_own_processes_apart(self):
        done = run("repl", "--record", self.file,
                   input="P = spawn(fun() -> lists:seq(1, 1000) end), is_pid(P).\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = self.page()
        users = page.index("<table id=processes>")
        systems = page.index("<table id=system_processes>")
        self.assertLess(users, systems)
        first, second = (page[at:page.index("</table>", at)] for at in (users, systems))
        for own in ("minivm_session:start/1", "minivm_outside&lt;", "init&lt;", "user&lt;"):
            self.assertNotIn(own, first)
            self.assertIn(own, second)
        for work in ("<td>erl_eval:", "<td>minivm_session:-evaluator/"):
            self.assertIn(work, first)
            self.assertNotIn(work, second)

    def test_a_program_is_not_among_the_systems_own_processes(self):
        self.assertEqual(self.erlang("main(_) -> ok.\n").returncode, 0)
        page = self.page()
        self.assertIn("<td>minivm_boot:run/1<", page[:page.index("<table id=system_processes>")])

    def test_each_format_says_how_many_came_beyond_their_rate(self):
        done = self.erlang("""
main(_) ->
    logger:set_primary_config(level, none),
    [receive {'DOWN', R, _, _, _} -> ok end
     || _ <- lists:seq(1, 5000), {_, R} <- [spawn_monitor(fun() -> exit(on_purpose) end)]].
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        count = json.loads(self.dump("--format", "json").splitlines()[0])["over_rate"]
        self.assertGreater(count, 0)
        self.assertIn(f": {count}", re.search(r"# rare events beyond.*", self.dump())[0])
        self.assertEqual(json.loads(self.dump("--format", "perfetto"))["otherData"]["over_rate"],
                         str(count))
        self.dump("--format", "ctf", "-o", self.folder / "ctf")
        metadata = (self.folder / "ctf" / "metadata").read_text(encoding="utf-8")
        self.assertIn(f'over_rate = "{count}";', metadata)

    def test_a_report_is_one_page_by_itself(self):
        done = self.erlang("""
main(_) ->
    recorder:event(x, "~s", ["</script><b>&"]),
    register('<boss>', self()),
    P = spawn(fun() -> receive {F, N} -> F ! N end end), P ! {self(), 1}, receive 1 -> ok end,
    spawn(fun() -> error(on_purpose) end), receive after 20 -> ok end.
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = self.folder / "page.html"
        done = run("report", self.file, "-o", page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = page.read_text(encoding="utf-8")
        for part in ("Processes that failed", "error on_purpose", "<h2>Timeline", "Busiest processes",
                     "Garbage collection", "What is here and what is not", "What happened last",
                     "ended in good order", "&lt;boss&gt;&lt;0.", "&lt;/script&gt;&lt;b&gt;&amp;"):
            self.assertIn(part, text)
        self.assertNotRegex(text, r"(src|href)\s*=|https?://|<b>")
        self.assertRegex(text, r'<td title="vm/process/probe.cpp:\d+ in took">receive<td>')
        scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
        self.assertEqual(len(scripts), 1)
        boxes = json.loads("[" + re.search(r"const boxes=\[(.*?),?\];", scripts[0])[1] + "]")
        self.assertGreater(len(boxes) // 4, 20)
        self.assertEqual(len(boxes) % 4, 0)
        arrows = json.loads("[" + re.search(r"const arrows=\[(.*?),?\];", scripts[0])[1] + "]")
        # One for each message that was received.
        received = [r for _, _, r in records(self.dump()) if re.search(r" message receive +receive from", r)]
        self.assertGreater(len(received), 4)
        self.assertEqual(len(arrows), 4 * len(received))
        self.assertIn("which recording?", run("report").stderr)
        self.assertIn("No such file", run("report", self.folder / "none").stderr)

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_the_script_of_a_report_is_sound(self):
        self.assertEqual(self.erlang("main(_) -> spawn(fun() -> error(on_purpose) end), receive after 20 -> ok end.\n").returncode, 0)
        page, script = self.folder / "page.html", self.folder / "page.js"
        self.assertEqual(run("report", self.file, "-o", page).returncode, 0)
        script.write_text(re.search(r"<script>(.*?)</script>", page.read_text(encoding="utf-8"), re.S)[1], encoding="utf-8")
        subprocess.run(["node", "--check", script], check=True, timeout=WAIT_S)

    # ---- what is recorded

    def test_each_record_point_of_the_vm(self):
        done = self.erlang("""
main(_) ->
    S = self(),
    register(boss, S),
    P = spawn_link(fun() -> receive stop -> ok end end),
    R = monitor(process, P),
    demonitor(R),
    R2 = monitor(process, P),
    unlink(P), link(P),
    P ! stop,
    receive {'DOWN', R2, _, _, _} -> ok end,
    erlang:send_after(1, S, ding), receive ding -> ok end,
    erlang:cancel_timer(erlang:send_after(100000, S, dong)),
    receive never -> ok after 2 -> ok end,
    L = lists:seq(1, 100000), erlang:garbage_collect(), 100000 = length(L),
    unregister(boss),
    process_flag(trap_exit, true),
    {Q, R3} = spawn_monitor(fun() -> exit({shutdown, #{why => "tired"}}) end),
    receive {'DOWN', R3, _, Q, _} -> ok end,
    exit(spawn(fun() -> receive x -> ok end end), kill),
    true = erlang:delete_module(lists), true = erlang:purge_module(lists),
    [2] = lists:map(fun(X) -> X + 1 end, [1]),
    recorder:event(mine, "~p and ~s~~", [{1, "two"}, three]),
    W = spawn(fun() -> receive x -> ok end end),
    erlang:suspend_process(W), erlang:resume_process(W),
    Port = open_port({spawn, "cat"}, []),
    port_close(Port),
    recorder:span(mine, outer, fun() -> recorder:span(mine, inner, fun() -> ok end) end),
    process_flag(sensitive, true),
    port_close(open_port({spawn, "sleep 1.234"}, [])),
    ok.
""")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = self.dump()
        self.assertNotIn("sleep", text.replace("sched_sleep", "").replace(" sleeps", ""))
        for part in ("spawn: <0.", "runs prog:-main/1-fun-0-/0", "link: boss<0.", "unlink: boss<0.",
                     "watches <0.", "no longer watches <0.", "timer set by boss<0.", "timer fires for",
                     "timer cancelled by boss<0.", "waits for a message, at most 2 ms",
                     "timed out in receive", "gc_major_start", "gc_major_end", "register: boss<0.",
                     "unregister: boss<0.", 'exit {shutdown,#{why=>"tired"}}', "signal killed",
                     "code: prog prepared", "code: prog staged", "code: prog committed",
                     "code: lists deleted", "code: lists purged", "dirty_start", "dirty_end", "sched_in",
                     "sched_stop", "sched_sleep", "sched_wake", 'mine: {1,"two"} and three~',
                     "code: lists loaded on demand, for ", "sched_suspend", "sched_resume",
                     ": 1, cat", " ends: normal", ": 2, (hidden)", "begins: mine outer",
                     "begins: mine inner"):
            self.assertIn(part, text)

    def test_terms_of_sensitive_processes_are_not_recorded(self):
        program = """
main(_) ->
    P = spawn(fun() -> process_flag(sensitive, true), put(key, hunter2),
                       receive {M, F} -> F ! {again, M} end, receive go -> ok end,
                       recorder:event(x, "~p", [M]), error({M, get(key)}) end),
    receive after 5 -> ok end,
    P ! {hunter2, self()},
    receive {again, _} -> ok end,
    P ! hunter2,
    {messages, []} = process_info(P, messages),
    {dictionary, []} = process_info(P, dictionary),
    R = monitor(process, P),
    P ! go,
    receive {'DOWN', R, _, _, _} -> ok end.
"""
        done = self.erlang(program)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.dump() + self.dump("--crash")
        self.assertGreater(text.count("(hidden)"), 4)
        self.assertNotIn("hunter2}", text)
        self.assertNotIn(": hunter2", text)

    def test_record_terms_no(self):
        done = self.blackbox("error", "--record-terms", "no")
        self.assertEqual(done.returncode, 127)
        text = self.dump()
        self.assertNotIn("sold", text)
        self.assertIn("message send ", text)

    def test_record_off(self):
        self.blackbox("error", "--record-off", "message,gc", "--record-off", "sched")
        text = self.dump()
        self.assertTrue(records(text))
        self.assertFalse([r for r in records(text) if re.search(r" (message|gc|sched) \w", r[2])])
        done = self.blackbox("error", "--record-off", "all")
        self.assertEqual(records(self.dump()), [])
        done = self.blackbox("error", "--record-off", "weather")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--record-off weather: there are sched, message", done.stderr)

    def test_dump_on_exit_writes_the_text_beside_the_recording(self):
        self.blackbox("error", "--dump-on", "exit")
        text = pathlib.Path(str(self.file) + ".txt")
        self.assertIn("{sold,ben", text.read_text(encoding="utf-8"))
        self.assertEqual(stat.S_IMODE(text.stat().st_mode), 0o600)

    def test_dump_on_never_says_nothing(self):
        done = self.blackbox("segv", "--debug-bifs", "--dump-on", "never")
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGSEGV, ""))
        self.assertIn("SIGSEGV", self.dump("--crash"))

    # ---- faults

    def test_every_fault_is_reported(self):
        for how, number, text in (("abort", signal.SIGABRT, "abort()"), ("ill", signal.SIGILL, "SIGILL"),
                                  ("fpe", signal.SIGFPE, "SIGFPE"), ("trap", signal.SIGTRAP, "SIGTRAP"),
                                  ("bus", signal.SIGBUS, "SIGBUS"),
                                  ("stack", signal.SIGSEGV, "stack of this thread has overflowed")):
            with self.subTest(how):
                done = self.erlang("main(_) -> [minivm:provoke_fault(%s)].\n" % how, "--debug-bifs")
                self.assertEqual(done.returncode, -number, done.stderr)
                for report in (done.stderr, self.dump("--crash")):
                    self.assertIn(text, report)
                    self.assertIn("prog:main/1", report)
                    self.assertIn("C++ frames", report)

    def test_a_report_that_hangs_for_a_pipe_that_nobody_reads_ends_though_sigalrm_is_ignored(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        os.set_blocking(writer, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writer, bytes(4096))
        os.set_blocking(writer, True)
        done = self.erlang("main(_) -> os:set_signal(sigalrm, ignore), [minivm:provoke_fault(abort)].\n", "--debug-bifs",
                           stderr=writer)
        self.assertEqual(done.returncode, -signal.SIGALRM)
        self.assertIn("abort()", self.dump("--crash"))

    def test_a_fault_needs_the_switch(self):
        done = self.erlang("main(_) -> {'EXIT', {notsup, _}} = (catch minivm:provoke_fault(segv)).\n")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_signal_from_outside_is_reported_too(self):
        vm = self.start_blackbox()
        vm.send_signal(signal.SIGSEGV)
        vm.wait(WAIT_S)
        self.assertEqual(vm.returncode, -signal.SIGSEGV)
        self.assertIn("sent by process %d" % os.getpid(), self.dump("--crash"))

    # ---- where recordings go

    def default_run(self, *options):
        return run("run", *options, BEAMS / "hanoi.beam", "2", env=dict(os.environ, XDG_RUNTIME_DIR=str(self.folder)))

    def test_unnamed_recordings_are_private_and_the_last_few_are_kept(self):
        for _ in range(9):
            self.assertEqual(self.default_run().returncode, 0)
        place = self.folder / "minivm"
        self.assertEqual(stat.S_IMODE(place.stat().st_mode), 0o700)
        files = sorted(place.iterdir())
        self.assertTrue(4 <= len(files) <= 6, files)
        for f in files:
            self.assertEqual(stat.S_IMODE(f.stat().st_mode), 0o600)
        self.assertIn("spawn: init<0.0.0>", self.dump(file=files[-1]))

    def test_texts_beside_recordings_do_not_push_out_those_of_vms_that_died(self):
        place = self.folder / "minivm"
        place.mkdir(mode=0o700)
        died = place / "minivm-20000101-000000.000-1.rec"
        died.write_bytes(b"not closed")
        for _ in range(8):
            self.assertEqual(self.default_run("--dump-on", "exit").returncode, 0)
        self.assertTrue(died.exists())
        texts = sorted(place.glob("*.rec.txt"))
        self.assertTrue(4 <= len(texts) <= 6, texts)
        for text in texts:
            self.assertTrue(text.with_suffix("").exists(), text)

    def test_a_directory_that_takes_no_recording_is_followed_by_the_next(self):
        # It can be made, and a file's name in it is too long: as good as a full file system, and to be had anywhere.
        long = str(self.folder)
        while len(long) < 4075:
            long += "/" + "d" * min(200, 4076 - len(long))
        os.makedirs(long)
        source = self.folder / "fails.erl"
        source.write_text("-module(fails).\n-export([main/1]).\nmain(_) -> error(fails).\n")
        done = run("run", source, env=dict(os.environ, XDG_RUNTIME_DIR=long))
        self.assertEqual(127, done.returncode)
        self.assertEqual([], list(pathlib.Path(long, "minivm").iterdir()))
        named = re.search(r"minivm dump --crash (\S+)", done.stderr)
        self.assertTrue(named, done.stderr)
        self.assertIn("error fails", self.dump("--crash", file=named[1]))

    def test_unnamed_recordings_never_follow_a_link(self):
        target = self.folder / "elsewhere"
        target.mkdir()
        (self.folder / "minivm").symlink_to(target)
        done = self.default_run()
        self.assertEqual(done.returncode, 0)
        self.assertEqual(list(target.iterdir()), [])

    def test_a_directory_that_others_may_enter_is_not_used(self):
        (self.folder / "minivm").mkdir(mode=0o755)
        os.chmod(self.folder / "minivm", 0o755)
        self.assertEqual(self.default_run().returncode, 0)
        self.assertEqual(list((self.folder / "minivm").iterdir()), [])

    def test_an_older_recording_of_that_name_is_kept(self):
        for _ in range(3):
            self.blackbox("error")
        self.assertTrue(pathlib.Path(str(self.file) + ".2").exists())

    # ---- files that are no good: the VM runs all the same

    def assert_runs_without(self, path, what, *options):
        done = run("run", "--record", path, *options, BEAMS / "hanoi.beam", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no recording file, the flight recorder keeps to memory", done.stderr)
        self.assertIn(what, done.stderr)

    def test_the_end_of_the_program_is_a_record_of_its_own(self):
        process, killer = r"the program's process <0\.\d+\.0>", r"killer<0\.\d+\.0>"
        end = "Main = self(), spawn(fun() -> register(killer, self()), %s end), receive never -> ok end."
        for text, status, records_, is_good in (
                (end % "exit(Main, kill)", 1, (process + " is ended by an exit signal from " + killer + ": killed",
                                               "the end: status 1, crash, asked for by "), False),
                (end % "link(Main), exit(boo)", 1, (process + " is ended by an exit signal over a link from " + killer +
                                                    ": boo", "the end: status 1, crash, "), False),
                (end % "exit(whereis(init), kill)", 1, ("the end: status 1, system_process_terminated, asked for by ",),
                 False),
                (end % "halt(3)", 3, ("the end: status 3, halt, asked for by " + killer,), False),
                (end % 'halt("text")', 1, ("the end: status 1, halt, asked for by " + killer, "its last words: text"), False),
                (end % "halt(abort)", -signal.SIGABRT, ("the end at once: abort, asked for by " + killer,), False),
                (end % "init:stop(4)", 4, ("the end: status 4, stop, ",), False),
                (end % "init:stop()", 0, ("the end: status 0, stop, ",), True),
                ("error(boo).", 127, ("the end: status 127, uncaught, asked for by ",), False),
                ("ok.", 0, ("the end: status 0, returned, asked for by ",), True)):
            with self.subTest(text=text):
                self.assertEqual(self.erlang("main(_) -> " + text).returncode, status)
                crash = self.dump("--crash")
                for line in records_:
                    self.assertRegex(crash, "(?m)^[^\n]*: " + line)
                self.assertEqual("ended in good order" in crash, is_good, crash)
                self.assertNotIn("killed from outside", crash)

    def test_a_process_that_exits_is_one_that_failed(self):
        # gen_servers and all of proc_lib end by exit: the view said that no process had failed.
        for how, word in (("exit(boom)", "exit boom"), ("exit(self(), kill)", "signal killed"),
                          ("proc_lib:init_p(self(), [], fun() -> error(pl_boom) end)", "exit {pl_boom,")):
            with self.subTest(how=how):
                self.assertEqual(self.erlang("main(_) -> {P, M} = spawn_monitor(fun() -> %s end), "
                                             "receive {'DOWN', M, _, P, _} -> ok end." % how).returncode, 0)
                crash = self.dump("--crash")
                self.assertRegex(crash, r"(?m)^Process <0\.\d+\.0>, [^\n]*: exit: <0\.\d+\.0>, " + re.escape(word))
                self.assertNotIn("good order, and", crash)

    def test_the_second_signal_is_a_record(self):
        vm = subprocess.Popen([MINIVM, "run", "--record", str(self.file), "--eval",
                               'erlang:suspend_process(whereis(user)), minivm:write_stdout(<<"r">>), '
                               'receive never -> ok end.'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (vm.kill(), vm.communicate()))
        vm.stdout.read(1)
        vm.send_signal(signal.SIGTERM)
        try:
            vm.wait(1)
        except subprocess.TimeoutExpired:
            vm.send_signal(signal.SIGTERM)
        self.assertEqual(vm.wait(WAIT_S), 143)
        crash = self.dump("--crash")
        self.assertIn("the end: status 143, sigterm, asked for by nobody", crash)
        self.assertIn("the end at once: signal 15, the second that asks for it", crash)
        self.assertNotIn("killed from outside", crash)

    def test_a_file_that_cannot_be_made(self):
        self.assert_runs_without(self.folder / "no" / "box.rec", "No such file or directory")
        self.assert_runs_without("/dev/null", "is not a regular file; it is left alone")
        (self.folder / "link").symlink_to(self.folder / "target")
        self.assert_runs_without(self.folder / "link", "not a regular file")
        self.assertFalse((self.folder / "target").exists())
        self.assert_runs_without("/proc/box.rec", "cannot be created")

    def test_no_permission(self):
        os.chmod(self.folder, 0o555)
        if os.geteuid() != 0:
            self.assert_runs_without(self.file, "Permission denied")
            return
        # Root may write anywhere, so this takes a user of no rights, a program that it may read, and
        # a folder that it may enter.
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)
            program = shutil.copy(MINIVM, place)
            beam = shutil.copy(BEAMS / "blackbox.beam", place)
            done = subprocess.run([program, "run", "--record", self.file, beam, "error"], user=65534,
                                  group=65534, cwd="/", stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.PIPE, check=False, timeout=WAIT_S)
        self.assertEqual(done.returncode, 127, done.stderr)
        self.assertIn("Permission denied", done.stderr)

    def test_no_space(self):
        place = pathlib.Path("/dev/shm")
        if not place.is_dir():
            self.skipTest("no /dev/shm")
        size = os.statvfs(place)
        if not 0 < size.f_blocks * size.f_frsize < 30 << 30:
            self.skipTest("/dev/shm is too large to be filled up")
        path = place / ("minivm-test-%d.rec" % os.getpid())
        self.assert_runs_without(path, "no room for", "--record-size", "32G")
        self.assertFalse(path.exists())

    def test_sizes(self):
        done = self.blackbox("error", "--record-size", "64K")
        self.assertIn("too small", done.stderr)
        self.assertEqual(done.returncode, 127)
        self.assertEqual(self.blackbox("error", "--record-size", "big").returncode, 2)
        self.blackbox("error", "--record-size", "32M")
        self.assertGreater(self.file.stat().st_size, 16 << 20)
        done = self.blackbox("error", "--record-size", "100000G")
        self.assertIn("at most", done.stderr)

    def test_files_that_are_no_recordings(self):
        self.blackbox("error")
        good = self.file.read_bytes()
        other = self.folder / "other"

        def message(data):
            other.write_bytes(data)
            text = self.dump(file=other, status=1)
            self.assertTrue(text.startswith("minivm: dump: " + str(other) + ": "), text)
            return text

        self.assertIn("empty", message(b""))
        self.assertIn("not a recorder file", message(b"hello world, " * 5000))
        self.assertIn("cut off", message(good[:40000]))
        self.assertIn("no header", message(bytes(100000)))
        version = bytearray(good)
        for at in (0, 16384):
            version[at + 8:at + 12] = (99).to_bytes(4, "little")
        self.assertIn("format version 99, written by a newer program; this one reads version 4", message(bytes(version)))
        swapped = bytearray(good)
        for at in (0, 16384):
            swapped[at:at + 8] = good[at:at + 8][::-1]
        self.assertIn("other byte order", message(bytes(swapped)))
        self.assertIn("No such file", self.dump(file=self.folder / "none", status=1))
        self.assertIn("not a regular file", self.dump(file=self.folder, status=1))

    def test_a_damaged_recording_gives_what_it_has(self):
        self.blackbox("error")
        data = bytearray(self.file.read_bytes())
        whole = len(records(self.dump()))
        data[0:4096] = bytes(4096)  # the first copy of the header
        self.file.write_bytes(data)
        text = self.dump()
        self.assertIn("damaged: the first copy of the header", text)
        self.assertEqual(len(records(text)), whole)

    def test_output_that_cannot_be_written(self):
        self.blackbox("error")
        self.assertIn("No space left", self.dump("-o", "/dev/full", status=1))
        (self.folder / "out").symlink_to(self.folder / "target")
        self.assertIn("symbolic link", self.dump("-o", self.folder / "out", status=1))
        self.assertFalse((self.folder / "target").exists())


def main():
    global MINIVM, BEAMS
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True)
    parser.add_argument("--beams", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    MINIVM = str(pathlib.Path(options.minivm).resolve())
    with tempfile.TemporaryDirectory() as beams:
        BEAMS = options.beams
        if BEAMS is None:
            BEAMS = pathlib.Path(beams)
            sources = [str(ROOT / "samples" / (n + ".erl")) for n in ("blackbox", "hanoi")]
            subprocess.run(["erlc", "-o", beams, *sources], check=True)
        done = unittest.main(argv=[sys.argv[0], *options.names], exit=False).result
    sys.exit(tool_tests.total(done))


if __name__ == "__main__":
    main()
