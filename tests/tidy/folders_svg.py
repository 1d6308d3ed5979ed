#!/usr/bin/env python3
"""Draws docs/folders.svg from the tables that the tidy test keeps: the folders, and the floors of vm/.

    tests/tidy/folders_svg.py > docs/folders.svg
"""

import sys
from xml.sax.saxutils import escape

WIDTH, LEFT, INNER = 760, 20, 720

WORDS = {
    "tools": "the minivm program: run, disasm, ...",
    "loader": ".beam to lowered form",
    "interp": "engine: threaded code",
    "jit": "engine: machine code",
    "trace": "breakpoints, sessions",
    "recorder": "rings and the event format; knows nothing of the rest",
    "util": "assertions, results, locks",
    "progress": "thread progress, deferred work",
    "term": "tags, atoms, objects, order, hash, and the heap they are built on",
    "record": "what the VM tells the recorder",
    "heap": "a process's memory, collector, literal areas",
    "instr": "the table of instructions",
    "code": "code index, entries, modules, staging, permission",
    "external": "the external format",
    "process": "processes, signals, exceptions, timers, names",
    "sched": "schedulers, run queues, dirty schedulers",
    "semantics": "the meaning of each instruction",
    "match_spec": "match specifications",
    "ets": "tables",
    "nif": "native functions",
    "port": "ports",
    "fault": "the VM's own faults",
    "dist": "other nodes",
    "code_change": "loading, deleting and purging, from permission to commit",
    "bif": "what Erlang code calls",
}


def text(x, y, bold, words=None, centre=True):
    anchor = "" if centre else ' style="text-anchor: start"'
    if words is None:
        return '  <text x="%d" y="%d"%s font-weight="bold">%s</text>\n' % (x, y, anchor, escape(bold))
    return ('  <text x="%d" y="%d"%s><tspan font-weight="bold">%s</tspan><tspan class="sub">   %s</tspan></text>\n'
            % (x, y, anchor, escape(bold), escape(words)))


def box(x, y, width, height, kind="box"):
    return '  <rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="5"/>\n' % (kind, x, y, width, height)


def row(names, y, height, kind, left=LEFT, inner=INNER):
    gap = 13
    width = (inner - gap * (len(names) - 1)) // len(names)
    out = ""
    for place, name in enumerate(names):
        x = left + place * (width + gap)
        out += box(x, y, width, height, kind)
        if len(names) == 1:
            out += text(x + width // 2, y + height // 2 + 5, name, WORDS[name])
        else:
            out += text(x + width // 2, y + height // 2 - 2, name)
            out += '  <text x="%d" y="%d" class="sub">%s</text>\n' % (
                x + width // 2, y + height // 2 + 14, escape(WORDS[name]))
    return out


def arrows(count, y, length=20):
    width = (INNER - 13 * (count - 1)) // count
    return "".join('  <path class="arrow" d="M%d %d v%d"/>\n' % (LEFT + i * (width + 13) + width // 2, y, length)
                   for i in range(count))


def draw(allowed, floors):
    """The picture. allowed: folder -> what it may include; floors: those of vm/, the lowest first."""
    siblings = [f for f, below in allowed.items() if below == {"vm", "recorder"}]
    y = 15
    body = row(["tools"], y, 40, "box")
    body += arrows(len(siblings), y + 40)
    y += 62
    body += row(siblings, y, 48, "box")
    body += arrows(len(siblings), y + 48)
    y += 70
    top = y
    inside = text(LEFT + 14, y + 22, "vm", "an include points down here too", centre=False)
    y += 32
    for floor in reversed(floors):
        height = 42 if len(floor) > 1 else 26
        inside += row(list(floor), y, height, "floor", LEFT + 14, INNER - 28)
        y += height + 5
    y += 6
    body += box(LEFT, top, INNER, y - top) + inside
    body += arrows(1, y)
    y += 22
    body += row(["recorder"], y, 40, "box")
    y += 55
    return """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="15">
  <title>The folders of minivm and who may know whom</title>
  <style>
    .box { fill: #f4f1ea; stroke: #6b5d45; stroke-width: 1.5; }
    .floor { fill: #ffffff; stroke: #6b5d45; stroke-width: 1; }
    .sub { font-size: 12px; fill: #555; }
    .arrow { stroke: #6b5d45; stroke-width: 1.5; fill: none; marker-end: url(#head); }
    text { text-anchor: middle; fill: #222; }
  </style>
  <rect width="%d" height="%d" fill="#ffffff"/>
  <defs>
    <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
      <path d="M0 0 L8 4 L0 8 z" fill="#6b5d45"/>
    </marker>
  </defs>
""" % (WIDTH, y, WIDTH, y) + body + "</svg>\n"


if __name__ == "__main__":
    import tidy
    sys.stdout.write(draw(tidy.ARROWS, tidy.FLOORS))
