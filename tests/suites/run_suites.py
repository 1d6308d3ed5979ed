#!/usr/bin/env python3
"""Runs OTP's own test suites on `erl` and on minivm, and says which testcases differ.

The suites are OTP's: they are read from a folder outside of this repository (the sources of the
OTP release that is installed; `--fetch DIR` gets them with `apt-get source`). What is ours is the
harness that runs one suite in one machine: support/suite_harness.erl, with the part of
common_test that suites call.

    run_suites.py --root OTP --minivm BIN [SUITE ...]       # big_SUITE, or just big
    run_suites.py --root OTP --minivm BIN stdlib/lists      # a suite of an application
    run_suites.py --root OTP --minivm BIN compiler          # all of suites.list of an application

Libraries and programs of a suite's data folder (native functions, drivers, ports) are built there by
its Makefile.src; a suite whose folder cannot be built runs all the same.

A testcase that takes the whole machine with it is a failure, and the suite goes on behind it. What
`erl` gives is measured once and kept in the output folder, which has a place for each release. A
testcase counts when it passes on `erl`; then it must pass on minivm.

    run_suites.py --root OTP --minivm BIN --minutes 25      # one step: the next that are due

A step takes the suites whose row in the file of results (--results) is oldest, and when its time is
over, it keeps what the suite in hand has given so far: the next step goes on behind that testcase.
"""

import argparse
import datetime
import functools
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parent.parent
SUPPORT = FOLDER / "support"
# erts/emulator/test/Makefile: the same suites with the optimizing passes of the compiler off.
NO_OPT = ["+no_copt", "+no_postopt", "+no_ssa_opt", "+no_bsm_opt"]
# lib/compiler/test/Makefile: more ways to compile its suites, NAME_inline_SUITE and so on.
NO_SSA = ["+no_bool_opt", "+no_share_opt", "+no_bsm_opt", "+no_fun_opt", "+no_ssa_opt",
          "+no_recv_opt"]
VARIANTS = {
    "no_opt": ["+no_copt", *NO_SSA, "+no_postopt"], "no_ssa_opt": NO_SSA,
    "post_opt": ["+no_copt", *NO_SSA], "no_copt": ["+no_copt"], "inline": ["+inline"],
    "r23": ["+r23"], "r24": ["+r24"], "no_module_opt": ["+no_module_opt"],
    "no_type_opt": ["+no_type_opt"], "dialyzer": ["+dialyzer"]}
APPLICATIONS = ("compiler", "kernel", "runtime_tools", "stdlib", "tools")
# What a Makefile.src of a data folder has where OTP's own configuration puts something. A name that
# is not here stands for nothing: rules that would need it fail, and make goes on with the others.
MAKE_WORDS = {
    "CC": "cc", "LD": "cc", "CFLAGS": "-w -O1", "DEFS": "-D_REENTRANT", "LIBS": "-lm -lpthread",
    "EMULATOR": "beam", "dll": ".so", "obj": ".o", "DS": "/", "PS": ":", "IFEQ": "ifeq",
    "ELSE": "else", "ENDIF": "endif", "erl_name": "erl",
    "SHLIB_RULES": "%.so: %.c\n\t$(CC) -shared -fPIC -w -O1 $(SHLIB_EXTRA_CFLAGS) -I@erl_include@ "
                   "-o $@ $< $(SHLIB_EXTRA_LDLIBS)\n"}
MARK = re.compile(r"^@(begin|end|suite|done)(?: (.*))?$")


class Machine:
    """One way to run a suite: erl, or a minivm command."""

    def __init__(self, name, command):
        self.name = name
        self.command = command


