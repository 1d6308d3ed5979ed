#!/usr/bin/env python3
"""Follows what CONTRIBUTING.md says of adding an instruction, a BIF, an event and a step of the check, with the lines
that stand there: they have to compile, and what lacks one of them must not."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(?:c\+\+|text) (\S+)\n(.*?)^```$", re.M | re.S)
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def blocks(*paths):
    """The blocks of those files, [(path, lines)]."""
    found = [(path, text) for path, text in BLOCK.findall(PAGE) if path in paths]
    assert {path for path, _ in found} == set(paths), found
    return found


def insert(text, block):
    """Before the last line that begins as the block does, or, of a function, before the table of BIFs."""
    begin = re.match(r" *\W*\w+\(|    \{|\w+ \|", block)
    last = text.rfind("\n" + begin[0]) if begin and "\n" + begin[0] in text else text.rfind("\nMINIVM_BIF_TABLE(")
    assert last >= 0, block
    return text[:last + 1] + block + text[last + 1:]


class Contributing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def overlay(self, found):
        """Copies of the files with the blocks in them, which hide those of the tree."""
        shutil.rmtree(self.folder / "tree", ignore_errors=True)
        for path, text in found:
            copy = self.folder / "tree" / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            source = copy if copy.exists() else ROOT / path
            copy.write_text(insert(source.read_text(encoding="utf-8"), text), encoding="utf-8")

    def compiles(self, path):
        source = self.folder / "tree" / path
        command = [*shlex.split(os.environ.get("CXX", "g++")), "-std=c++20", "-fsyntax-only", "-DNDEBUG", "-DPCRE2_CODE_UNIT_WIDTH=8",
                   "-Werror=unused", "-I", self.folder / "tree", "-I", ROOT, source if source.exists() else ROOT / path]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)

    def test_an_instruction(self):
        row, meaning, handler = blocks("vm/instr/instructions.def", "vm/semantics/meaning_arithmetic.hpp", "interp/instr_generic.cpp")
        self.overlay([row])
        self.assertIn("error", self.compiles("jit/default_ops.cpp").stderr)
        self.overlay([row, meaning, handler])
        for path in ("jit/default_ops.cpp", "interp/instr_generic.cpp"):
            done = self.compiles(path)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_bif(self):
        function, row = blocks("vm/bif/processes/names.cpp")
        self.overlay([row])
        self.assertIn("was not declared", self.compiles(row[0]).stderr)
        self.overlay([function, row])
        done = self.compiles(row[0])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_event(self):
        [row] = blocks("recorder/events.def")
        use = self.folder / "use.cpp"
        use.write_text('#include "recorder/recorder.hpp"\nvoid bend() { %s; }\n' %
                       re.search(r"`(MINIVM_EVENT\(.*?\))`", PAGE)[1].replace("number", "uint64_t{7}"), encoding="utf-8")
        self.overlay([row])
        done = self.compiles(use)
        self.assertEqual(done.returncode, 0, done.stderr)
        wrong = (row[0], row[1].replace('"u",', '"t",'))  # a number is no text
        self.overlay([wrong])
        self.assertNotEqual(self.compiles(use).returncode, 0)

    def test_a_step(self):
        [row] = blocks("tests/steps.list")
        self.overlay([row])
        shutil.copytree(ROOT / "tools" / "lib", self.folder / "tree" / "tools" / "lib")
        (self.folder / "tree" / "tests" / "skip.list").write_text("", encoding="utf-8")
        steps = self.folder / "tree" / "tools" / "lib" / "steps.py"
        listed = subprocess.run([steps, "list", "release shelves"], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(listed.stdout, "release\tshelves\n")
        command = subprocess.run([steps, "command", "release", "shelves"], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(command.stdout, "python3 tests/tools/shelves_test.py build/release/tools/minivm\n")


if __name__ == "__main__":
    sys.exit(tool_tests.total(unittest.main(exit=False).result))
