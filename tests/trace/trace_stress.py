#!/usr/bin/env python3
"""Trace patterns that change while the traced modules run, are loaded again and purged (trace_stress.erl).

Every call made strictly between the return of a set and the call of the clear has to be told once, to the
recorder or by a message, and none made outside of that; no message may come after what trace_delivered/1
answers; the account of every ring has to be right.

    trace_stress.py --minivm build/release/tools/minivm [--engine interp]... [--seed N] [--seconds S]
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
MODULE = """-module({name}).
-export([f/1, rec/1, bad/1, fu/0]).
f(X) -> g(X).
g(X) -> h(X, {version}) - {version}.
h(X, Y) -> X + Y.
rec(0) -> [{version}];
rec(N) -> [N | rec(N - 1)].
bad(_) -> error(oops).
fu() -> fun(X) -> g(X) end.
"""
MARK = "-module(ts_mark).\n-export([mark/1]).\nmark(X) -> {{{version}, X}}.\n"


def compile_modules(folder, count):
    for version in (1, 2):
        out = folder / f"v{version}"
        out.mkdir()
        sources = []
        for name in [f"ts_{n}" for n in range(count)] + ["ts_mark"]:
            text = (MARK if name == "ts_mark" else MODULE).format(name=name, version=version)
            sources.append(out / f"{name}.erl")
            sources[-1].write_text(text)
        subprocess.run(["erlc", "-o", out, *sources], check=True)
    subprocess.run(["erlc", "-o", folder, FOLDER / "trace_stress.erl"], check=True)


def check(output, dump, accounts):
    """What is wrong, as a list of lines."""
    called = {}
    for kind, window, count in re.findall(r"^(in|out) (\d+) (\d+)$", output, re.M):
        called[kind, int(window)] = int(count)
    recorded = {}
    for kind, window, number in re.findall(r"call ts_mark:mark\(\{(in|out),(\d+),(\d+)\}\)", dump):
        recorded.setdefault((kind, int(window)), []).append(int(number))
    wrong = []
    for (kind, window), count in called.items():
        expected = list(range(1, count + 1)) if kind == "in" else []
        found = recorded.get((kind, window), [])
        if found != expected:
            wrong.append(f"{kind} {window}: {count} calls, recorded {found}")
    told = re.findall(r"^told (\d+) (.*)$", output, re.M)
    wrong += [f"messages of {window}: {what}" for window, what in told if what != "right"]
    if not told:
        wrong.append("there was no window")
    if "end" not in output.splitlines():
        wrong.append("the program did not come to its end")
    for row in re.findall(r"^# \S+/calls +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)", accounts, re.M):
        written, decoded, overwritten, dropped, unfinished = map(int, row)
        if written != decoded + overwritten + dropped + unfinished:
            wrong.append(f"a ring's account is not even: {row}")
    return wrong, sum(map(len, recorded.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True)
    parser.add_argument("--wrapper", default="", help="command that runs it, such as qemu-aarch64")
    parser.add_argument("--engine", action="append")
    parser.add_argument("--modules", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--schedulers", default="2")
    parser.add_argument("--record-size", default="256M")
    options = parser.parse_args()
    program = [*options.wrapper.split(), options.minivm]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compile_modules(folder, options.modules)
        for engine in options.engine or ["interp", "jit", f"mixed:{options.seed}"]:
            recording = folder / "recording"
            run = subprocess.run(
                [*program, "run", "-S", options.schedulers, "--engine", engine, "--record", recording,
                 "--record-size", options.record_size, folder / "trace_stress.beam", folder,
                 str(options.modules), str(options.seed), str(options.seconds)],
                capture_output=True, text=True, timeout=60 + 20 * options.seconds)
            dump = subprocess.run([*program, "dump", recording, "--match", "ts_mark:mark"],
                                  capture_output=True, text=True, check=True).stdout
            wrong, recorded = check(run.stdout, dump, dump)
            if run.returncode != 0:
                wrong.append(f"status {run.returncode}: {run.stderr[-2000:]}")
            counts = ", ".join(re.findall(r"^(?:changes|loads) \d+$", run.stdout, re.M))
            print(f"{engine}: seed {options.seed}, {counts}, {recorded} recorded calls: "
                  f"{'ok' if not wrong else 'WRONG'}")
            print("".join(f"  {line}\n" for line in wrong[:20]), end="")
            failed += bool(wrong)
            passed += not wrong
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
