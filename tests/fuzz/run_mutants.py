#!/usr/bin/env python3
"""Runs damaged .beam files: what the verifier lets through must not break the VM.

    tests/fuzz/run_mutants.py --minivm build/dev/tools/minivm --seconds 20 [--seed N]

Each input is a small program of tests/programs with one to three changes of its instructions: of a byte, of
an operand (into one of any kind), of the order, or an instruction more that has any operands. It runs on
both engines. It may be refused, end, raise, or run for ever (then it is ended after --limit seconds); it may
print anything. Death by a signal, a failed assertion or a sanitizer's report is a failure. Input number i
depends on seed and i alone: `--first i --count 1` is the same again, and --keep FILE leaves it there.

With --reader build/dev/tests/beam_fuzz they are not run: that reads, verifies and lowers a hundred of them in the time
that it takes to run one.

The programs are compiled by run_diff.py (--compile-only), which this calls.
"""

import argparse
import copy
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import beam_code  # noqa: E402  (beside this file; leaves no compiled copy there)

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RUN_DIFF = REPOSITORY / "tests" / "programs" / "run_diff.py"
# Small, quick, and together of all kinds of instructions; none writes files or starts programs.
PROGRAMS = ["arith_errors", "bin_match_int", "bin_comprehension", "bin_utf", "exc_nested",
            "float_boundaries", "fun_closures", "guard_type_tests", "instr_calls", "instr_switches",
            "instr_types", "list_comprehensions", "map_small", "proc_links", "record_use",
            "select_values", "tuple_basics"]
CODE_HEADER = 28  # chunk name, size, then size of the rest, instruction set, opcodes, labels, functions
BATCH = 500
REPORTS = (b"AddressSanitizer", b"runtime error:", b"ThreadSanitizer", b"LeakSanitizer")


def instructions(beam):
    """(offset, length) of the instructions."""
    at = 12
    while beam[at:at + 4] != b"Code":
        at += 8 + (struct.unpack_from(">I", beam, at + 4)[0] + 3) // 4 * 4
    return at + CODE_HEADER, struct.unpack_from(">I", beam, at + 4)[0] - (CODE_HEADER - 8)


def with_other_bytes(beam, draw):
    beam = bytearray(beam)
    start, length = instructions(beam)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        at = start + draw.randrange(length)
        beam[at] = draw.choice([
            beam[at] ^ 1 << draw.randrange(8),        # another tag or a neighbour
            (beam[at] + draw.choice([16, -16])) % 256,  # the next register, label or literal
            beam[start + draw.randrange(length)],     # an opcode or operand from elsewhere
            draw.randrange(256)])
    return bytes(beam)