def compile_erl(source, out, options=()):
    beam = out / (source.stem + ".beam")
    if beam.exists() and beam.stat().st_mtime > source.stat().st_mtime:
        return None
    out.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["erlc", "-W0", "+debug_info", *options, "-o", str(out), "-I",
                           str(source.parent), str(source)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout.decode("utf-8", "replace") if done.returncode != 0 else None


def variant_of(suite, folder, application):
    """(suite that it is made of, options of the compiler)"""
    if application is None:
        if suite.endswith("_no_opt_SUITE"):
            return suite.replace("_no_opt_SUITE", "_SUITE"), NO_OPT
    elif application == "compiler" and not (folder / (suite + ".erl")).exists():
        for name, options in VARIANTS.items():
            plain = suite.replace("_%s_SUITE" % name, "_SUITE")
            if plain != suite and (folder / (plain + ".erl")).exists():
                return plain, options
    return suite, []


def prepare(suite, folder, out, application=None):
    """Compiles the suite and what stands beside it; copies its data. The reason if it cannot be."""
    source = folder / (suite + ".erl")
    plain, options = variant_of(suite, folder, application)
    if plain != suite:
        text = (folder / (plain + ".erl")).read_text(encoding="utf-8", errors="surrogateescape")
        source = out / "generated" / (suite + ".erl")
        source.parent.mkdir(parents=True, exist_ok=True)
        new = text.replace("-module(%s)" % plain, "-module(%s)" % suite)
        if not source.exists() or source.read_text(errors="surrogateescape") != new:
            source.write_text(new, encoding="utf-8", errors="surrogateescape")
        options = options + ["-I", str(folder)]
    if application is not None:
        options = options + application_options(folder, out, application)
    if (folder / (suite + ".core")).exists():
        source, options = folder / (suite + ".core"), ["+from_core", *options]
    if not source.exists():
        return "no file %s" % source
    why = compile_erl(source, out / "ebin", options)
    if why:
        return why
    build_data(copy_data(source.stem + "_data", folder, out), folder, out)
    return None


def copy_data(name, folder, out):
    copy = out / "data" / name
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        if (folder / name).is_dir():
            shutil.copytree(folder / name, copy)
        else:
            copy.mkdir()
    return copy


def ask_erl(expression):
    return subprocess.run(["erl", "-noshell", "-eval", "io:put_chars(%s), halt()." % expression],
                          stdout=subprocess.PIPE, check=True).stdout.decode()


@functools.lru_cache(maxsize=None)
def erl_include():
    """The folder of erl_nif.h and erl_driver.h of the installed release."""
    return ask_erl("code:root_dir()") + "/usr/include"


def build_data(copy, folder, out):
    """Makes what the Makefile.src of a data folder says, once; make.log there has what make said."""
    source, makefile = copy / "Makefile.src", copy / "Makefile"
    if not source.exists() or makefile.exists():
        return
    text = source.read_text(encoding="utf-8", errors="surrogateescape")
    for other in set(re.findall(r"\.\./(\w+_SUITE_data)", text)):
        copy_data(other, folder, out)
    text = re.sub(r"@(\w+)@", lambda m: MAKE_WORDS.get(m.group(1), m.group(0)), text)
    text = text.replace("@erl_include@", erl_include())
    makefile.write_text(re.sub(r"@\w+@", "", text), encoding="utf-8", errors="surrogateescape")
    with open(copy / "make.log", "wb") as log:
        subprocess.run(["make", "-k"], cwd=copy, stdin=subprocess.DEVNULL, stdout=log,
                       stderr=subprocess.STDOUT, check=False)


def application_options(folder, out, application):
    """What the Makefile of an application gives erlc for its suites."""
    libraries = folder.parent.parent
    options = ["-pa", str(out / "ebin"), "-I", str(libraries)]
    for other in ("kernel", "stdlib", "common_test"):
        options += ["-I", str(libraries / other / "include")]
    return options + (["+clint", "+clint0", "+ssalint"] if application == "compiler" else [])


def helpers(folder, out, application=None):
    """Modules that suites of the folder use, those apart that are in SUPPORT."""
    options = []
    sources = [s for s in sorted(folder.glob("*.erl"))
               if not s.stem.endswith("_SUITE") and not (SUPPORT / s.name).exists()]
    if application is not None:
        root = folder.parent.parent.parent
        options = application_options(folder, out, application)
        sources += [root / "erts/emulator/test/erts_test_utils.erl",
                    root / "lib/sasl/test/otp_vsns.erl"]
    for source in sources:
        compile_erl(source, out / "ebin", options)


class OutOfTime(Exception):
    """The step is over; what there is has been kept."""


def run_once(machine, suite, out, done, cap_s, deadline):
    """One start of the machine. (results {number: (name, result, text)}, finished, last output)"""
    priv = out / "priv" / machine.name / suite
    shutil.rmtree(priv, ignore_errors=True)
    priv.mkdir(parents=True)
    arguments = [suite, str(out / "data" / (suite + "_data")), str(priv), str(int(cap_s * 1000)),
                 *[str(n) for n in sorted(done)]]
    command = [a.replace("{ARGS}", "") for a in machine.command] + arguments
    environment = dict(os.environ, LC_ALL="C.UTF-8")
    for name in ("ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS", "ERL_LIBS"):
        environment.pop(name, None)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, cwd=priv, env=environment,
                             start_new_session=True)
    results = {}
    running = None
    finished = False
    tail = []
    buffer = b""
    last = time.monotonic()
    try:
        while True:
            ready, _, _ = select.select([child.stdout], [], [], 1)
            if ready:
                data = os.read(child.stdout.fileno(), 65536)
                if not data:
                    break
                buffer += data
                *lines, buffer = buffer.split(b"\n")
                for raw in lines:
                    line = raw.decode("utf-8", "replace").rstrip("\r")
                    mark = MARK.match(line)
                    if not mark:
                        if line.strip():
                            tail = (tail + [line])[-12:]
                        continue
                    last = time.monotonic()
                    what, rest = mark.group(1), mark.group(2) or ""
                    if what == "begin":
                        number, name = rest.split(" ", 1)
                        running = (int(number), name)
                        tail = []
                    elif what == "end":
                        number, result, *text = rest.split(" ", 2)
                        results[int(number)] = (running[1] if running else "?", result,
                                                text[0] if text else "")
                        running = None
                    elif what == "suite":
                        results[0] = ("(suite)", "fail", rest)
                    else:
                        finished = True
            if time.monotonic() - last > cap_s + 40:
                tail.append("no answer for %d s" % (cap_s + 40))
                break
            if finished and child.poll() is not None:
                break
            if time.monotonic() > deadline:
                running = None  # it is begun again
                break
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        child.stdout.close()
    if running:
        results[running[0]] = (running[1], "died",
                               "status %s: %s" % (child.returncode, " | ".join(tail)[-1500:]))
    return results, finished, tail


