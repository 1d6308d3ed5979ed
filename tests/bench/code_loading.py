#!/usr/bin/env python3
"""What loading code costs, and whom: minivm beside OTP's `erl`, the same .beam on both.

pause: a process that never waits looks at two clocks all the time, the wall's and its thread's processor
time, while another process loads, purges and deletes as fast as it can. The table shows how far two
looks are apart, without and with the loads, and with trace patterns that are set and cleared beside them.
The thread's clock shows what schedulers do for the loader; the wall's shows whatever has kept the process
waiting, other programs included. For minivm the last columns say how often schedulers have waited for
anything but work (minivm:scheduler_waits/0): for a lock whose holder went on for 20 us ("long"), for one
whose holder the kernel had taken off its processor, and for anything else.

It fails where a holder has worked for longer than this machine interrupts who works (twice what one look of
100,000 takes while nothing is loaded), where there is more than one long wait in four seconds, which is what
interrupts of the holder of a lock come to on a machine that interrupts often, or where threads have waited
for anything else more often than they are threads.

speed: loads a second of a small and of a large module, and microseconds a kilobyte of .beam, for the whole
of code:load_binary/3 and for erlang:prepare_loading/2 of real files.

    code_loading.py --minivm build/release/tools/minivm [--seconds 5] [--only pause]
"""

import argparse
import glob
import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parent.parent
sys.path.insert(0, str(FOLDER.parent / "programs"))
import run_diff  # noqa: E402  (where erl_nif.h is)

MODES = ["idle", "reloading", "tracing"]
PATIENCE_NS = 20000  # as lock_waits::kPatience_ns
REAL = ["stdlib-*/ebin/lists", "stdlib-*/ebin/erl_parse", "stdlib-*/ebin/erl_scan", "stdlib-*/ebin/io_lib_pretty",
        "stdlib-*/ebin/maps", "stdlib-*/ebin/gen_server", "compiler-*/ebin/beam_ssa_opt", "compiler-*/ebin/v3_core"]


def build(out):
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run(["erlc", "-W0", "-o", str(out), str(FOLDER / "code_loading.erl")], check=True)
    include = run_diff.nif_include_dir()
    if include is None:
        sys.exit("erl_nif.h is not installed (Debian package erlang-dev)")
    failure = run_diff.compile_library(FOLDER / "code_loading_clock.c", out, include)
    if failure is not None:
        sys.exit(failure)


def contenders(options, out):
    yield "erl", lambda words: ["erl", "+S", str(options.schedulers), "-noshell", "-kernel", "logger_level", "none",
                                "-pa", str(out), "-eval",
                                "code_loading:main([%s])." % ",".join('"%s"' % w for w in words)]
    for engine in options.engine or ["interp", "jit"]:
        yield engine, lambda words, engine=engine: [
            options.minivm, "run", "--engine", engine, "-S", str(options.schedulers), "-pa", str(out),
            str(out / "code_loading.beam"), *words]


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
    if done.returncode != 0:
        sys.exit("%s: status %d\n%s" % (" ".join(command), done.returncode,
                                        done.stderr.decode("utf-8", "replace")[-2000:]))
    return [line.split() for line in done.stdout.decode().splitlines()]


def pause(options, out):
    print("| VM | loads/s | wall p50 | p99.9 | worst | cpu p50 | p99.9 | p99.999 | worst "
          "| long waits | longest | preempted | other waits |")
    print("|" + "---|" * 13)
    failed = 0
    for name, command in contenders(options, out):
        for mode in MODES:
            lines = run(command(["pause", mode, str(options.seconds)]))
            loads = next(l[1] for l in lines if l[0] == "loads")
            clocks = {l[0]: [int(x) for x in l[1:]] for l in lines if l[0] in ("wall", "cpu")}
            waits = {l[1]: int(l[2]) for l in lines if l[0] == "waits"}
            other = max(0, waits["given_up"] - waits["sleeps"]) if waits else "-"
            p50, p99_9, _, worst = clocks["wall"][1:]
            print("| %s, %s | %s | %s | %s | %s | %s | %s |" % (
                name, mode, loads, " | ".join(duration(ns) for ns in (p50, p99_9, worst, *clocks["cpu"][1:])),
                *((waits["long"], duration(waits["longest"]), waits["preempted"]) if waits else ("-", "-", "-")),
                other), flush=True)
            if mode == "idle":
                interrupted_ns = max(PATIENCE_NS, 2 * clocks["cpu"][3])
            if waits.get("long") or waits.get("preempted"):
                print("%s, %s: %s" % (name, mode, " ".join(next(l for l in lines if l[:2] == ["#", "locks"]))),
                      file=sys.stderr)
            # A thread that is between two states when it is asked may differ by one.
            failed += bool(waits) and (waits["longest"] > interrupted_ns or waits["long"] * 4 > options.seconds
                                       or other > options.schedulers)
    return failed


def duration(ns):
    return "%.1f \u00b5s" % (ns / 1000) if ns < 1000000 else "%.1f ms" % (ns / 1000000)


def speed(options, out):
    # Whose files are prepared.
    otp = subprocess.run(["erl", "-noshell", "-eval", "io:put_chars(code:root_dir()), halt()."],
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    files = []
    for pattern in REAL:
        files += sorted(glob.glob(os.path.join(otp, "lib", pattern + ".beam")))[:1]
    print("| VM | what | bytes | a second | each | \u00b5s a KB |")
    print("|---|---|---|---|---|---|")
    for name, command in contenders(options, out):
        for what, which, count, us, size in run(command(["speed", str(options.seconds), *files])):
            count, us, size = int(count), int(us), int(size)
            label = "%d real files, prepare alone" % len(files) if what == "prepare" else which + " module, load"
            print("| %s | %s | %d | %.1f | %s | %.1f |" % (
                name, label, size, count * 1e6 / us, duration(us / count * 1000), us / count / (size / 1024)),
                flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True)
    parser.add_argument("--engine", action="append", default=[])
    parser.add_argument("--only", choices=["pause", "speed"])
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--schedulers", type=int, default=2)
    options = parser.parse_args()
    out = REPOSITORY / "build" / "bench"
    build(out)
    failed = 0
    if options.only != "speed":
        failed = pause(options, out)
        print("%d passed, %d failed\n" % (len(MODES) * len(options.engine or ["interp", "jit"]) - failed, failed))
    if options.only != "pause":
        speed(options, out)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
