#!/usr/bin/env python3
"""Compares what `erl` and the engines of minivm make of generated functions.

    run_generated.py --seed N --modules K --minivm build/release/tools/minivm
    run_generated.py --seed N --seconds S --engines interp,jit,mixed:7 --minivm ...
    run_generated.py --seed N --modules 1 --keep DIR      # leaves sources and .beam files there
    run_generated.py --qemu qemu-aarch64 --minivm build/aarch64/tools/minivm ...

Module k of seed N is made by generate.py, each fourth by generate_asm.py, from seed N * 1000003 + k.
It is compiled once, with options of its own; result, exception and own frames of the stack trace have
to be those of `erl`, on every engine. Some modules have a twin of the same functions, and each calls
the other one where it would call itself: with mixed:N such a pair is often of two engines. Between
engines the reductions have to agree as well; where they do not, they have to in a heap in which
nothing is collected, for a collection counts reductions, and a crossing between engines takes two
words of stack, so that one may be due at another place. An engine may carry stress switches: interp/gc,
jit/reductions, jit/fp; then reductions are not compared.

A disagreement is cut down to a small module that still shows it and printed with its seed. The last
line is "N passed, M failed", in functions.
"""

import argparse
import collections
import itertools
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import generate  # noqa: E402  (needs the path above)
import generate_asm  # noqa: E402

SEED_STEP = 1000003
BATCH = 6  # modules that share one start of each program
CANDIDATES = 8  # smaller modules that are tried at once
DIFFERENT_TEXT = 1500
SHOWN_LINES = 150
WALL_FACTOR = 8  # a hang that takes no time is noticed after so many timeouts
ASM_EVERY = 4  # one of so many modules is generate_asm.py's
STRESS = {"gc": "--stress-gc", "reductions": "--stress-reductions", "fp": "--perf=fp"}


class Outcome:
    """What one program printed: {module: {function: [(hash, reductions)]}}, and how it ended."""

    def __init__(self, text, status):
        self.status = status
        self.compiled, self.refused, self.results, self.finished = set(), {}, {}, set()
        current = None
        for line in text.splitlines():
            word, _, rest = line.partition(" ")
            if word == "compiled":
                self.compiled.add(rest)
            elif word == "refused":
                name, _, why = rest.partition(" ")
                self.refused[name] = why
            elif word == "module":
                current = self.results.setdefault(rest, {})
            elif word == "end":
                self.finished.add(rest)
                current = None
            elif current is not None and re.fullmatch(r"f\d+", word):
                current[word] = [tuple(pair.split("/")) for pair in rest.split()]


def environment():
    env = dict(os.environ, LC_ALL="C.UTF-8", ERL_CRASH_DUMP_SECONDS="0")
    for name in ("ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS"):
        env.pop(name, None)
    return env


def run(command, timeout, folder):
    # Seconds of processor time: the machine may be busy with other things.
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (int(timeout), int(timeout) + 5))

    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=environment(), cwd=folder,
                             start_new_session=True, preexec_fn=limit)
    try:
        stdout, stderr = child.communicate(timeout=WALL_FACTOR * timeout)
        status = child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        stdout, stderr = child.communicate()
        status = "timeout"
    return stdout.decode("utf-8", "replace"), status, stderr.decode("utf-8", "replace")


def gave_up(results):
    """erl itself did, on a call of the function."""
    return any(h == "timeout" for h, _ in results)


class Difference:
    def __init__(self, module, function, left, right, what):
        self.module, self.function, self.left, self.right, self.what = (
            module, function, left, right, what)


