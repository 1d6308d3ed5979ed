#!/usr/bin/env python3
"""Calls every function that the VM implements with arguments from a seed: no call may end the VM.

    tests/fuzz/call_fuzz.py --minivm build/release/tools/minivm --seconds 20 [--seed N]
    tests/fuzz/call_fuzz.py --minivm build/dev/tools/minivm --engines jit --seed N --numbers 17,204
    tests/fuzz/call_fuzz.py --minivm build/release/tools/minivm --compare --seconds 20

The functions are those of all tables of BIFs, continuations that Erlang code must not reach included, and what
is exported by the modules that have BIFs or are the VM's own. Number N of a seed is a process that makes a few
calls (call_harness.erl says how); it has a limited heap and limited time. The VM must not fault, abort, take more
memory than --memory, or keep a process that is killed. If it does, the numbers are cut down to those that it
takes, and printed with the last calls. An end because one object larger than half of --memory was asked for is no
failure: it is what erl does.

With --compare, functions whose result depends on their arguments alone are called on `erl` as well, and class and
reason, or the value, have to be the same.

The last line is "N passed, M failed", in processes.
"""

import argparse
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "tests" / "fuzz"
BATCH = 2000  # numbers that one VM runs
LIMIT_MS = 500  # that a number may take
GRACE_S = 400  # that the harness itself may take to end: for hangs, not for slow machines
REPORTS = ("AddressSanitizer", "runtime error:", "ThreadSanitizer")
TABLE_LINE = re.compile(r'\{"(\w+)",\s*"([^"]+)",\s*(\d+),')
ATOMS = (re.compile(r'LOCAL_ATOM\(\w+, "([^"]+)"\)'), re.compile(r'intern\("([^"]+)"\)'),
         re.compile(r'\bis\(\w[^"]*, "([^"]+)"\)'), re.compile(r'^ATOM\((\w+)', re.MULTILINE),
         re.compile(r'\batom\("([^"]+)"\)'))

# OTP's modules whose exported functions are called beside those that the VM implements.
MODULES = ["atomics", "binary", "code", "counters", "erl_ddll", "erts_debug", "erts_internal", "ets", "file", "lists",
           "logger", "maps", "math", "os", "persistent_term", "prim_buffer", "prim_file", "re", "recorder", "seq_trace",
           "string", "trace", "unicode", "zlib", "erl_tracer", "erts_code_purger", "erts_dirty_process_signal_handler",
           "prim_zip", "error_handler", "erts_literal_area_collector"]

# What ends the VM, waits for ever or changes the machine because it is asked to.
LEFT_OUT = [
    ("erlang", "halt", "_"),  # ends the VM
    ("minivm", "halt", "_"), ("minivm", "plan_halt", "_"),  # so do these
    ("minivm", "main_process", "_"),  # names the process whose end is that of the VM
    ("erlang", "raise", 3),  # no failure: a stack trace of any kind is checked below by `raise` in programs
    ("erts_internal", "abort", "_"),
    ("erts_internal", "spawn_system_process", "_"),  # which ends the VM when it fails, on erl as well
    ("erts_debug", "size", "_"),  # compares each part of a deep term with others: minutes in a slice, on erl as well
    ("code", "set_path", "_"), ("code", "del_path", "_"), ("code", "del_paths", "_"),  # modules are not found then
    ("minivm", "set_code_path", 1),
    ("minivm", "provoke_fault", 1),
    ("minivm", "read_stdin", 0),
    ("os", "cmd", "_"),  # runs programs
    ("file", "set_cwd", 1), ("prim_file", "set_cwd_nif", 1), ("prim_file", "set_cwd", 1),
    ("erts_code_purger", "start", 0), ("erts_code_purger", "main", 0),
    # The purger asks for it, which is a system process: of a module that waits for no on_load it dies, and erl with it.
    ("erts_code_purger", "finish_after_on_load", 2),
    ("erts_literal_area_collector", "start", 0), ("erts_dirty_process_signal_handler", "start", 0),
    ("minivm_boot", "_", "_"),  # runs programs and ends the VM
    ("minivm_outside", "repl", 1),  # ends the VM with its input
]

