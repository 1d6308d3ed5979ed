#!/usr/bin/env python3
"""Code that no compiler writes: it is refused with a reason, or raises, and never breaks the VM.

    tests/fuzz/hostile_code_test.py build/release/tools/minivm

Each test is a module of its own, from instructions, run with both engines. What one of them breaks was
broken once, or could be. With a build under ASan it finds more.
"""

import pathlib
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import beam_code  # noqa: E402
import tool_tests  # noqa: E402

minivm = None   # set by tool_tests.main
folder = None

LIMIT_S = 60  # longer means that it hangs
REPORTS = (b"AddressSanitizer", b"runtime error:", b"assertion", b"crash report")
MODULE = "hostile"


def x(n):
    return ("x", n)


def y(n):
    return ("y", n)


def u(n):
    return ("u", n)


def f(n):
    return ("f", n)


def i(n):
    return ("i", n)


def atom(text):
    return ("atom", text)


def items(*operands):
    return ("list", list(operands))


NIL = ("a", 0)
NO_LABEL = f(0)
RETURN = ("return",)


def written(body, start_with=(), more=(), **options):
    """A file whose start/0 calls f/1 with x0 as the instructions `start_with` leave it; `more` functions."""
    start = [("allocate", u(0), u(0)), *(start_with or [("move", NIL, x(0))]),
             ("call", u(1), f("f/1")), ("deallocate", u(0)), RETURN]
    return beam_code.Builder(MODULE, [("start", 0, start), ("f", 1, body), *more], **options).data()


