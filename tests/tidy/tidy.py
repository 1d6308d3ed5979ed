#!/usr/bin/env python3
"""House rules that a program can check. Prints each offence and, as its last line, a total.

    tests/tidy/tidy.py [--root FOLDER]

A rule is a function below that answers a list of (file, line, message); RULES lists them all. The
rules themselves are tested by tidy_test.py beside this file.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import instruction_page  # noqa: E402  (needs the path above)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "lib"))
import steps  # noqa: E402
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import folders_svg  # noqa: E402

# What stands at the top, besides files whose names begin with a dot.
TOP = {"CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "recorder", "vm",
       "loader", "interp", "jit", "trace", "tools", "tests", "samples", "docs"}

# Who may include whom: the drawing in docs/architecture.md. A folder may always include itself.
ARROWS = {
    "recorder": set(),
    "vm": {"recorder"},
    "loader": {"vm", "recorder"},
    "interp": {"vm", "recorder"},
    "jit": {"vm", "recorder"},
    "trace": {"vm", "recorder"},
    "tools": {"recorder", "vm", "loader", "interp", "jit", "trace"},
    "tests": {"recorder", "vm", "loader", "interp", "jit", "trace", "tools"},
}

# The floors of vm/, the lowest first: a folder includes what is below it. Folders of one floor do not know each
# other. The interface to the engines (vm/code/engine.hpp) stands with `process`.
FLOORS = (("util",), ("progress",), ("term",), ("record",), ("heap",), ("instr",), ("code",), ("external",),
          ("process",), ("sched",), ("semantics",), ("match_spec",), ("ets", "nif", "port", "fault"),
          ("dist",), ("code_change",), ("bif",))
FLOOR_OF = {folder: number for number, floor in enumerate(FLOORS) for folder in floor}
# Folders whose use of atomics has to be explained.
CONCURRENT = ("recorder", "vm", "loader", "interp", "jit", "trace")

# Libraries that belong to one folder: the command line and the log are the program's business.
LIBRARY_OWNERS = {"CLI/": ("tools", "tests"), "spdlog/": ("tools", "tests"),
                  "histedit.h": ("tools", "tests"), "catch2/": ("tests",)}

CODE_SUFFIXES = (".hpp", ".cpp", ".h", ".def", ".inc")
# Text that people write. What programs print or read in tests may hold any blanks.
TIDY_SUFFIXES = CODE_SUFFIXES + (".py", ".sh", ".md", ".cmake", ".txt", ".json", ".yml")
TIDY_NAMES = ("README", "LICENSE", ".clang-format", ".clang-tidy", ".gitignore", ".gitattributes")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
MEMORY_ORDER = re.compile(
    r"\bmemory_order(?:_|::)(?:relaxed|consume|acquire|release|acq_rel|seq_cst)\b")
BARE_EVENT = re.compile(r"\b(?:record|record_coarse|event_word)\(\s*(?:\w+::)*EventId::")
MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)")
# Places that exist on the machine of whoever wrote the line, and on no other.
HOST_PATH = re.compile(r"(?<![\w.$}~/-])/(?:home|root|work|Users|mnt|media|srv|data|builds)/[\w.-]")


class Tree:
    """The files of the project: what git tracks, or would track."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self._lines = {}
        try:
            listed = subprocess.run(
                ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others",
                 "--exclude-standard"], check=True, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL).stdout.decode().split("\0")
        except (OSError, subprocess.CalledProcessError):
            listed = [str(p.relative_to(self.root)) for p in self.root.rglob("*")
                      if p.relative_to(self.root).parts[0] not in ("build", ".git")]
        self.files = sorted(
            pathlib.PurePosixPath(name) for name in set(listed)
            if name and (self.root / name).is_file())

    def lines(self, path):
        """The lines of a text file; none for a binary one."""
        if path not in self._lines:
            data = (self.root / path).read_bytes()
            text = "" if b"\0" in data else data.decode("utf-8", "replace")
            self._lines[path] = text.split("\n")
        return self._lines[path]

    def code(self):
        return [p for p in self.files if p.suffix in CODE_SUFFIXES]