# Their result depends on the arguments alone.
PURE_MODULES = ("lists", "maps", "binary", "math", "unicode", "string")
PURE = """
abs '+' '-' '*' '/' 'div' 'rem' 'bsl' 'bsr' 'band' 'bor' 'bxor' 'bnot' 'and' 'or' 'xor' 'not' '<' '>' '=<' '>=' '=='
'/=' '=:=' '=/=' '++' '--' append_element atom_to_binary atom_to_list binary_part binary_to_float binary_to_integer
binary_to_list bit_size bitstring_to_list byte_size ceil element float float_to_binary float_to_list floor
hd insert_element integer_to_binary integer_to_list iolist_size iolist_to_binary iolist_to_iovec is_atom is_binary is_bitstring is_boolean
is_float is_function is_integer is_list is_map is_map_key is_number is_pid is_port is_record is_reference is_tuple
length list_to_binary list_to_bitstring list_to_float list_to_integer list_to_tuple make_tuple map_get map_size max min
round setelement size split_binary tl trunc tuple_size tuple_to_list adler32 crc32 md5 phash2 delete_element
adler32_combine crc32_combine list_to_bitstring is_tuple external_size append subtract decode_packet
""".replace("'", "").split()
IMPURE = {("unicode", "bom_to_encoding"), ("binary", "compile_pattern"), ("binary", "referenced_byte_size"),
          ("erlang", "phash"), ("maps", "iterator"), ("erts_internal", "map_next"),
          ("maps", "keys"), ("maps", "values"), ("maps", "to_list")}  # in the order of large maps


def functions():
    """[(module, function, arity)] of all tables, and the names in the sources that may be options."""
    found, atoms = set(), set()
    for folder in ("vm", "trace", "tools"):
        for path in sorted((REPOSITORY / folder).rglob("*.[chd]*")):
            if path.suffix not in (".cpp", ".hpp", ".def"):
                continue
            text = path.read_text()
            found.update((m, f, int(a)) for m, f, a in TABLE_LINE.findall(text))
            for pattern in ATOMS:
                atoms.update(pattern.findall(text))
    for path in sorted((REPOSITORY / "tools" / "boot").glob("*.erl")):
        text = re.sub(r"%.*", "", path.read_text())
        for exported in re.findall(r"-export\(\[([^\]]*)\]\)", text):
            found.update((path.stem, f, int(a)) for f, a in re.findall(r"'?([\w@]+)'?/(\d+)", exported))
    atoms = {a for a in atoms if a not in ("halt", "init", "stop") and len(a) < 60}
    return sorted(found), sorted(atoms)


def is_left_out(mfa):
    return any(mfa[0] == m and f in (mfa[1], "_") and a in (mfa[2], "_") for m, f, a in LEFT_OUT)


def atom(name):
    return "'%s'" % name.replace("\\", "\\\\").replace("'", "\\'")


def direct_module(all_functions):
    """Calls each by name, as compiled code does."""
    lines = ["-module(call_direct).", "-export([call/2]).", "-compile([nowarn_deprecated_function, nowarn_removed])."]
    clauses = []
    for m, f, a in all_functions:
        args = ", ".join("A%d" % i for i in range(a))
        clauses.append("call({%s, %s, %d}, [%s]) -> %s:%s(%s)" % (atom(m), atom(f), a, args, atom(m), atom(f), args))
    clauses.append("call({M, F, _}, Args) -> apply(M, F, Args)")
    return "\n".join(lines) + "\n" + ";\n".join(clauses) + ".\n"