class HostileCode(unittest.TestCase):
    def run_it(self, data, engine):
        """(status, stderr)"""
        path = folder / (MODULE + ".beam")
        path.write_bytes(data)
        done = subprocess.run([minivm, "run", "--engine", engine, "-S", "1", str(path)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=LIMIT_S, cwd=folder, check=False)
        said = done.stderr
        self.assertGreaterEqual(done.returncode, 0, "%s: signal %s\n%s" % (
            engine, done.returncode, said.decode("utf-8", "replace")[-3000:]))
        for report in REPORTS:
            self.assertNotIn(report, said)
        return done.returncode, said.decode("utf-8", "replace")

    def refused(self, data, *words):
        for engine in ("interp", "jit"):
            status, said = self.run_it(data, engine)
            self.assertEqual(1, status)
            for word in ("Code chunk", *words):
                self.assertIn(word, said)

    def runs(self, data):
        """It may end as it likes, if that is an end."""
        for engine in ("interp", "jit"):
            self.run_it(data, engine)

    def raises(self, data, word):
        for engine in ("interp", "jit"):
            _, said = self.run_it(data, engine)
            self.assertIn(word, said, engine)

    def ends_well(self, data):
        for engine in ("interp", "jit"):
            status, said = self.run_it(data, engine)
            self.assertEqual(0, status, engine + ": " + said)

    # ---- selects ---------------------------------------------------------------------------------

    def test_a_select_has_a_label_for_what_it_does_not_list(self):
        for name, item in (("select_val", i(1)), ("select_tuple_arity", u(2))):
            self.refused(written([(name, x(0), NO_LABEL, items(item, f("entry"))), RETURN]),
                         name, "label")

    def test_a_select_of_nothing(self):
        self.runs(written([("select_val", x(0), f(1), items()), ("label", u(1)), RETURN]))
        self.runs(written([("select_tuple_arity", x(0), f(1), items()), ("label", u(1)), RETURN]))

    def test_a_select_with_the_same_value_twice(self):
        self.runs(written([("move", i(3), x(0)),
                           ("select_val", x(0), f(1), items(i(3), f(1), i(3), f(1), i(-3), f(1))),
                           ("label", u(1)), RETURN]))

    # ---- loops -----------------------------------------------------------------------------------

    def test_a_loop_without_a_call_would_hold_its_scheduler_for_ever(self):
        for loop in ([("jump", f("entry"))],
                     [("is_list", f("entry"), x(0)), ("jump", f("entry"))],
                     [("select_val", x(0), f("entry"), items(i(1), f("entry")))],
                     [("bif1", f("entry"), ("import", "erlang", "hd", 1), x(0), x(0)), RETURN],
                     [("label", u(1)), ("move", NIL, x(0)), ("jump", f(1))],
                     [("label", u(1)), ("is_list", f(2), x(0)), RETURN, ("label", u(2)), ("move", i(1), x(0)), ("jump", f(1))],
                     [("label", u(1)), ("wait_timeout", f(1), i(0)), ("timeout",), ("jump", f(1))],
                     [("allocate", u(0), u(1)), ("label", u(1)), ("call_ext", u(1), ("import", "erlang", "abs", 1)),
                      ("call_ext", u(0), ("import", "erlang", "make_ref", 0)), ("jump", f(1))],
                     [("allocate", u(0), u(1)), ("label", u(1)), ("bif0", ("import", "erlang", "self", 0), x(0)),
                      ("move", i(1), x(1)), ("send",), ("jump", f(1))]):
            self.refused(written(loop), "could not be stopped")

    def test_a_loop_that_calls_or_waits_is_none_of_these(self):
        self.ends_well(written([("label", u(1)), ("loop_rec", f(2), x(0)), ("loop_rec_end", f(1)), ("label", u(2)),
                                ("wait_timeout", f(1), i(0)), ("timeout",), ("move", NIL, x(0)), RETURN]))

    # ---- matching --------------------------------------------------------------------------------

    def matching(self, *instructions, bits=b"\x83m\0\0\0\x08abcdefgh", **options):
        """x0 is a context over `bits`, a binary in the external format."""
        return written([("bs_start_match4", atom("no_fail"), u(1), x(0), x(0)), *instructions],
                       start_with=[("move", ("literal", 0), x(0))], literals=[bits], **options)

    def test_bs_match_without_a_label_must_not_be_able_to_fail(self):
        live, flags = u(1), NIL
        for commands in ([atom("integer"), live, flags, u(128), u(1), x(0)],
                         [atom("skip"), u(128)],
                         [atom("binary"), live, flags, u(16), u(8), x(0)],
                         [atom("ensure_exactly"), u(128)],
                         [atom("=:="), NIL, u(64), u(7)]):
            self.refused(self.matching(("bs_match", NO_LABEL, x(0), items(*commands)), RETURN),
                         "bs_match", "label")

    def test_bs_match_does_not_go_on_behind_its_context(self):
        byte = [atom("integer"), u(1), NIL, u(8), u(1), x(0)]
        match = ("bs_match", f(1), x(0), items(atom("ensure_at_least"), u(16), u(1), *byte, *byte))
        self.refused(self.matching(match, ("label", u(1)), ("move", NIL, x(0)), RETURN), "bs_match")
        last = ("bs_match", f(1), x(0), items(atom("ensure_at_least"), u(16), u(1), *byte))
        self.ends_well(self.matching(last, ("label", u(1)), ("move", NIL, x(0)), RETURN))

    def test_a_match_that_cannot_fail_and_does(self):
        for word in ("no_fail", "resume"):
            self.raises(written([("bs_start_match4", atom(word), u(1), x(0), x(0)),
                                 ("bs_get_tail", x(0), x(0), u(1)), RETURN]), "no match of right hand side")
        self.raises(written([("bs_start_match4", NO_LABEL, u(1), x(0), x(0)),
                             ("bs_get_tail", x(0), x(0), u(1)), RETURN]), "no match of right hand side")

    def test_positions_of_any_value(self):
        for position in (i(1 << 40), i(-1), i(-(1 << 58)), i((1 << 59) - 1), atom("a"), NIL, i(65)):
            body = [("bs_set_position", x(0), x(1)),
                    ("bs_get_integer2", f(1), x(0), u(1), i(8), u(1), u(0), x(1)),
                    ("label", u(1)), ("bs_get_tail", x(0), x(0), u(1)), RETURN]
            self.ends_well(self.matching(("move", position, x(1)), *body))
            self.ends_well(self.matching(*[(o[0], o[1], position) if o[0] == "bs_set_position" else o
                                           for o in body]))

    def test_the_position_of_another_context(self):
        long = b"\x83m\0\0\x01\0" + 256 * b"z"
        body = [("bs_start_match4", atom("no_fail"), u(1), x(0), x(0)),
                ("move", ("literal", 1), x(1)),
                ("bs_start_match4", atom("no_fail"), u(2), x(1), x(1)),
                ("bs_skip_bits2", f(1), x(1), i(2000), u(1), u(0)),
                ("bs_get_position", x(1), x(2), u(2)), ("bs_set_position", x(0), x(2)),
                ("bs_get_tail", x(0), x(0), u(1)), ("label", u(1)), ("move", NIL, x(0)), RETURN]
        self.ends_well(written(body, start_with=[("move", ("literal", 0), x(0))],
                               literals=[b"\x83m\0\0\0\x01a", long]))

    # ---- lists without end -------------------------------------------------------------------------

    def test_hundreds_of_thousands_of_map_pairs(self):
        pairs = [o for n in range(400000) for o in (i(n), x(1))]
        for name in ("put_map_assoc", "put_map_exact"):
            self.runs(written([("move", NIL, x(1)), (name, NO_LABEL, x(0), x(0), u(2), items(*pairs)),
                               ("move", NIL, x(0)), RETURN],
                              start_with=[("move", ("literal", 0), x(0))],
                              literals=[b"\x83t\0\0\0\0"]))

    def test_hundreds_of_thousands_of_segments(self):
        one = [atom("utf16"), u(1), u(0), NIL, x(0), atom("undefined")]
        self.ends_well(written([("bs_create_bin", NO_LABEL, u(0), u(1), u(8), x(0), items(*(one * 300000))),
                                RETURN], start_with=[("move", i(65), x(0))]))

    # ---- what is taken for granted -----------------------------------------------------------------

    BAD = "no match of right hand side"
    SOMETHING = (i(7), atom("a"), NIL, i(-1), ("literal", 0), ("literal", 1), ("literal", 2), ("literal", 3))
    # 1.0e300, a map, a list and a tuple of one element
    LITERALS = [b"\x83F\x7e\x37\xe4\x3c\x88\x00\x75\x9c", b"\x83t\0\0\0\1a\1a\2", b"\x83l\0\0\0\1a\1j",
                b"\x83h\1a\1"]
    TYPES = b"\0\0\0\1\0\0\0\3" + b"".join(
        bits.to_bytes(2, "big") + bytes(8) + (9).to_bytes(8, "big") for bits in (4096, 64, 16))

    def with_anything(self, *body):
        for something in self.SOMETHING:
            self.runs(written([*body, ("move", NIL, x(0)), RETURN], types=self.TYPES,
                              start_with=[("move", something, x(0))], literals=self.LITERALS))

    def test_elements_of_what_may_be_anything(self):
        for body in ([("get_list", x(0), x(1), x(2))], [("get_hd", x(0), x(1))],
                     [("get_tl", x(0), x(0))], [("get_tuple_element", x(0), u(5), x(0))],
                     [("get_tuple_element", x(0), u(0), x(1)), ("get_tuple_element", x(0), u(70000), x(0))],
                     [("fmove", x(0), ("fr", 0)), ("fmove", ("fr", 0), x(0))],
                     [("test_arity", f(1), x(0), u(1)), ("label", u(1))],
                     [("has_map_fields", f(1), x(0), items(i(1))), ("label", u(1))],
                     [("get_map_elements", f(1), x(0), items(i(1), x(1))), ("label", u(1))],
                     [("update_record", atom("copy"), u(3), x(0), x(0), items(u(1), NIL))],
                     [("update_record", atom("reuse"), u(300), x(0), x(0), items(u(1), NIL))]):
            self.with_anything(*body)

    def test_a_hint_proves_nothing(self):
        tuple_, integer, float_ = (("typed", x(0), n) for n in range(3))
        self.raises(written([("get_tuple_element", tuple_, u(1), x(0)), RETURN], types=self.TYPES), self.BAD)
        for body in ([("gc_bif2", NO_LABEL, u(1), ("import", "erlang", "+", 2), integer, i(1), x(0))],
                     [("gc_bif2", NO_LABEL, u(1), ("import", "erlang", "*", 2), integer, integer, x(0))],
                     [("gc_bif2", NO_LABEL, u(1), ("import", "erlang", "bsl", 2), integer, i(3), x(0))],
                     [("gc_bif2", NO_LABEL, u(1), ("import", "erlang", "-", 2), float_, float_, x(0))],
                     [("is_lt", f(1), float_, float_), ("label", u(1))],
                     [("is_lt", f(1), integer, float_), ("label", u(1))],
                     [("fmove", float_, ("fr", 0)), ("fmove", ("fr", 0), x(0))]):
            self.with_anything(*body, ("allocate", u(0), u(1)),
                               ("call_ext", u(1), ("import", "erlang", "phash2", 1)), ("deallocate", u(0)))

    def test_code_behind_a_test_that_cannot_hold(self):
        self.ends_well(written([("is_nonempty_list", f(1), x(0)), ("move", x(0), x(1)),
                                ("is_tuple", f(1), x(1)), ("test_arity", f(1), x(1), u(2)),
                                ("get_tuple_element", x(0), u(1), x(0)), ("get_hd", x(1), x(0)), RETURN,
                                ("label", u(1)), ("move", NIL, x(0)), RETURN]))

    def test_code_that_no_way_reaches_is_not_compiled(self):
        for body in ([("fmove", ("literal", 1), ("fr", 0)), ("fmove", ("fr", 0), x(0))],
                     [("get_tuple_element", ("literal", 2), u(1), x(0))],
                     [("bs_get_tail", ("literal", 2), x(0), u(1))]):
            self.ends_well(written([("is_nonempty_list", f(1), x(0)), ("is_tuple", f(1), x(0)), *body, RETURN,
                                    ("label", u(1)), ("move", NIL, x(0)), RETURN], literals=self.LITERALS))
        # Behind the test that the loader puts there nothing is reached either.
        self.raises(written([("fmove", i(2), ("fr", 0)), ("fmove", ("fr", 0), x(0)), RETURN]), self.BAD)

    def test_what_a_catch_overwrites_is_no_tuple_any_more(self):
        self.raises(written([("allocate", u(1), u(1)), ("move", ("literal", 3), y(0)), ("try", y(0), f(1)), ("try_end", y(0)),
                             ("get_tuple_element", y(0), u(0), x(0)), ("deallocate", u(1)), RETURN,
                             ("label", u(1)), ("try_case", y(0)), ("deallocate", u(1)), RETURN],
                            literals=self.LITERALS), self.BAD)

    def test_the_values_before_a_key_that_is_missing(self):
        self.raises(written([("move", ("literal", 3), x(1)), ("is_map", f(1), x(0)),
                             ("get_map_elements", f(1), x(0), items(i(1), x(1), i(9), x(2))),
                             ("label", u(1)), ("get_tuple_element", x(1), u(0), x(0)), RETURN],
                            start_with=[("move", ("literal", 1), x(0))], literals=self.LITERALS), self.BAD)

    def test_a_tuple_is_changed_only_where_it_has_been_made(self):
        change = ("set_tuple_element", NIL, x(0), u(0))
        made = ("call_ext", u(3), ("import", "erlang", "setelement", 3))
        for body in ([change], [("move", ("literal", 3), x(0)), change]):
            self.refused(written([*body, RETURN], literals=self.LITERALS), "setelement")
        self.refused(written([("test_heap", u(2), u(1)), change, RETURN]), "setelement")
        make = [("allocate", u(0), u(1)), ("move", ("literal", 3), x(1)), ("move", i(1), x(0)),
                ("move", atom("b"), x(2)), made]
        self.refused(written([*make, ("test_heap", u(2), u(1)), ("put_list", NIL, NIL, x(1)),
                              ("set_tuple_element", x(1), x(0), u(0)), ("deallocate", u(0)), RETURN],
                             literals=self.LITERALS), "setelement")
        self.ends_well(written([*make, change, ("deallocate", u(0)), RETURN], literals=self.LITERALS))
        self.raises(written([*make, ("set_tuple_element", NIL, x(0), u(1)), ("deallocate", u(0)), RETURN],
                            literals=self.LITERALS), self.BAD)

    def test_what_no_test_finds_is_none_of_the_kinds_that_are_left(self):
        # A native record is nothing that these tests ask for: what is no other kind was taken for a list, or a map.
        tests = ("is_atom", "is_bitstr", "is_float", "is_function", "is_integer", "is_map", "is_nil", "is_nonempty_list",
                 "is_pid", "is_port", "is_reference", "is_tuple")
        made = ("put_record", NO_LABEL, atom("r"), NIL, x(0), u(0), items())
        for left, use in (("is_nonempty_list", [("get_hd", x(0), x(0))]),
                          ("is_tuple", [("get_tuple_element", x(0), u(0), x(0))]),
                          ("is_map", [("get_map_elements", f(60), x(0), items(atom("a"), x(0))), ("label", u(60))]),
                          ("is_float", [("fmove", x(0), ("fr", 0)), ("fmove", ("fr", 0), x(0))])):
            chain = []
            for n, test in enumerate(tests, 1):
                if test != left:
                    chain += [(test, f(n), x(0)), ("move", NIL, x(0)), RETURN, ("label", u(n))]
            data = written([*chain, *use, RETURN], start_with=[made], records=["r"])
            for engine in ("interp", "jit"):  # OTP 25 has no words for the reason that such an exception has
                self.assertEqual(0 if left == "is_map" else 127, self.run_it(data, engine)[0], left)

    # ---- match contexts are no terms -------------------------------------------------------------------

    def test_a_match_context_does_not_become_a_term(self):
        gives = [("allocate", u(0), u(1)), ("call", u(1), f("g/1")), ("deallocate", u(0)), RETURN]
        for body in ([("test_heap", u(2), u(1)), ("put_list", x(0), NIL, x(0)), RETURN],
                     [("bif1", NO_LABEL, ("import", "erlang", "hd", 1), x(0), x(0)), RETURN],
                     [("is_eq", f(1), x(0), x(0)), ("label", u(1)), RETURN],
                     [("badmatch", x(0))], [("case_end", x(0))], [RETURN],
                     [("select_val", x(0), f(1), items(("literal", 0), f(1))), ("label", u(1)),
                      ("move", NIL, x(0)), RETURN],
                     [("call_ext_only", u(1), ("import", "erlang", "display", 1))],
                     # The reason of the exception that they raise was the context.
                     [("get_hd", x(0), x(0)), RETURN], [("get_list", x(0), x(0), x(1)), RETURN],
                     [("get_tuple_element", x(0), u(0), x(0)), RETURN],
                     [("fmove", x(0), ("fr", 0)), ("move", NIL, x(0)), RETURN]):
            self.refused(self.matching(*body), "context")
            # Through an argument of another function, and of one that is verified before.
            self.refused(self.matching(*gives, more=[("g", 1, body)]), "context")
            self.refused(self.matching(*gives, more=[("g", 1, [("call_only", u(1), f("h/1"))]), ("h", 1, body)]),
                         "context")

    def test_a_match_context_goes_on_in_another_function(self):
        goes_on = [("bs_start_match4", f(1), u(1), x(0), x(0)),
                   ("bs_get_tail", x(0), x(0), u(1)), RETURN,
                   ("label", u(1)), ("is_nil", f(2), x(0)), ("test_heap", u(2), u(1)),
                   ("put_list", x(0), NIL, x(0)), RETURN, ("label", u(2)), ("case_end", x(0))]
        self.ends_well(self.matching(("call_only", u(1), f("g/1")), more=[("g", 1, goes_on)]))
        self.raises(self.matching(("call_only", u(1), f("g/1")),
                                  more=[("g", 1, [("jump", f("info"))])]), "no function clause")

    def test_a_match_context_is_no_argument_in_a_stack_trace(self):
        caught = [("allocate", u(1), u(1)), ("try", y(0), f(1)), ("call", u(1), f("h/1")), ("label", u(1)),
                  ("try_case", y(0)), ("move", x(2), x(0)), ("build_stacktrace",),
                  ("call_ext", u(1), ("import", "erlang", "term_to_binary", 1)),
                  ("move", NIL, x(0)), ("deallocate", u(1)), RETURN]
        self.ends_well(self.matching(("call_only", u(1), f("g/1")),
                                     more=[("g", 1, caught), ("h", 1, [("jump", f("info"))])]))

    # ---- stack traces ------------------------------------------------------------------------------------

    def test_a_raw_stack_trace_of_any_terms(self):
        # {error, {a, b, c}, m, f, {1, 2}, {1, 2}}: arity and line, and the file, were taken for what they have to be.
        pair = b"h\2a\1a\2"
        for top in (b"h\3w\1aw\1bw\1c", b"w\1a"):
            for count in (1, 2):
                frame = b"w\1mw\1f" + pair + pair
                trace = b"\x83h" + bytes([2 + 4 * count]) + b"w\5error" + top + count * frame
                place = {"start_with": [("move", ("literal", 0), x(0))], "literals": [trace]}
                show = [("call_ext", u(1), ("import", "erlang", "display", 1)), ("move", NIL, x(0)), ("deallocate", u(1)), RETURN]
                self.ends_well(written([("allocate", u(1), u(1)), ("init_yregs", items(y(0))), ("build_stacktrace",), *show],
                                       **place))
                self.ends_well(written([("allocate", u(1), u(1)), ("catch", y(0), f(1)), ("raise", x(0), x(0)),
                                        ("label", u(1)), ("catch_end", y(0)), *show], **place))

    # ---- exceptions and messages -------------------------------------------------------------------------

    def test_a_handler_that_no_exception_leads_to(self):
        # It took the class, reason and trace of what lay in x1 to x3.
        end = [("deallocate", u(1)), RETURN]
        begin = [("allocate", u(1), u(0)), ("try", y(0), f(1))]
        fallen_into = written([*begin, ("label", u(1)), ("try_case", y(0)), *end])
        jumped_to = written([*begin, ("jump", f(1)), ("label", u(1)), ("try_case", y(0)), *end])
        for data in (fallen_into, jumped_to):
            self.ends_well(data)  # with an exception that the handler takes
        tested = [*begin, ("is_nil", f(1), NIL), ("try_end", y(0)), ("move", NIL, x(0)), *end, ("label", u(1)),
                  ("try_case", y(0)), *end]
        late = [*begin, ("call", u(0), f("g/0")), ("try_end", y(0)), *end, ("label", u(1)), ("test_heap", u(100), u(0)),
                ("try_case", y(0)), *end]
        for body in (tested, late):
            self.refused(written(body, more=[("g", 0, [("move", NIL, x(0)), RETURN])]), "without an exception")
        caught = [("allocate", u(1), u(0)), ("catch", y(0), f(1)), ("label", u(1)), ("catch_end", y(0)), *end]
        self.refused(written([("call_only", u(0), f("g/0"))], more=[("g", 0, caught)]), "neither a value")

    def receiving(self, *instructions, more=()):
        send = [("bif0", ("import", "erlang", "self", 0), x(0)), ("move", ("literal", 0), x(1)), ("send",)]
        body = [("allocate", u(1), u(0)), ("init_yregs", items(y(0))), ("label", u(1)), ("loop_rec", f(2), x(0)), *instructions,
                ("label", u(2)), ("wait", f(1))]
        return written(body, start_with=[*send, *send, ("move", NIL, x(0))], more=more, literals=[b"\x83h\2a\1a\2"])

    def test_a_message_that_stays_in_the_queue_is_not_kept(self):
        other = [("g", 0, [("label", u(11)), ("loop_rec", f(12), x(0)), ("remove_message",), RETURN, ("label", u(12)),
                            ("wait", f(11))])]
        self.refused(self.receiving(("call", u(0), f("g/0")), ("remove_message",), ("deallocate", u(1)), RETURN, more=other),
                     "under examination")
        self.refused(self.receiving(("deallocate", u(1)), RETURN), "under examination")
        self.refused(self.receiving(("move", x(0), y(0)), ("loop_rec_end", f(1))), "left in the queue")
        self.refused(self.receiving(("get_tuple_element", x(0), u(0), y(0)), ("loop_rec_end", f(1))), "left in the queue")
        # Ways meet, of which one has no message under examination.
        meets = [("allocate", u(1), u(0)), ("init_yregs", items(y(0))), ("loop_rec", f(2), x(0)), ("move", x(0), y(0)), ("jump", f(2)),
                 ("label", u(2)), ("move", y(0), x(0)), ("deallocate", u(1)), RETURN]
        self.refused(written(meets), "y0 may hold no term")
        self.ends_well(self.receiving(("move", x(0), y(0)), ("remove_message",), ("move", y(0), x(0)), ("deallocate", u(1)), RETURN))
        self.ends_well(self.receiving(("move", NIL, y(0)), ("is_nil", f(3), x(0)), ("loop_rec_end", f(1)), ("label", u(3)),
                                      ("remove_message",), ("deallocate", u(1)), RETURN))
        self.raises(self.receiving(("badmatch", x(0))), self.BAD)

    def test_a_tuple_does_not_come_to_hold_itself(self):
        make = [("move", ("literal", 0), x(1)), ("move", ("literal", 0), x(2)), ("move", i(1), x(0)), ("allocate", u(0), u(3)),
                ("call_ext", u(3), ("import", "erlang", "setelement", 3))]
        self.refused(written([*make, ("set_tuple_element", x(0), x(0), u(1)), ("deallocate", u(0)), RETURN], literals=self.LITERALS),
                     "hold itself")

    def test_failing_fields_of_records_use_no_words_that_are_reserved(self):
        # The reasons of their failures took words: the tuple was written over the stack.
        words, fields = 200, []
        for n in range(1, 31):
            fields += [("get_record_field", f(n), x(0), atom("r"), atom("none"), x(1)), ("label", u(n))]
        self.ends_well(written([("test_heap", u(words), u(1)), *fields, ("put_tuple2", x(0), items(*(words - 1) * [NIL])), RETURN],
                               records=["r"]))

    # ---- bit strings that are begun, then filled -----------------------------------------------------

    def filling(self, *puts, size=1):
        return written([("bs_init2", NO_LABEL, u(size), u(0), u(1), u(0), x(1)), *puts,
                        ("move", x(1), x(0)), RETURN], start_with=[("move", ("literal", 0), x(0))],
                       literals=[b"\x83m\0\0\x20\0" + 8192 * b"q"])

    def test_a_bit_string_is_not_filled_beyond_its_end(self):
        text = ("string", 4096 * b"x")
        for put in (("bs_put_integer", NO_LABEL, i(80000), u(8), u(0), i(1)),
                    ("bs_put_binary", NO_LABEL, atom("all"), u(8), u(0), x(0)),
                    ("bs_put_float", NO_LABEL, i(64), u(1), u(0), i(1)),
                    ("bs_put_utf8", NO_LABEL, u(0), i(0x10FFFF)),
                    ("bs_put_utf16", NO_LABEL, u(0), i(0x10FFFF)),
                    ("bs_put_utf32", NO_LABEL, u(0), i(0x10FFFF))):
            self.raises(self.filling(*(4096 * [put])), "bad argument")
        self.runs(self.filling(*(64 * [("bs_put_string", u(4096), text)])))

    def test_a_bit_string_may_be_filled(self):
        self.ends_well(self.filling(("bs_put_integer", NO_LABEL, i(8), u(1), u(0), i(1)),
                                    ("bs_put_string", u(2), ("string", b"ab")), size=3))

    def test_a_bit_string_that_is_not_filled_tells_nothing_of_old_memory(self):
        # A binary of other bytes is made and let go of before, of a size that malloc gives out again.
        kept = [("bs_init2", NO_LABEL, u(8192), u(0), u(1), u(0), x(1)),
                ("bs_put_binary", NO_LABEL, atom("all"), u(8), u(0), x(0)),
                ("move", NIL, x(1)), ("move", NIL, x(0)), ("test_heap", u(1 << 16), u(0))]
        for begin, at_front in ((("bs_init2", NO_LABEL, u(8192), u(0), u(0), u(0), x(1)), b""),
                                (("bs_append", NO_LABEL, i(8192 * 8), u(0), u(0), u(8), ("literal", 1), u(0), x(1)), b"a")):
            zeros = at_front + bytes(8192)
            data = [b"\x83m\0\0\x20\0" + 8192 * b"q", b"\x83m\0\0\0\x01a",
                    b"\x83m" + len(zeros).to_bytes(4, "big") + zeros]
            self.ends_well(written([*kept, begin, ("move", NIL, x(0)),
                                    ("is_eq_exact", f("info"), x(1), ("literal", 2)), RETURN],
                                   start_with=[("move", ("literal", 0), x(0))], literals=data))


if __name__ == "__main__":
    signal.alarm(1800)
    sys.exit(tool_tests.main(sys.modules[__name__]))
