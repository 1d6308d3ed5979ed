#!/usr/bin/env python3
"""Runs every test that takes a seed with many new seeds, each for a short time.

    tools/lib/seeds.py --preset release [--count 50] [--kind calls]... [--seed N] [--minutes M]

The kinds of such tests are a table below; round k gives each of them seed N + k. Without --seed, a run that was
ended on the same commit goes on where it stopped, or seeds are drawn. A test that fails is printed with its
seed and the command that repeats it; what it said is left in build/logs. Each kind adds a row to docs/soak.md:
commit, first seed, how many of the runs passed and failed. --minutes begins nothing more after so long.

The last line is "N passed, M failed", in runs.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "lib"))
from count_tests import count  # noqa: E402  (needs the path above)

LOGS = ROOT / "build" / "logs"
STATE = ROOT / "build" / "seeds.json"
SOAK = ROOT / "docs" / "soak.md"
LIMIT_S = 1200  # that one run may take: for hangs, not for slow machines
SHOWN_LINES = 30

# kind | preset | command; {seed} is counted up, {vm} is the preset's minivm, {tests} the folder of its tests. The
# most telling first. Programs of tests/programs come in parts, a different one for each seed. Of the unit tests, those
# that take most of the time and draw nothing are left out. Three generated modules, as erlc itself stumbles over one of
# thirty.
KINDS = """
calls          | release | python3 tests/fuzz/call_fuzz.py --minivm {vm} --seed {seed} --seconds 2
calls_gc       | release | python3 tests/fuzz/call_fuzz.py --minivm {vm} --engines interp/gc,jit/gc --seed {seed} --seconds 2 --slower 5
calls_as_erl   | release | python3 tests/fuzz/call_fuzz.py --minivm {vm} --compare --engines jit --seed {seed} --seconds 2
trace_programs | release | python3 tests/generate/run_trace.py --minivm {vm} --engines interp,jit,mixed:{seed},jit/gc --seed {seed} --programs 10
generated      | release | python3 tests/generate/run_generated.py --minivm {vm} --engines interp,jit,jit-default,mixed:{seed} --seed {seed} --kind erlang --functions 12 --modules 3
generated_asm  | release | python3 tests/generate/run_generated.py --minivm {vm} --engines interp,jit,jit-default,mixed:{seed} --seed {seed} --kind asm --functions 12 --modules 3
generated_gc   | release | python3 tests/generate/run_generated.py --minivm {vm} --engines interp/gc,jit/gc --seed {seed} --functions 10 --modules 3
programs       | release | python3 tests/programs/run_diff.py --minivm {vm} --engine mixed:{seed} --stress sched:{seed} --part {seed}/25
trace_stress   | release | python3 tests/trace/trace_stress.py --minivm {vm} --seed {seed} --seconds 1
tracers        | release | env MINIVM_SEED={seed} python3 tests/trace/tracer_modules_test.py {vm} TracerModules.test_tracers_change_and_their_modules_are_purged_under_load
ends           | release | env MINIVM_SEED={seed} python3 tests/tools/ends_test.py {vm} Endings.test_the_kernel_that_was_stopped_first_does_not_end_the_vm
unit           | release | {tests}/minivm_tests --order rand --rng-seed {seed} '~[.]~"perf *"~"gdb *"~"model: *"~"SIGKILL *"'
nodes          | release | env MINIVM_SEED={seed} python3 tests/tools/nodes_test.py {vm} Nodes.test_a_storm_loses_nothing_and_leaves_nothing Nodes.test_garbage_ends_its_connection_and_nothing_else
sockets        | release | env MINIVM_SEED={seed} python3 tests/tools/sockets_test.py {vm} Sockets.test_many_connections_lose_nothing_and_leave_nothing Sockets.test_many_processes_on_sockets_of_module_socket_lose_nothing
atomicity      | release | python3 tests/programs/atomicity.py --minivm {vm} --commits 200 --engine mixed:{seed}
beam           | dev     | {tests}/beam_fuzz --seed {seed} --count 200 --suffix .beam build/programs build/dev
external_term  | dev     | {tests}/external_term_fuzz --seed {seed} --count 20000
recorder       | dev     | {tests}/recorder_fuzz --seed {seed} --count 400
mutants        | dev     | python3 tests/fuzz/run_mutants.py --minivm {vm} --seed {seed} --count 8 --limit 5
read_mutants   | dev     | python3 tests/fuzz/run_mutants.py --reader {tests}/beam_fuzz --seed {seed} --count 400
random_code    | dev     | python3 tests/fuzz/random_code.py --minivm {vm} --seed {seed} --count 200
unit_dev       | dev     | {tests}/minivm_tests --order rand --rng-seed {seed} '~[.]~"perf *"~"gdb *"~"model: *"~"SIGKILL *"'
"""
Kind = collections.namedtuple("Kind", "name preset command")


def kinds():
    return [Kind(*(word.strip() for word in line.split("|"))) for line in KINDS.strip().splitlines()]


def output_of(*command):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def commit():
    changed = output_of("git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/soak.md",
                        ":!docs/otp_suites_results.tsv")
    return output_of("git", "rev-parse", "--short", "HEAD") + (", changed" if changed else "")


def words(kind, seed):
    folder = "build/%s/" % kind.preset
    return kind.command.format(seed=seed, vm=folder + "tools/minivm", tests=folder + "tests")


def passes(kind, seed):
    """Whether the test passes with this seed; what it said is in the log's file that comes with it."""
    command = words(kind, seed)
    log = LOGS / ("seed_%s_%d.log" % (kind.name, seed))
    with open(log, "wb") as out:
        child = subprocess.Popen(shlex.split(command), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = child.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            status = "none within %d s" % LIMIT_S
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
    text = log.read_text("utf-8", "replace")
    passed, failed, _ = count(text)
    # A fuzzer says how many inputs ran; a test that says no total has run nothing.
    good = status == 0 and failed == 0 and (passed > 0 or "inputs ran" in text)
    if good:
        log.unlink()
    else:
        print("FAILED %s, seed %d, status %s: %s" % (kind.name, seed, status, command))
        print("".join("  | %s\n" % line[:300] for line in text.splitlines()[-SHOWN_LINES:]), end="", flush=True)
    return good


class State:
    """How many runs of each kind are done on this commit, and their first seed."""

    def __init__(self, preset, where, seed):
        self.key, self.path = "%s %s" % (preset, where), STATE
        try:
            self.all = json.loads(self.path.read_text())
        except (OSError, ValueError):
            self.all = {}
        if seed is not None or self.key not in self.all:
            self.all[self.key] = {"seed": random.randrange(1, 1 << 30) if seed is None else seed, "done": {}}
        self.run = self.all[self.key]
        self.seed = self.run["seed"]
        self.write()

    def done(self, kind):
        return self.run["done"].get(kind, 0)

    def set_done(self, kind, runs):
        self.run["done"][kind] = runs
        self.write()

    def finish(self):
        del self.all[self.key]
        self.write()

    def write(self):
        self.path.write_text(json.dumps(self.all, indent=1))


class Tally:
    """What ran of a kind this time."""

    def __init__(self, state, kind):
        self.state, self.kind, self.begun = state, kind, state.done(kind.name)
        self.first, self.runs, self.failing, self.seconds = state.seed + self.begun, 0, [], 0.0

    def add(self):
        start, seed = time.monotonic(), self.first + self.runs
        if not passes(self.kind, seed):
            self.failing.append(seed)
        self.runs += 1
        self.seconds += time.monotonic() - start
        self.state.set_done(self.kind.name, self.begun + self.runs)

    def row(self, where):
        result = "passed" if not self.failing else "failed: seed " + ", ".join(map(str, self.failing))
        return "| %s | %d seed%s: `%s` | %d | %s | %d passed, %d failed | %d min %02d s | %s |\n" % (
            time.strftime("%Y-%m-%d", time.gmtime()), self.runs, "s" * (self.runs > 1), words(self.kind, "N"),
            self.first, where, self.runs - len(self.failing), len(self.failing), self.seconds // 60,
            self.seconds % 60, result)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=("dev", "release"), required=True)
    parser.add_argument("--count", type=int, default=50, help="seeds of each kind")
    parser.add_argument("--kind", action="append", default=[], help="this one alone")
    parser.add_argument("--seed", type=int, default=os.environ.get("SOAK_SEED"))
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options = parser.parse_args()
    chosen = [k for k in kinds() if k.preset == options.preset and (not options.kind or k.name in options.kind)]
    unknown = set(options.kind) - {k.name for k in chosen}
    if unknown:
        parser.error("no such kind: " + ", ".join(sorted(unknown)))
    LOGS.mkdir(parents=True, exist_ok=True)
    where, end = commit(), time.monotonic() + 60 * options.minutes
    state = State(options.preset, where, options.seed)
    # A signal ends it in order: what ran gets its rows.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    tallies = {kind: Tally(state, kind) for kind in chosen}
    try:
        for run in range(options.count):
            for kind, tally in tallies.items():
                if tally.first + tally.runs == state.seed + run and time.monotonic() < end:
                    tally.add()
    finally:
        with open(SOAK, "a", encoding="utf-8") as table:
            table.write("".join(tally.row(where) for tally in tallies.values() if tally.runs > 0))
    if all(state.done(k.name) >= options.count for k in kinds() if k.preset == options.preset):
        state.finish()
    failed = sum(len(tally.failing) for tally in tallies.values())
    passed = sum(tally.runs for tally in tallies.values()) - failed
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
