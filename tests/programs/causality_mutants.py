#!/usr/bin/env python3
"""The tests of causality in code loading can fail: each does where what it tests is left out.

A VM with assertions (presets dev and tsan) can be told which of its re-reads of the active code index
to leave out (`--leave-out-rereads`). For each way to learn of new code this runs the program that tests
it as it is, which must end well, and without the re-reads that the way depends on, which must not.

    causality_mutants.py --minivm build/dev/tools/minivm [--engine interp --engine jit] [--only KIND]
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
TIME_LIMIT_S = 100

# Kind -> the places where a process re-reads the index between learning of the code and calling it. Some
# stand for each other: a message is fetched by the handling of signals inside of a receive, and what a BIF
# gives is compared by an instruction that may be a guard BIF.
REREADS = {
    "message": "receive,signals",
    "waited_message": "receive,signals,schedule_in,bif,guard_bif,send",  # others run on its scheduler meanwhile
    "atomics": "bif,guard_bif",
    "counters": "bif,guard_bif",
    "persistent_term": "bif,guard_bif",
    "name": "bif,guard_bif",
    "send_to_name": "send,bif,guard_bif",  # the sends before have failed, which is a BIF's way out
    "ets": "bif,guard_bif",
    "link": "receive,signals",
    "monitor": "receive,signals",
    "timer": "receive,signals",
    "process_info": "bif,guard_bif,receive,signals,schedule_in",  # the answer is a signal, which is waited for
    "dictionary": "bif,guard_bif,receive,signals,schedule_in",
    "alias": "receive,signals",
    "is_alive": "bif,guard_bif,receive,signals,schedule_in",
    "nif": "bif,guard_bif",  # a library's functions are called as BIFs are
}


def run(minivm, engine, kind, left_out, versions):
    """(True if it saw the new code each time, what it printed)."""
    programs = REPOSITORY / "build" / "programs"
    command = [minivm, "run", "--engine", engine, "-S", "2"]
    if left_out:
        command += ["--leave-out-rereads", left_out]
    if kind == "nif":
        command += [str(programs / "nif_causality.beam"), str(versions)]
    else:
        command += [str(programs / "code_causality.beam"), str(versions), kind]
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIME_LIMIT_S,
            check=False, env={"PROGRAM_DIR": str(programs), "LC_ALL": "C.UTF-8"})
    except subprocess.TimeoutExpired:
        return False, "no end after %d s" % TIME_LIMIT_S
    text = done.stdout.decode("utf-8", "replace").strip()
    return done.returncode == 0 and text == kind + ": ok", text


def check(minivm, engine, kind, versions):
    """The reason why this kind's test is not what it should be, or None."""
    good, text = run(minivm, engine, kind, "", versions)
    if not good:
        return "as it is: " + text[:300]
    # Whether the sign comes while a waiter is in its time slice is chance, if a good one.
    for _ in range(5):
        good, text = run(minivm, engine, kind, REREADS[kind], versions)
        if not good:
            found = "found" in text
            return None if found else "without %s: not old code, but %s" % (REREADS[kind], text[:300])
    return "without %s: it still sees the new code each time" % REREADS[kind]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True)
    parser.add_argument("--engine", action="append", default=[])
    parser.add_argument("--only", action="append", default=[], choices=sorted(REREADS))
    parser.add_argument("--versions", type=int, default=4)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    subprocess.run(
        [sys.executable, str(REPOSITORY / "tests" / "programs" / "run_diff.py"), "--compile-only",
         "--only", "code_causality", "--only", "nif_causality"], check=True, stdout=subprocess.DEVNULL)
    jobs = [(engine, kind) for engine in options.engine or ["interp", "jit"]
            for kind in options.only or REREADS]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(
            lambda job: check(options.minivm, job[0], job[1], options.versions), jobs)
        for (engine, kind), why in zip(jobs, results):
            if why is not None:
                failed += 1
                print("FAIL %s, %s: %s" % (kind, engine, why))
    print("%d passed, %d failed" % (len(jobs) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
