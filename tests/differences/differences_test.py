#!/usr/bin/env python3
"""The table of docs/differences_with_beam.md is true: each row is shown by a run on `erl` and on minivm.

    tests/differences/differences_test.py build/release/tools/minivm

A row is named here by the text of its first column. It is shown by a function of differences.erl, with what it
answers on either side, or it names the test that holds it, where showing it takes more than one answer. A row
that is in neither is a failure, and so is a name here that the table does not have.
"""

import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPOSITORY / "tests" / "tools"))
import tool_tests  # noqa: E402

PAGE = REPOSITORY / "docs" / "differences_with_beam.md"
SOURCE = REPOSITORY / "tests" / "differences" / "differences.erl"

# First column: (function of differences.erl, answer of OTP 25's erl, answer of minivm).
SHOWN = {
    "Traced modules": ("traced_modules", "false", "1"),
    "Old code": ("old_code", "0", "5"),
    "Trace frames": ("trace_frames", "100501", "100000"),
    "`{tracer, flight_recorder, []}`": ("flight_recorder", "undef", "taken"),
    "A pattern of a function of the VM (`[local]`, `[global]` or `[meta]`), and then `trace_pattern(F, false, _)` with another of the three":
        ("patterns_of_bif", "[false,false,false,false,false,false]", "[true,true,true,true,true,true]"),
    "Sessions of tracing": ("trace_sessions", "false", "true"),
    "`call_memory`": ("call_memory", "badarg", "{1,false}"),
    "Answers of `is_process_alive/1`, `group_leader/2`, `suspend_process/1` about another process":
        ("answers_of_signals", "0", "1"),
    "`current_stacktrace` in match specifications": ("current_stacktrace", "not_there", "there"),
    "Small integers": ("small_integers", "2", "0"),
    "Most floats": ("floats", "2", "0"),
    "Reports of processes that crash": ("kernel_runs", "true", "false"),
    "Literals of purged code": ("literal_collector", "true", "false"),
    "Large messages that a process receives and drops, allocating nothing": ("large_messages", "true", "false"),
    "`X + 1` of what is no number": ("operator_frame", "sum", "'+'"),
    "`list_to_integer/1` of characters above 255": ("list_to_integer", "12", "badarg"),
    "Skipped segments of 2^57 units and more": ("skip_backwards", "<<16,2:4>>", "no_match"),
    "Calling what is no fun, or with too many arguments": ("no_fun", "2", "1"),
    "Counters of a sequential trace token": ("token_serial", "false", "true"),
    "Funs of modules that are not there": ("made_up_funs", "all", "not_all"),
    "`re`": ("compiled_pattern", "false", "true"),
}

# First column: what holds it.
HELD = {
    "Loading and tracing": "tests/bench/code_loading.py",
    "`system_flag(multi_scheduling, block)`, schedulers that are offline": "tests/programs/schedulers_online.erl",
    "Modules as tracers": "tests/trace/tracer_modules_test.py",
    "Descriptors by number (`prim_file:file_desc_to_ref/2`, `open_port({fd, In, Out}, _)`)":
        "tests/tools/command_line_test.py",
    "Order by the numbers of atoms, local pids, ports, references and funs": "tests/programs/map_order.erl",
    "Trace flag `'receive'`": "tests/generate/run_trace.py",
    "`process_dump` in match specifications": "tests/generate/generate_trace.py",
    "The end": "tests/tools/ends_test.py",
    "The end of the program's process by `exit(self(), normal)`": "tests/tools/ends_test.py",
    "`erl_crash.dump`": "tests/tools/recording_test.py",
    "Malformed `.beam` files": "tests/fuzz/hostile_code_test.py",
    "A process in a blocking (dirty) function": "tests/programs/nif_dirty_purge/nif_dirty_purge.erl",
    "`code` in a bare boot": "tests/programs/code_on_load.erl",
}

minivm = None   # set by tool_tests.main
folder = None   # holds differences.beam


def rows():
    """The first columns of the table of what is different by design."""
    lines = PAGE.read_text(encoding="utf-8").split("## By design")[1].split("\n## ")[0].splitlines()
    return [line.split(" | ")[0].removeprefix("| ") for line in lines
            if line.startswith("| ") and not line.startswith("| area ")]


def answers(command):
    done = subprocess.run(command + [function for function, _, _ in SHOWN.values()], cwd=folder,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=300, check=False)
    text = done.stdout.decode("utf-8", "replace")
    return dict(re.findall(r"(?m)^(\w+): (.*)$", text)), text + done.stderr.decode("utf-8", "replace")


class Table(unittest.TestCase):
    maxDiff = None

    def test_every_row_is_shown_or_held(self):
        self.assertEqual(sorted(rows()), sorted([*SHOWN, *HELD]))
        for place in HELD.values():
            self.assertTrue((REPOSITORY / place).exists(), place)

    def test_erl_does_what_the_table_says_of_it(self):
        if subprocess.run(["erl", "-noshell", "-eval",
                           "io:put_chars(erlang:system_info(otp_release)), halt()."],
                          stdout=subprocess.PIPE, check=True).stdout != b"25":
            self.skipTest("the answers are those of OTP 25")
        got, all_of_it = answers(["erl", "-noshell", "-eval", "differences:main(init:get_plain_arguments()).",
                                  "-extra"])
        self.assertEqual({name: got.get(name) for name, _, _ in SHOWN.values()},
                         {name: erl for name, erl, _ in SHOWN.values()}, all_of_it)

    def check_minivm(self, engine):
        got, all_of_it = answers([minivm, "run", "--engine", engine, "differences.beam"])
        self.assertEqual({name: got.get(name) for name, _, _ in SHOWN.values()},
                         {name: ours for name, _, ours in SHOWN.values()}, all_of_it)

    def test_the_jit_does_what_the_table_says_of_minivm(self):
        self.check_minivm("jit")

    def test_the_interpreter_does_what_the_table_says_of_minivm(self):
        self.check_minivm("interp")


if __name__ == "__main__":
    sys.exit(tool_tests.main(sys.modules[__name__], {SOURCE.name: SOURCE.read_text(encoding="utf-8")}))
