#!/usr/bin/env python3
"""Compares what generated trace programs print on `erl` and on the engines of minivm.

    run_trace.py --seed N --programs K --minivm build/release/tools/minivm
    run_trace.py --seed N --seconds S --engines interp,jit,mixed:7,jit/gc --minivm ...

Program k of seed N is made by generate_trace.py from seed N * 1000003 + k: a module of functions, and
steps that trace processes which run them. It prints what each step answered and which messages tracers
got, by process. That has to be the same on every engine. An engine may carry stress switches, as in
run_generated.py: interp/gc.

Some programs end erl itself, or it does not answer the same each time; those are named and not counted.
Of a program that differs steps are taken out as long as it still does; it is printed and left in
build/generated. The last line is "N passed, M failed", in programs.
"""

import argparse
import collections
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import generate_trace  # noqa: E402  (needs the path above)
from run_generated import SEED_STEP, STRESS, add_common_options, run  # noqa: E402

BATCH = 25  # programs that share one start of each machine
CANDIDATES = 16  # smaller programs that are tried at once
LONGEST_LINE = 1200
SHOWN_LINES = 12
ERL_TRIES = 10
EVENT = re.compile(r"  \{trace(?:_ts)?,(?:\{\w+,\d+\}|\w+),([^,}]+)")
NO_ANSWER = ["(no answer)"]


def answers(text):
    """{program: [line]} of those that came to their end."""
    found, name, lines = {}, None, []
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "program":
            name, lines = rest, []
        elif word == "end" and rest == name:
            found[name] = lines
        else:
            lines.append(line)
    return found


