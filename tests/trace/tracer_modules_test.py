#!/usr/bin/env python3
"""Tracers that are modules (tracer_modules.erl), on both engines: in sessions, and while traces and the
modules themselves change.

    tracer_modules_test.py build/release/tools/minivm
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = HERE.parent / "programs" / "trace_module"
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "tools"), str(HERE.parent / "programs")]
import run_diff  # noqa: E402  (leaves no compiled copy there)
import tool_tests  # noqa: E402

minivm, folder = None, None  # the program under test; a folder with the compiled sources


def run(engine, *arguments):
    done = subprocess.run(
        [minivm, "run", "--engine", engine, str(folder / "tracer_modules.beam"), *arguments],
        capture_output=True, text=True, timeout=300, cwd=folder,
        env=dict(os.environ, PROGRAM_DIR=str(folder)))
    # Who is traced by another one already is reported, as on erl.
    return re.sub(r"=ERROR REPORT=.*\n\*\* can only have one tracer per process\n+", "", done.stdout + done.stderr)


class TracerModules(unittest.TestCase):
    def each(self, *arguments):
        for engine in ("interp", "jit", "mixed:7"):
            with self.subTest(engine=engine):
                self.assertEqual(run(engine, *arguments), "ok\n")

    def test_sessions_have_tracers_that_are_modules(self):
        self.each("sessions")

    def test_tracers_change_and_their_modules_are_purged_under_load(self):
        for seed in (tool_tests.seed() + 1, tool_tests.seed() + 2):
            with self.subTest(seed=seed):
                self.each("stress", str(seed), "300")


def compile_tracers():
    for source in LIBRARY.glob("trace_module_*.erl"):
        subprocess.run(["erlc", "-o", str(folder), str(source)], check=True)
    for source in LIBRARY.glob("*.c"):
        message = run_diff.compile_library(source, folder, run_diff.nif_include_dir())
        if message is not None:
            sys.exit(message)


if __name__ == "__main__":
    text = (HERE / "tracer_modules.erl").read_text(encoding="utf-8")
    sys.exit(tool_tests.main(sys.modules[__name__], {"tracer_modules.erl": text}, compile_tracers))