def includes(tree):
    for path in tree.code():
        for number, line in enumerate(tree.lines(path), 1):
            match = INCLUDE.match(line)
            if match:
                yield path, number, match.group(1), match.group(2)


def include_direction(tree):
    """An arrow never points up, and siblings do not know each other."""
    offences = []
    for path, number, _, name in includes(tree):
        source, target = path.parts[0], name.split("/")[0]
        if source not in ARROWS or target not in ARROWS or source == target:
            continue
        if target not in ARROWS[source]:
            offences.append(
                (path, number, "%s/ must not include %s/ (%s)" % (source, target, name)))
    return offences


def vm_folder(name):
    """The floor's folder that a file of vm/ is in; None for another file."""
    parts = pathlib.PurePosixPath(name).parts
    if parts[:1] != ("vm",):
        return None
    return parts[1] if len(parts) > 2 else None


def floors(tree):
    """Inside vm/ an include never points up, nor to a neighbour on the same floor."""
    offences = []
    for path, number, _, name in includes(tree):
        source, target = vm_folder(path), vm_folder(name)
        if target is None or source is None or source == target:
            continue
        for folder in (source, target):
            if folder not in FLOOR_OF:
                offences.append((path, number, "vm/%s is on no floor (FLOORS in tests/tidy/tidy.py)" % folder))
                break
        else:
            if FLOOR_OF[target] >= FLOOR_OF[source]:
                offences.append((path, number, "vm/%s must not include vm/%s (%s)" % (source, target, name)))
    return offences


def picture_of_folders(tree):
    """docs/folders.svg shows the folders and floors of the tables above."""
    path = pathlib.PurePosixPath("docs/folders.svg")
    if path in tree.files and "\n".join(tree.lines(path)) != folders_svg.draw(ARROWS, FLOORS):
        return [(path, 1, "is not what tests/tidy/folders_svg.py draws")]
    return []


def include_from_root(tree):
    """Our own headers are named from the root of the repository, in quotes, and exist."""
    offences = []
    known = {str(p) for p in tree.files}
    for path, number, quote, name in includes(tree):
        ours = name.split("/")[0] in ARROWS and "/" in name
        if quote == '"' and name not in known:
            offences.append((path, number, 'no file "%s" when seen from the root' % name))
        elif quote == "<" and ours and name in known:
            offences.append((path, number, "our own header in angle brackets: %s" % name))
    return offences


def library_owners(tree):
    """A library that is one folder's business is included there only."""
    offences = []
    for path, number, _, name in includes(tree):
        for prefix, owners in LIBRARY_OWNERS.items():
            if name.startswith(prefix) and path.parts[0] not in owners:
                offences.append((path, number, "<%s> belongs to %s/" % (name, owners[0])))
    return offences


def pragma_once(tree):
    """Each header can be included twice."""
    return [(p, 1, "no #pragma once") for p in tree.code()
            if p.suffix in (".hpp", ".h") and "#pragma once" not in tree.lines(p)]


def split_comments(lines):
    """For each line its code and whether it holds a comment. Strings are not taken for comments."""
    answer, in_block = [], False
    for line in lines:
        code, has_comment, i = "", in_block, 0
        quote = None
        while i < len(line):
            pair = line[i:i + 2]
            if in_block:
                if pair == "*/":
                    in_block = False
                    i += 1
            elif quote:
                if line[i] == "\\":
                    i += 1
                elif line[i] == quote:
                    quote = None
            elif pair == "//":
                has_comment = True
                break
            elif pair == "/*":
                in_block = has_comment = True
                i += 1
            else:
                # A quote between two letters or digits separates digits: 1'000.
                if line[i] == '"' or (line[i] == "'" and not (i and line[i - 1].isalnum())):
                    quote = line[i]
                code += line[i]
            i += 1
        answer.append((code, has_comment))
    return answer


def memory_orders(tree):
    """Each explicit memory order has its reason on the line or at most three lines above."""
    offences = []
    for path in tree.code():
        if path.parts[0] not in CONCURRENT:
            continue
        split = split_comments(tree.lines(path))
        for index, (code, _) in enumerate(split):
            match = MEMORY_ORDER.search(code)
            if match and not any(comment for _, comment in split[max(0, index - 3):index + 1]):
                offences.append((path, index + 1, "%s without a comment" % match.group(0)))
    return offences