def read_results(path):
    loaded = json.loads(path.read_text(encoding="utf-8"))
    return {int(k): tuple(v) for k, v in loaded.items()}


def run_suite(machine, suite, out, cap_s, deadline):
    """{number: (name, result, text)} of the whole suite, with what a step before has kept of it."""
    kept = out / machine.name / (suite + ".part.json")
    kept.parent.mkdir(parents=True, exist_ok=True)
    results = {}
    if kept.exists() and kept.stat().st_mtime > (out / "ebin" / (suite + ".beam")).stat().st_mtime:
        results = read_results(kept)
    while True:
        got, finished, tail = run_once(machine, suite, out, [n for n in results if n], cap_s, deadline)
        results.update(got)
        late = time.monotonic() > deadline
        if not finished and not late and not [n for n in got if n]:
            results[0] = ("(suite)", "died", " | ".join(tail)[-1500:])
            finished = True
        if finished:
            kept.unlink(missing_ok=True)
            (out / machine.name / (suite + ".json")).write_text(json.dumps(results), encoding="utf-8")
            return results
        if late:
            kept.write_text(json.dumps(results), encoding="utf-8")
            raise OutOfTime


def oracle(erl, suite, out, cap_s, deadline):
    kept = out / "erl" / (suite + ".json")
    beam = out / "ebin" / (suite + ".beam")
    if kept.exists() and kept.stat().st_mtime > beam.stat().st_mtime:
        return read_results(kept)
    return run_suite(erl, suite, out, cap_s, deadline)


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=REPOSITORY, stdout=subprocess.PIPE,
                          check=True).stdout.decode().strip()


RESULT_COLUMNS = ("release", "suite", "commit", "date", "erl", "minivm", "fail")


