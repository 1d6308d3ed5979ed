#!/usr/bin/env python3
"""The steps of tools/check, from tests/steps.list.

    tools/lib/steps.py list [--quick] [GLOB...]   "PRESET<tab>STEP[<tab>beside]" a line: those whose "PRESET STEP" matches
    tools/lib/steps.py run PRESET STEP            runs one in place of itself; what tests/skip.list leaves out is told first
    tools/lib/steps.py command PRESET STEP        prints what that would run
    tools/lib/steps.py docs                       the table of docs/testing.md, as Markdown
    tools/lib/steps.py sanitized COMMAND...       runs a command in place of itself with what sanitizers are told in the check

FUZZ_SECONDS (default 15) is the time that each fuzzer and the generated programs get, FUZZ_SEED is what they begin
from (default: from the commit, so that its check can be repeated).
"""

import collections
import fnmatch
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
Step = collections.namedtuple("Step", "preset name is_quick is_beside seconds command")
# Sanitizers: stop at the first error, say where. What is too much to allocate is none, as without them: natives are told.
SANITIZERS = {
    "ASAN_OPTIONS": "abort_on_error=0:detect_stack_use_after_return=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:allocator_may_return_null=1"}


class Table:
    """What tests/steps.list says."""

    def __init__(self, text):
        self.words, self.steps, self.builds = {}, [], {}
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            if line.startswith("let "):
                _, word, value = line.split(None, 2)
                self.words[word] = value
            elif line.startswith("build "):
                preset, takes = line[len("build "):].split("|")
                self.builds[preset.strip()] = seconds_of(takes.strip())
            else:
                columns = [c.strip() for c in line.split("|", 4)]
                kind = (columns + ["", "", ""])[2].split()
                if len(columns) != 5 or kind[:1] not in (["quick"], ["full"]) or kind[1:] not in ([], ["beside"]) or not columns[4]:
                    sys.exit("tests/steps.list:%d: not a row: preset | step | quick or full [beside] | takes | command" % number)
                self.steps.append(Step(columns[0], columns[1], kind[0] == "quick", kind[1:] == ["beside"],
                                       seconds_of(columns[3]), columns[4]))

    def seconds(self):
        """What all of it takes on two processors, about."""
        return sum(self.builds.values()) + sum(s.seconds // 2 if s.is_beside else s.seconds for s in self.steps)

    def find(self, preset, name):
        for step in self.steps:
            if (step.preset, step.name) == (preset, name):
                return step
        sys.exit("tests/steps.list has no step '%s' of %s" % (name, preset))


def seconds_of(text):
    """Of "12 s" or "1:02"."""
    if re.fullmatch(r"\d+ s", text):
        return int(text[:-2])
    if re.fullmatch(r"\d+:[0-5]\d", text):
        minutes, seconds = text.split(":")
        return 60 * int(minutes) + int(seconds)
    sys.exit("tests/steps.list: '%s' is no time, such as 12 s or 1:02" % text)


def shown(step):
    return (step.preset + " " if step.preset != "-" else "") + step.name


def skip_rows():
    """(preset, test, reason) of tests/skip.list."""
    path = ROOT / "tests" / "skip.list"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if not line.strip() or line.startswith("#"):
            continue
        where, name, reason = ([c.strip() for c in line.split("|", 2)] + ["", ""])[:3]
        if not reason:
            sys.exit("tests/skip.list: '%s' has no reason" % name)
        yield where, name, reason


def skipped(preset):
    """(test, reason) that tests/skip.list leaves out on the preset."""
    return [(name, reason) for where, name, reason in skip_rows() if fnmatch.fnmatchcase(preset, where)]


def commit_number():
    done = subprocess.run(["git", "rev-parse", "--short=7", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return int(done.stdout.decode().strip()[:7], 16) if done.returncode == 0 else 1


def words_of(table, preset):
    """What {words} stand for."""
    seed = os.environ.get("FUZZ_SEED") or str(commit_number())
    seconds = int(os.environ.get("FUZZ_SECONDS") or 15)
    # Some kernels randomise into the ranges that ThreadSanitizer takes.
    fixed = ["setarch", platform.machine(), "-R"]
    can_fix = shutil.which("setarch") and subprocess.run([*fixed, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    names = [name for name, _ in skipped(preset)]
    words = {
        "minivm": "build/%s/tools/minivm" % preset,
        "tests": "build/%s/tests" % preset,
        "jobs": str(os.cpu_count() or 2),
        "seconds": str(seconds),
        "half_seconds": str((seconds + 1) // 2),
        "seed": seed,
        "same_seed": os.environ.get("FUZZ_SEED") or "1",
        "quarter": str(int(seed) % 4),
        "other_quarter": str((int(seed) + 2) % 4),
        "qemu": shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static") or "qemu-aarch64",
        "fixed_addresses": " ".join(fixed) if can_fix else "",
        "asan": os.environ.get("ASAN_OPTIONS", SANITIZERS["ASAN_OPTIONS"]),
        # One argument, because Catch2 takes several as alternatives; it runs hidden tests too where a filter only excludes.
        "skips": shlex.quote("~[.]" + "".join('~"%s"' % name for name in names)) if names else "",
    }
    for word, value in table.words.items():
        words[word] = expand(value, words)
    return words


def expand(text, words):
    def value(match):
        if match[1] not in words:
            sys.exit("tests/steps.list: {%s} is no word" % match[1])
        return words[match[1]]
    return re.sub(r"\{(\w+)\}", value, text)


def command_of(table, step):
    return shlex.split(expand(step.command, words_of(table, step.preset)))


def duration(seconds):
    return "%d s" % seconds if seconds < 60 else "%d min %02d s" % divmod(seconds, 60)


def docs(table):
    rows = ["| preset | step | takes |", "|---|---|---|"]
    for preset in dict.fromkeys(s.preset for s in table.steps):
        if preset in table.builds:
            rows.append("| %s | build | %s |" % (preset, duration(table.builds[preset])))
        rows += ["| %s | %s%s | %s |" % ("" if preset == "-" else preset, s.name, "" if s.is_quick else " (not with `--quick`)",
                                         duration(s.seconds)) for s in table.steps if s.preset == preset]
    rows.append("| | all, those that run beside others counted half | %s |" % duration(table.seconds()))
    return "\n".join(rows) + "\n"


def run(command):
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit("%s: %s" % (command[0], error.strerror))


def main():
    for name, value in SANITIZERS.items():
        os.environ.setdefault(name, value)
    table = Table((ROOT / "tests" / "steps.list").read_text(encoding="utf-8"))
    what, rest = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    if what == "list":
        globs = [a for a in rest if a != "--quick"]
        for step in table.steps:
            if (step.is_quick or "--quick" not in rest) and any(fnmatch.fnmatchcase(shown(step), g) for g in globs or ["*"]):
                print("\t".join([step.preset, step.name] + ["beside"] * step.is_beside))
    elif what in ("run", "command") and len(rest) == 2:
        step = table.find(*rest)
        command = command_of(table, step)
        if what == "run":
            if "{skips}" in step.command:
                for name, reason in skipped(step.preset):
                    print("left out by tests/skip.list: %s: %s" % (name, reason))
            print("$ " + shlex.join(command), flush=True)
            os.chdir(ROOT)
            run(command)
        print(shlex.join(command))
    elif what == "sanitized" and rest:
        run(rest)
    elif what == "docs":
        print(docs(table), end="")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