def events_with_places(tree):
    """What the program records says where: MINIVM_EVENT and not record(EventId::...)."""
    offences = []
    for path in tree.code():
        if path.suffix != ".cpp" or path.parts[0] == "tests":
            continue
        lines = tree.lines(path)
        for number, line in enumerate(lines, 1):
            # An argument may have gone to the next line.
            following = lines[number] if number < len(lines) else ""
            match = BARE_EVENT.search(line + "\n" + following)
            if match and match.start() < len(line):
                offences.append((path, number, "an event without its place: use MINIVM_EVENT"))
    return offences


def docs_reachable(tree):
    """Each page of docs/ can be reached from README.md or docs/architecture.md, and no link to a
    file of the project is broken."""
    offences = []
    known = {str(p) for p in tree.files}
    pages = {str(p) for p in tree.files if p.suffix == ".md"}
    todo, seen = ["README.md", "docs/architecture.md"], set()
    for page in todo:
        if page not in known:
            offences.append((page, 1, "missing"))
    while todo:
        page = todo.pop()
        if page in seen or page not in pages:
            continue
        seen.add(page)
        for target, _ in links(tree, page):
            todo.append(target)
    for page in sorted(pages):
        if page.startswith("docs/") and page not in seen:
            offences.append((page, 1, "not reachable from README.md or docs/architecture.md"))
        for target, number in links(tree, page):
            if target not in known and not (tree.root / target).is_dir():
                offences.append((page, number, "link to %s, which does not exist" % target))
    return offences


def links(tree, page):
    """The files of the project that a page links to: (path from the root, line)."""
    folder = (tree.root / page).parent
    in_fence = False
    for number, line in enumerate(tree.lines(pathlib.PurePosixPath(page)), 1):
        if line.lstrip().startswith("```"):
            in_fence = not in_fence
        if in_fence:
            continue
        for target in MARKDOWN_LINK.findall(line):
            target = target.split("#")[0]
            if not target or "://" in target or target.startswith("mailto:"):
                continue
            resolved = (folder / target).resolve()
            try:
                yield str(resolved.relative_to(tree.root).as_posix()), number
            except ValueError:
                yield target, number


def host_paths(tree):
    """No file names a place of one machine."""
    offences = []
    for path in tree.files:
        for number, line in enumerate(tree.lines(path), 1):
            match = HOST_PATH.search(line)
            if match:
                offences.append((path, number, "path of one machine: %s..." % match.group(0)))
    return offences


def blanks(tree):
    """No tabs, no blanks at the end of a line, a newline at the end of the file."""
    offences = []
    for path in tree.files:
        if path.suffix not in TIDY_SUFFIXES and path.name not in TIDY_NAMES:
            continue
        if path.suffix == ".txt" and path.name != "CMakeLists.txt":
            continue
        lines = tree.lines(path)
        for number, line in enumerate(lines, 1):
            if "\t" in line:
                offences.append((path, number, "tab"))
            if line != line.rstrip():
                offences.append((path, number, "blanks at the end of the line"))
        if lines != [""] and (lines[-1] != "" or (len(lines) > 1 and lines[-2] == "")):
            offences.append((path, len(lines), "the file should end in exactly one newline"))
    return offences


def instructions(tree):
    """Each lowered instruction is named once and has a sentence that says what it means, and
    docs/instructions.md is what tools/instruction_page.py makes of the table."""
    if instruction_page.TABLE.as_posix() not in {str(p) for p in tree.files}:
        return []
    text = (tree.root / instruction_page.TABLE).read_text(encoding="utf-8")
    offences = [(instruction_page.TABLE, number, what)
                for number, what in instruction_page.read_table(text)[2]]
    page = tree.root / instruction_page.PAGE
    if not page.exists() or page.read_text(encoding="utf-8") != instruction_page.page(text):
        offences.append((instruction_page.PAGE, 1, "out of date: run tools/instruction_page.py"))
    return offences


