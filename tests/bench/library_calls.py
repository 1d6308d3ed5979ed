#!/usr/bin/env python3
"""Times of library_calls.erl on minivm beside `erl`: the ratio of each call, and their geometric mean.

Both run in turn, --rounds times; the least time of each call counts.

    library_calls.py --minivm build/release/tools/minivm
    library_calls.py --minivm build/release/tools/minivm --engine interp ets_select maps_get
"""

import argparse
import math
import os
import pathlib
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent / "library_calls.erl"


def measure(command, folder, best):
    text = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        name, time = line.split()
        best[name] = min(best.get(name, math.inf), int(time))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True, type=os.path.abspath)
    parser.add_argument("--engine", default="jit")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("names", nargs="*", help="calls of library_calls.erl; none: all")
    options = parser.parse_args()
    erl, minivm = {}, {}
    with tempfile.TemporaryDirectory(prefix="library_calls") as folder:
        subprocess.run(["erlc", "-o", folder, str(SOURCE)], check=True)
        for _ in range(options.rounds):
            measure(["erl", "-noshell", "-run", "library_calls", "start", "-extra", *options.names],
                    folder, erl)
            measure([options.minivm, "run", "--engine", options.engine, "library_calls.beam",
                     *options.names], folder, minivm)
    ratios = sorted(((minivm[name] / max(erl[name], 1), name) for name in erl), reverse=True)
    for ratio, name in ratios:
        print("%-20s %9d us %9d us %6.2f" % (name, erl[name], minivm[name], ratio))
    mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
    print("%d calls, geometric mean %.2f of erl" % (len(ratios), mean))


if __name__ == "__main__":
    main()
