#!/usr/bin/env python3
"""Sessions of tracing (sessions.erl) answer as OTP 27 does, on both engines.

sessions.expected is what `erl -noshell -eval 'sessions:main([]), halt().'` of OTP 27 prints.

    session_test.py build/release/tools/minivm
"""

import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "tools"))
import tool_tests  # noqa: E402  (leaves no compiled copy there)

minivm, folder = None, None  # the program under test; a folder with the compiled sources


def run(engine, *arguments, module="sessions"):
    done = subprocess.run([minivm, "run", "--engine", engine, str(folder / (module + ".beam")),
                           *arguments], capture_output=True, text=True, timeout=300, cwd=folder)
    return done.stdout + done.stderr


class Sessions(unittest.TestCase):
    maxDiff = None

    def each(self, check):
        for engine in ("interp", "jit", "mixed:7"):
            with self.subTest(engine=engine):
                check(engine)

    def test_answers_and_events_are_those_of_otp_27(self):
        expected = (HERE / "sessions.expected").read_text(encoding="utf-8")
        self.each(lambda engine: self.assertEqual(run(engine), expected))

    def test_new_code_keeps_what_each_session_traces(self):
        self.each(lambda engine: self.assertEqual(run(engine, "reloaded"), "ok\n"))

    def test_sessions_that_come_and_go_beside_each_other_count_exactly(self):
        self.each(lambda engine: self.assertEqual(run(engine, "stress", "2"), "ok true\n"))

    def test_a_session_that_ends_beside_a_purge_leaves_code_that_is_gone_alone(self):
        self.each(lambda engine: self.assertEqual(run(engine, "purged", "300"), "ok\n"))

    def test_a_module_of_that_name_in_the_path_is_the_one_that_is_used(self):
        other = folder / "other"
        other.mkdir()
        (other / "trace.erl").write_text(
            "-module(trace).\n-export([main/1, own/0]).\nmain(_) -> io:format(\"~p~n\", [own()]).\n"
            "own() -> mine.\n", encoding="utf-8")
        subprocess.run(["erlc", "-o", str(other), str(other / "trace.erl")], check=True)
        done = subprocess.run([minivm, "run", "--pa", str(other), "--eval",
                               "io:format(\"~p~n\", [trace:own()])"], capture_output=True, text=True,
                              timeout=60, cwd=folder)
        self.assertEqual(done.stdout, "mine\n")


if __name__ == "__main__":
    source = (HERE / "sessions.erl").read_text(encoding="utf-8")
    sys.exit(tool_tests.main(sys.modules[__name__], {"sessions.erl": source}))