class Fuzz:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.ebin = work / "ebin"
        self.ebin.mkdir()
        every, self.atoms = functions()
        self.functions = [f for f in every if not is_left_out(f)]
        if options.only:
            self.functions = [f for f in self.functions if re.fullmatch(options.only, "%s:%s/%d" % f)]
        if options.compare:
            self.functions = [f for f in self.functions if (f[1] in PURE if f[0] == "erlang" else f[0] in PURE_MODULES)
                              and f[:2] not in IMPURE]
        source = work / "call_direct.erl"
        source.write_text(direct_module(self.functions))
        for path in (FOLDER / "call_harness.erl", FOLDER / "call_victim.erl", source):
            subprocess.run(["erlc", "-o", str(self.ebin), str(path)], check=True, stdout=subprocess.DEVNULL)
        self.started = 0

    def command(self, engine, config):
        if engine == "erl":
            return ["erl", "-noinput", "-boot", "no_dot_erlang", "-pa", str(self.ebin), "-run", "call_harness", "main",
                    str(config)]
        words = ["--engine", engine.split("/")[0]] + (["--stress-gc"] if engine.endswith("/gc") else [])
        return [self.options.minivm, "run", "-S", str(self.options.schedulers), "-pa", str(self.ebin), *words,
                str(self.ebin / "call_harness.beam"), str(config)]

    def run(self, engine, numbers, seconds, show=False, at_once=None):
        """(why it failed or None, the log's lines, what it said)"""
        self.started += 1
        place = self.work / ("run%d" % self.started)
        place.mkdir()
        place.chmod(0o777)
        log, config = place / "log", place / "config"
        log.touch()
        log.chmod(0o666)
        mfa = ["{%s,%s,%d}" % (atom(m), atom(f), a) for m, f, a in self.functions]
        left = ["{%s,%s,%s}" % (atom(m), atom(f), a if a != "_" else "'_'") for m, f, a in LEFT_OUT]
        modules = [] if self.options.compare or self.options.only else MODULES
        words = "{%d,%d}" % numbers if isinstance(numbers, tuple) else str(list(numbers))
        config.write_text("\n".join([
            "{seed,%d}." % self.options.seed, "{numbers,%s}." % words, "{milliseconds,%d}." % (seconds * 1000),
            "{limit_ms,%d}." % (LIMIT_MS * self.options.slower),
            "{at_once,%d}." % (at_once or self.options.at_once), "{log,%s}." % erlang_string(log),
            "{victim,%s}." % erlang_string(self.ebin / "call_victim.beam"),
            "{pure,%s}." % str(bool(self.options.compare)).lower(), "{show,%s}." % str(show).lower(),
            "{functions,[%s]}." % ",".join(mfa), "{modules,[%s]}." % ",".join(modules),
            "{left_out,[%s]}." % ",".join(left), "{atoms,[%s]}." % ",".join(map(atom, self.atoms))]), encoding="utf-8")
        sandbox = place / "sandbox"
        sandbox.mkdir()
        sandbox.chmod(0o777)
        memory = self.options.memory << 20

        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if memory:
                resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
            if os.getuid() == 0:  # what is called may delete files
                os.setgid(65534)
                os.setuid(65534)

        env = {"PATH": os.environ["PATH"], "HOME": str(sandbox), "LC_ALL": "C.UTF-8", "ERL_CRASH_DUMP_SECONDS": "0"}
        env.update((k, v) for k, v in os.environ.items() if k.endswith("SAN_OPTIONS"))
        with open(place / "out", "wb") as out, open(place / "err", "wb") as err:
            child = subprocess.Popen(self.command(engine, config), stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                     env=env, cwd=sandbox, start_new_session=True, preexec_fn=limit)
            try:
                status = child.wait(timeout=seconds + GRACE_S * self.options.slower)
            except subprocess.TimeoutExpired:
                status = "hangs"
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
        lines = log.read_text("utf-8", "replace").splitlines()
        said = (place / "err").read_text("utf-8", "replace")
        self.out = (place / "out").read_text("utf-8", "replace")
        why = None
        out_of_memory = re.search(r"^\w+_alloc: Cannot allocate (\d+) bytes of memory", said, re.MULTILINE)
        if any(report in said for report in REPORTS):
            why = "a sanitizer's report"
        elif out_of_memory and memory and int(out_of_memory[1]) > memory // 2:
            pass  # one binary of that size was asked for: erl ends, too
        elif status != 0:
            why = "status %s" % status
        elif not lines or lines[-1] != "finished":
            why = "ended early"
        shutil.rmtree(place, ignore_errors=True)
        return why, lines, said

    def failing(self, engine, numbers, at_once):
        """Whether these numbers fail, tried a few times."""
        return any(self.run(engine, numbers, 30 + len(numbers), at_once=at_once)[0] for _ in range(2))

    def cut_down(self, engine, ran, last):
        """The fewest of `ran` that still fail, and how many at once."""
        at_once = self.options.at_once
        for number in last:
            if self.failing(engine, [number], 1):
                return [number], 1
        if len(last) > 1 and self.failing(engine, last, at_once):
            return last, at_once
        length = 2 * len(last)
        while not self.failing(engine, ran[-length:], at_once):
            if length >= len(ran):
                return None, at_once
            length *= 4
        numbers, pieces = ran[-length:], 2
        while len(numbers) > 1:
            size = max(1, len(numbers) // pieces)
            for start in range(0, len(numbers), size):
                fewer = numbers[:start] + numbers[start + size:]
                if fewer and self.failing(engine, fewer, at_once):
                    numbers, pieces = fewer, max(2, pieces - 1)
                    break
            else:
                if size == 1:
                    break
                pieces = min(len(numbers), pieces * 2)
        return numbers, at_once

    def report(self, engine, why, lines, said):
        groups = [list(map(int, line.split())) for line in lines if re.fullmatch(r"[\d ]+", line)]
        ran = [n for group in groups for n in group]
        last = groups[-1] if groups else []
        print("seed %d, %s: %s, at %s" % (self.options.seed, engine, why, last))
        numbers, at_once = self.cut_down(engine, ran, last) if last and not self.options.whole else (None, 1)
        if numbers is None:
            print("  not again with fewer than the whole run of %d" % len(ran))
        else:
            print("  again: --engines %s --seed %d --at-once %d --numbers %s" % (
                engine, self.options.seed, at_once, ",".join(map(str, numbers))))
            why2, lines2, said2 = self.run(engine, numbers, 30 + len(numbers), show=True, at_once=at_once)
            if why2:
                said = said2
                print("  last calls:\n" + "\n".join("    " + line[:1500] for line in lines2[-(2 + at_once):]))
        print("\n".join("  | " + line[:300] for line in dict.fromkeys(said.splitlines()[-60:])))
        sys.stdout.flush()


def erlang_string(path):
    return '"%s"' % str(path)


def outcomes(text):
    """{number: [lines]}"""
    found = {}
    for line in text.splitlines():
        number = line.split(" ", 1)[0]
        if number.isdigit():
            found.setdefault(int(number), []).append(line)
    return found


def compare(fuzz, engine, numbers, seconds):
    """(numbers that ran on both, those whose lines differ)"""
    why, lines, said = fuzz.run("erl", numbers, seconds, at_once=1)
    expected = outcomes(fuzz.out)
    if why:
        print("erl: %s\n%s" % (why, said[-2000:]))
    ours = list(expected)[:-1]
    why, lines, said = fuzz.run(engine, ours, 10 * seconds, at_once=1)
    if why:
        fuzz.report(engine, why, lines, said)
        return len(ours), ours[:1]
    found = outcomes(fuzz.out)
    bad = []
    for number in ours:
        # A process that has come to its limits says no more.
        for left, right in zip(expected[number], found.get(number, [])):
            if left.endswith(" {error,undef}"):  # erl has no such function: the rest of the process is another
                break
            if left.split(" ", 3)[:3] != right.split(" ", 3)[:3]:
                bad.append(number)
                print("seed %d, %s, number %d\n  erl:    %s\n  minivm: %s" % (
                    fuzz.options.seed, engine, number, left[:600], right[:600]))
                break
    return len(ours), bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True, metavar="BIN")
    parser.add_argument("--engines", default="interp,jit")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--seconds", type=float, default=20, help="for each engine")
    parser.add_argument("--numbers", help="these alone")
    parser.add_argument("--at-once", type=int, default=3, help="processes")
    parser.add_argument("--schedulers", type=int, default=2)
    parser.add_argument("--memory", type=int, default=6000, metavar="MB", help="that the VM may take; 0: any")
    parser.add_argument("--slower", type=int, default=1, metavar="TIMES", help="than a release build")
    parser.add_argument("--only", metavar="PATTERN", help="of module:function/arity")
    parser.add_argument("--compare", action="store_true", help="with erl")
    parser.add_argument("--whole", action="store_true", help="do not cut down")
    parser.add_argument("--most", type=int, default=3, metavar="N", help="failures before it stops")
    parser.add_argument("--list", action="store_true", help="the functions")
    options = parser.parse_args()
    options.minivm = str(pathlib.Path(options.minivm).resolve())
    passed = failed = 0
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        fuzz = Fuzz(options, pathlib.Path(work))
        if options.list:
            print("\n".join("%s:%s/%d" % f for f in fuzz.functions))
            return 0
        for engine in options.engines.split(","):
            end, first = time.monotonic() + options.seconds, 0
            while failed < options.most and (time.monotonic() < end or options.numbers):
                numbers = ([int(n) for n in options.numbers.split(",")] if options.numbers
                           else (first, first + BATCH - 1))
                first += BATCH
                if options.compare:
                    ran, bad = compare(fuzz, engine, numbers, min(5, options.seconds))
                    passed, failed = passed + ran - len(bad), failed + len(bad)
                else:
                    seconds = 60 if options.numbers else max(1, end - time.monotonic())
                    why, lines, said = fuzz.run(engine, numbers, seconds, show=bool(options.numbers))
                    ran = [int(n) for line in lines if re.fullmatch(r"[\d ]+", line) for n in line.split()]
                    passed += len(ran)
                    if ran and not options.numbers:
                        first = ran[-1] + 1
                    if why:
                        failed += 1
                        if options.numbers:
                            print("%s: %s\n%s\n%s" % (engine, why, "\n".join(lines[-6:]), said[:6000]))
                        else:
                            fuzz.report(engine, why, lines, said)
                if options.numbers:
                    break
    print("seed %d" % options.seed)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
