#!/usr/bin/env python3
"""Benchmarks of minivm beside OTP's `erl`, in the same run on the same machine.

Every `b_*.erl` of this folder measures itself and prints `time_us N` and a checksum, which must
be the same everywhere. Each contender runs every program in turn, `--rounds` times (so that what
else the machine does hits all alike); the best time counts. Then rows of their own: start-up of
hello world, spawn and send rates, bytes per idle process.

On a machine that is busy with other things, a program's time says how much of a core it got. There
`--cpu` compares the processor time of the whole VM instead, which is the same on a quiet machine
where one process works; `erl` is then told not to spin while it is idle.

Examples:
    run_bench.py --minivm build/release/tools/minivm --engine interp --json result.json
    run_bench.py --erl-only --only 'b_map*'
"""

import argparse
import dataclasses
import fnmatch
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parent.parent
LAUNCHER = FOLDER.parent / "programs" / "support" / "program_launcher.erl"
HELLO_RUNS = 15
IDLE_PROCESSES = 100000


@dataclasses.dataclass(frozen=True)
class Contender:
    name: str
    is_erl: bool
    command: tuple

    def line(self, beam, arguments):
        if self.is_erl:
            return [*self.command, str(beam.parent), "-run", "program_launcher", "start",
                    "-extra", beam.stem, *arguments]
        return [*self.command, str(beam), *arguments]


@dataclasses.dataclass
class Run:
    """One run of a program: its output, how long it took, its peak resident set."""

    stdout: str
    status: int
    seconds: float
    rss_bytes: int
    stderr: str