def table_of_steps(tree):
    """docs/testing.md shows what tests/steps.list says."""
    if not (tree.root / "tests" / "steps.list").exists():
        return []
    page = (tree.root / "docs" / "testing.md").read_text(encoding="utf-8")
    shown = re.search(r"<!-- steps:.*?-->\n(.*?)<!-- end of steps -->", page, re.S)
    table = steps.Table((tree.root / "tests" / "steps.list").read_text(encoding="utf-8"))
    if shown is None or shown[1] != steps.docs(table):
        return [("docs/testing.md", 1, "not the table of tests/steps.list: tools/lib/steps.py docs prints it")]
    return []


MOST_LINES_OF_A_FILE, MOST_LINES_OF_A_FUNCTION = 900, 120
NO_FUNCTION = re.compile(r" *(namespace|struct|class|enum|union|extern|if|for|while|switch|do|else|case)\b")
FUNCTION_NAME = re.compile(r"([\w~]+(?:::[\w~]+)*)\(")
LONG = pathlib.PurePosixPath("tests/tidy/long.list")


def functions_of(lines):
    """(name, first line, lines) of each function, as the formatter leaves them: up to the brace in the column that it
    begins in."""
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.endswith(" {") and ")" in line and not line.endswith(("= {", "( {")):
            first = number  # where its first line is: in no column behind the fifth
            while first > 0 and lines[first].startswith("     "):
                first -= 1
            name = FUNCTION_NAME.search(lines[first])
            column = len(lines[first]) - len(lines[first].lstrip())
            if name and not NO_FUNCTION.match(lines[first]):
                end = next((n for n in range(number + 1, len(lines)) if lines[n].startswith(" " * column + "}")), number)
                yield name[1], first + 1, end - first + 1
                number = end
        number += 1


def lengths(tree):
    """Files and functions that one can read at a sitting, but those in long.list, each with its reason."""
    reasons, used, offences = {}, set(), []
    if LONG in tree.files:
        for number, line in enumerate(tree.lines(LONG), 1):
            if line and not line.startswith("#"):
                what, _, reason = (part.strip() for part in line.partition("|"))
                reasons[what] = number
                if not reason:
                    offences.append((LONG, number, "no reason"))
    for path in tree.code():
        if path.parts[0] == "tests":
            continue
        lines = tree.lines(path)
        found = [(str(path), 1, len(lines) - 1, MOST_LINES_OF_A_FILE)] if len(lines) - 1 > MOST_LINES_OF_A_FILE else []
        found += [("%s:%s" % (path, name), first, count, MOST_LINES_OF_A_FUNCTION)
                  for name, first, count in functions_of(lines) if count > MOST_LINES_OF_A_FUNCTION]
        for what, first, count, most in found:
            used.add(what)
            if what not in reasons:
                offences.append((path, first, "%s: %d lines, at most %d (or a reason in %s)" % (what, count, most, LONG)))
    return offences + [(LONG, number, "%s is not that long" % what) for what, number in reasons.items() if what not in used]


def file_names(tree):
    """Files are named in snake_case after their main type."""
    return [(p, 1, "not snake_case") for p in tree.code()
            if not re.fullmatch(r"[a-z0-9_]+", p.stem)]


def top_level(tree):
    """At the top stand the folders of docs/architecture.md and a few files, nothing that a tool left there."""
    return [(p, 1, "does not belong at the top") for p in tree.files
            if p.parts[0] not in TOP and not p.parts[0].startswith(".")]


def scripts(tree):
    """What begins with #! can be executed."""
    return [(p, 1, "begins with #! and is not executable") for p in tree.files
            if tree.lines(p)[0].startswith("#!") and not os.access(tree.root / p, os.X_OK)]


RULES = [top_level, scripts, include_direction, floors, picture_of_folders, include_from_root, library_owners, pragma_once,
         memory_orders, events_with_places, docs_reachable, instructions, host_paths, blanks, file_names, table_of_steps, lengths]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    tree = Tree(parser.parse_args().root)
    failed = 0
    for rule in RULES:
        offences = rule(tree)
        for path, number, message in offences:
            print("%s:%d: %s" % (path, number, message))
        if offences:
            failed += 1
            print("broken rule: %s" % " ".join(rule.__doc__.split()))
    print("%d passed, %d failed" % (len(RULES) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
