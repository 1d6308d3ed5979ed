"""What the tests of a tool have in common: the program under test, compiled Erlang sources, a total.

    minivm, folder = None, None                 # of the caller's module; main() sets them
    sys.exit(tool_tests.main(sys.modules[__name__], {"name.erl": SOURCE}))
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest


def total(result):
    """Prints "N passed, N failed[, N skipped]", which tools/check reads; the status to exit with."""
    bad, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    for test, why in result.skipped:
        print("left out: %s: %s" % (test.id().rpartition(".")[2], why))
    print("%d passed, %d failed%s" % (result.testsRun - bad - skipped, bad,
                                      ", %d skipped" % skipped if skipped else ""))
    return 1 if bad else 0


def seed():
    """What tests with fixed seeds begin from: the same in every check, another in each round of tools/soak."""
    return int(os.environ.get("MINIVM_SEED", "0"))


def main(module, sources=None, prepare=None):
    """Runs the module's tests on the program that the command line names, or those of them that it names
    behind it, with `module.minivm` set to the program's path and `module.folder` to a folder that is
    removed afterwards. It holds the compiled sources, {file name: text}, and what prepare() makes."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: %s MINIVM [TEST...]" % os.path.basename(sys.argv[0]))
    module.minivm = os.path.abspath(sys.argv[1])
    if not shutil.which(module.minivm):
        sys.exit("no such program: %s" % module.minivm)
    with tempfile.TemporaryDirectory() as place:
        module.folder = pathlib.Path(place).resolve()
        for name, text in (sources or {}).items():
            source = module.folder / name
            source.write_text(text, encoding="utf-8")
            subprocess.run(["erlc", "-o", place, str(source)], check=True)
        if prepare is not None:
            prepare()
        loader, names = unittest.defaultTestLoader, sys.argv[2:]
        tests = (loader.loadTestsFromNames(names, module) if names
                 else loader.loadTestsFromModule(module))
        return total(unittest.TextTestRunner(verbosity=2).run(tests))
