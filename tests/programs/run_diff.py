#!/usr/bin/env python3
"""Differential test of minivm against OTP's `erl`.

Every program of this folder is compiled once with `erlc`. Its `.beam` then runs on `erl`, which
is the oracle, and on each minivm command given; standard output and exit status must agree byte
for byte, with --stderr what is reported on standard error as well (see reports() for what varies there;
`stderr.list` names programs whose differences have a reason).

A program is `NAME.erl`, or a folder `NAME/` of several modules with the main module
`NAME/NAME.erl`, or `NAME.ex`, which defines a module `:NAME` and what else it wants and is compiled
with `elixirc`. A `.c` file beside it (`NAME.c`, or any in the folder) is a native library for it:
it is compiled to a `.so`, which the program finds in the directory that the environment variable
PROGRAM_DIR names. Beside it may stand `NAME.args` (one argument a line) and `NAME.stdin` (given as
standard input). `later.list` names programs that need parts of the VM that do not exist yet: they
run on `erl` always, on minivm only with --later. `large.list` names those whose live data or stack
is so large that collecting at every chance takes hours: they are left out of `--stress gc`.
`emulated.list` names those left out where qemu runs minivm.
`sample.list` names those that run with --sample, a few of each area. `other_otp.list` names those that
differ with --otp, with the reason: there a difference is no failure, and is counted by itself.

Examples:
    run_diff.py --erl-only
    run_diff.py --minivm build/dev/tools/minivm --engine interp --engine jit
    run_diff.py --minivm build/dev/tools/minivm --stress gc,reductions --only 'bin_*'
    run_diff.py --minivm build/aarch64/minivm --wrapper 'qemu-aarch64 -L /usr/aarch64-linux-gnu' --slow
"""

import argparse
import concurrent.futures
import dataclasses
import difflib
import fcntl
import fnmatch
import functools
import glob
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parent.parent
LAUNCHER = FOLDER / "support" / "program_launcher.erl"
DIFF_LINES = 50
SLOW_FACTOR = 20
COLLECTING_FACTOR = 4  # collecting at every allocation, for what large.list does not leave out
SLOWEST = 12          # programs whose times are shown at the end
RACES = 5              # runs of both for standard error, at most
ORACLE_TIMEOUT_S = 60  # a short --timeout is meant for minivm
# The status a timed-out program is given: no program can produce it.
TIMED_OUT = "timeout"


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    sources: tuple
    beam_dir: pathlib.Path
    arguments: tuple
    stdin: pathlib.Path | None
    libraries: tuple = ()  # C sources

    @property
    def beam(self):
        return self.beam_dir / (self.name + ".beam")

    @property
    def is_elixir(self):
        return self.sources[0].suffix == ".ex"

    @property
    def path(self):
        """Folders of modules beside that of the main one."""
        return elixir_libraries() or () if self.is_elixir else ()

    def needs(self):
        """The pattern of a file's name in its first lines, or None."""
        source = next(s for s in self.sources if s.stem == self.name)
        needs = re.search(rb"^%% needs: (\S+)", source.read_bytes(), re.MULTILINE)
        return needs and needs.group(1).decode()

    def packages_missing(self):
        """True if there is no Elixir for it, or its first lines name a file that is not there."""
        if self.is_elixir:
            return elixir_libraries() is None
        needs = self.needs()
        return needs is not None and not glob.glob(needs)

    def foreign_dir(self, cc):
        """Where its libraries for another machine are, and its .beam files again."""
        return self.beam_dir / (self.name + "-" + cc)


@dataclasses.dataclass(frozen=True)
class Outcome:
    stdout: bytes
    status: object
    stderr: bytes = b""


@dataclasses.dataclass(frozen=True)
class Configuration:
    """One way to run minivm: a program, an engine, stress switches."""

    label: str
    command: tuple
    collects_always: bool


def read_list(path):
    """Names, one a line, # begins a comment."""
    if not path.exists():
        return set()
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name for name in (line.split("#")[0].strip() for line in lines) if name}


