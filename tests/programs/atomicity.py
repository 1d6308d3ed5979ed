#!/usr/bin/env python3
"""Modules that are loaded together are seen together: code_atomic.erl with many commits.

Runs the program on each engine with each number of schedulers and says how long a commit took.

    atomicity.py --minivm build/release/tools/minivm --commits 1000000 [--schedulers 1,2,8] [--engine jit]
"""

import argparse
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
EXPECTED = "workers: [ok]\nlast: true\nfirst: [ok]\n"
SECONDS_A_COMMIT = 0.5  # far more than the slowest machine needs


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True)
    parser.add_argument("--wrapper", default="", help="command put before minivm")
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--schedulers", default="1,2,8")
    parser.add_argument("--engine", action="append", default=[])
    options = parser.parse_args()
    subprocess.run(
        [sys.executable, str(REPOSITORY / "tests" / "programs" / "run_diff.py"), "--compile-only",
         "--only", "code_atomic"], check=True, stdout=subprocess.DEVNULL)
    beam = REPOSITORY / "build" / "programs" / "code_atomic.beam"
    passed = failed = 0
    for engine in options.engine or ["interp", "jit", "mixed:1"]:
        for schedulers in options.schedulers.split(","):
            label = "%s, %s schedulers" % (engine, schedulers)
            try:
                done = subprocess.run(
                    [*options.wrapper.split(), options.minivm, "run", "--engine", engine, "-S", schedulers,
                     str(beam), str(options.commits)],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                    timeout=60 + options.commits * SECONDS_A_COMMIT)
            except subprocess.TimeoutExpired:
                print("FAIL %s: no end" % label)
                failed += 1
                continue
            out = done.stdout.decode("utf-8", "replace")
            if done.returncode == 0 and out == EXPECTED:
                passed += 1
                print("ok   %s: %s" % (label, done.stderr.decode("utf-8", "replace").strip()), flush=True)
            else:
                failed += 1
                print("FAIL %s: status %d\n%s" % (label, done.returncode, out), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