class Changes:
    """Changes of the instructions of one file, which stay ones that can be read."""

    NUMBERS = [0, 1, 2, 3, 4, 7, 8, 9, 16, 31, 63, 64, 65, 255, 256, 257, 1022, 1023, 1024, 1025, 65535, 1 << 20,
               (1 << 24) - 1, 1 << 24, (1 << 31) - 1, 1 << 32, (1 << 59) - 1, 1 << 60, (1 << 63) - 1]

    def __init__(self, file, draw):
        self.file, self.draw = file, draw
        self.all = [o for i in file.code for o in self.flat(i[1:])]
        self.bodies = [n for n, i in enumerate(file.code)
                       if beam_code.INSTRUCTIONS[i[0]][0] not in ("label", "func_info", "int_code_end")]

    def flat(self, operands):
        for o in operands:
            yield o
            if o[0] == "list":
                yield from self.flat(o[1])

    def number(self):
        return self.draw.choice(self.NUMBERS) if self.draw.random() < 0.5 else self.draw.randrange(12)

    def any_operand(self):
        """Of any kind, mostly one that could be there."""
        draw = self.draw
        kind = draw.choice("xxxxyyyffuuiiaalltrzs")
        if kind == "x":
            return ("x", draw.randrange(6) if draw.random() < 0.9 else self.number())
        if kind == "y":
            return ("y", draw.randrange(5) if draw.random() < 0.9 else self.number())
        if kind == "f":
            return ("f", draw.randrange(self.file.labels() + 1))
        if kind == "u":
            return ("u", self.number())
        if kind == "i":
            return ("i", draw.choice([1, -1]) * self.number())
        if kind == "a":
            return ("a", draw.randrange(self.file.count("AtU8") + 2))
        if kind == "l":
            return ("literal", draw.randrange(8))
        if kind == "t":
            return ("typed", ("x", draw.randrange(6)), draw.randrange(self.file.count("Type") + 1))
        if kind == "r":
            return ("fr", draw.randrange(4) if draw.random() < 0.9 else self.number())
        if kind == "z":
            return ("list", [draw.choice(self.all) for _ in range(draw.randrange(6))])
        return draw.choice(self.all)

    def operand_for(self, letter):
        """One that the loader takes there, as a rule."""
        draw = self.draw
        if draw.random() < 0.1:
            return self.any_operand()
        register = lambda: (draw.choice("xxy"), draw.randrange(4))
        if letter in "dy":
            return register() if letter == "d" else ("y", draw.randrange(4))
        if letter in "snb":
            return register() if draw.random() < 0.7 else draw.choice(
                [("i", self.number()), ("a", 0), ("literal", draw.randrange(4)), ("a", 1)])
        if letter in "fj":
            return ("f", draw.randrange(self.file.labels()))
        if letter == "l":
            return ("fr", draw.randrange(3))
        if letter == "g":
            return draw.choice([("a", 0), ("u", draw.randrange(32))])
        if letter == "L":
            return ("list", [register() for _ in range(draw.randrange(5))])
        return ("u", self.number())

    def change_operand(self):
        instruction = self.file.code[self.draw.choice(self.bodies)]
        places = [(instruction, n) for n in range(1, len(instruction))]
        for o in instruction[1:]:
            if o[0] == "list":
                places += 2 * [(o[1], n) for n in range(len(o[1]))]
        if places:
            where, n = self.draw.choice(places)
            old = where[n]
            if old[0] in beam_code.TAGS and isinstance(old[1], int) and self.draw.random() < 0.4:
                value = self.draw.choice([old[1] + 1, old[1] - 1, self.number()])
                where[n] = (old[0], value if old[0] == "i" else max(0, value))
            else:
                where[n] = self.any_operand() if self.draw.random() < 0.5 else self.draw.choice(self.all)

    def more_instructions(self):
        opcode = self.draw.choice([o for o, (name, _) in beam_code.INSTRUCTIONS.items()
                                   if name not in ("label", "func_info", "int_code_end")])
        self.file.code.insert(self.draw.choice(self.bodies), [
            opcode, *(self.operand_for(letter) for letter in beam_code.INSTRUCTIONS[opcode][1])])

    def other_instruction(self):
        """One that takes operands of the same kinds."""
        instruction = self.file.code[self.draw.choice(self.bodies)]
        letters = beam_code.INSTRUCTIONS[instruction[0]][1]
        instruction[0] = self.draw.choice([o for o, (_, l) in beam_code.INSTRUCTIONS.items() if l == letters])

    def other_order(self):
        code, a, b = self.file.code, self.draw.choice(self.bodies), self.draw.choice(self.bodies)
        what = self.draw.randrange(3)
        if what == 0:
            code[a], code[b] = code[b], code[a]
        elif what == 1:
            code[a] = copy.deepcopy(code[b])
        else:
            code.insert(a, copy.deepcopy(code[b]))

    def longer_list(self):
        lists = [o[1] for i in self.file.code for o in self.flat(i[1:]) if o[0] == "list" and o[1]]
        if lists:
            items = self.draw.choice(lists)
            what = self.draw.randrange(3)
            if what == 0:
                items.extend(copy.deepcopy(items) * self.draw.choice([1, 2, 50]))
            elif what == 1:
                self.draw.shuffle(items)
            else:
                del items[self.draw.randrange(len(items)):]


