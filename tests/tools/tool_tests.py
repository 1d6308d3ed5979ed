"""What the tests of a tool have in common: the program under test, compiled Erlang sources, a total.

    minivm_under_test, folder = None, None      # of the caller's module
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
    print("%d passed, %d failed%s" % (result.testsRun - bad - skipped, bad,
                                      ", %d skipped" % skipped if skipped else ""))
    return 1 if bad else 0


def main(module, sources):
    """Runs the module's tests on the program that the command line names, with `module.minivm` set to
    its path and `module.folder` to a folder that holds the compiled sources, {file name: text}."""
    if len(sys.argv) != 2:
        sys.exit("usage: %s MINIVM" % os.path.basename(sys.argv[0]))
    module.minivm = os.path.abspath(sys.argv[1])
    if not shutil.which(module.minivm):
        sys.exit("no such program: %s" % module.minivm)
    with tempfile.TemporaryDirectory() as place:
        module.folder = pathlib.Path(place).resolve()
        for name, text in sources.items():
            source = module.folder / name
            source.write_text(text, encoding="utf-8")
            subprocess.run(["erlc", "-o", place, str(source)], check=True)
        tests = unittest.defaultTestLoader.loadTestsFromModule(module)
        return total(unittest.TextTestRunner(verbosity=2).run(tests))
