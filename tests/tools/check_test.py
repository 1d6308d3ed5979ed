#!/usr/bin/env python3
"""Tests of what tools/check believes: a total that is misread would make a failing tree look sound."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "lib"))
import seeds  # noqa: E402  (needs the path above)
from count_tests import count  # noqa: E402


class Count(unittest.TestCase):
    def test_catch2(self):
        self.assertEqual(count("All tests passed (27 assertions in 7 test cases)\n"), (7, 0, 0))
        self.assertEqual(count("All tests passed (1 assertion in 1 test case)\n"), (1, 0, 0))
        self.assertEqual(
            count("test cases:  7 |  6 passed | 1 failed\nassertions: 27 | 26 passed | 1 failed\n"),
            (6, 1, 0))
        self.assertEqual(count("test cases: 2 | 2 failed\nassertions: 2 | 2 failed\n"), (0, 2, 0))
        self.assertEqual(
            count("test cases: 5 | 3 passed | 1 failed | 1 failed as expected\n"), (4, 1, 0))

    def test_ours(self):
        self.assertEqual(count("12 passed, 0 failed\n"), (12, 0, 0))
        self.assertEqual(count("total: 12 passed, 3 failed, 4 skipped\n"), (12, 3, 4))

    def test_last_total_counts(self):
        self.assertEqual(count("1 passed, 1 failed\nx\n5 passed, 0 failed\n"), (5, 0, 0))

    def test_no_total(self):
        self.assertEqual(count("Segmentation fault\n"), (0, 0, 0))
        self.assertEqual(count("assertions: 27 | 26 passed | 1 failed\n"), (0, 0, 0))
        self.assertEqual(count("it said 3 passed, 4 failed, or so it seemed\n"), (0, 0, 0))


def repeat(times, script):
    """Runs tools/lib/repeat on a shell script; answers its status and last line."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        program.write_text("#!/bin/sh\n" + script, encoding="utf-8")
        program.chmod(0o755)
        done = subprocess.run([str(ROOT / "tools" / "lib" / "repeat"), str(times), "7",
                               str(program), "{seed}"], stdout=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.decode().strip().split("\n")[-1]


class Repeat(unittest.TestCase):
    def test_sums_totals_and_counts_the_seed_up(self):
        self.assertEqual(repeat(3, 'echo "$1 passed, 0 failed"'), (0, "24 passed, 0 failed"))

    def test_a_failure_fails_the_whole(self):
        self.assertEqual(repeat(3, 'echo "1 passed, $(($1 == 8)) failed"'), (1, "3 passed, 1 failed"))

    def test_a_crash_is_a_failure(self):
        self.assertEqual(repeat(2, 'echo "4 passed, 0 failed"; exit $(($1 == 8))'),
                         (1, "8 passed, 1 failed"))
        self.assertEqual(repeat(2, "kill -9 $$"), (1, "0 passed, 2 failed"))


class Seeds(unittest.TestCase):
    """tools/lib/seeds.py with tests of our own."""

    def run_seeds(self, script, *options, seed="7"):
        """Status, output, rows."""
        with tempfile.TemporaryDirectory() as folder:
            return self.run_in(pathlib.Path(folder), script, *options, "--seed", seed)

    def run_in(self, folder, script, *options):
        program = folder / "program"
        program.write_text("#!/bin/sh\n" + script, encoding="utf-8")
        program.chmod(0o755)
        soak = folder / "soak.md"
        soak.write_text("", encoding="utf-8")
        said = io.StringIO()
        with mock.patch.multiple(seeds, KINDS="kind | dev | %s {seed}" % program, LOGS=folder / "logs", SOAK=soak,
                                 STATE=folder / "state", commit=lambda: "c0ffee", LIMIT_S=2), \
                mock.patch.object(sys, "argv", ["seeds.py", "--preset", "dev", *options]), \
                contextlib.redirect_stdout(said):
            status = seeds.main()
        return status, said.getvalue(), soak.read_text(encoding="utf-8")

    def test_each_seed_runs_once(self):
        status, said, rows = self.run_seeds('echo "1 passed, 0 failed"', "--count", "3")
        self.assertEqual((status, said.splitlines()[-1]), (0, "3 passed, 0 failed"))
        self.assertRegex(rows, r"^\| [-\d]+ \| 3 seeds: `.* N` \| 7 \| c0ffee \| 3 passed, 0 failed \| .* \| passed \|\n$")

    def test_a_failure_is_told_with_its_seed(self):
        for failing in ('echo "1 passed, $(($1 == 8)) failed"', 'echo "1 passed, 0 failed"; exit $(($1 == 8))',
                        '[ $1 = 8 ] || echo "1 passed, 0 failed"', '[ $1 != 8 ] || sleep 60; echo "1 passed, 0 failed"'):
            status, said, rows = self.run_seeds(failing, "--count", "3")
            self.assertEqual((status, said.splitlines()[-1]), (1, "2 passed, 1 failed"), failing)
            self.assertRegex(said, r"FAILED kind, seed 8, .* 8\n")
            self.assertIn("| failed: seed 8 |", rows)

    def test_a_run_that_was_ended_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            script = 'echo "seed $1" >>%s/ran; echo "1 passed, 0 failed"' % folder
            self.run_in(pathlib.Path(folder), script, "--count", "2", "--seed", "7", "--minutes", "0")
            self.run_in(pathlib.Path(folder), script, "--count", "2")
            self.assertEqual((pathlib.Path(folder) / "ran").read_text(), "seed 7\nseed 8\n")
            # That one is done: now there are others.
            _, _, rows = self.run_in(pathlib.Path(folder), script, "--count", "1")
            self.assertNotIn("| 7 |", rows)


class Check(unittest.TestCase):
    """The script itself on a copy of the tree's tools with steps of our own."""

    def run_check(self, steps):
        script = (ROOT / "tools" / "check").read_text(encoding="utf-8")
        begin, end = script.index("\nstep - "), script.index("\n# -----", script.index("\nstep - "))
        with tempfile.TemporaryDirectory() as folder:
            tools = pathlib.Path(folder) / "tools"
            (tools / "lib").mkdir(parents=True)
            for name in ("common.sh", "count_tests.py"):
                (tools / "lib" / name).write_bytes((ROOT / "tools" / "lib" / name).read_bytes())
            # Nothing is to be installed by a test.
            with open(tools / "lib" / "common.sh", "a", encoding="utf-8") as common:
                common.write("need() { :; }\n")
            (tools / "check").write_text(script[:begin] + "\n" + steps + script[end:],
                                         encoding="utf-8")
            done = subprocess.run(["bash", str(tools / "check")], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                  env={"PATH": "/usr/local/bin:/usr/bin:/bin", "CI": "true",
                                       "STEP_LIMIT_S": "2"})
        output = done.stdout.decode()
        return done.returncode, output.strip().split("\n")[-1], output

    def test_sum(self):
        status, total, _ = self.run_check(
            'step - a echo "3 passed, 0 failed"\nstep - b echo "4 passed, 0 failed, 1 skipped"\n')
        self.assertEqual((status, total), (0, "7 passed, 0 failed, 1 skipped"))

    def test_failures_are_counted_and_shown(self):
        status, total, output = self.run_check(
            'step - a sh -c "echo broken here; echo 3 passed, 2 failed; exit 1"\n'
            'step - b echo "1 passed, 0 failed"\n')
        self.assertEqual((status, total), (1, "4 passed, 2 failed"))
        self.assertIn("| broken here", output)

    def test_a_crash_a_hang_and_an_empty_run_are_failures(self):
        for command in ('sh -c "echo 3 passed, 0 failed; exit 3"', "sleep 60", "true",
                        "no_such_program", 'echo "0 passed, 0 failed"'):
            status, total, _ = self.run_check("step - a %s\n" % command)
            self.assertEqual(status, 1, command)
            self.assertRegex(total, r"^\d passed, 1 failed$", command)

    def test_a_build_that_fails_fails_its_steps(self):
        status, total, output = self.run_check(
            'step release a echo "3 passed, 0 failed"\nstep release b echo "3 passed, 0 failed"\n')
        self.assertEqual((status, total), (1, "0 passed, 3 failed"))
        self.assertEqual(output.count("no build"), 2)


if __name__ == "__main__":
    sys.exit(tool_tests.total(unittest.main(exit=False).result))
