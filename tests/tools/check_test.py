#!/usr/bin/env python3
"""Tests of what tools/check believes: a total that is misread would make a failing tree look sound."""

import ast
import contextlib
import io
import pathlib
import re
import shlex
import shutil
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
import steps  # noqa: E402
from count_tests import count  # noqa: E402


TABLE = steps.Table((ROOT / "tests" / "steps.list").read_text(encoding="utf-8"))


def who_may_skip(module):
    """The tests of a module that call skipTest, by way of a method of their class too, or are under skipUnless."""
    found, of_class = set(), {}
    for a_class in (n for n in module.body if isinstance(n, ast.ClassDef)):
        methods = {name: m for base in a_class.bases if isinstance(base, ast.Name)
                   for name, m in of_class.get(base.id, {}).items()}
        methods.update({n.name: n for n in a_class.body if isinstance(n, ast.FunctionDef)})
        of_class[a_class.name] = methods
        skips = {name for name, m in methods.items() if any("skip" in ast.dump(d) for d in m.decorator_list)}
        if any("skip" in ast.dump(d) for d in a_class.decorator_list):
            skips |= methods.keys()
        calls = {name: {n.func.attr for n in ast.walk(m) if isinstance(n, ast.Call)
                        and isinstance(n.func, ast.Attribute) and isinstance(n.func.value, ast.Name)
                        and n.func.value.id == "self"} for name, m in methods.items()}
        while more := {name for name, called in calls.items() if called & (skips | {"skipTest"})} - skips:
            skips |= more
        found |= {n for n in skips if n.startswith("test_")}
        if skips & {"setUp"}:
            found |= {n for n in methods if n.startswith("test_")}
    return found


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

    def run_check(self, steps, *options, skips=""):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "tools" / "lib").mkdir(parents=True)
            (root / "tests").mkdir()
            for name in ("check", "lib/common.sh", "lib/count_tests.py", "lib/steps.py"):
                shutil.copy(ROOT / "tools" / name, root / "tools" / name)
            # Nothing is to be installed by a test.
            with open(root / "tools" / "lib" / "common.sh", "a", encoding="utf-8") as common:
                common.write("need() { :; }\n")
            (root / "tests" / "steps.list").write_text(steps, encoding="utf-8")
            (root / "tests" / "skip.list").write_text(skips, encoding="utf-8")
            done = subprocess.run(["bash", str(root / "tools" / "check"), *options], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                  env={"PATH": "/usr/local/bin:/usr/bin:/bin", "CI": "true",
                                       "STEP_LIMIT_S": "2"})
        output = done.stdout.decode()
        return done.returncode, output.strip().split("\n")[-1], output

    def test_sum(self):
        status, total, _ = self.run_check(
            '- | a | quick | 1 s | echo "3 passed, 0 failed"\n- | b | full | 1 s | echo "4 passed, 0 failed, 1 skipped"\n')
        self.assertEqual((status, total), (0, "7 passed, 0 failed, 1 skipped"))

    def test_failures_are_counted_and_shown(self):
        status, total, output = self.run_check(
            '- | a | quick | 1 s | sh -c "echo broken here; echo 3 passed, 2 failed; exit 1"\n'
            '- | b | quick | 1 s | echo "1 passed, 0 failed"\n')
        self.assertEqual((status, total), (1, "4 passed, 2 failed"))
        self.assertIn("| broken here", output)

    def test_a_crash_a_hang_and_an_empty_run_are_failures(self):
        for command in ('sh -c "echo 3 passed, 0 failed; exit 3"', "sleep 60", "true",
                        "no_such_program", 'echo "0 passed, 0 failed"'):
            status, total, _ = self.run_check("- | a | quick | 1 s | %s\n" % command)
            self.assertEqual(status, 1, command)
            self.assertRegex(total, r"^\d passed, 1 failed$", command)

    def test_a_build_that_fails_fails_its_steps(self):
        status, total, output = self.run_check(
            'release | a | full | 1 s | echo "3 passed, 0 failed"\nrelease | b | full | 1 s | echo "3 passed, 0 failed"\n')
        self.assertEqual((status, total), (1, "0 passed, 3 failed"))
        self.assertEqual(output.count("no build"), 2)

    TWO = '- | a | quick | 1 s | echo "1 passed, 0 failed"\n- | b | full | 1 s | echo "10 passed, 0 failed"\n'

    def test_chosen_steps(self):
        self.assertEqual(self.run_check(self.TWO, "--quick")[:2], (0, "1 passed, 0 failed"))
        self.assertEqual(self.run_check(self.TWO, "--only", "b*")[:2], (0, "10 passed, 0 failed"))
        self.assertEqual(self.run_check(self.TWO, "--only", "b", "--only", "a")[:2], (0, "11 passed, 0 failed"))
        self.assertEqual(self.run_check(self.TWO, "--only", "c")[:2], (1, "0 passed, 1 failed"))
        self.assertEqual(self.run_check(self.TWO, "--list"), (0, "b", "a\nb\n"))

    def test_a_step_reads_no_other_s_row(self):
        self.assertEqual(self.run_check("- | eats | quick | 1 s | sh -c 'cat; echo 1 passed, 0 failed'\n" + self.TWO)[:2],
                         (0, "12 passed, 0 failed"))

    def test_those_that_may_run_beside_each_other_and_no_other_beside_them(self):
        meets = "- | %s | quick beside | 1 s | sh -c 'touch %s; until [ -e %s ]; do sleep 0.1; done; echo 1 passed, 0 failed'\n"
        # Neither of the first two ends without the other; c and e run when the last two have removed their files.
        alone = "- | %s | quick | 1 s | sh -c '[ ! -e d1 ] && [ ! -e d2 ] && echo 1 passed, 0 failed'\n"
        slow = "- | %s | quick beside | 1 s | sh -c 'touch %s; sleep 0.5; rm %s; echo 1 passed, 0 failed'\n"
        self.assertEqual(self.run_check(meets % ("a", "x", "y") + meets % ("b", "y", "x") + slow % ("s", "d1", "d1") +
                                        slow % ("t", "d2", "d2") + alone % "c" + alone % "e")[:2], (0, "6 passed, 0 failed"))

    def test_a_failure_beside_another_is_told_with_its_name(self):
        status, total, output = self.run_check(
            '- | first one | quick beside | 1 s | sh -c "sleep 0.3; echo broken here; echo 3 passed, 2 failed; exit 1"\n'
            '- | second | quick beside | 1 s | echo "1 passed, 0 failed"\n')
        self.assertEqual((status, total), (1, "4 passed, 2 failed"))
        self.assertRegex(output, r"(?s)second +ok .*first one +failed .*\| broken here.*failed:\n  first one\n")

    def test_a_row_that_is_none_is_refused(self):
        for row in ("- | a | quick quick | 1 s | echo\n","- | a | quick | echo\n", "- | a | often | 1 s | echo\n", "- | a | quick | 1 h | echo\n",
                    "- | a | quick | 1 s | echo {nothing}\n"):
            status, _, output = self.run_check(row)
            self.assertEqual(status, 1, row)
            self.assertIn("steps.list", output)

    def test_what_is_left_out_is_counted_and_has_to_be_listed(self):
        test = '- | a | quick | 1 s | sh -c "echo left out: one: no gdb; echo \'All tests passed (1 assertion in 3 test cases)\'"\n'
        self.assertEqual(self.run_check(test, skips="says so | one | no gdb\n")[:2], (0, "2 passed, 0 failed, 1 skipped"))
        status, total, output = self.run_check(test)
        self.assertEqual((status, total), (1, "2 passed, 1 failed"))
        self.assertIn("not in tests/skip.list: one", output)

    def test_what_a_preset_leaves_out_is_counted(self):
        status, total, _ = self.run_check("- | a | quick | 1 s | echo {skips} 2 passed, 0 failed\n",
                                          skips="- | one | it cannot hold\nx | two | nor that\n")
        self.assertEqual((status, total), (0, "2 passed, 0 failed, 1 skipped"))


