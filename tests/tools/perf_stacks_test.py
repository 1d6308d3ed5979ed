#!/usr/bin/env python3
"""Tests of frame pointers in native code: Linux perf sees whole Erlang stacks.

    tests/tools/perf_stacks_test.py build/release/tools/minivm

Without perf, or where it may not sample, the tests that need it are skipped.
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

DEPTH = 30

SOURCE = r"""
-module(stacks).
-export([main/1]).
main(_) -> io:format("~p~n", [outer(%d, 300)]).
outer(0, K) -> middle(K);
outer(N, K) -> 1 + outer(N - 1, K).
middle(K) ->
    catch exit(nobody),
    X = try leaf(lists:seq(1, 3000), K * 200, 0) after ok end,
    erlang:garbage_collect(),
    X + leaf([1], K, 0).
leaf(_, 0, S) -> S;
leaf(L, N, S) -> leaf(L, N - 1, S + count(L, 0)).
count([], C) -> C;
count([_ | T], C) -> count(T, C + 1).
""" % DEPTH

minivm = None   # set by tool_tests.main
folder = None   # holds stacks.beam; the samples lie there too


def run(command, timeout=300):
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=timeout, check=False)


def program(*options):
    return [minivm, "run", "--engine", "jit", *options, str(folder / "stacks.beam")]


def samples_of(options):
    """The functions of each sample, innermost first, or None if perf cannot."""
    data = str(folder / "perf.data")
    recorded = run(["perf", "record", "-q", "-F", "997", "-o", data, "--call-graph=fp", "--",
                    *program(*options)])
    if recorded.returncode != 0 or not os.path.exists(data):
        return None
    text = run(["perf", "script", "-F", "ip,sym", "-i", data]).stdout.decode("utf-8", "replace")
    return [[line.split(None, 1)[1] for line in block.splitlines() if len(line.split(None, 1)) == 2]
            for block in re.split(r"\n\s*\n", text) if block.strip()]


class Options(unittest.TestCase):
    def test_words(self):
        for words in ("fp", "no_fp", "false", "fp,no_fp"):
            done = run(program("--perf=" + words))
            self.assertEqual((done.returncode, done.stdout), (0, b"%d\n" % (180000300 + DEPTH)), words)

    def test_a_word_that_is_none(self):
        done = run(program("--perf=fp,all"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"'all' is none of true, map, dump, fp, no_fp, false", done.stdout)


@unittest.skipUnless(shutil.which("perf"), "perf is not installed")
class Stacks(unittest.TestCase):
    def whole(self, options):
        samples = samples_of(options)
        if samples is None:
            self.skipTest("perf may not sample here")
        in_leaf = [s for s in samples if s[0] == "$stacks:count/2"]
        self.assertGreater(len(in_leaf), 10)
        callers = ["$stacks:leaf/3", "$stacks:middle/1", *["$stacks:outer/2"] * DEPTH,
                   "$stacks:main/1"]
        return [s[1:len(callers) + 1] == callers for s in in_leaf]

    def test_whole_stacks(self):
        """All but those that hit where a frame is made or dropped: a part of so short a loop."""
        whole = self.whole(["--perf=map"])
        self.assertGreater(whole.count(True), 0.6 * len(whole))

    def test_none_without_frame_pointers(self):
        self.assertNotIn(True, self.whole(["--perf=map,no_fp"]))


if __name__ == "__main__":
    sys.exit(tool_tests.main(sys.modules[__name__], {"stacks.erl": SOURCE}))
