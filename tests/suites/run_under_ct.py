#!/usr/bin/env python3
"""Runs OTP's own test suites under OTP's Common Test, with minivm in place of the emulator, and counts them beside `erl`.

    run_under_ct.py --otp build/otp-newest --minivm BIN [APP/SUITE...]          # kernel/inet; all of ct.list without one
    run_under_ct.py --otp build/otp-newest --minivm BIN --minutes 25            # one step: those that are due

OTP is the one that tools/newest_otp has built: Debian's packages of the other leave Common Test out. Suites are compiled
once, in --work. `erl`'s side of a suite is run once and kept there; a step begins with the suites whose row in the file
of results (--results) is oldest, those without one first, and goes on until its time is over.

A testcase counts when it passes on `erl`; then it must pass on minivm. One that is skipped, fails or is not reached
there is named with what Common Test says of it.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parent.parent
HEADER = "suite\trelease\tcommit\tdate\terl\tminivm\tseconds\tnot as erl\n"
# Testcases that are no test: what runs before and behind them.
AROUND = {"init_per_suite", "end_per_suite", "init_per_group", "end_per_group"}
CASE = re.compile(r"^=case\s+(\w+):(\w+)\n(.*?)^=result\s+(\w+)(.*?)(?=^=case|^=group|\Z)", re.S | re.M)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--otp", required=True, type=pathlib.Path, help="folder of tools/newest_otp: otp and src are in it")
    parser.add_argument("--minivm", required=True, type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, default=REPOSITORY / "build" / "ct")
    parser.add_argument("--results", type=pathlib.Path, default=REPOSITORY / "docs" / "otp_ct_results.tsv")
    parser.add_argument("--minutes", type=float, help="begin no suite after this time")
    parser.add_argument("--cap", type=int, default=900, help="seconds for one suite on one machine")
    parser.add_argument("suites", nargs="*", metavar="APP/SUITE")
    return parser.parse_args()


class Machine:
    """`erl` of that OTP, or minivm with its libraries."""

    def __init__(self, options):
        self.options = options
        self.otp = options.otp.resolve() / "otp"
        self.libraries = self.otp / "lib" / "erlang"
        self.path = f"{self.otp}/bin:{os.environ['PATH']}"

    def command(self, minivm):
        if minivm:
            return ["env", f"ROOTDIR={self.libraries}", str(self.options.minivm.resolve()), "erl"]
        return [str(self.otp / "bin" / "erl")]

    def run(self, command, folder, seconds, log):
        """The time it took, or None: it did not end."""
        began = time.monotonic()
        with open(log, "wb") as out:
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                       env=dict(os.environ, PATH=self.path), start_new_session=True)
            try:
                process.wait(timeout=seconds)
                return time.monotonic() - began
            except subprocess.TimeoutExpired:
                return None
            finally:  # and all that it started
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()


def compile_all(machine, sources, target, includes):
    target.mkdir(parents=True, exist_ok=True)
    flags = [f for folder in includes for f in ("-I", str(folder))]
    for source in sources:
        if not (target / (source.stem + ".beam")).exists():
            subprocess.run([str(machine.otp / "bin" / "erlc"), "+nowarn_deprecated_function", *flags, "-o", str(target), str(source)],
                           check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def prepare(machine, application):
    """A folder with the compiled suites of an application and their data."""
    source = machine.options.otp.resolve() / "src" / "lib"
    work = machine.options.work.resolve()
    target = work / application
    if not (target / ".complete").exists():
        print(f"compiling the suites of {application}", flush=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source / application / "test", target, symlinks=True)
        includes = [target, source / application / "include", source / application / "src", source / "kernel" / "include",
                    source / "kernel" / "src", source / "stdlib" / "include", source / "kernel" / "test",
                    source / "public_key" / "include", source / "inets" / "src" / "http_lib",
                    source / "inets" / "src" / "inets_app", source / "inets" / "src" / "http_server",
                    source / "inets" / "src" / "http_client", source / "ssl" / "src"]
        # code_SUITE compiles code_a_test, which has another module's name, itself.
        compile_all(machine, sorted(s for s in target.glob("*.erl") if s.stem != "code_a_test"), target, includes)
        for program in target.glob("*_SUITE_data/*.c"):  # what is no program but a driver has no main() and is left out
            subprocess.run(["cc", "-w", "-o", str(program.with_suffix("")), str(program)], check=False, stderr=subprocess.DEVNULL)
        (target / ".complete").touch()
    servers = work / "test_server"
    compile_all(machine, sorted((source / "common_test" / "test_server").glob("ts*.erl")), servers, [])
    # What its pages show with; built from packages of another language's, and not asked for by suites.
    for private in machine.libraries.glob("lib/common_test-*/priv"):
        for name in ("jquery-latest.js", "jquery.tablesorter.min.js"):
            (private / name).touch()
    return target, servers


def results_of(logs, suite):
    """{testcase: (verdict, what was said)} of what Common Test has written. A testcase of several groups passes if it
    passes in all."""
    found = {}
    for log in sorted(logs.glob("ct_run*/*.logs/run.*/suite.log"), key=os.path.getmtime)[-1:]:
        for module, case, _, verdict, said in CASE.findall(log.read_text(encoding="utf-8", errors="replace")):
            if module == suite and case not in AROUND and (case not in found or verdict != "ok"):
                found[case] = (verdict, " ".join(said.split())[:300])
    return found


def run_suite(machine, minivm, application, suite):
    target, servers = prepare(machine, application)
    logs = machine.options.work.resolve() / ("minivm" if minivm else "erl") / f"{application}_{suite}"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    paths = [target, servers]
    if application != "kernel":
        paths.append(prepare(machine, "kernel")[0])  # kernel_test_lib and others
    call = (f'ct:run_test([{{dir,"{target}"}},{{suite,[{suite}_SUITE]}},{{logdir,"{logs}"}},{{auto_compile,false}}]), halt().')
    name = f"ct_{'m' if minivm else 'e'}{os.getpid()}"
    command = [*machine.command(minivm), "-noinput", "-sname", name, *[x for p in paths for x in ("-pa", str(p))], "-eval", call]
    seconds = machine.run(command, logs, machine.options.cap, logs / "output")
    return {"seconds": seconds, "cases": results_of(logs, f"{suite}_SUITE")}


def rows(path):
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    return {line.split("\t")[0]: line for line in lines if line.strip()}


def keep(path, row):
    known = rows(path)
    known[row.split("\t")[0]] = row
    path.write_text(HEADER + "".join(known[k] + "\n" for k in sorted(known)), encoding="utf-8")


def release_of(machine):
    name = sorted((machine.libraries / "releases").glob("*/OTP_VERSION"))[-1]
    return name.read_text(encoding="utf-8").strip()


def one(machine, name, commit):
    application, suite = name.split("/")
    kept = machine.options.work.resolve() / f"erl_{application}_{suite}.json"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(run_suite(machine, False, application, suite)), encoding="utf-8")
    theirs = json.loads(kept.read_text(encoding="utf-8"))
    ours = run_suite(machine, True, application, suite)
    passes = [case for case, (verdict, _) in theirs["cases"].items() if verdict == "ok"]
    different = [case for case in passes if ours["cases"].get(case, ("not reached", ""))[0] != "ok"]
    for case in different:
        print("   {}: {} {}".format(case, *ours["cases"].get(case, ("not reached", ""))))
    seconds = "{:.0f}".format(ours["seconds"]) if ours["seconds"] is not None else "did not end"
    print(f"{name}: {len(passes) - len(different)} of {len(passes)} that pass on erl, {seconds} s", flush=True)
    keep(machine.options.results, "\t".join([name, release_of(machine), commit, datetime.date.today().isoformat(), str(len(passes)),
                                             str(len(passes) - len(different)), seconds, " ".join(different)]))
    return len(passes), len(different)


def main():
    options = arguments()
    machine = Machine(options)
    if not (machine.otp / "bin" / "erl").exists():
        sys.exit(f"run_under_ct.py: no OTP in {options.otp}: tools/newest_otp builds it")
    listed = [line.strip() for line in (FOLDER / "ct.list").read_text(encoding="utf-8").splitlines()
              if line.strip() and not line.startswith("#")]
    wrong = [s for s in options.suites if s not in listed]
    if wrong:
        sys.exit("run_under_ct.py: not in ct.list: " + " ".join(wrong))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True,
                            check=True).stdout.strip()
    known = rows(options.results)
    due = sorted(options.suites or listed, key=lambda s: known[s].split("\t")[3] if s in known else "")
    began = time.monotonic()
    total = different = 0
    for name in due:
        if options.minutes is not None and time.monotonic() - began > options.minutes * 60:
            break
        passes, failures = one(machine, name, commit)
        total += passes
        different += failures
    print(f"{total - different} passed, {different} failed")


if __name__ == "__main__":
    main()