class Steps(unittest.TestCase):
    """The table itself."""

    def test_it_names_each_test_program(self):
        commands = "\n".join(shlex.join(steps.command_of(TABLE, s)) for s in TABLE.steps)
        programs = [p for folder in ("tools", "fuzz", "trace", "differences", "releases", "programs", "generate")
                    for p in (ROOT / "tests" / folder).glob("*_test.py")]
        programs += [p.with_suffix("") for p in (ROOT / "tests" / "fuzz").glob("*_fuzz.cpp")]
        soak = (ROOT / "tools" / "soak").read_text(encoding="utf-8")
        for program in programs:
            self.assertTrue(program.name in commands or program.name in soak, program)

    def test_whoever_may_leave_itself_out_is_listed(self):
        listed = {name for where, name, _ in steps.skip_rows() if where == "says so"}
        commands = "\n".join(shlex.join(steps.command_of(TABLE, s)) for s in TABLE.steps)
        found = set()
        for program in (ROOT / "tests").rglob("*_test.py"):
            if program.name in commands and program.name != "check_test.py":
                found |= who_may_skip(ast.parse(program.read_text(encoding="utf-8")))
        for source in (ROOT / "tests").rglob("*_test.cpp"):
            found |= set(re.findall(r'TEST_CASE\(\s*"([^"]+)"(?:(?!TEST_CASE\().)*?\btest::left_out\(',
                                    source.read_text(encoding="utf-8"), re.DOTALL))
        self.assertGreater(len(found), 10)
        self.assertEqual(found - listed, set())

    def test_all_of_it_fits_into_an_hour(self):
        self.assertLess(TABLE.seconds(), 3600)


if __name__ == "__main__":
    sys.exit(tool_tests.total(unittest.main(exit=False).result))
