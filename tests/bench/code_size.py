#!/usr/bin/env python3
"""Bytes of machine code, and processor time of preparing it, beside OTP's `erl`.

Takes all modules of stdlib, kernel, compiler and, where it is installed, Elixir. The bytes are
those that each VM tells Linux perf (/tmp/perf-PID.map, which is removed again): functions with all
that belongs to them, without the tables of a module that are no instructions. The time is that of
`erlang:prepare_loading/2`, one module after the other on one thread, read, verified and compiled.

Example:
    code_size.py --minivm build/release/tools/minivm
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
APPLICATIONS = ("stdlib", "kernel", "compiler")
ERL = ("erl", "-noinput", "-boot", "no_dot_erlang", "+S", "1", "+SDcpu", "1",
       "+sbwt", "none", "+sbwtdcpu", "none")
NAME = re.compile(r"\$(?:'((?:[^'\\]|\\.)*)'|([^:]*)):")


def output_of(command, cwd=None):
    run = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, timeout=300, check=False)
    if run.returncode != 0:
        sys.exit("%s: status %d\n%s" % (" ".join(command), run.returncode, run.stdout))
    return run.stdout


def beams():
    """{application: [path]}"""
    found = {}
    for application in APPLICATIONS:
        folder = output_of(["erl", "-noinput", "-boot", "no_dot_erlang", "-eval",
                            "io:put_chars(code:lib_dir(%s)), halt()." % application])
        found[application] = sorted(pathlib.Path(folder, "ebin").glob("*.beam"))
    elixir = shutil.which("elixir")
    if elixir:
        root = pathlib.Path(elixir).resolve().parent.parent
        found["elixir"] = sorted(root.glob("lib/*/ebin/*.beam"))
    return found


class Vm:
    """`erl` or minivm: how the program is run, and what it said."""

    def __init__(self, name, command, arguments, size_command, size_word):
        self.name = name
        self.command = command
        self.arguments = arguments
        self.size_command = size_command
        self.size_word = size_word

    def run(self, command, word, listed, folder):
        return output_of([*command, *self.arguments(word, str(listed))], folder)

    def prepare_ms(self, listed, folder):
        said = self.run(self.command, "time", listed, folder)
        return int(re.search(r"prepare_ms (\d+)", said).group(1))

    def sizes(self, listed, folder):
        said = self.run(self.size_command, self.size_word, listed, folder)
        pid = re.search(r"pid (\d+)", said).group(1)
        try:
            return read_map("/tmp/perf-%s.map" % pid)
        finally:
            for left in ("perf-%s.map" % pid, "jit-%s.dump" % pid):
                pathlib.Path("/tmp", left).unlink(missing_ok=True)


def read_map(path):
    """{module: bytes}. What a module was given last counts: it may have been loaded at boot too."""
    sizes, current = {}, None
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            _, size, name = line.rstrip("\n").split(" ", 2)
            match = NAME.match(name)
            if name.startswith("$global::") or not match:
                module = None
            else:
                module = match.group(1) or match.group(2)
            if module is not None and module != current:
                sizes[module] = 0
            current = module
            if module is not None and not name.endswith("::codeHeader"):
                sizes[module] += int(size, 16)
    return sizes


def vms(minivm):
    minivm = str(pathlib.Path(minivm).resolve())
    run = (minivm, "run", "--engine", "jit", "-S", "1")
    return (
        Vm("erl", ERL, lambda word, listed: [
            "-eval", 'code_size:main(["%s", "%s"]), halt().' % (word, listed)],
           (*ERL, "+JPperf", "map"), "load"),
        Vm("minivm", run, lambda word, listed: ["code_size.beam", word, listed],
           (*run, "--perf=map,no_fp"), "prepare"))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True)
    parser.add_argument("--modules", type=int, default=0, help="the N modules that grew most")
    options = parser.parse_args()
    both = vms(options.minivm)
    rows = []
    modules = []
    with tempfile.TemporaryDirectory() as folder:
        output_of(["erlc", str(FOLDER / "code_size.erl")], folder)
        for application, paths in beams().items():
            listed = pathlib.Path(folder, "list")
            listed.write_text("".join("%s\n" % p for p in paths), encoding="utf-8")
            names = [p.stem for p in paths]
            sizes = [vm.sizes(listed, folder) for vm in both]
            missing = [n for n in names if n not in sizes[0] or n not in sizes[1]]
            if missing:
                sys.exit("no code of %s" % ", ".join(missing))
            modules += [(n, sizes[0][n], sizes[1][n]) for n in names]
            rows.append([application, len(names)] + [sum(s[n] for n in names) for s in sizes] +
                        [vm.prepare_ms(listed, folder) for vm in both])
    rows.append(["all", *(sum(r[i] for r in rows) for i in range(1, 6))])
    print("| modules of | number | erl, KiB | minivm, KiB | ratio | erl, ms | minivm, ms | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name, count, erl_bytes, own_bytes, erl_ms, own_ms in rows:
        print("| %s | %d | %d | %d | %.2f | %d | %d | %.2f |" % (
            name, count, erl_bytes // 1024, own_bytes // 1024, own_bytes / erl_bytes,
            erl_ms, own_ms, own_ms / erl_ms))
    for name, erl_bytes, own_bytes in sorted(
            modules, key=lambda m: m[2] - m[1], reverse=True)[:options.modules]:
        print("%-40s erl %8d  minivm %8d  %.2f" % (name, erl_bytes, own_bytes,
                                                    own_bytes / erl_bytes))


if __name__ == "__main__":
    main()