def damaged(beams, seed, number):
    """(program, bytes)"""
    draw = random.Random("%d %d" % (seed, number))
    name = draw.choice(sorted(beams))
    if draw.random() < 0.2:
        return name, with_other_bytes(beams[name], draw)
    file = beam_code.Beam(beams[name])
    changes = Changes(file, draw)
    for _ in range(draw.choice([1, 1, 2, 3])):
        draw.choice([changes.change_operand] * 5 + [changes.more_instructions] * 2 + [
            changes.other_instruction, changes.other_order, changes.longer_list])()
    return name, file.data()


def read(beams, reader, options):
    """The inputs from --first on, BATCH of them at a time; one that ends the reader is left out and the rest goes on."""
    end = time.monotonic() + options.seconds
    number, failed = options.first, 0
    while number < options.first + options.count if options.count else time.monotonic() < end:
        batch = min(BATCH, options.first + options.count - number) if options.count else BATCH
        with tempfile.TemporaryDirectory() as place:
            for n in range(batch):
                beam = damaged(beams, options.seed, number + n)[1]
                (pathlib.Path(place) / ("%06d.beam" % n)).write_bytes(beam)
                if options.keep:
                    options.keep.write_bytes(beam)
            done = subprocess.run([reader, "--seed", "0", "--count", str(batch), place], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        said = done.stderr.decode("utf-8", "replace")
        failing = re.search(r"^input (\d+) failed", said, re.MULTILINE)
        if failing:
            batch = int(failing[1]) + 1
            failed += 1
            print("input %d (--seed %d --first %d --count 1): status %d\n%s" % (
                number + batch - 1, options.seed, number + batch - 1, done.returncode, said[-3000:]), flush=True)
        elif done.returncode != 0:
            raise SystemExit("%s: status %d\n%s" % (reader, done.returncode, said[-3000:]))
        number += batch
    print("seed %d: read by %s" % (options.seed, reader))
    print("%d passed, %d failed" % (number - options.first - failed, failed))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--minivm", metavar="BIN")
    what.add_argument("--reader", metavar="BIN", help="beam_fuzz")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=0, help="instead of --seconds")
    parser.add_argument("--engines", default="interp,jit", metavar="E,E")
    parser.add_argument("--limit", type=float, default=10, help="seconds that an input may run")
    parser.add_argument("--keep", type=pathlib.Path, help="where the input stands while it runs; the last one that is read")
    options = parser.parse_args()
    program = shutil.which(options.minivm or options.reader)
    if program is None:
        parser.error("no such program: %s" % (options.minivm or options.reader))
    program = str(pathlib.Path(program).resolve())  # it runs in another folder

    only = [word for name in PROGRAMS for word in ("--only", name)]
    subprocess.run([sys.executable, str(RUN_DIFF), "--compile-only", *only], check=True)
    folder = REPOSITORY / "build" / "programs"
    beams = {name: (folder / (name + ".beam")).read_bytes() for name in PROGRAMS}

    if options.reader:
        return read(beams, program, options)
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
            for engine in options.engines.split(","):
                try:
                    done = subprocess.run(
                        [program, "run", "-S", "1", "--engine", engine, str(path)],
                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                        timeout=options.limit, cwd=place, check=False)
                except subprocess.TimeoutExpired:
                    counts["ran on"] += 1
                    break
                said = done.stderr
                # Assertions and sanitizers end the program with a signal or with a report.
                if done.returncode < 0 or any(report in said for report in REPORTS):
                    failures.append(number)
                    print("input %d (%s, %s, --seed %d --first %d --count 1): status %d\n%s" % (
                        number, name, engine, options.seed, number, done.returncode,
                        said.decode("utf-8", "replace")[-3000:]), flush=True)
                    break
                if done.returncode == 1 and str(path).encode() in said:
                    counts["refused"] += 1
                    break
                counts["ended" if done.returncode == 0 else "raised"] += 1
            number += 1
    ran = number - options.first
    print("seed %d: %s" % (options.seed, ", ".join("%d %s" % (n, w) for w, n in counts.items())))
    print("%d passed, %d failed" % (ran - len(failures), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