def read_reasons(path):
    """{name: reason}; a name without one has that of the comment above it."""
    reasons, above = {}, ""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        name, _, reason = (part.strip() for part in line.partition("#"))
        if name:
            reasons[name] = reason or above
        else:
            above = reason
    return reasons


def find_programs(folder, out, patterns):
    programs = []
    for entry in sorted(folder.iterdir()):
        if entry.suffix == ".erl" and entry.is_file():
            name, sources, beam_dir = entry.stem, (entry,), out
            libraries = tuple(c for c in (entry.with_suffix(".c"),) if c.exists())
        elif entry.suffix == ".ex":
            name, sources, beam_dir, libraries = entry.stem, (entry,), out / entry.stem, ()
        elif entry.is_dir() and (entry / (entry.name + ".erl")).exists():
            name, sources = entry.name, tuple(sorted(entry.glob("*.erl")))
            beam_dir = out / entry.name
            libraries = tuple(sorted(entry.glob("*.c")))
        else:
            continue
        if patterns and not any(fnmatch.fnmatchcase(name, p) for p in patterns):
            continue
        arguments_file = folder / (name + ".args")
        arguments = ()
        if arguments_file.exists():
            arguments = tuple(arguments_file.read_text(encoding="utf-8").splitlines())
        stdin = folder / (name + ".stdin")
        programs.append(
            Program(name, sources, beam_dir, arguments, stdin if stdin.exists() else None,
                    libraries))
    return programs


def is_stale(source, beam_dir):
    beam = beam_dir / (source.stem + (".so" if source.suffix == ".c" else ".beam"))
    return not beam.exists() or beam.stat().st_mtime_ns < source.stat().st_mtime_ns


