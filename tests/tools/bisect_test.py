#!/usr/bin/env python3
"""Tests of tools/bisect: it finds functions whose native code is wrong.

    tests/tools/bisect_test.py build/release/tools/minivm
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

BISECT = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "bisect"

SOURCE = r"""
-module(bisected).
-export([main/1]).
main([N]) ->
    List = lists:seq(1, list_to_integer(N)),
    io:format("~p ~p~n", [sum(List, 0), [next(E) || E <- lists:reverse(List), E rem 2 =:= 0]]).
sum([H | T], S) -> sum(T, plus(H, S));
sum([], S) -> S.
plus(A, B) -> A + B.
next(N) -> N + 1.
"""

minivm = None   # set by tool_tests.main
folder = None   # holds bisected.beam


def bisect(*arguments):
    done = subprocess.run([sys.executable, BISECT, "--minivm", minivm, "--", *map(str, arguments)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, check=False)
    return done.returncode, done.stdout.decode()


def load():
    loader = importlib.machinery.SourceFileLoader("bisect_tool", str(BISECT))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("bisect_tool", loader))
    loader.exec_module(module)
    return module


class Search(unittest.TestCase):
    def least(self, names, guilty):
        """What is found if all of `guilty` together make the program wrong."""
        class Fake(load().Bisection):
            def __init__(self):
                self.beside_seen = True

            def is_wrong(self, names):
                self.beside_seen = self.beside_seen and "beside" in names
                return guilty <= set(names)
        fake = Fake()
        with contextlib.redirect_stdout(io.StringIO()):
            found = fake.least(names, "names", ["beside"])
        self.assertTrue(fake.beside_seen)
        return found

    def test_one_of_many_is_found(self):
        names = ["f%d" % n for n in range(37)]
        for name in names:
            self.assertEqual(self.least(names, {name}), [name])

    def test_those_that_are_wrong_only_together_are_found(self):
        names = ["f%d" % n for n in range(20)]
        for first in range(0, 20, 3):
            for second in range(first + 1, 20, 4):
                guilty = {"f%d" % first, "f%d" % second}
                self.assertEqual(set(self.least(names, guilty)), guilty)
        self.assertEqual(set(self.least(names, {"f1", "f9", "f19"})), {"f1", "f9", "f19"})


class Program(unittest.TestCase):
    beam = property(lambda self: folder / "bisected.beam")

    def test_a_program_that_is_right_has_no_wrong_function(self):
        status, said = bisect(self.beam, 10)
        self.assertEqual(status, 0, said)
        self.assertIn("agree", said)

    def test_a_planted_mistake_is_found(self):
        for name, wrong in (("plus/2", "65 [11,9,7,5,3]"), ("next/1", "55 [12,10,8,6,4]")):
            status, said = bisect("--jit-mistake", "bisected:" + name, self.beam, 10)
            self.assertEqual(status, 1, said)
            self.assertIn("\nwrong: bisected:%s (" % name, said)
            self.assertIn("\n---- bytecode: status 0\n55 [11,9,7,5,3]\n", said)
            self.assertIn("\n---- native code for it alone: status 0\n%s\n" % wrong, said)
            # What it says to look at is there.
            command = said.splitlines()[-1].split()
            self.assertEqual(command[1:3], ["disasm", "--native"])
            shown = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
            self.assertIn("$bisected:" + name, shown)


if __name__ == "__main__":
    sys.exit(tool_tests.main(sys.modules[__name__], {"bisected.erl": SOURCE}))
