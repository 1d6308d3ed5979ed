#!/usr/bin/env python3
"""Tests of the rules in tidy.py: each sees a small tree that breaks it and one that does not."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tidy  # noqa: E402  (needs the path above)


def offences(rule, files):
    """What `rule` says about a tree of {path: text}, as (path, line)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return [(str(path), line) for path, line, _ in rule(tidy.Tree(folder))]


class IncludeDirection(unittest.TestCase):
    def check(self, source, target):
        return offences(tidy.include_direction,
                        {"%s/a.cpp" % source: '#include "%s/b.hpp"\n' % target})

    def test_every_pair_of_folders(self):
        below = {"recorder": 0, "vm": 1, "loader": 2, "interp": 2, "jit": 2, "trace": 2,
                 "tools": 3, "tests": 4}
        for source, level in below.items():
            for target, target_level in below.items():
                allowed = source == target or target_level < level
                found = self.check(source, target)
                self.assertEqual(found == [], allowed, "%s -> %s" % (source, target))

    def test_spelling_does_not_hide_an_arrow(self):
        self.assertEqual(
            offences(tidy.include_direction, {"vm/a.hpp": "int x;\n #  include <jit/b.hpp>\n"}),
            [("vm/a.hpp", 2)])


class Floors(unittest.TestCase):
    def check(self, path, included):
        return offences(tidy.floors, {path: '#include "%s"\n' % included})

    def test_every_pair_of_folders(self):
        for lower, floor in enumerate(tidy.FLOORS):
            for upper, other in enumerate(tidy.FLOORS):
                for source in floor:
                    for target in other:
                        found = self.check("vm/%s/a.cpp" % source, "vm/%s/b.hpp" % target)
                        self.assertEqual(found == [], source == target or upper < lower, (source, target))

    def test_a_circle_through_headers(self):
        files = {"vm/heap/a.hpp": '#include "vm/process/b.hpp"\n', "vm/process/b.hpp": '#include "vm/heap/a.hpp"\n'}
        self.assertEqual(offences(tidy.floors, files), [("vm/heap/a.hpp", 1)])

    def test_a_folder_on_no_floor(self):
        self.assertEqual(self.check("vm/attic/a.cpp", "vm/util/assert.hpp"), [("vm/attic/a.cpp", 1)])

    def test_other_folders_may_include_any_floor(self):
        self.assertEqual(self.check("jit/a.cpp", "vm/bif/b.hpp"), [])

    def test_a_picture_that_shows_something_else(self):
        self.assertEqual(offences(tidy.picture_of_folders, {"docs/folders.svg": "<svg/>\n"}), [("docs/folders.svg", 1)])


class Headers(unittest.TestCase):
    def test_relative_and_missing_headers(self):
        files = {"vm/term/a.hpp": "",
                 "vm/term/b.cpp": '#include "a.hpp"\n#include "vm/term/a.hpp"\n'}
        self.assertEqual(offences(tidy.include_from_root, files), [("vm/term/b.cpp", 1)])

    def test_angle_brackets(self):
        files = {"vm/a.hpp": "", "vm/b.cpp": "#include <vm/a.hpp>\n#include <vector>\n"}
        self.assertEqual(offences(tidy.include_from_root, files), [("vm/b.cpp", 1)])

    def test_library_owners(self):
        text = "#include <spdlog/spdlog.h>\n"
        self.assertEqual(offences(tidy.library_owners, {"vm/a.cpp": text}), [("vm/a.cpp", 1)])
        self.assertEqual(offences(tidy.library_owners, {"tools/a.cpp": text}), [])

    def test_pragma_once(self):
        self.assertEqual(
            offences(tidy.pragma_once, {"vm/a.hpp": "int x;\n", "vm/b.hpp": "#pragma once\n"}),
            [("vm/a.hpp", 1)])

    def test_names(self):
        self.assertEqual(
            offences(tidy.file_names, {"vm/GoodName.hpp": "", "vm/good_name.hpp": ""}),
            [("vm/GoodName.hpp", 1)])


class MemoryOrders(unittest.TestCase):
    LOAD = "x.load(std::memory_order_acquire);\n"

    def check(self, text, path="vm/a.cpp"):
        return [line for _, line in offences(tidy.memory_orders, {path: text})]

    def test_comment_above_or_on_the_line(self):
        self.assertEqual(self.check("// Pairs with f().\n" + self.LOAD), [])
        self.assertEqual(self.check("// Pairs with f().\n\n\n" + self.LOAD), [])
        self.assertEqual(self.check(self.LOAD.strip() + "  // Pairs with f().\n"), [])
        self.assertEqual(self.check("/* Pairs\n with f(). */\n" + self.LOAD), [])

    def test_no_comment_or_too_far(self):
        self.assertEqual(self.check(self.LOAD), [1])
        self.assertEqual(self.check("// Far away.\n\n\n\n" + self.LOAD), [5])
        self.assertEqual(self.check(self.LOAD.replace("order_", "order::")), [1])

    def test_a_string_is_no_comment(self):
        self.assertEqual(self.check('f("// no");\n' + self.LOAD), [2])
        self.assertEqual(self.check("g('\"', 1'000, \"//\");\n" + self.LOAD), [2])

    def test_orders_in_comments_and_other_folders(self):
        self.assertEqual(self.check("\n\n\n\n// memory_order_acquire would do.\n"), [])
        self.assertEqual(self.check(self.LOAD, "tests/a.cpp"), [])