class ResultFile:
    """One line a suite and release: commit, date, how many testcases pass on each, which do not here."""

    def __init__(self, path, release):
        self.path = path
        self.release = release
        self.rows = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines()[1:]:
                row = dict(zip(RESULT_COLUMNS, line.split("\t")))
                self.rows[row["release"], row["suite"]] = row

    def date(self, suite):
        row = self.rows.get((self.release, suite))
        return row["date"] if row else ""

    def put(self, suite, on_erl, here, failing):
        commit = git("rev-parse", "--short", "HEAD")
        if git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs"):
            commit += "-changed"
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")
        values = (self.release, suite, commit, now, str(on_erl), str(here), " ".join(failing))
        self.rows[self.release, suite] = dict(zip(RESULT_COLUMNS, values))
        lines = ["\t".join(RESULT_COLUMNS)]
        lines += ["\t".join(self.rows[key][c] for c in RESULT_COLUMNS) for key in sorted(self.rows)]
        new = self.path.with_suffix(".new")
        new.write_text("\n".join(lines) + "\n", encoding="utf-8")
        new.replace(self.path)


def fetch(folder):
    """OTP's sources of the installed release, by apt, unpacked at DIR/otp."""
    if (folder / "otp").is_dir():
        return
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "erlang-base"],
                             stdout=subprocess.PIPE, check=True).stdout.decode()
    # A state of apt of its own: the machine's need not know where sources are.
    state = folder.resolve() / "apt"
    subprocess.run([REPOSITORY / "tools" / "lib" / "apt_sources.sh", state], check=True)
    subprocess.run(["apt-get", "source", "--download-only", "erlang=" + version], cwd=folder,
                   check=True, env=dict(os.environ, APT_CONFIG=str(state / "apt.conf")))
    description = next(folder.glob("erlang_*.dsc"))
    subprocess.run(["dpkg-source", "--no-check", "-x", description.name, "otp"], cwd=folder,
                   check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="*", help="big_SUITE or big; default: those of suites.list")
    parser.add_argument("--root", type=pathlib.Path, help="OTP's sources")
    parser.add_argument("--suites", type=pathlib.Path, default=os.environ.get("MINIVM_OTP_SUITES"),
                        help="folder of the emulator's suites, if it is not below --root "
                             "(or MINIVM_OTP_SUITES)")
    parser.add_argument("--fetch", type=pathlib.Path, metavar="DIR",
                        help="get OTP's sources into DIR first; DIR/otp has them")
    parser.add_argument("--otp", type=pathlib.Path, metavar="DIR",
                        help="another OTP than the installed one, with its sources in DIR/src: what "
                             "tools/newest_otp makes")
    parser.add_argument("--minivm", type=pathlib.Path)
    parser.add_argument("--engine")
    parser.add_argument("--option", action="append", default=[], help="more for `minivm run`")
    parser.add_argument("--cap", type=float, default=60, help="seconds a testcase, on minivm")
    parser.add_argument("--out", type=pathlib.Path, help="default: build/suites/RELEASE")
    parser.add_argument("--results", type=pathlib.Path, help="keep a line for each suite here")
    parser.add_argument("--minutes", type=float,
                        help="stop after so many minutes, and go on there the next time; of the "
                             "suites (default: all of suites.list) those that were run longest ago")
    parser.add_argument("--table", type=pathlib.Path, help="write the table here, as Markdown")
    parser.add_argument("-v", "--verbose", action="store_true", help="also what fails on both")
    options = parser.parse_args()
    if options.otp:
        os.environ["PATH"] = "%s:%s" % (options.otp.resolve() / "otp" / "bin", os.environ["PATH"])
        os.environ.pop("ROOTDIR", None)
        options.root = options.root or options.otp.resolve() / "src"
    if options.fetch:
        fetch(options.fetch)
        options.root = options.root or options.fetch / "otp"
    if options.root is not None:
        options.suites = options.suites or options.root / "erts" / "emulator" / "test"
    if options.suites is None:
        parser.error("where are the suites? Give --root, --suites or --fetch")
    listed = [line.split("#")[0].strip() for line in
              (FOLDER / "suites.list").read_text(encoding="utf-8").splitlines()]
    suites = []
    for name in options.suite:
        if name in APPLICATIONS:
            suites += [s for s in listed if s.startswith(name + "/")]
        else:
            suites.append(name)
    suites = suites or [s for s in listed if s and (options.minutes or "/" not in s)]
    suites = [s if s.endswith("_SUITE") else s + "_SUITE" for s in suites]
    if options.root is None and any("/" in s for s in suites):
        parser.error("suites of applications need --root")
    release = ask_erl("erlang:system_info(otp_release)")
    out = (options.out or REPOSITORY / "build" / "suites" / release).resolve()
    deadline = float("inf")
    results = None
    if options.minutes:
        deadline = time.monotonic() + 60 * options.minutes
        options.results = options.results or REPOSITORY / "docs" / "otp_suites_results.tsv"
    if options.results:
        results = ResultFile(options.results.resolve(), release)
    if options.minutes:
        suites.sort(key=results.date)
    for source in sorted(SUPPORT.glob("*.erl")):
        why = compile_erl(source, out / "support")
        if why:
            sys.exit(why)
    support = out / "support"

    def machines(out):
        erl = Machine("erl", ["erl", "-noshell", "-pa", str(out / "ebin"), "-pa", str(support),
                              "-eval", "suite_harness:main(init:get_plain_arguments())", "-extra"])
        if not options.minivm:
            return erl, None
        return erl, Machine("minivm", [
            str(options.minivm.resolve()), "run",
            *(["--engine", options.engine] if options.engine else []), *options.option,
            "-pa", str(support), "-pa", str(out / "ebin"), "suite_harness"])

    top = out
    rows = []
    worse = 0
    have_helpers = set()
    for full_name in suites:
        application, _, suite = full_name.rpartition("/")
        application = application or None
        folder, out = options.suites, top
        if application is not None:
            folder = options.root / "lib" / application / "test"
            out = top / ("suites_of_" + application)  # not its name: code:lib_dir/1 would find it
        if application not in have_helpers:
            helpers(folder, out, application)
            have_helpers.add(application)
        erl, minivm = machines(out)
        why = prepare(suite, folder, out, application)
        if why:
            print("%s: cannot be compiled: %s" % (full_name, why))
            continue
        try:
            expected = oracle(erl, suite, out, 60, deadline)
            got = run_suite(minivm, suite, out, options.cap, deadline) if minivm else {}
        except OutOfTime:
            print("%s: to be continued" % full_name)
            break
        passed_erl = [n for n, (_, result, _) in expected.items() if result == "ok"]
        passed = [n for n in passed_erl if got.get(n, ("", "missing", ""))[1] == "ok"]
        rows.append((full_name, len(passed_erl), len(passed)))
        if results and minivm:
            results.put(full_name, len(passed_erl), len(passed),
                        [expected[n][0] for n in passed_erl if n not in passed])
        print("%-34s erl %3d   minivm %3d%s" % (full_name, len(passed_erl), len(passed),
              "" if len(passed) == len(passed_erl) else "   <--"), flush=True)
        for n in sorted(set(expected) | set(got)):
            name, result, text = got.get(n, (expected.get(n, ("?",))[0], "missing", ""))
            if n in passed_erl and result != "ok":
                worse += 1
                print("  %s: %s %s" % (name, result, text))
            elif n == 0 or (options.verbose and result != "ok"):
                on_erl = expected.get(n, ("", "missing", ""))
                print("  (%s: %s %s; erl: %s %s)" % (name, result, text[:300], on_erl[1],
                                                    on_erl[2][:300]))
        sys.stdout.flush()
    if options.table:
        with open(options.table, "w", encoding="utf-8") as f:
            f.write("| suite | pass on erl | of these on minivm |\n|---|---|---|\n")
            for row in rows:
                f.write("| %s | %d | %d |\n" % row)
            f.write("| sum | %d | %d |\n" % (sum(r[1] for r in rows), sum(r[2] for r in rows)))
    print("%d suites: %d testcases pass on erl, %d of them on minivm" %
          (len(rows), sum(r[1] for r in rows), sum(r[2] for r in rows)))
    print("%d inputs ran" % sum(r[1] for r in rows))
    return 1 if worse and not options.minutes else 0


if __name__ == "__main__":
    sys.exit(main())