def resident_peak(pid):
    """VmHWM in bytes, or 0. wait4 will not do: its figure includes this script before exec."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0


def execute(command, timeout):
    """Runs the command; its peak RSS is the last figure seen before it ended."""
    env = dict(os.environ, LC_ALL="C.UTF-8")
    start = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=env) as child:
        # Benchmarks print a few lines: both pipes hold them, so waiting first is safe.
        deadline = start + timeout
        peak = 0
        while True:
            peak = resident_peak(child.pid) or peak
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            if time.perf_counter() > deadline:
                child.kill()
                _, status, usage = os.wait4(child.pid, 0)
                break
            time.sleep(0.0005)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        stdout = child.stdout.read().decode("utf-8", "replace")
        stderr = child.stderr.read().decode("utf-8", "replace")
    return Run(stdout, child.returncode, seconds, peak or usage.ru_maxrss * 1024, stderr)


def value(text, key):
    found = re.search(r"^%s (-?\d+)$" % re.escape(key), text, re.MULTILINE)
    return int(found.group(1)) if found else None


def compile_all(names, out):
    out.mkdir(parents=True, exist_ok=True)
    header = (FOLDER / "bench.hrl").stat().st_mtime_ns
    stale = []
    for source in [FOLDER / (n + ".erl") for n in names] + [LAUNCHER]:
        beam = out / (source.stem + ".beam")
        newest = max(source.stat().st_mtime_ns, header)
        if not beam.exists() or beam.stat().st_mtime_ns < newest:
            stale.append(str(source))
    if stale:
        subprocess.run(["erlc", "-W0", "+debug_info", "-o", str(out), *stale], check=True)


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def format_row(cells, widths):
    first = cells[0].ljust(widths[0])
    return "  ".join([first] + [c.rjust(w) for c, w in zip(cells[1:], widths[1:])])


def print_table(header, rows):
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]
    print(format_row(header, widths))
    print("  ".join("-" * w for w in widths))
    for row in rows:
        print(format_row(row, widths))
    sys.stdout.flush()


def measure(contenders, names, out, rounds, arguments, timeout, problems, key="time_us"):
    """{program: {contender: best time in us}}, alternating the contenders."""
    best = {name: {} for name in names}
    checks = {}
    for name in names:
        for _ in range(rounds):
            for contender in contenders:
                if best[name].get(contender.name, 0) is None:
                    continue
                run = execute(contender.line(out / (name + ".beam"), arguments), timeout)
                took, check = value(run.stdout, key), value(run.stdout, "checksum")
                if run.status != 0 or took is None:
                    last = (run.stderr.strip().splitlines() or ["no message"])[-1]
                    problems.append("%s on %s: status %s: %s" % (
                        name, contender.name, run.status, last[:150]))
                    best[name][contender.name] = None
                    continue
                if checks.setdefault(name, check) != check:
                    problems.append("%s on %s: checksum %s, expected %s" % (
                        name, contender.name, check, checks[name]))
                known = best[name].get(contender.name)
                best[name][contender.name] = took if known is None else min(known, took)
        if sys.stderr.isatty():
            print("\r%-40s\r" % name, end="", file=sys.stderr, flush=True)
    return best


def time_table(contenders, best):
    header = ["program"] + [c.name + " ms" for c in contenders]
    header += ["%s / erl" % c.name for c in contenders if not c.is_erl]
    rows, ratios = [], {c.name: [] for c in contenders if not c.is_erl}
    for name, times in best.items():
        row = [name]
        for contender in contenders:
            took = times.get(contender.name)
            row.append("failed" if took is None else "%.1f" % (took / 1000))
        for contender in contenders:
            if contender.is_erl:
                continue
            mine, theirs = times.get(contender.name), times.get("erl")
            if mine is None or theirs is None:
                row.append("-")
            else:
                ratios[contender.name].append(max(mine, 1) / max(theirs, 1))
                row.append("%.2f" % ratios[contender.name][-1])
        rows.append(row)
    means = {name: geometric_mean(r) if r else None for name, r in ratios.items()}
    if means:
        rows.append(["geometric mean"] + [""] * len(contenders) +
                    ["-" if m is None else "%.2f" % m for m in means.values()])
    print_table(header, rows)
    return means


def other_rows(contenders, out, rounds, timeout, problems):
    """Start-up, process rates and sizes: {contender: {row: number}}."""
    result = {c.name: {} for c in contenders}
    for contender in contenders:
        mine = result[contender.name]
        hello = [execute(contender.line(out / "m_hello.beam", []), timeout)
                 for _ in range(HELLO_RUNS)]
        if any(h.status != 0 or h.stdout != "Hello, world!\n" for h in hello):
            problems.append("m_hello on %s: %s" % (contender.name, hello[0].stderr[-200:]))
        else:
            mine["hello world, ms"] = min(h.seconds for h in hello) * 1000
            mine["hello world, peak RSS MB"] = min(h.rss_bytes for h in hello) / 1e6
        for _ in range(rounds):
            run = execute(contender.line(out / "m_processes.beam", []), timeout)
            if run.status != 0:
                problems.append("m_processes on %s: status %s %s" % (
                    contender.name, run.status, run.stderr[-200:]))
                break
            for key, row in [("spawn_per_s", "spawns, per second"),
                             ("send_per_s", "messages there and back, per second"),
                             ("ring_per_s", "ring of 100000, hops per second")]:
                number = value(run.stdout, key)
                if number is not None:
                    mine[row] = max(mine.get(row, 0), number)
        none, many = (execute(contender.line(out / "m_idle.beam", [str(n)]), timeout)
                      for n in (0, IDLE_PROCESSES))
        if none.status != 0 or value(many.stdout, "processes") != IDLE_PROCESSES:
            problems.append("m_idle on %s: status %s %s" % (
                contender.name, many.status, many.stderr[-200:]))
        else:
            mine["bytes per idle process, process_info"] = value(many.stdout, "bytes_info")
            mine["bytes per idle process, RSS"] = (
                many.rss_bytes - none.rss_bytes) / IDLE_PROCESSES
    return result


def print_others(contenders, others):
    names = list(dict.fromkeys(row for mine in others.values() for row in mine))
    rows = []
    for name in names:
        cells = [others[c.name].get(name) for c in contenders]
        rows.append([name] + ["-" if v is None else "%.1f" % v if v < 1000 else "%d" % v
                              for v in cells])
    print()
    print_table(["measure"] + [c.name for c in contenders], rows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", action="append", default=[], metavar="BIN")
    parser.add_argument("--engine", action="append", default=[])
    parser.add_argument("--erl-only", action="store_true")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", help="argument for the programs instead of their own default")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--cpu", action="store_true", help="compare processor time")
    parser.add_argument("--no-processes", action="store_true", help="only the timed programs")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=REPOSITORY / "build" / "bench")
    options = parser.parse_args()
    if not options.minivm and not options.erl_only:
        parser.error("give --minivm BIN or --erl-only")
    for tool in ("erl", "erlc"):
        if shutil.which(tool) is None:
            parser.error("%s is not installed (Debian package erlang)" % tool)
    for binary in options.minivm:
        if shutil.which(binary) is None:
            parser.error("no such program: %s" % binary)

    out = options.out.resolve()
    names = [p.stem for p in sorted(FOLDER.glob("b_*.erl"))]
    if options.only:
        names = [n for n in names if any(fnmatch.fnmatchcase(n, p) for p in options.only)]
    compile_all(names + ["m_hello", "m_processes", "m_idle"], out)

    # -pa takes the folder that line() adds; the ring needs more processes than the default allows.
    spin = ("+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none") if options.cpu else ()
    contenders = [Contender("erl", True, ("erl", "-noshell", "+P", "1000000", *spin, "-pa"))]
    for binary in options.minivm:
        path = os.path.abspath(binary) if os.sep in binary else binary
        base = os.path.basename(binary)
        if len(options.minivm) > 1:
            base = binary  # names that are the same would be one contender
        for engine in options.engine or [None]:
            extra = ("--engine", engine) if engine else ()
            contenders.append(Contender(
                base + (" " + engine if engine else ""), False, (path, "run", *extra)))

    problems = []
    arguments = [options.repeat] if options.repeat else []
    best = measure(contenders, names, out, options.rounds, arguments, options.timeout, problems,
                   "cpu_us" if options.cpu else "time_us")
    means = time_table(contenders, best)
    others = {}
    if not options.no_processes:
        others = other_rows(contenders, out, options.rounds, options.timeout, problems)
        print_others(contenders, others)
    if options.json:
        options.json.write_text(json.dumps(
            {"what": "cpu_us" if options.cpu else "time_us", "times_us": best,
             "geometric_means": means, "measures": others, "problems": problems}, indent=2) + "\n", encoding="utf-8")
    for problem in problems:
        print("PROBLEM " + problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
