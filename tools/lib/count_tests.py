#!/usr/bin/env python3
"""Says how many tests passed, failed and were skipped, out of what a test program printed.

    tools/lib/count_tests.py LOG      prints "PASSED FAILED SKIPPED"; the last total of LOG counts

Knows Catch2's summary and our own "N passed, N failed[, N skipped]". A log without a total is
"0 0 0": the program crashed, and whoever asks has its exit status. A line "left out: TEST: WHY" is of a
test that could not run, which counts as skipped if tests/skip.list names it, else as failed.
"""

import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import steps  # noqa: E402  (beside this file)

TOTAL = re.compile(
    r"^All tests passed \(.*? in (?P<all>\d+) test cases?\)"
    r"|^test cases: +(?P<cases>\d+)(?P<parts>(?: *\| *\d+ [a-z ]+)*)$"
    r"|^(?:.*\D)?(?P<passed>\d+) passed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?\s*$",
    re.M)


LEFT_OUT = re.compile(r"^left out: (.+?): ", re.M)


def count(text, may_skip=()):
    """(passed, failed, skipped) of the last total in `text`."""
    left = set(LEFT_OUT.findall(text))
    passed, failed, skipped = last_total(text)
    if skipped < len(left):  # Catch2 counts them as passed
        passed, skipped = passed - (len(left) - skipped), len(left)
    unlisted = len(left - set(may_skip))
    return passed, failed + unlisted, skipped - unlisted


def last_total(text):
    match = None
    for match in TOTAL.finditer(text):
        pass
    if match is None:
        return 0, 0, 0
    if match["all"]:
        return int(match["all"]), 0, 0
    if match["cases"]:
        parts = {word: int(number)
                 for number, word in re.findall(r"(\d+) ([a-z ]*[a-z])", match["parts"])}
        failed = parts.get("failed", 0)
        return int(match["cases"]) - failed, failed, 0
    return int(match["passed"]), int(match["failed"]), int(match["skipped"] or 0)


if __name__ == "__main__":
    names = {name for _, name, _ in steps.skip_rows()}
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        said = log.read()
    for name in sorted(set(LEFT_OUT.findall(said)) - names):
        print("not in tests/skip.list: %s" % name, file=sys.stderr)
    print(*count(said, names))