class Runner:
    def __init__(self, options, work):
        self.options = options
        self.work = pathlib.Path(work)
        self.support = self.work / "support"
        self.support.mkdir()
        subprocess.run(["erlc", "-o", str(self.support), str(FOLDER / "generated_harness.erl"),
                        str(FOLDER / "generated_compiler.erl")], check=True)
        self.passed = self.failed = self.calls = 0
        self.refused = self.modules = 0
        self.collections = 0  # functions whose reductions differ by those of collections
        self.of_the_next = 0  # and whose exceptions erl takes for those of another
        self.serial = 0
        self.instructions = collections.Counter()

    # ---- programs ----

    def oracle(self, modules, folder):
        listing = folder / "list.terms"
        with open(listing, "w", encoding="utf-8") as out:
            for module in modules:
                # The twin first, so that it is there when the module is called.
                for name, code in module.sources()[::-1]:
                    source = folder / (name + module.suffix)
                    source.write_text(code, encoding="utf-8")
                    out.write('{%s, "%s", [%s]}.\n' % (name, source, ", ".join(module.options)))
        text, status, stderr = run(
            ["erl", "-noshell", "-kernel", "logger_level", "none", "-pa", str(self.support),
             str(folder), "-run", "generated_compiler", "start", "-extra", str(listing), str(folder)],
            self.options.timeout * 3, folder)
        if status != 0:
            print("erl ended with status %s\n%s" % (status, (text + stderr)[-DIFFERENT_TEXT:]))
        return Outcome(text, status)

    def engine_command(self, engine, folder):
        name, *stress = engine.split("/")
        return [*shlex.split(self.options.qemu), self.options.minivm, "run", "--engine", name,
                *[STRESS[s] for s in stress], "-pa", str(folder),
                str(self.support / "generated_harness.beam")]

    def engine(self, engine, names, folder, without):
        text, status, _ = run([*self.engine_command(engine, folder), "hash", ",".join(without), *names],
                              self.options.timeout, folder)
        return Outcome(text, status)

    def detail(self, who, module, function, folder):
        if who == "erl":
            command = ["erl", "-noshell", "-kernel", "logger_level", "none", "-pa", str(self.support),
                       str(folder), "-run", "generated_harness", "start", "-extra"]
        else:
            command = self.engine_command(who, folder)
        text, status, stderr = run([*command, "detail", module, function], self.options.timeout, folder)
        if status != 0:
            text += "(status %s)\n%s" % (status, stderr[-DIFFERENT_TEXT:])
        return text

    def roomy(self, engine, module, function, folder):
        """Reductions without those of collections: what it printed, and how it ended."""
        return run([*self.engine_command(engine, folder), "roomy", module, function],
                   self.options.timeout, folder)[:2]

    # ---- comparing ----

    def compare(self, module, oracle, outcomes, folder):
        """The differences of one module, and in how many functions all agreed."""
        differences, agreed = [], 0
        engines = self.options.engines
        first = outcomes[engines[0]].results.get(module.name, {})
        for function in module.functions:
            if function.local:
                continue
            expected = oracle.results.get(module.name, {}).get(function.name)
            if expected is None or gave_up(expected):
                continue
            found = None
            for engine in engines:
                outcome = outcomes[engine]
                got = outcome.results.get(module.name, {}).get(function.name)
                if got is None:
                    if module.name not in outcome.finished and found is None:
                        found = Difference(module, function, "erl", engine, "no answer (status %s)"
                                           % outcome.status)
                    break
                if [h for h, _ in got] != [h for h, _ in expected]:
                    if not self.is_of_the_next(module, function, engine, folder):
                        found = Difference(module, function, "erl", engine, "another result")
                        break
                if engine == engines[0]:
                    continue
                base = first[function.name]
                if [h for h, _ in got] != [h for h, _ in base]:
                    found = Difference(module, function, engines[0], engine, "another result")
                    break
                if "/" not in engine and got != base:
                    here, there = (self.roomy(e, module.name, function.name, folder)
                                   for e in (engines[0], engine))
                    if here == there and here[1] == 0:
                        self.collections += 1
                        continue
                    found = Difference(module, function, engines[0], engine, "other reductions")
                    break
            if found:
                differences.append(found)
                if found.what.startswith("no answer"):
                    break  # nothing behind it ran
            else:
                agreed += 1
                self.calls += len(function.calls)
        return differences, agreed

    def is_of_the_next(self, module, function, engine, folder):
        """Whether all that differs is that erl's native code, where a function ends with the call that raises and the
        next one begins right behind it, takes the next one for the function that has raised."""
        names = [f.name for f in module.functions] + ["calls"]
        behind = names[names.index(function.name) + 1]
        frame = r"\[\{%s,%s,\d+,\w+\}"
        for lines in itertools.zip_longest(*(self.detail(who, module.name, function.name, folder).splitlines()
                                             for who in ("erl", engine)), fillvalue=""):
            # The number of the call, the hash of what is behind, reductions, what came out.
            theirs, ours = (line.split(" ", 3) for line in lines)
            if theirs[:2] == ours[:2]:
                continue
            (theirs, in_theirs), (ours, in_ours) = (
                re.subn(frame % (module.name, name), "[", columns[-1], count=1)
                for columns, name in ((theirs, behind), (ours, function.name)))
            if theirs != ours or not in_theirs or not in_ours:
                return False
        self.of_the_next += 1
        return True

    def fresh_folder(self):
        self.serial += 1
        folder = self.work / ("batch%d" % self.serial)
        folder.mkdir()
        return folder

    def run_batch(self, modules, folder):
        """[(module, differences, agreed)] of what compiles."""
        oracle = self.oracle(modules, folder)
        for name, why in oracle.refused.items():
            if self.options.verbose and not name.startswith("gen_small"):
                print("refused %s: %s" % (name, why[:500]))
        todo = [m for m in modules if m.name in oracle.compiled]
        without = ["%s:%s" % (module, function) for module, results in oracle.results.items()
                   for function, calls in results.items() if gave_up(calls)]
        outcomes = {}
        for engine in self.options.engines:
            merged = None
            left = [m.name for m in todo]
            while left:
                outcome = self.engine(engine, left, folder, without)
                if merged is None:
                    merged = outcome
                else:
                    merged.results.update(outcome.results)
                    merged.finished |= outcome.finished
                    merged.status = merged.status or outcome.status
                # go on behind the module that ended the program
                started = [n for n in left if n in outcome.results]
                if not started or outcome.status == 0 and set(left) <= outcome.finished:
                    left = left[len(started) or 1:] if not started else []
                else:
                    left = left[left.index(started[-1]) + 1:]
            outcomes[engine] = merged or Outcome("", 0)
        return [(m, *self.compare(m, oracle, outcomes, folder)) for m in todo], oracle

    # ---- making a reproducer small ----

    def still_differs(self, candidates, difference):
        """The first of the modules that shows the difference, or None."""
        folder = self.fresh_folder()
        results, _ = self.run_batch(candidates, folder)
        shutil.rmtree(folder)
        for module, differences, _ in results:
            for other in differences:
                if (other.function.name == difference.function.name
                        and other.what.split(" (")[0] == difference.what.split(" (")[0]):
                    return module
        return None

    def minimise(self, difference):
        deadline = time.monotonic() + self.options.minimise_seconds
        saved_engines, calls = self.options.engines, self.calls
        pair = [e for e in (difference.left, difference.right) if e != "erl"]
        self.options.engines = pair
        module = difference.module
        try:
            first = module.only(difference.function.name, module.name)
            best = self.still_differs([first], difference) or module
            while time.monotonic() < deadline:
                found = None
                batch = []
                for candidate in best.smaller(difference.function.name):
                    candidate.name = "gen_small%d" % len(batch)
                    batch.append(candidate)
                    if len(batch) == CANDIDATES:
                        found = self.still_differs(batch, difference)
                        batch = []
                        if found or time.monotonic() > deadline:
                            break
                if batch and not found:
                    found = self.still_differs(batch, difference)
                if not found:
                    break
                best = found
            return best
        finally:
            self.options.engines, self.calls = saved_engines, calls

    def report(self, difference, seed):
        print("\nDIFFERENT seed %d, %s:%s: %s gives %s than %s; options [%s]" % (
            seed, difference.module.name, difference.function.name, difference.right, difference.what,
            difference.left, ", ".join(difference.module.options)))
        sys.stdout.flush()
        small = difference.module
        if self.options.minimise_seconds > 0:
            small = self.minimise(difference)
        small.name = "gen_s%d_%s" % (seed, difference.function.name)
        sources = small.sources()
        lines = sources[0][1].splitlines()
        print("\n".join(line[:300] for line in lines[:SHOWN_LINES]))
        if len(lines) > SHOWN_LINES:
            print("... %d more lines" % (len(lines) - SHOWN_LINES))
        if self.options.failures:
            self.options.failures.mkdir(parents=True, exist_ok=True)
            for name, text in sources:
                path = self.options.failures / (name + small.suffix)
                path.write_text(text, encoding="utf-8")
                print("in %s, compile with [%s]" % (path, ", ".join(small.options)))
        folder = self.fresh_folder()
        self.oracle([small], folder)
        left = self.detail(difference.left, small.name, difference.function.name, folder).splitlines()
        right = self.detail(difference.right, small.name, difference.function.name, folder).splitlines()
        for index in range(max(len(left), len(right))):
            a = left[index] if index < len(left) else "(nothing)"
            b = right[index] if index < len(right) else "(nothing)"
            erl = "erl" in (difference.left, difference.right)
            if (a.split(" ", 3)[0:4:3] if erl else a) != (b.split(" ", 3)[0:4:3] if erl else b):
                print("  %-8s %s" % (difference.left, a[:DIFFERENT_TEXT]))
                print("  %-8s %s" % (difference.right, b[:DIFFERENT_TEXT]))
        sys.stdout.flush()

    # ---- which lowered instructions there were ----

    def count_instructions(self, folder):
        for beam in sorted(folder.glob("*.beam")):
            text, _, _ = run([*shlex.split(self.options.qemu), self.options.minivm, "disasm", str(beam)],
                             self.options.timeout, folder)
            self.instructions.update(re.findall(r"^[@ ] *\d+  (\w+)", text, re.MULTILINE))

    def show_instructions(self):
        table = (FOLDER.parent.parent / "vm" / "instr" / "instructions.def").read_text(encoding="utf-8")
        names = re.findall(r"^INSTR\((\w+),", table, re.MULTILINE)
        for name in sorted(names, key=lambda n: -self.instructions[n]):
            print("%8d %s" % (self.instructions[name], name))

    # ---- the whole ----

    def work_through(self):
        begin = time.monotonic()
        options = self.options
        index = options.first
        last_line = begin
        while options.modules is None or index < options.first + options.modules:
            if options.seconds and time.monotonic() - begin > options.seconds:
                break
            if options.functions_wanted and self.passed + self.failed >= options.functions_wanted:
                break
            count = BATCH
            if options.modules is not None:
                count = min(BATCH, options.first + options.modules - index)
            modules = [self.make(index + k) for k in range(count)]
            index += count
            folder = self.fresh_folder()
            results, oracle = self.run_batch(modules, folder)
            self.modules += len(modules)
            self.refused += sum(module.name in oracle.refused for module in modules)
            for module, differences, agreed in results:
                self.passed += agreed
                self.failed += len(differences)
                for difference in differences[:options.report]:
                    self.report(difference, int(module.name.split("_")[1]))
            if options.instructions:
                self.count_instructions(folder)
            if options.keep:
                for path in folder.iterdir():
                    shutil.copy(path, options.keep)
            shutil.rmtree(folder)
            if time.monotonic() - last_line > 60:
                last_line = time.monotonic()
                print("%d functions, %d failed" % (self.passed, self.failed), flush=True)
        # Some make erlc itself stumble, about one of thirty. Many would mean that the generator writes
        # nonsense; of a few modules one or two may be chance.
        if self.refused * 10 > self.modules + 15:
            print("%d of %d modules did not compile" % (self.refused, self.modules))
            self.failed += 1
        print("%d calls of functions in %d modules (%d not compiled), seed %d, on erl, %s, %.0f s" % (
            self.calls, self.modules, self.refused, options.seed, ", ".join(options.engines),
            time.monotonic() - begin))
        if self.collections:
            print("%d times reductions differed by those of collections alone" % self.collections)
        if self.of_the_next:
            print("%d times erl named the function behind" % self.of_the_next)
        if options.instructions:
            self.show_instructions()
        print("%d passed, %d failed" % (self.passed, self.failed))
        return 0 if self.failed == 0 and self.passed > 0 else 1

    def make(self, index):
        seed = self.options.seed * SEED_STEP + index
        kind = self.options.kind
        if kind == "asm" or kind == "both" and index % ASM_EVERY == ASM_EVERY - 1:
            return generate_asm.generate(seed, "gen_%d" % seed, self.options.functions)
        return generate.generate(seed, "gen_%d" % seed, self.options.functions)


