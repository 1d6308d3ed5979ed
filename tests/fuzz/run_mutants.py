#!/usr/bin/env python3
"""Runs damaged .beam files: what the verifier lets through must not break the VM.

    tests/fuzz/run_mutants.py --minivm build/dev/tools/minivm --seconds 20 [--seed N]

Each input is a small program of tests/programs with one to three bytes of its instructions changed. It
may be refused, end, raise, or run for ever (then it is ended after --limit seconds); it may print
anything. Death by a signal, a failed assertion or a sanitizer's report is a failure. Input number i
depends on seed and i alone: `--first i --count 1` is the same again, and --keep FILE leaves it there.

The programs are compiled by run_diff.py (--compile-only), which this calls.
"""

import argparse
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RUN_DIFF = REPOSITORY / "tests" / "programs" / "run_diff.py"
# Small, quick, and together of all kinds of instructions; none writes files or starts programs.
PROGRAMS = ["arith_errors", "bin_match_int", "bin_comprehension", "bin_utf", "exc_nested",
            "float_boundaries", "fun_closures", "guard_type_tests", "instr_calls", "instr_switches",
            "instr_types", "list_comprehensions", "map_small", "proc_links", "record_use",
            "select_values", "tuple_basics"]
CODE_HEADER = 28  # chunk name, size, then size of the rest, instruction set, opcodes, labels, functions
REPORTS = (b"AddressSanitizer", b"runtime error:", b"ThreadSanitizer", b"LeakSanitizer")


def instructions(beam):
    """(offset, length) of the instructions."""
    at = 12
    while beam[at:at + 4] != b"Code":
        at += 8 + (struct.unpack_from(">I", beam, at + 4)[0] + 3) // 4 * 4
    return at + CODE_HEADER, struct.unpack_from(">I", beam, at + 4)[0] - (CODE_HEADER - 8)


def damaged(beams, seed, number):
    """(program, bytes)"""
    draw = random.Random("%d %d" % (seed, number))
    name = draw.choice(sorted(beams))
    beam = bytearray(beams[name])
    start, length = instructions(beam)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        at = start + draw.randrange(length)
        beam[at] = draw.choice([
            beam[at] ^ 1 << draw.randrange(8),        # another tag or a neighbour
            (beam[at] + draw.choice([16, -16])) % 256,  # the next register, label or literal
            beam[start + draw.randrange(length)],     # an opcode or operand from elsewhere
            draw.randrange(256)])
    return name, bytes(beam)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True, metavar="BIN")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=0, help="instead of --seconds")
    parser.add_argument("--limit", type=float, default=10, help="seconds that an input may run")
    parser.add_argument("--keep", type=pathlib.Path, help="where the input stands while it runs")
    options = parser.parse_args()
    minivm = shutil.which(options.minivm)
    if minivm is None:
        parser.error("no such program: %s" % options.minivm)
    minivm = str(pathlib.Path(minivm).resolve())  # it runs in another folder

    only = [word for name in PROGRAMS for word in ("--only", name)]
    subprocess.run([sys.executable, str(RUN_DIFF), "--compile-only", *only], check=True)
    folder = REPOSITORY / "build" / "programs"
    beams = {name: (folder / (name + ".beam")).read_bytes() for name in PROGRAMS}

    counts = {"refused": 0, "ended": 0, "raised": 0, "ran on": 0}
    failures = []
    with tempfile.TemporaryDirectory() as place:
        end = time.monotonic() + options.seconds
        number = options.first
        while number < options.first + options.count if options.count else time.monotonic() < end:
            name, beam = damaged(beams, options.seed, number)
            path = pathlib.Path(place) / (name + ".beam")
            path.write_bytes(beam)
            if options.keep:
                options.keep.write_bytes(beam)
            try:
                done = subprocess.run(
                    [minivm, "run", "-S", "1", str(path)], stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=options.limit,
                    cwd=place, check=False)
            except subprocess.TimeoutExpired:
                counts["ran on"] += 1
            else:
                said = done.stderr
                # Assertions and sanitizers end the program with a signal or with a report.
                if done.returncode < 0 or any(report in said for report in REPORTS):
                    failures.append(number)
                    print("input %d (%s, --seed %d --first %d --count 1): status %d\n%s" % (
                        number, name, options.seed, number, done.returncode,
                        said.decode("utf-8", "replace")[-3000:]))
                elif done.returncode == 1 and str(path).encode() in said:
                    counts["refused"] += 1
                else:
                    counts["ended" if done.returncode == 0 else "raised"] += 1
            number += 1
    ran = number - options.first
    print("seed %d: %s" % (options.seed, ", ".join("%d %s" % (n, w) for w, n in counts.items())))
    print("%d passed, %d failed" % (ran - len(failures), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
