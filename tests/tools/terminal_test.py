#!/usr/bin/env python3
"""The shell on a terminal: what is on the screen after the same keys is the same on `minivm erl` as on `erl`.

    tests/tools/terminal_test.py MINIVM [TEST...]
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

minivm, folder = None, None  # tool_tests.main() sets them
WAIT_S = 60
COLUMNS, ROWS = 60, 24
LEFT, CTRL_A, CTRL_B, CTRL_D, CTRL_E, CTRL_G, CTRL_K, CTRL_P, CTRL_U = "\x1b[D", *map(chr, (1, 2, 4, 5, 7, 11, 16, 21))


class Screen:
    """What a terminal shows of what was written to it: as much of xterm as a shell uses."""

    def __init__(self, output):
        self.rows, self.x, self.y = [[]], 0, 0
        moves = {"A": (0, -1), "B": (0, 1), "C": (1, 0), "D": (-1, 0)}
        for number, kind, char in re.findall("\x1b\\[([0-9;]*)([@-~])|([^\x1b])", output):
            if kind in moves:
                times = int(number or 1)
                self.x = min(max(min(self.x, COLUMNS - 1) + moves[kind][0] * times, 0), COLUMNS - 1)
                self.y = max(self.y + moves[kind][1] * times, 0)
            elif kind == "K":
                del self.row()[self.x:]
            elif char == "\n":
                self.y += 1
            elif char == "\r":
                self.x = 0
            elif char == "\b":
                self.x = max(min(self.x, COLUMNS - 1) - 1, 0)
            elif char >= " ":
                self.show(char)

    def row(self):
        while len(self.rows) <= self.y:
            self.rows.append([])
        return self.rows[self.y]

    def show(self, char):
        if self.x == COLUMNS:
            self.x, self.y = 0, self.y + 1
        row = self.row()
        row.extend(" " * (self.x + 1 - len(row)))
        row[self.x] = char
        self.x += 1

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.rows).rstrip()


class Session:
    """A program with a terminal of its own."""

    def __init__(self, command):
        self.output = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(TERM="xterm", LC_ALL="C.UTF-8")
            os.execvp(command[0], command)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def screen(self):
        return Screen(self.output).text()

    def read(self):
        if select.select([self.terminal], [], [], 0.1)[0]:
            try:
                data = os.read(self.terminal, 65536)
            except OSError:
                return False
            self.output += data.decode("utf-8", "replace")
            return bool(data)
        return True

    def wait_for(self, pattern):
        end = time.monotonic() + WAIT_S
        while not re.search(pattern, self.screen(), re.MULTILINE):
            if not self.read() or time.monotonic() > end:
                raise AssertionError("no %r on the screen:\n%s" % (pattern, self.screen()))

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def end(self):
        """Its status once it has ended by itself; after a while it is killed."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return status
        self.kill()
        return None

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Terminal(unittest.TestCase):
    maxDiff = None

    def shown(self, command, steps):
        session = Session(command)
        session.wait_for("^1>$")
        for keys, pattern in steps:
            session.type(keys)
            session.wait_for(pattern)
        session.type("halt().\r")
        status = session.end()
        # Without the banner, whose lines name the emulator.
        return status, re.sub("(?s)^.*?Eshell", "Eshell", session.screen())

    def same(self, *steps):
        expected = self.shown(["erl"], steps)
        self.assertEqual(self.shown([minivm, "erl"], steps), expected)

    def test_expressions_and_input(self):
        self.same(("1+2.\r", "^2>$"), ("lists:seq(1,3).\r", "^3>$"), ('io:get_line("name> ").\r', "^name>$"),
                  ("hello\r", "^4>$"), ("1+", r"^4> 1\+$"), ("\r2.\r", "^5>$"), ('"\u00e5\u00e4\u00f6 \u20ac".\r', "^6>$"))

    def test_editing(self):
        self.same(("abc", "abc$"), (LEFT + LEFT + "X", "aXbc$"), (CTRL_E + CTRL_B + CTRL_B + CTRL_D, "aXc$"),
                  (CTRL_A + "Y", "YaXc$"), (CTRL_A + CTRL_K + "atom.\r", "^2>$"), (CTRL_P, "^2> atom.$"), ("\r", "^3>$"),
                  ("lists:seq\t", r"lists:seq\($"), ("1,2).\r", "^4>$"))

    def test_lines_longer_than_the_terminal(self):
        self.same(('A = "' + "x" * 100, "x{40,}$"), (LEFT * 50 + "MIDDLE", r"MI\nDDLE"), (CTRL_E + '".\r', "^2>$"),
                  ("a" * 55, "^2> a{55}$"), ("b" * 10, "^b{8}$"), ("\x7f" * 12 + "c", "^2> a{53}c$"),
                  (CTRL_A + "d" + CTRL_E + " = 1.\r", "^3>$"))

    def test_full_rows(self):
        self.same(('io:put_chars([lists:duplicate(%d, $x), "\\n|\\n"]).\r' % COLUMNS, "^2>$"),
                  ('io:put_chars([lists:duplicate(%d, $y), "\\e[0m\\r\\n|", lists:duplicate(%d, $z)]).\r'
                   % (2 * COLUMNS, COLUMNS - 1), "^3>$"),
                  ('io:put_chars(lists:duplicate(%d, $v)), io:nl().\r' % COLUMNS, "^4>$"))

    def test_wide_characters(self):
        self.same(('"\u4e2d\u6587\u5b57', "\u5b57$"), (LEFT + LEFT + "x", "x\u6587"), ("\x7f\x7f" + CTRL_E + '".\r', "^2>$"))

    def test_password_and_size(self):
        self.same(("io:get_password().\r", "get_password"), ("secret\r", "^2>$"), ("{io:columns(), io:rows()}.\r", "^3>$"))

    def test_job_control(self):
        self.same((CTRL_G, "-->$"), ("h\r", "(?s)this message.*-->$"), ("s\r", r"--> s\n -->$"), ("j\r", r"2\* .*\n -->$"), ("c\r", "(?s)Eshell.*Eshell.*^1>$"))

    def test_the_terminal_is_as_before_when_it_ends(self):
        for how in ("halt().\r", "init:stop().\r", "erlang:halt(abort).\r", "q().\r", "\x03a\r", "\x03A\r", "\x03\x03",
                    'os:cmd("kill -SEGV " ++ os:getpid()).\r'):
            with self.subTest(how):
                session = Session(["sh", "-c", 'trap : INT; before=$(stty -g); %s erl; [ "$before" = "$(stty -g)" ] &&'
                                   ' echo as before' % minivm])
                session.wait_for("^1>$")
                for keys in re.findall("\x03|[^\x03]+", how):
                    session.type(keys)
                    session.wait_for("istribution$" if keys == "\x03" else "")
                session.wait_for("as before$")
                self.assertEqual(session.end(), 0)

    def test_the_menu_behind_ctrl_c(self):
        session = Session([minivm, "erl"])
        session.wait_for("^1>$")
        session.type("\x03")
        session.wait_for("^BREAK: ")
        session.type("x\r")
        session.wait_for("^Invalid option 'x'")
        session.type("d\r")
        session.wait_for("^=no_distribution$")
        session.type("1 + 1.\r")
        session.wait_for("^2$")
        session.type("\x03")
        session.wait_for("(?s)^=no_distribution.*^BREAK: ")
        session.type("q\r")
        self.assertEqual(session.end(), 0)


if __name__ == "__main__":
    sys.exit(tool_tests.main(sys.modules[__name__]))
