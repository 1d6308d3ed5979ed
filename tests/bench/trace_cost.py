#!/usr/bin/env python3
"""What tracing costs beside OTP's `erl`, in one run: nanoseconds a call more than without, and what it
takes to set and clear patterns.

`erl` traces to a process that drops its messages, minivm into the flight recorder. Both engines. The bars
are those of docs/protocols/tracing.md.

    trace_cost.py --minivm build/release/tools/minivm [--engine interp]... [--markdown]
"""

import argparse
import pathlib
import subprocess
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
FUNCTIONS = 10000
MODULES = 200  # that have as many functions together
# Name, what it is, and the bar: a fraction of erl's, or nanoseconds.
ROWS = [
    ("set_untraced", "breakpoint set, process not traced", ("ns", 2)),
    ("call", "traced call", ("of", 1 / 15)),
    ("spec_fails", "match specification that fails", ("of", 1 / 8)),
    ("return_trace", "call with return_trace", ("of", 1 / 15)),
    ("call_count", "call_count", ("of", 1)),
    ("call_time", "call_time", ("of", 1)),
    ("call_memory", "call_memory", None),
    ("session_call", "traced call, in a session", None),
    ("session_return", "call with return_trace, in a session", None),
    ("gone", "the breakpoint is gone again", None),
    ("global_untraced", "global: set, process not traced", ("ns", 2)),
    ("global_call", "global: traced call", ("of", 1 / 15)),
    ("global_spec_fails", "global: specification that fails", ("of", 1 / 8)),
    ("global_return_trace", "global: call with return_trace", ("of", 1 / 15)),
    ("set_clear_one", "set and clear one pattern", ("ns", 15e3)),
    ("set_many", f"set on {FUNCTIONS} functions", ("ns", 1e6)),
    ("clear_many", f"clear on {FUNCTIONS} functions", ("ns", 1e6)),
    ("set_all_local", f"set on {FUNCTIONS} of {MODULES} modules", ("ns", 1e6)),
    ("clear_all_local", f"clear on {FUNCTIONS} of {MODULES} modules", ("ns", 1e6)),
    ("set_all_global", f"global: set on {FUNCTIONS} of {MODULES} modules", ("ns", 1e6)),
    ("clear_all_global", f"global: clear on {FUNCTIONS} of {MODULES} modules", ("ns", 1e6)),
]


def results(command):
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    return {name: float(value) for name, value in (line.split() for line in output.splitlines())}


# Its source; two of its functions are module_info/0 and module_info/1.
def module_of(folder, name, functions):
    source = pathlib.Path(folder) / f"{name}.erl"
    source.write_text(f"-module({name}).\n-compile(export_all).\n" +
                      "".join(f"f{i}(X) -> [X].\n" for i in range(functions - 2)))
    return source


def show(ns):
    if abs(ns) >= 1e6:
        return f"{ns / 1e6:.2f} ms"
    return f"{ns / 1e3:.1f} us" if abs(ns) >= 1e4 else f"{ns:.1f} ns"


def verdict(bar, ours, theirs):
    if bar is None:
        return ""
    kind, limit = bar
    wanted = limit if kind == "ns" else limit * theirs
    return f"{show(wanted)} {'met' if ours <= wanted else 'MISSED'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True)
    parser.add_argument("--engine", action="append")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    engines = options.engine or ["interp", "jit"]
    with tempfile.TemporaryDirectory() as folder:
        sources = [module_of(folder, "trace_cost_many", FUNCTIONS)]
        sources += [module_of(folder, f"trace_cost_all{i + 1}", FUNCTIONS // MODULES)
                    for i in range(MODULES)]
        subprocess.run(["erlc", "-W0", "-o", folder, *sources, FOLDER / "trace_cost.erl"], check=True)
        theirs = results(["erl", "+S", "2", "-noshell", "-pa", folder, "-s", "trace_cost"])
        ours = {e: results([options.minivm, "run", "-S", "2", "--engine", e, "-pa", folder,
                            f"{folder}/trace_cost.beam", "recorder"]) for e in engines}
    bar = "|" if options.markdown else " "
    print(bar.join(["", " " * 44, *(f"{c:>36}" for c in ["erl", *engines]), ""]))
    for name, text, limit in ROWS:
        cells = [f"{text:>44}", f"{show(theirs[name]) if name in theirs else '':>36}"]
        for engine in engines:
            value = ours[engine][name]
            cell = f"{show(value)} (bar {verdict(limit, value, theirs.get(name, 0))})" if limit else show(value)
            cells.append(f"{cell:>36}")
        print(bar.join(["", *cells, ""]))


if __name__ == "__main__":
    main()
