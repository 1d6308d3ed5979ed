#!/usr/bin/env python3
"""Sockets of `minivm erl` beside those of `erl`: the same results, messages and errors; and many connections at once.

    tests/tools/sockets_test.py MINIVM [TEST...]
"""

import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

minivm, folder = None, None  # tool_tests.main() sets them
WAIT_S = 240


def run(program, call):
    done = subprocess.run([*program, "-noshell", "-eval", call + "."], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="latin-1", cwd=folder, timeout=WAIT_S, check=False)
    return done.returncode, done.stdout


class Sockets(unittest.TestCase):
    maxDiff = None

    def test_what_programs_see_is_the_same(self):
        expected = run(["erl"], "sockets:main()")
        self.assertIn("\ndelayed: ", expected[1])
        self.assertNotIn("did_not_end", expected[1])
        self.assertEqual(run([minivm, "erl"], "sockets:main()"), expected)

    def test_many_connections_lose_nothing_and_leave_nothing(self):
        for seed in range(tool_tests.seed(), tool_tests.seed() + 3):
            self.assertEqual(run([minivm, "erl"], "sockets:stress(%d)" % seed), (0, "ok\n"), "seed %d" % seed)


if __name__ == "__main__":
    SOURCE = pathlib.Path(__file__).with_name("sockets.erl").read_text(encoding="utf-8")
    sys.exit(tool_tests.main(sys.modules[__name__], {"sockets.erl": SOURCE}))
