#!/usr/bin/env python3
"""What the flight recorder costs: the benchmarks with everything recorded and with nothing.

Processor time of whole runs on one scheduler, the least of `--rounds`; the two ways take turns, so that
what else the machine does hits both.

    recorder_cost.py --minivm build/release/tools/minivm [--rounds 3] [NAME...]
"""

import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
# Little else happens in these but messages and processes: shown apart.
MESSAGES = {"b_ping_pong", "b_ring", "b_selective_receive", "b_spawn"}
WAYS = {"off": ["--record-off", "all"], "on": []}


def processor_seconds(command):
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = status
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}")
    return usage.ru_utime + usage.ru_stime


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = options.names or sorted(p.stem for p in FOLDER.glob("b_*.erl"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["erlc", "-W0", "-I", FOLDER, "-o", folder,
                        *(FOLDER / (n + ".erl") for n in names)], check=True)
        best = {}
        for _ in range(options.rounds):
            for name in names:
                for way, switches in WAYS.items():
                    seconds = processor_seconds([options.minivm, "run", "-S", "1", *switches,
                                                 str(pathlib.Path(folder) / (name + ".beam"))])
                    best[name, way] = min(best.get((name, way), seconds), seconds)
    ratios = {n: best[n, "on"] / best[n, "off"] for n in names}
    for name in sorted(names, key=ratios.get, reverse=True):
        print(f"{ratios[name]:.3f}  {best[name, 'off']:.2f} s  {name}")
    print(f"geometric mean {geometric_mean([r for n, r in ratios.items() if n not in MESSAGES]):.3f}, "
          f"of message programs {geometric_mean([r for n, r in ratios.items() if n in MESSAGES]):.3f}")


if __name__ == "__main__":
    main()