class Runner:
    def __init__(self, options, work):
        self.options = options
        self.work = pathlib.Path(work)
        subprocess.run(["erlc", "-o", str(self.work), str(FOLDER / "trace_harness.erl"),
                        str(FOLDER / "trace_late.erl")], check=True)
        self.events = collections.Counter()
        self.passed = self.failed = 0

    def run_script(self, script, engine):
        if engine == "erl":
            command = ["erl", "-noshell", "-kernel", "logger_level", "none", "-pa", str(self.work),
                       "-run", "trace_harness", "start", "-extra", "run", str(script)]
        elif engine == "compile":
            command = ["erl", "-noshell", "-kernel", "logger_level", "none", "-pa", str(self.work),
                       "-run", "trace_harness", "start", "-extra", "compile", str(script), str(self.work)]
        else:
            name, *stress = engine.split("/")
            command = [*shlex.split(self.options.qemu), self.options.minivm, "run", "--engine", name,
                       *[STRESS[s] for s in stress], "-pa", str(self.work),
                       str(self.work / "trace_harness.beam"), "run", str(script)]
        return run(command, self.options.timeout, self.work)

    def outcome(self, programs, engine):
        """{name: [line]}; programs: [(name, text of its terms)]. Behind one that ends the machine it
        goes on with the next."""
        found = {}
        while programs:
            script = self.work / "script.terms"
            script.write_text("\n".join(text for _, text in programs), encoding="utf-8")
            text, status, stderr = self.run_script(script, engine)
            found.update(answers(text))
            missing = [k for k, (name, _) in enumerate(programs) if name not in found]
            if not missing:
                break
            name = programs[missing[0]][0]
            started = text.split("program %s\n" % name)[-1].splitlines()
            found[name] = started + ["(status %s) %s" % (status, stderr[-LONGEST_LINE:])]
            programs = programs[missing[0] + 1:]
            engine = "erl" if engine == "compile" else engine
        return found

    # ---- making a program small ----

    def first_that_differs(self, program, candidates, engine):
        programs = [("c%d" % k, program.terms("c%d" % k, steps)) for k, steps in enumerate(candidates)]
        expected, got = self.outcome(programs, "erl"), self.outcome(programs, engine)
        for k, steps in enumerate(candidates):
            if expected.get("c%d" % k, NO_ANSWER) != got.get("c%d" % k, NO_ANSWER):
                return steps
        return None

    def minimise(self, program, engine):
        deadline = time.monotonic() + self.options.minimise_seconds
        steps, size = program.steps, len(program.steps) // 2
        while size >= 1 and time.monotonic() < deadline:
            candidates = [steps[:at] + steps[at + size:] for at in range(0, len(steps), size)]
            found = None
            for at in range(0, len(candidates), CANDIDATES):
                found = self.first_that_differs(program, candidates[at:at + CANDIDATES], engine)
                if found is not None or time.monotonic() > deadline:
                    break
            if found is not None:
                steps = found
                size = min(size, max(1, len(steps) // 2))
            else:
                size //= 2
        return steps

    def report(self, program, seed, engine, expected, got):
        print("\nDIFFERENT seed %d on %s" % (seed, engine))
        steps = program.steps
        if self.options.minimise_seconds > 0:
            steps = self.minimise(program, engine)
            programs = [(program.name, program.terms(None, steps))]
            small = [self.outcome(programs, e).get(program.name, NO_ANSWER) for e in ("erl", engine)]
            if small[0] != small[1]:
                expected, got = small
            else:
                print("(not each time)")
        text = program.source() + "\n%% " + program.terms(None, steps).replace("\n", "\n%% ") + "\n"
        print(text)
        self.options.failures.mkdir(parents=True, exist_ok=True)
        (self.options.failures / (program.name + ".erl")).write_text(text, encoding="utf-8")
        shown = 0
        for k in range(max(len(expected), len(got))):
            a = expected[k] if k < len(expected) else "(nothing)"
            b = got[k] if k < len(got) else "(nothing)"
            if a != b and shown < SHOWN_LINES:
                shown += 1
                print("  erl      %s\n  %-8s %s" % (a[:LONGEST_LINE], engine, b[:LONGEST_LINE]))
        sys.stdout.flush()

    def is_settled(self, program, expected):
        """erl answers the same every time. OTP 25 does not where a trace has damaged its memory."""
        terms = [(program.name, program.terms())]
        return all(self.outcome(terms, "erl").get(program.name) == expected for _ in range(ERL_TRIES))

    # ---- the whole ----

    def run_batch(self, seeds):
        programs = [generate_trace.Program(seed, "gt_%d" % seed) for seed in seeds]
        for program in programs:
            (self.work / (program.module + ".erl")).write_text(program.source(), encoding="utf-8")
        terms = [(program.name, program.terms()) for program in programs]
        expected = self.outcome(terms, "compile")
        got = {engine: self.outcome(terms, engine) for engine in self.options.engines}
        for program, seed in zip(programs, seeds):
            right = expected.get(program.name, NO_ANSWER)
            for line in right:
                event = EVENT.match(line)
                if event:
                    self.events[event[1]] += 1
            differs = [e for e in self.options.engines if got[e].get(program.name, NO_ANSWER) != right]
            if right and right[-1].startswith("(status"):
                print("seed %d: erl itself did not come to the end: %s" % (seed, right[-1][:LONGEST_LINE]))
            elif not differs:
                self.passed += 1
            elif not self.is_settled(program, right):
                print("seed %d: erl itself does not answer the same each time" % seed)
            else:
                self.failed += 1
                self.report(program, seed, differs[0], right, got[differs[0]].get(program.name, NO_ANSWER))
        for path in self.work.glob("gt_*"):
            path.unlink()

    def work_through(self):
        options = self.options
        begin = time.monotonic()
        done = 0
        while options.programs is None or done < options.programs:
            if options.seconds and time.monotonic() - begin > options.seconds:
                break
            count = options.batch if options.programs is None else min(options.batch, options.programs - done)
            first = options.seed * SEED_STEP + options.first + done
            self.run_batch(list(range(first, first + count)))
            done += count
        print("%d messages (%s)" % (sum(self.events.values()), ", ".join(
            "%s %d" % kind for kind in self.events.most_common())))
        print("%d programs from seed %d, on erl, %s, %.0f s" % (
            done, options.seed, ", ".join(options.engines), time.monotonic() - begin))
        print("%d passed, %d failed" % (self.passed, self.failed))
        return 0 if self.failed == 0 and self.passed > 0 else 1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common_options(parser, "program", timeout=200)
    parser.add_argument("--batch", type=int, default=BATCH)
    options = parser.parse_args()
    if options.programs is None and not options.seconds:
        options.programs = BATCH
    folder = tempfile.mkdtemp(prefix="trace")
    try:
        sys.exit(Runner(options, folder).work_through())
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
