#!/usr/bin/env python3
"""Says how many tests passed, failed and were skipped, out of what a test program printed.

    tools/lib/count_tests.py LOG      prints "PASSED FAILED SKIPPED"; the last total of LOG counts

Knows Catch2's summary and our own "N passed, N failed[, N skipped]". A log without a total is
"0 0 0": the program crashed, and whoever asks has its exit status.
"""

import re
import sys

TOTAL = re.compile(
    r"^All tests passed \(.*? in (?P<all>\d+) test cases?\)"
    r"|^test cases: +(?P<cases>\d+)(?P<parts>(?: *\| *\d+ [a-z ]+)*)$"
    r"|^(?:.*\D)?(?P<passed>\d+) passed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?\s*$",
    re.M)


def count(text):
    """(passed, failed, skipped) of the last total in `text`."""
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
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        print(*count(log.read()))
