#!/usr/bin/env python3
"""Every module of stdlib, kernel and compiler, compiled by a release's own compiler on erl and on minivm:
the .beam files have to be the same byte for byte.

    compile_all.py --minivm BIN --otp DIR [--engine E]... [--only GLOB]... [--every N]
    compile_all.py --minivm BIN --sources DIR ...

--otp names what tools/newest_otp makes (the sources are in DIR/src). Without it the installed OTP compiles
its own sources, which run_suites.py --fetch gets. --every N takes one module in N.
"""

import argparse
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parent.parent
APPLICATIONS = ("stdlib", "kernel", "compiler")
COMPILED = re.compile(r"[0-9A-F]{32} \d+")
CHUNK = 12  # modules of one run: so many are lost at most when a machine ends


def sources(root, only, every):
    found = []
    for application in APPLICATIONS:
        found += sorted((root / "lib" / application / "src").glob("*.erl"))
    found = [s for s in found if not only or any(fnmatch.fnmatchcase(s.stem, o) for o in only)]
    return found[::every]


def run(command, listed, env):
    """{source: what came out} of one run."""
    done = subprocess.run([*command, str(listed)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=env, check=False, timeout=3600)
    lines = done.stdout.decode("utf-8", "backslashreplace").splitlines()
    return dict(line.split(": ", 1) for line in lines if ".erl: " in line), lines


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True)
    parser.add_argument("--otp", type=pathlib.Path)
    parser.add_argument("--sources", type=pathlib.Path)
    parser.add_argument("--engine", action="append", default=[])
    parser.add_argument("--only", action="append", default=[], metavar="GLOB")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=REPOSITORY / "build" / "compiled")
    options = parser.parse_args()
    otp = options.otp.resolve() if options.otp else None
    if not otp and not options.sources:
        parser.error("give --otp or --sources")
    out = options.out / (otp.name if otp else "installed")
    out.mkdir(parents=True, exist_ok=True)
    env = dict(os.environ, LC_ALL="C.UTF-8")
    env.pop("ROOTDIR", None)
    if otp:
        env["PATH"] = "%s:%s" % (otp / "otp" / "bin", env["PATH"])
    subprocess.run(["erlc", "-o", str(out), str(FOLDER / "compile_modules.erl")], env=env, check=True)
    minivm = os.path.abspath(options.minivm)
    machines = [("erl", ["erl", "-noshell", "-pa", str(out), "-eval",
                         "compile_modules:main(init:get_plain_arguments()), halt().", "-extra"])]
    for engine in options.engine or ["interp", "jit"]:
        machines.append((engine, [minivm, "run", "--engine", engine, str(out / "compile_modules.beam")]))

    modules = sources((options.sources or otp / "src").resolve(), options.only, options.every)
    passed, failed = 0, 0
    for first in range(0, len(modules), CHUNK):
        part = modules[first:first + CHUNK]
        results = {}
        for name, command in machines:
            (out / name).mkdir(exist_ok=True)
            listed = out / (name + ".list")
            listed.write_text("".join("%s %s\n" % (s, out / name / (s.stem + ".beam")) for s in part),
                              encoding="utf-8")
            results[name], lines = run(command, listed, env)
            if len(results[name]) != len(part):
                print("%s: ended too early:\n  %s" % (name, "\n  ".join(lines[-10:])))
        for source in map(str, part):
            expected = results["erl"].get(source)
            for name, _ in machines[1:]:
                got = results[name].get(source)
                if got == expected and got is not None and COMPILED.fullmatch(got):
                    passed += 1
                else:
                    failed += 1
                    print("%s on %s: %s, erl gives %s" % (source, name, got, expected))
        print("%d of %d modules" % (min(first + CHUNK, len(modules)), len(modules)), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