def add_common_options(parser, unit, timeout):
    """Those of run_trace.py as well; a `unit` is what has a seed."""
    parser.add_argument("--minivm", required=True, type=os.path.abspath)
    parser.add_argument("--engines", default="interp", type=lambda text: text.split(","))
    parser.add_argument("--qemu", default="", help="command before minivm")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first %s" % unit)
    parser.add_argument("--%ss" % unit, type=int)
    parser.add_argument("--seconds", type=float, help="begin no batch after so long")
    parser.add_argument("--timeout", type=float, default=timeout,
                        help="processor seconds for one batch on one engine")
    parser.add_argument("--minimise-seconds", type=float, default=60, help="for each difference")
    parser.add_argument("--failures", type=pathlib.Path, default=pathlib.Path("build/generated"),
                        help="folder for reproducers")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common_options(parser, "module", timeout=120)
    parser.add_argument("--kind", choices=("erlang", "asm", "both"), default="both")
    parser.add_argument("--functions", type=int, default=40, help="functions in a module")
    parser.add_argument("--functions-wanted", type=int, help="stop when so many were compared")
    parser.add_argument("--report", type=int, default=3, help="differences shown of each module")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--instructions", action="store_true",
                        help="count the lowered instructions of all modules at the end")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.modules is None and not options.seconds and not options.functions_wanted:
        options.modules = BATCH
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="generated") as work:
        sys.exit(Runner(options, work).work_through())


if __name__ == "__main__":
    main()
