#!/usr/bin/env python3
"""Writes docs/instructions.md out of vm/instr/instructions.def, the table of lowered instructions.

    tools/instruction_page.py            writes the page
    tools/instruction_page.py --check    says whether the page is what the table gives
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = pathlib.Path("vm/instr/instructions.def")
PAGE = pathlib.Path("docs/instructions.md")

INSTR = re.compile(r'^INSTR\((\w+),\s*"([^"]*)",\s*([A-Z][A-Z_ |]*?),\s*([a-z][^"]*?),\s*"((?:[^"\\]|\\.)*)"\)\s*$')
SECTION = re.compile(r"^// -{2,} (.*?) -+$")


def read_table(text):
    """(explanation, [(section, [(name, operands, effects, facts, meaning)])], [(line, what is wrong)])."""
    explanation, sections, wrong, names = [], [], [], {}
    for number, line in enumerate(text.split("\n"), 1):
        section, instr = SECTION.match(line), INSTR.match(line)
        if section:
            sections.append((section.group(1), []))
        elif instr:
            name, operands, effects, facts, meaning = instr.groups()
            meaning = meaning.replace('\\"', '"').replace("\\\\", "\\")
            if name in names:
                wrong.append((number, "%s is in line %d already" % (name, names[name])))
            names[name] = number
            if not re.search(r"\.\)?$", meaning):
                wrong.append((number, "the meaning of %s is no sentence" % name))
            if not sections:
                sections.append(("instructions", []))
            sections[-1][1].append(
                (name, operands, [e.strip().lower() for e in effects.split("|")], facts, meaning))
        elif line.startswith("INSTR("):
            wrong.append((number, "cannot be read as INSTR(name, operands, effects, facts, meaning)"))
        elif line.startswith("//") and not sections:
            explanation.append(line[2:][1:] if line[2:3] == " " else line[2:])
    return explanation, sections, wrong


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def page(text):
    explanation, sections, _ = read_table(text)
    count = sum(len(instructions) for _, instructions in sections)
    out = ["# Lowered instructions", "",
           "Written by `tools/instruction_page.py` out of `vm/instr/instructions.def`; change the "
           "table, then run it.", "",
           "The %d instructions that the loader makes of the generic ones, and that both engines, "
           "the verifier and the disassembler take. [architecture.md](architecture.md) says how one is "
           "defined." % count, "", "```"]
    while explanation and not explanation[-1].strip():
        explanation.pop()
    out += [line.rstrip() for line in explanation] + ["```"]
    for title, instructions in sections:
        out += ["", "## " + title[:1].upper() + title[1:], "",
                "| instruction | operands | effects | facts | meaning |", "|---|---|---|---|---|"]
        for name, operands, effects, facts, meaning in instructions:
            out.append("| `%s` | %s | %s | %s | %s |" % (
                name, "`%s`" % operands if operands else "",
                "" if effects == ["none"] else ", ".join(effects), "" if facts == "none" else "`%s`" % cell(facts),
                cell(meaning)))
    return "\n".join(out) + "\n"


def main():
    text = (ROOT / TABLE).read_text(encoding="utf-8")
    for number, what in read_table(text)[2]:
        print("%s:%d: %s" % (TABLE, number, what))
    wanted = page(text)
    if "--check" in sys.argv[1:]:
        current = (ROOT / PAGE).read_text(encoding="utf-8") if (ROOT / PAGE).exists() else ""
        return 0 if current == wanted else 1
    (ROOT / PAGE).write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