class Events(unittest.TestCase):
    def test_an_event_without_a_place(self):
        bare = "    recorder::record(recorder::EventId::link, a, b);\n"
        broken = "x();\nrecord_coarse(\n    EventId::link, a);\n"
        self.assertEqual(offences(tidy.events_with_places, {
            "vm/a.cpp": bare, "trace/b.cpp": broken, "tests/c.cpp": bare,
            "vm/d.cpp": "MINIVM_EVENT(link, a);\nrecord(x);\nEventId::link;\n"}),
            [("trace/b.cpp", 2), ("vm/a.cpp", 1)])


class Docs(unittest.TestCase):
    def test_pages_and_links(self):
        files = {
            "README.md": "[a](docs/architecture.md)\n",
            "docs/architecture.md": "[b](protocols/b.md#steps) [web](https://example.org)\n",
            "docs/protocols/b.md": "```\n[not a link](nowhere.md)\n```\n[up](../architecture.md)\n",
            "docs/lost.md": "[gone](gone.md)\n",
        }
        self.assertEqual(offences(tidy.docs_reachable, files),
                         [("docs/lost.md", 1), ("docs/lost.md", 1)])

    def test_start_pages_must_exist(self):
        self.assertEqual(len(offences(tidy.docs_reachable, {"a.txt": ""})), 2)


class Instructions(unittest.TestCase):
    GOOD = '// Words.\n// ---- moves ---\nINSTR(move, "sd", NONE, keeps_tuple, "Dst := Src.")\n'

    def check(self, table):
        page = tidy.instruction_page.page(table)
        return offences(tidy.instructions, {"vm/instr/instructions.def": table,
                                            "docs/instructions.md": page})

    def test_good_table(self):
        self.assertEqual(self.check(self.GOOD), [])

    def test_a_name_twice_a_fragment_and_a_line_that_cannot_be_read(self):
        bad = ('INSTR(move, "sd", NONE, none, "Again.")\nINSTR(swap, "dd", FAILS | ENDS, none, "a and b")\n'
               "INSTR(lost)\n")
        self.assertEqual([line for _, line in self.check(self.GOOD + bad)], [4, 5, 6])

    def test_old_page(self):
        files = {"vm/instr/instructions.def": self.GOOD, "docs/instructions.md": "old\n"}
        self.assertEqual(offences(tidy.instructions, files), [("docs/instructions.md", 1)])


class Places(unittest.TestCase):
    def test_what_a_tool_left_at_the_top(self):
        files = {"hostile.beam": "", "README.md": "", ".gitignore": "", "vm/a.hpp": "", "scratch/a.hpp": ""}
        self.assertEqual(offences(tidy.top_level, files), [("hostile.beam", 1), ("scratch/a.hpp", 1)])

    def test_a_script_that_cannot_be_executed(self):
        self.assertEqual(offences(tidy.scripts, {"tools/a": "#!/bin/sh\n", "tools/b": "no #!\n"}), [("tools/a", 1)])


class Text(unittest.TestCase):
    def test_host_paths(self):
        home = "/" + "home/anna/minivm"
        found = offences(tidy.host_paths, {
            "a.sh": "cd %s\n" % home, "b.sh": "cd /usr/lib/erlang\n",
            "c.sh": "cd build%s\n" % home})
        self.assertEqual(found, [("a.sh", 1)])

    def test_blanks(self):
        found = offences(tidy.blanks, {
            "a.cpp": "int x;\t\n", "b.cpp": "int x;", "c.cpp": "int x;\n\n", "d.cpp": "int x;\n",
            "e.erl": "f() ->\tok.  \n", "f.cpp": ""})
        self.assertEqual(found, [("a.cpp", 1), ("a.cpp", 1), ("b.cpp", 1), ("c.cpp", 3)])

    def test_binary_files_are_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a.md").write_bytes(b"\0 \t")
            self.assertEqual(tidy.blanks(tidy.Tree(folder)), [])


class Lengths(unittest.TestCase):
    LONG = "int f(int a,\n      int b) {\n" + "    a += b;\n" * 120 + "    return a;\n}\n"

    def test_a_long_file(self):
        self.assertEqual(offences(tidy.lengths, {"vm/a.cpp": "int x;\n" * 900}), [])
        self.assertEqual(offences(tidy.lengths, {"vm/a.cpp": "int x;\n" * 901}), [("vm/a.cpp", 1)])

    def test_a_long_function(self):
        self.assertEqual(offences(tidy.lengths, {"vm/a.cpp": "int x;\n" + self.LONG}), [("vm/a.cpp", 2)])
        self.assertEqual(offences(tidy.lengths, {"vm/a.cpp": "struct S {\n" + "    int a;\n" * 200 + "};\n"}), [])
        member = "".join("    %s\n" % line for line in self.LONG.splitlines())
        self.assertEqual(offences(tidy.lengths, {"vm/a.hpp": "class S {\n" + member + "};\n"}), [("vm/a.hpp", 2)])

    def test_reasons(self):
        files = {"vm/a.cpp": self.LONG, "tests/tidy/long.list": "# why\nvm/a.cpp:f | one loop\n"}
        self.assertEqual(offences(tidy.lengths, files), [])
        files["tests/tidy/long.list"] = "vm/a.cpp:f |\n"
        self.assertEqual(offences(tidy.lengths, files), [("tests/tidy/long.list", 1)])
        files["tests/tidy/long.list"] = "vm/a.cpp:f | one loop\nvm/a.cpp:g | gone\n"
        self.assertEqual(offences(tidy.lengths, files), [("tests/tidy/long.list", 2)])


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=1)
    result = program.result
    bad = len(result.failures) + len(result.errors)
    print("%d passed, %d failed" % (result.testsRun - bad, bad))
    sys.exit(1 if bad else 0)