def erlc(sources, beam_dir):
    """Compiles, in one erlc where possible; returns {source: message} of those that failed."""
    beam_dir.mkdir(parents=True, exist_ok=True)
    command = ["erlc", "-W0", "+debug_info", "-o", str(beam_dir)]
    together = subprocess.run(
        command + [str(s) for s in sources], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        check=False)
    if together.returncode == 0:
        return {}
    failures = {}
    for source in sources:
        alone = subprocess.run(
            command + [str(source)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if alone.returncode != 0:
            failures[source] = alone.stdout.decode("utf-8", "replace")
    return failures


def use_otp(folder):
    """Makes erl, erlc and (since it looks for erl) minivm those of another OTP. The installed Elixir is
    made for the installed OTP."""
    place = next((f for f in (folder / "otp" / "bin", folder / "bin") if (f / "erl").exists()), None)
    if place is None:
        sys.exit("no bin/erl below %s" % folder)
    os.environ["PATH"] = "%s%s%s" % (place, os.pathsep, os.environ["PATH"])
    os.environ.pop("ROOTDIR", None)
    globals()["uses_installed_otp"] = False


uses_installed_otp = True


@functools.cache
def elixir_libraries():
    """The folders of Elixir's modules, or None."""
    elixirc = shutil.which("elixirc")
    if elixirc is None or not uses_installed_otp:
        return None
    lib = pathlib.Path(elixirc).resolve().parent.parent / "lib"
    return tuple(lib / name / "ebin" for name in ("elixir", "eex", "ex_unit"))


def compile_elixir(source, beam_dir):
    """Compiles one file; the message if that fails."""
    shutil.rmtree(beam_dir, ignore_errors=True)
    beam_dir.mkdir(parents=True)
    done = subprocess.run(
        ["elixirc", "-o", str(beam_dir), str(source)], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False, env=dict(os.environ, LC_ALL="C.UTF-8"))
    return done.stdout.decode("utf-8", "replace") if done.returncode != 0 else None


def nif_include_dir():
    """Where erl_nif.h is, or None."""
    erl = shutil.which("erl")
    if erl is not None:
        for above in pathlib.Path(erl).resolve().parents:
            for include in (above / "usr" / "include", above / "include"):
                if (include / "erl_nif.h").exists():
                    return include
    return None


def compile_library(source, beam_dir, include, cc="cc"):
    """A native library from one C file; the message if that fails."""
    beam_dir.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [cc, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-fPIC",
         "-shared", "-I", str(include), "-o", str(beam_dir / (source.stem + ".so")), str(source)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout.decode("utf-8", "replace") if done.returncode != 0 else None


def compile_all(programs, support_dir, include, jobs):
    """What is stale, `jobs` compilers at a time; {source: message} of what failed."""
    by_dir = {}
    tasks = []
    for program in programs:
        stale = [source for source in program.sources if is_stale(source, program.beam_dir)]
        if not program.is_elixir:
            by_dir.setdefault(program.beam_dir, []).extend(stale)
        elif not program.packages_missing():
            tasks += [(compile_elixir, source, program.beam_dir) for source in stale]
        if include:
            tasks += [(compile_library, source, program.beam_dir, include) for source in program.libraries
                      if is_stale(source, program.beam_dir)]
    if is_stale(LAUNCHER, support_dir):
        by_dir.setdefault(support_dir, []).append(LAUNCHER)
    for beam_dir, sources in by_dir.items():
        tasks += [(erlc, part, beam_dir) for part in (sources[n::jobs] for n in range(jobs)) if part]
    failures = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        for (compiler, what, *_), message in zip(tasks, pool.map(lambda task: task[0](*task[1:]), tasks)):
            if message:
                failures.update(message if compiler is erlc else {what: message})
    return failures


def compile_foreign(program, include, cc):
    """Its libraries for another machine; the messages of those that fail."""
    folder = program.foreign_dir(cc)
    messages = [compile_library(source, folder, include, cc) for source in program.libraries
                if is_stale(source, folder)]
    for source in program.sources:
        beam = source.stem + ".beam"
        if (program.beam_dir / beam).exists():
            shutil.copy2(program.beam_dir / beam, folder / beam)
    return "".join(m for m in messages if m)


def environment(program_dir):
    """One locale for both sides: the I/O servers write UTF-8."""
    env = dict(os.environ)
    env["PROGRAM_DIR"] = str(program_dir)
    env["LC_ALL"] = "C.UTF-8"
    env.pop("ERL_FLAGS", None)
    env.pop("ERL_AFLAGS", None)
    env.pop("ERL_ZFLAGS", None)
    return env


def run_command(command, program, timeout, work_dir, program_dir=None):
    """Runs in its own process group, so that a hang takes no grandchild along."""
    with open(program.stdin or os.devnull, "rb") as stdin:
        child = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(program_dir or program.beam_dir), cwd=work_dir, start_new_session=True)
        try:
            stdout, stderr = child.communicate(timeout=timeout)
            return Outcome(stdout, child.returncode, stderr)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            stdout, stderr = child.communicate()
            return Outcome(stdout, TIMED_OUT, stderr)


def erl_command(program, support_dir):
    # What is reported goes to where minivm writes it.
    handler = "[{handler, default, logger_std_h, #{config => #{type => standard_error}}}]"
    return [
        "erl", "-noshell", "-kernel", "logger", handler, "-pa", str(support_dir),
        str(program.beam_dir), *map(str, program.path), "-run", "program_launcher", "start", "-extra", program.name,
        *program.arguments]


def oracle_key(program, erl_id):
    digest = hashlib.sha256(erl_id)
    digest.update(LAUNCHER.read_bytes())
    for path in (*program.sources, *program.libraries,
                 *((program.stdin,) if program.stdin else ())):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    for argument in program.arguments:
        digest.update(argument.encode() + b"\0")
    return digest.hexdigest()


def oracle(program, support_dir, cache_dir, timeout, erl_id, work_dir, again=False):
    """What `erl` gives, from the cache when program, input and `erl` are unchanged; `again`: not from there."""
    cached = cache_dir / (program.name + ".json")
    key = oracle_key(program, erl_id)
    if cached.exists() and not again:
        try:
            entry = json.loads(cached.read_text(encoding="utf-8"))
            if entry["key"] == key:
                return Outcome(bytes.fromhex(entry["stdout"]), entry["status"], bytes.fromhex(entry["stderr"]))
        except (ValueError, KeyError):
            pass  # a damaged entry is simply made anew
    outcome = run_command(erl_command(program, support_dir), program, timeout, work_dir)
    if outcome.status != TIMED_OUT:
        entry = {"key": key, "stdout": outcome.stdout.hex(), "status": outcome.status,
                 "stderr": outcome.stderr.hex()}
        temporary = cached.with_suffix(".%d.tmp" % os.getpid())
        temporary.write_text(json.dumps(entry), encoding="utf-8")
        temporary.replace(cached)
    return outcome


def agree(expected, got, with_stderr=False):
    return got.stdout == expected.stdout and got.status == expected.status and (
        not with_stderr or reports(got.stderr) == reports(expected.stderr))


# What of standard error differs from run to run, or is of the ways in which a program is started.
VARIES = [(re.compile(pattern, re.MULTILINE), text) for pattern, text in (
    (r"^=([A-Z ]+ REPORT)==== .* ===$", r"=\1"),
    (r"<\d+\.\d+\.\d+>", "<pid>"),
    (r"#(Ref|Port)<[\d.]+>", r"#\1"),
    (r"^beam/\w+\.c\(\d+\): ", ""),  # where OTP's sources say so
    (r"^( +(?:heap_size|stack_size|reductions|Total Heap Size): +)\d+$", r"\1"),
    (r"\{(\w+_size),\d+\}", r"{\1}"),
    (r"^minivm: what happened before: .*\n", ""),
    (r"^ *in call from (?:program_launcher|minivm_boot):.*\n", ""),
    (r",\s*\{(?:program_launcher|minivm_boot),(?:\w+|'[^']*'),\d+,\s*\[[^\]]*\]\}", ""),
)]


def reports(data):
    """What standard error says, in pieces: a report is one, and what is written between two. In which order those of
    several processes come is nobody's promise."""
    text = data.decode("utf-8", "backslashreplace")
    for pattern, replacement in VARIES:
        text = pattern.sub(replacement, text)
    pieces = [piece for part in re.split(r"^(?==[A-Z ]+ REPORT$)", text, flags=re.MULTILINE)
              for piece in re.split(r"\n\n+", part)]
    return sorted(piece.rstrip("\n") + "\n" for piece in pieces if piece.strip("\n"))


def part(text):
    number, _, parts = text.partition("/")
    if not (number.isdigit() and parts.isdigit() and int(parts) > 0):
        raise argparse.ArgumentTypeError("%r is not K/N, such as 2/5" % text)
    return int(number), int(parts)


def stress_switches(text):
    switches = []
    for part in text.split(","):
        kind, _, value = part.partition(":")
        if kind in ("gc", "reductions") and not value:
            switches.append("--stress-" + kind)
        elif kind == "checks" and not value:
            switches.append("--check-native")
        elif kind == "fp" and not value:
            switches.append("--perf=fp")
        elif kind == "barrier" and not value:
            switches += ["--code-barrier", "progress"]
        elif kind == "sched" and value.isdigit():
            switches += ["--stress-sched", value]
        else:
            raise argparse.ArgumentTypeError(
                "%r is not one of gc, reductions, sched:SEED, checks, fp, barrier (joined by commas)" % part)
    return text, switches


def configurations(options):
    result = []
    wrapper = shlex.split(options.wrapper)
    for binary in options.minivm:
        for engine in options.engine or [None]:
            for stress, switches in options.stress or [("", [])]:
                command = [*wrapper, binary, "run"]
                label = [os.path.basename(binary)]
                if engine:
                    command += ["--engine", engine]
                    label.append(engine)
                if stress:
                    command += switches
                    label.append(stress)
                result.append(Configuration(
                    " ".join(label), tuple(command), "--stress-gc" in switches))
    return result


def minivm_command(configuration, program):
    command = list(configuration.command)
    if len(program.sources) > 1 or program.path:
        command += ["-pa", str(program.beam_dir)]
    for folder in program.path:
        command += ["-pa", str(folder)]
    return [*command, str(program.beam), *program.arguments]


def lines_of(data):
    return data.decode("utf-8", "backslashreplace").splitlines()


def unified(expected, got):
    return list(difflib.unified_diff(expected, got, "erl", "minivm", n=1, lineterm=""))


def difference(expected, got, with_stderr=False):
    """The reason in one line, then a unified diff of at most DIFF_LINES lines."""
    reasons = []
    if expected.status != got.status:
        reasons.append("status %s, erl gives %s" % (got.status, expected.status))
    if expected.stdout != got.stdout:
        reasons.append("output differs")
    diff = unified(lines_of(expected.stdout), lines_of(got.stdout))
    if with_stderr and not diff:
        reasons.append("standard error differs")
        diff = unified("".join(reports(expected.stderr)).splitlines(), "".join(reports(got.stderr)).splitlines())
    if len(diff) > DIFF_LINES:
        diff = diff[:DIFF_LINES - 1] + ["... %d more lines" % (len(diff) - DIFF_LINES + 1)]
    text = [line[:200] for line in diff]
    if expected.status != got.status and got.stderr:
        text += ["stderr: " + line[:200] for line in lines_of(got.stderr)[-4:]]
    return ", ".join(reasons), text


class Report:
    def __init__(self, verbose):
        self.lock = threading.Lock()
        self.verbose = verbose
        self.passed = 0
        self.failed = 0
        self.reasons = []  # told once more at the end, where a long difference has not pushed them out of sight
        self.skipped = {}
        self.known = {}  # name: why it may differ
        self.times = []  # (seconds, label)

    def skip(self, name, why):
        with self.lock:
            self.skipped.setdefault(why, set()).add(name)

    def success(self, label, seconds):
        with self.lock:
            self.passed += 1
            self.times.append((seconds, label))
            if self.verbose:
                print("ok   %-50s %6.2f s" % (label, seconds), flush=True)

    def failure(self, label, reason, details=()):
        why = self.known.get(label.split()[0].rstrip(":"))
        if why is not None and "status -" not in reason:  # no signal is ever expected
            if self.verbose:
                with self.lock:
                    print("known %s: %s (%s)" % (label, reason, why), flush=True)
            self.skip(label.split()[0], "other_otp.list")
            return
        with self.lock:
            self.failed += 1
            print("FAIL %s: %s" % (label, reason))
            self.reasons.append("%s: %s" % (label, reason))
            for line in details:
                print("    " + line)
            sys.stdout.flush()


def check_oracle(program, outcome):
    """A program that fails on `erl` itself tests nothing, unless its name says it must."""
    if outcome.status == TIMED_OUT:
        return "timed out on erl"
    if outcome.status != 0 and not program.name.startswith("exit_"):
        return "status %s on erl (only programs named exit_* may end with one)" % outcome.status
    if not outcome.stdout:
        return "no output on erl"
    return None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", action="append", default=[], metavar="BIN")
    parser.add_argument("--engine", action="append", default=[], metavar="ENGINE")
    parser.add_argument("--stress", action="append", default=[], type=stress_switches,
                        metavar="gc,reductions,sched:SEED,checks,fp,barrier")
    parser.add_argument("--wrapper", default="", help="command put before minivm")
    parser.add_argument("--cc", metavar="COMPILER",
                        help="C compiler for the wrapper's machine, for programs with native libraries; "
                        "minivm has to be linked dynamically there")
    parser.add_argument("--slow", action="store_true",
                        help="sanitizers or an emulator: timeouts times %d" % SLOW_FACTOR)
    parser.add_argument("--only", action="append", default=[], metavar="GLOB")
    parser.add_argument("--sample", action="store_true", help="the programs of sample.list alone")
    parser.add_argument("--part", default="0/1", type=part, metavar="K/N",
                        help="each N-th program alone, from the one with number K modulo N")
    parser.add_argument("--stderr", action="store_true", help="what is on standard error must agree as well")
    parser.add_argument("--erl-only", action="store_true", help="run on erl alone, uncached")
    parser.add_argument("--otp", type=pathlib.Path, metavar="DIR",
                        help="another OTP than the installed one: bin/erl below DIR or DIR/otp "
                        "(tools/newest_otp); minivm takes its libraries as well")
    parser.add_argument("--later", action="store_true", help="also run later.list on minivm")
    parser.add_argument("--out", type=pathlib.Path, help="default: build/programs, or with --otp "
                        "build/programs-NAME")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER, help="where programs are")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a program (before --slow)")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--arguments", default="", metavar="WORDS",
                        help="given to each program instead of its own")
    parser.add_argument("--own-on-erl", action="store_true",
                        help="erl runs with the program's own arguments all the same: for what only repeats more")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--compile-only", action="store_true", help="leave the .beam files in --out")
    parser.add_argument("--list", action="store_true", help="print program names and stop")
    options = parser.parse_args()

    if not (options.minivm or options.erl_only or options.list or options.compile_only):
        parser.error("give --minivm BIN or --erl-only")
    if options.otp:
        use_otp(options.otp.resolve())
    options.out = options.out or REPOSITORY / "build" / (
        "programs-" + options.otp.resolve().name if options.otp else "programs")
    for tool in ("erl", "erlc"):
        if shutil.which(tool) is None:
            parser.error("%s is not installed: it is the oracle (Debian package erlang)" % tool)
    options.minivm = [os.path.abspath(b) if os.sep in b else b for b in options.minivm]
    for binary in options.minivm:
        if shutil.which(binary) is None:
            parser.error("no such program: %s" % binary)

    out = options.out.resolve()
    only = list(options.only)
    if options.sample:
        only += sorted(read_list(options.folder / "sample.list"))
    programs = find_programs(options.folder.resolve(), out, only)
    number, parts = options.part
    programs = [p for at, p in enumerate(programs) if at % parts == number % parts]
    on_erl = {p.name: p for p in programs}
    if options.arguments:
        programs = [dataclasses.replace(p, arguments=tuple(options.arguments.split())) for p in programs]
        if not options.own_on_erl:
            on_erl = {p.name: p for p in programs}
    if options.list:
        print("\n".join(p.name for p in programs))
        return 0
    if not programs:
        parser.error("no program matches %s" % ", ".join(options.only))

    support_dir, cache_dir = out / "support", out / "expected"
    for directory in (out, support_dir, cache_dir):
        directory.mkdir(parents=True, exist_ok=True)
    work = tempfile.TemporaryDirectory(prefix="work-", dir=out)  # another run may be at the same programs
    work_dir = pathlib.Path(work.name)
    later = set() if options.later else read_list(options.folder / "later.list")
    large = read_list(options.folder / "large.list")
    stderr_differs = read_list(options.folder / "stderr.list")
    # A wrapper with arguments (a linker with its search path, say) runs this machine's code.
    is_emulated = "qemu" in options.wrapper
    not_emulated = read_list(options.folder / "emulated.list") if is_emulated else set()

    report = Report(options.verbose)
    if options.otp:
        report.known = read_reasons(options.folder / "other_otp.list")
    include = nif_include_dir() if shutil.which("cc") else None
    with open(out / "compiling", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        not_compiled = compile_all(programs, support_dir, include, options.jobs)
    if LAUNCHER in not_compiled:
        print(not_compiled[LAUNCHER])
        return 1
    if options.compile_only:
        print("".join(not_compiled.values()), end="")
        return 1 if not_compiled else 0
    erl_id = subprocess.run(
        ["erl", "+V"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout
    factor = SLOW_FACTOR if options.slow else 1
    to_compare = configurations(options)

    def run_program(program):
        foreign = options.wrapper and not options.cc
        if program.libraries and (include is None or foreign):
            report.skip(program.name, "no native library for that machine" if include else
                        "no C compiler or no erl_nif.h (Debian package erlang-dev)")
            return
        if options.wrapper and (program.needs() or "").endswith(".so"):
            report.skip(program.name, "a library of this machine")
            return
        if program.packages_missing():
            report.skip(program.name, "packages that are not installed")
            return
        broken = [not_compiled[s] for s in (*program.sources, *program.libraries)
                  if s in not_compiled]
        if broken:
            report.failure(program.name, "does not compile", "".join(broken).splitlines()[:10])
            return
        start = time.monotonic()
        if options.erl_only:
            outcome = run_command(
                erl_command(on_erl[program.name], support_dir), program, options.timeout, work_dir)
        else:
            outcome = oracle(
                on_erl[program.name], support_dir, cache_dir, max(options.timeout, ORACLE_TIMEOUT_S), erl_id,
                work_dir)
        problem = check_oracle(program, outcome)
        if problem:
            report.failure(program.name, problem, lines_of(outcome.stderr)[:15])
            return
        if options.erl_only:
            report.success(program.name, time.monotonic() - start)
            return
        program_dir = None
        if program.libraries and options.cc:
            program_dir = program.foreign_dir(options.cc)
            message = compile_foreign(program, include, options.cc)
            if message:
                report.failure(program.name, "does not compile with " + options.cc,
                               message.splitlines()[:10])
                return
        if program.name in later or program.name in not_emulated:
            report.skip(program.name, "later.list" if program.name in later else "emulated.list")
            return
        for configuration in to_compare:
            if configuration.collects_always and program.name in large:
                report.skip(program.name, "large.list")
                continue
            limit = options.timeout * factor
            if configuration.collects_always:
                limit *= COLLECTING_FACTOR
            start = time.monotonic()
            got = run_command(
                minivm_command(configuration, program), program, limit, work_dir, program_dir)
            label = "%s (%s)" % (program.name, configuration.label)
            with_stderr = options.stderr and program.name not in stderr_differs
            # What is kept may be what a race gave on erl once: where erl itself answers in this way too, so may
            # minivm. A report may come too late for the end on either side.
            for _ in range(RACES if with_stderr and agree(outcome, got) else 1):
                if agree(outcome, got, with_stderr) or got.status == TIMED_OUT:
                    break
                fresh = oracle(on_erl[program.name], support_dir, cache_dir, max(options.timeout, ORACLE_TIMEOUT_S),
                               erl_id, work_dir, again=True)
                outcome = outcome if fresh.status == TIMED_OUT else fresh
                if agree(outcome, got) and not agree(outcome, got, with_stderr):
                    got = run_command(
                        minivm_command(configuration, program), program, limit, work_dir, program_dir)
            if agree(outcome, got, with_stderr):
                report.success(label, time.monotonic() - start)
            elif got.status == TIMED_OUT:
                _, details = difference(outcome, got)
                report.failure(label, "timed out after %g s" % limit, details)
            else:
                report.failure(label, *difference(outcome, got, with_stderr))

    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for future in [pool.submit(run_program, p) for p in programs]:
            future.result()
    for why, names in sorted(report.skipped.items()):
        print("left out by %s: %s" % (why, ", ".join(sorted(names))))
    if len(report.times) > SLOWEST:
        print("slowest: " + ", ".join("%s %.1f s" % (label, seconds)
                                      for seconds, label in sorted(report.times, reverse=True)[:SLOWEST]))
    for line in report.reasons:
        print("failed: " + line)
    print("%d passed, %d failed" % (report.passed, report.failed))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
