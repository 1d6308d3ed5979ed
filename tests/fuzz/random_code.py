#!/usr/bin/env python3
"""Runs modules of instructions that are drawn at random: code that no compiler writes, and the loader takes.

    tests/fuzz/random_code.py --minivm build/dev/tools/minivm --seconds 20 [--seed N]

run_mutants.py stays near to what erlc writes; here each function is drawn instruction by instruction, from registers that
hold something at that place, so that the verifier takes most of them: elements of anything, tests of every kind one after
the other, values over merging ways, bit strings, maps, records, floats, funs, exceptions, messages. Half of the modules are
damaged afterwards: registers, labels and numbers changed, instructions left out, moved, repeated. Some hundred are loaded
by one program (random_code.erl), which calls each function and looks through what it returns or raises.

Death by a signal, a failed assertion and a sanitizer's report are failures; so is an outcome that is not the same on both
engines, or is another term after term_to_binary/1 and back. Module i depends on seed and i alone: `--first i --count 1`,
and --keep FOLDER leaves it there.
"""

import argparse
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import beam_code  # noqa: E402  (beside this file; leaves no compiled copy there)

FOLDER = pathlib.Path(__file__).resolve().parent
BATCH = 200
LIMIT_S = 100  # for a batch: more is a hang
LABELS = 1000  # that a function may have
REPORTS = (b"AddressSanitizer", b"runtime error:", b"ThreadSanitizer", b"LeakSanitizer")
NIL = ("a", 0)
TESTS = ["is_integer", "is_float", "is_number", "is_atom", "is_pid", "is_reference", "is_port", "is_nil", "is_binary", "is_list",
         "is_nonempty_list", "is_tuple", "is_function", "is_boolean", "is_bitstr", "is_map", "is_any_native_record"]
COMPARISONS = ["is_lt", "is_ge", "is_eq", "is_ne", "is_eq_exact", "is_ne_exact"]
GUARDS = {1: ["hd", "tl", "length", "size", "tuple_size", "byte_size", "bit_size", "map_size", "abs", "float", "round", "trunc", "node",
              "is_list", "not", "-", "+", "bnot"],
          2: ["+", "-", "*", "div", "rem", "band", "bor", "bxor", "bsl", "bsr", "element", "=:=", "<", "==", "and", "or", "xor",
              "map_get", "is_map_key", "max", "min", "/"],
          3: ["binary_part"]}
BIFS = [("tuple_to_list", 1), ("list_to_tuple", 1), ("setelement", 3), ("++", 2), ("--", 2), ("term_to_binary", 1), ("make_ref", 0),
        ("phash2", 1), ("append_element", 2), ("iolist_to_binary", 1), ("binary_to_list", 1), ("list_to_binary", 1), ("split_binary", 2),
        ("make_tuple", 2), ("insert_element", 3), ("fun_info", 1), ("garbage_collect", 0), ("get", 0), ("put", 2), ("error", 1),
        ("throw", 1), ("exit", 1), ("error", 2), ("integer_to_list", 1), ("binary_part", 3), ("delete_element", 2), ("bitstring_to_list", 1)]


def external(*parts):
    return b"\x83" + b"".join(parts)


def external_map(count):
    return external(b"t" + count.to_bytes(4, "big"), *(b"a%cl\0\0\0\1a%cj" % (k, k) for k in range(count)))


LITERALS = [external(b"l\0\0\0\2a\1a\2j"), external(b"h\2w\1aa\1"), external(b"h\0"), external(b"h\3w\1bw\1cl\0\0\0\1a\1w\1a"),
            external_map(2), external_map(40), external_map(0), external(b"m\0\0\0\x05hello"), external(b"m\0\0\0\x50" + 80 * b"q"),
            external(b"M\0\0\0\2\5\xff\xf8"), external(b"n\x08\0" + 8 * b"\xff"), external(b"n\x09\1" + 9 * b"\x7f"),
            external(b"F\x3f\xf8\0\0\0\0\0\0"), external(b"F\x7f\xef\xff\xff\xff\xff\xff\xff"), external(b"qw\5listsw\3suma\1"),
            external(b"h\2h\2a\1a\2h\2a\3l\0\0\0\1h\1w\1zj"), external(b"k\0\3abc"), external(b"m\0\0\0\0")]
ATOMS = ["a", "b", "true", "false", "undefined", "error", "all", "infinity"]


class Function:
    """The instructions of one function. What is known at each place: which x registers hold a term, the frame (None: there
    is none) with what each y register holds ("", "term" or "mark"), and the heap words that are reserved."""

    def __init__(self, draw, number, signatures):
        # No recursion: it makes terms that are shared so often that nobody comes to the end of them.
        self.draw, self.others = draw, signatures[number + 1:]
        self.name, self.arity = signatures[number]
        self.code, self.x, self.y, self.words = [], set(range(self.arity)), None, 0
        self.waiting = []      # (label, the x registers that hold a term on all ways to it): placed before the frame changes
        self.label_count = 200 + LABELS * number  # those below belong to the builder
        self.floats = set()
        self.chances = [(6, self.move), (8, self.test), (3, self.compare), (5, self.take_apart), (4, self.build), (3, self.guard),
                        (2, self.gc_guard), (2, self.map_fields), (2, self.new_map), (2, self.update_record), (2, self.match),
                        (2, self.create_bits), (2, self.call_bif), (2, self.call_local), (2, self.call_fun), (2, self.select),
                        (3, self.merge), (1, self.native_record), (2, self.float_arithmetic), (1, self.caught), (1, self.received),
                        (1, self.all_tests), (1, self.swap), (1, self.old_bits), (1, self.trim)]

    # ---- operands ----

    def emit(self, name, *operands):
        self.code.append((name, *operands))

    def register(self):
        """One that holds a term."""
        places = [("x", r) for r in self.x] + [("y", r) for r, what in enumerate(self.y or []) if what == "term"]
        return self.draw.choice(places) if places else self.constant()

    def constant(self):
        return self.draw.choice([("literal", self.draw.randrange(len(LITERALS))), ("atom", self.draw.choice(ATOMS)), NIL,
                                 ("i", self.draw.choice([0, 1, 2, 3, 8, 255, -1, -9, (1 << 59) - 1, -(1 << 59), 1 << 62]))])

    def source(self):
        return self.register() if self.draw.random() < 0.8 else self.constant()

    def destination(self):
        places = [("y", r) for r, what in enumerate(self.y or []) if what != "mark"]
        return self.draw.choice(places) if places and self.draw.random() < 0.3 else ("x", self.draw.randrange(6))

    def some_kind(self, test, *more):
        """Mostly one of that kind, or one that is tested for it: or what is drawn would nearly always end here."""
        what = self.register()
        if what[0] in "xy" and self.draw.random() < 0.7:
            self.emit(test, self.fails_to(), what, *more)
        return what

    def number(self):
        return self.draw.choice([("i", 3), ("i", (1 << 59) - 1), ("literal", 12), ("literal", 13), ("literal", 10)])

    def holds(self, place):
        if place[0] == "x":
            self.x.add(place[1])
        else:
            self.y[place[1]] = "term"

    def live(self):
        """Registers below it hold terms."""
        most = next(r for r in range(20) if r not in self.x)
        return self.draw.choice([most, most, self.draw.randrange(most + 1)])

    def kept(self, live):
        self.x = {r for r in self.x if r < live}
        self.words = 0

    def new_label(self):
        self.label_count += 1
        return self.label_count

    def fails_to(self, without=()):
        """A label further down."""
        x = self.x - set(without)
        if self.waiting and self.draw.random() < 0.5:
            label = self.draw.choice(self.waiting)
            label[1].intersection_update(x)
            return ("f", label[0])
        self.waiting.append((self.new_label(), set(x)))
        return ("f", self.waiting[-1][0])

    def place(self, label):
        self.waiting.remove(label)
        self.emit("label", ("u", label[0]))
        self.x &= label[1]
        self.words = 0
        self.floats = set()
        self.y = None if self.y is None else [what if what == "mark" else "term" for what in self.y]

    # ---- what is drawn ----

    def move(self):
        to = self.destination()
        self.emit("move", self.source(), to)
        self.holds(to)

    def swap(self):
        if len(self.x) >= 2:
            a, b = self.draw.sample(sorted(self.x), 2)
            self.emit("swap", ("x", a), ("x", b))

    def test(self):
        what = self.register()
        kind = self.draw.randrange(8)
        if kind == 0:
            self.emit("test_arity", self.fails_to(), what, ("u", self.draw.randrange(4)))
        elif kind == 1:
            self.emit("is_tagged_tuple", self.fails_to(), what, ("u", self.draw.randrange(1, 4)), ("atom", self.draw.choice(ATOMS)))
        elif kind == 2:
            self.emit("is_function2", self.fails_to(), what, ("i", self.draw.randrange(3)))
        else:
            self.emit(self.draw.choice(TESTS), self.fails_to(), what)

    def all_tests(self):
        """What is none of all kinds but one."""
        what, tests = self.register(), self.draw.sample(TESTS, len(TESTS))
        if what[0] not in "xy" or not self.waiting:
            return
        out = self.fails_to()
        for test in tests[self.draw.randrange(3):]:
            on = self.new_label()
            self.emit(test, ("f", on), what)
            self.emit("jump", out)
            self.emit("label", ("u", on))

    def compare(self):
        self.emit(self.draw.choice(COMPARISONS), self.fails_to(), self.source(), self.source())

    def select(self):
        what, labels = self.register(), [self.fails_to() for _ in range(4)]
        if self.draw.random() < 0.5:
            items = [i for n in self.draw.sample(range(5), 3) for i in (("u", n), self.draw.choice(labels))]
            self.emit("select_tuple_arity", what, labels[0], ("list", items))
        else:
            kind = self.draw.choice(["atom", "i"])
            values = [(kind, v) for v in self.draw.sample(ATOMS if kind == "atom" else [0, 1, 2, 8, -1], 3)]
            self.emit("select_val", what, labels[0], ("list", [i for v in values for i in (v, self.draw.choice(labels))]))
        self.place(self.draw.choice(self.waiting))

    def take_apart(self):
        what, a = self.draw.randrange(4), self.destination()
        if what == 0:
            self.emit(self.draw.choice(["get_hd", "get_tl"]), self.some_kind("is_nonempty_list"), a)
        elif what == 1:
            b = self.destination()
            self.emit("get_list", self.some_kind("is_nonempty_list"), a, b)
            self.holds(b)
        else:
            source = self.some_kind("is_tuple")
            if source[0] in "xy" and self.draw.random() < 0.5:
                self.emit("test_arity", self.fails_to(), source, ("u", 2))
            self.emit("get_tuple_element", source, ("u", self.draw.randrange(3)), a)
        self.holds(a)

    def reserve(self, words):
        if self.words < words:
            live = self.live()
            self.emit("test_heap", ("u", words), ("u", live))
            self.kept(live)
            self.words = words
        self.words -= words

    def build(self):
        a = self.destination()
        if self.draw.random() < 0.5:
            self.reserve(2)
            self.emit("put_list", self.source(), self.source(), a)
        else:
            count = self.draw.randrange(4)
            self.reserve(count + 1)
            self.emit("put_tuple2", a, ("list", [self.source() for _ in range(count)]))
        self.holds(a)

    def guard(self):
        arity = self.draw.choice([1, 1, 2])
        a, body = self.destination(), self.draw.random() < 0.1
        import_ = ("import", "erlang", self.draw.choice(["hd", "tl", "is_list", "not", "node", "self"] if arity == 1 else
                                                        ["element", "=:=", "<", "and", "==", "xor"]), arity)
        if import_[2] == "self":
            self.emit("bif0", ("import", "erlang", "self", 0), a)
        else:
            self.emit("bif%d" % arity, ("f", 0) if body else self.fails_to(), import_, *(self.source() for _ in range(arity)), a)
        self.holds(a)

    def gc_guard(self):
        arity = self.draw.choice([1, 2, 2, 3])
        live = self.live()
        sources, a = [self.source() for _ in range(arity)], self.destination()
        out = ("f", 0) if self.draw.random() < 0.1 else self.fails_to({r for r in self.x if r >= live})
        self.emit("gc_bif%d" % arity, out, ("u", live), ("import", "erlang", self.draw.choice(GUARDS[arity]), arity), *sources, a)
        self.kept(live)
        self.holds(a)

    def map_fields(self):
        source = self.register()
        keys = self.draw.sample([("i", 0), ("i", 1), ("i", 7), ("atom", "a"), ("i", 39)], self.draw.randrange(1, 4))
        if self.draw.random() < 0.3:
            self.emit("has_map_fields", self.fails_to(), source, ("list", keys))
            return
        places = [self.destination() for _ in keys]
        self.emit("get_map_elements", self.fails_to(), source, ("list", [i for pair in zip(keys, places) for i in pair]))
        for place in places:
            self.holds(place)

    def new_map(self):
        source = self.some_kind("is_map")
        if self.draw.random() < 0.3:
            source = ("literal", self.draw.choice([4, 5, 6]))
        live, a = self.live(), self.destination()
        items = [i for _ in range(self.draw.randrange(1, 4)) for i in (self.source(), self.source())]
        self.emit(self.draw.choice(["put_map_assoc", "put_map_assoc", "put_map_exact"]), ("f", 0), source, a, ("u", live), ("list", items))
        self.kept(live)
        self.holds(a)

    def update_record(self):
        size, a = self.draw.randrange(1, 4), self.destination()
        source = self.some_kind("test_arity", ("u", size))
        places = sorted(self.draw.sample(range(1, size + 1), self.draw.randrange(1, size + 1)))
        self.emit("update_record", ("atom", self.draw.choice(["copy", "reuse"])), ("u", size), source, a,
                  ("list", [i for n in places for i in (("u", n), self.source())]))
        self.words = 0
        self.holds(a)

    def native_record(self):
        live, a = self.live(), self.destination()
        self.emit("put_record", ("f", 0), ("atom", "r"), NIL, a, ("u", live), ("list", []))
        self.kept(live)
        self.holds(a)

    def float_arithmetic(self):
        self.emit("fmove" if self.draw.random() < 0.5 else "fconv", self.some_kind("is_float"), ("fr", 0))
        self.emit("fconv", self.number(), ("fr", 1))
        self.emit(self.draw.choice(["fadd", "fsub", "fmul", "fdiv"]), ("f", 0), ("fr", 0), ("fr", 1), ("fr", 2))
        a = self.destination()
        self.reserve(2)
        self.emit("fmove", ("fr", 2), a)
        self.words = 0
        self.holds(a)

    def match(self):
        """A context, some steps in it, and the rest as a bit string."""
        draw, context, live = self.draw, ("x", draw_register(self.draw)), self.live()
        out = self.fails_to({r for r in self.x if r >= live} | {context[1]})
        self.emit("bs_start_match4", out, ("u", live), self.source(), context)
        self.kept(live)
        self.holds(context)
        others = lambda: ("x", draw.choice([r for r in range(6) if r != context[1]]))
        for _ in range(draw.randrange(4)):
            step, place = draw.randrange(8), others()
            flags = ("u", draw.choice([0, 2, 4, 6]))
            size = draw.choice([("i", 8), ("i", 3), ("i", 64), ("i", 100), others()])
            if size[0] == "x" and (size[1] not in self.x or size == context):
                size = ("i", 16)
            live = next(r for r in range(20) if r not in self.x)
            if live <= context[1]:
                self.emit("move", NIL, ("x", live))
                self.holds(("x", live))
                continue
            out = lambda: ("f", self.out_of_match(context, live))
            if step == 0:
                self.emit("bs_get_integer2", out(), context, ("u", live), size, ("u", 1), flags, place)
            elif step == 1:
                self.emit("bs_get_binary2", out(), context, ("u", live), size, ("u", draw.choice([1, 8])), flags, place)
            elif step == 2:
                self.emit("bs_get_float2", out(), context, ("u", live), ("i", draw.choice([16, 32, 64])), ("u", 1), flags, place)
            elif step == 3:
                self.emit("bs_skip_bits2", out(), context, size, ("u", 1), flags)
                continue
            elif step == 4:
                self.emit("bs_get_utf8", out(), context, ("u", live), flags, place)
                self.holds(place)
                continue
            elif step == 5:
                self.emit("bs_test_unit", out(), context, ("u", draw.choice([1, 8, 3])))
                continue
            elif step == 6:
                self.emit("bs_match", out(), context, ("list", [
                    ("atom", "ensure_at_least"), ("u", 24), ("u", 1), ("atom", "integer"), ("u", live), NIL, ("u", 8), ("u", 1), place,
                    ("atom", "binary"), ("u", live), NIL, ("u", 16), ("u", 1), others()]))
                for o in self.code[-1][3][1]:
                    if o[0] == "x":
                        self.holds(o)
                self.words = 0
                self.x = {r for r in self.x if r < live or ("x", r) in self.code[-1][3][1]}
                continue
            else:
                self.emit("bs_get_position", context, place, ("u", live))
                self.emit("bs_set_position", context, place)
            self.kept(live)
            self.holds(place)
        live = next(r for r in range(20) if r not in self.x)
        if live > context[1]:
            self.emit("bs_get_tail", context, context, ("u", live))
            self.kept(live)
        else:
            self.emit("move", NIL, context)

    def out_of_match(self, context, live):
        label = self.new_label()
        self.waiting.append((label, {r for r in self.x if r < live} - {context[1]}))
        return label

    def create_bits(self):
        draw, live, a = self.draw, self.live(), self.destination()
        segments = []
        for n in range(draw.randrange(1, 4)):
            kind = draw.choice(["integer", "binary", "float", "utf8", "utf16", "append"] if n == 0 else ["integer", "binary", "utf32", "utf8"])
            size = {"float": ("i", 64), "utf8": ("atom", "undefined"), "utf16": ("atom", "undefined"), "utf32": ("atom", "undefined"),
                    "append": ("atom", "all"), "binary": draw.choice([("atom", "all"), self.source()])}.get(
                        kind, draw.choice([("i", 8), ("i", 5), ("i", 77), self.source()]))
            unit = ("u", 0) if kind.startswith("utf") else ("u", draw.choice([1, 8]))
            value = self.source() if draw.random() < 0.3 else {
                "float": self.number(), "binary": ("literal", 7), "append": ("literal", 8)}.get(kind, ("i", 233))
            segments += [("atom", kind), ("u", n + 1), unit, NIL, value, size]
        self.emit("bs_create_bin", ("f", 0) if draw.random() < 0.7 else self.fails_to({r for r in self.x if r >= live}), ("u", 0),
                  ("u", live), ("u", 1), a, ("list", segments))
        self.kept(live)
        self.holds(a)

    def old_bits(self):
        live, a = self.live(), self.destination()
        self.emit("bs_init2", ("f", 0), ("u", 8), ("u", 0), ("u", live), ("u", 0), a)
        self.kept(live)
        self.holds(a)
        self.emit("bs_put_integer", ("f", 0), ("i", 64), ("u", 1), ("u", 0), self.source())

    # ---- calls ----

    def in_arguments(self, count):
        for r in range(count):
            if r not in self.x or self.draw.random() < 0.3:
                self.emit("move", self.source(), ("x", r))
                self.holds(("x", r))

    def after_call(self):
        self.x, self.words, self.floats = {0}, 0, set()

    def frame_is_defined(self):
        return self.y is not None and "" not in self.y

    def call_bif(self):
        name, arity = self.draw.choice(BIFS)
        if self.frame_is_defined():
            self.in_arguments(arity)
            self.emit("call_ext", ("u", arity), ("import", "erlang", name, arity))
            self.after_call()

    def call_local(self):
        if self.others and self.frame_is_defined():
            name, arity = self.draw.choice(self.others)
            self.in_arguments(arity)
            self.emit("call", ("u", arity), ("f", "%s/%d" % (name, arity)))
            self.after_call()

    def call_fun(self):
        if self.frame_is_defined():
            arity = self.draw.randrange(3)
            self.in_arguments(arity + 1)
            if self.draw.random() < 0.7:
                self.emit("is_function2", self.fails_to(), ("x", arity), ("i", arity))
            self.emit("call_fun", ("u", arity))
            self.after_call()

    def caught(self):
        """A try whose body is drawn, too."""
        free = [r for r, what in enumerate(self.y or []) if what != "mark"]
        if not free or not self.frame_is_defined():
            return
        mark, handler, on = ("y", self.draw.choice(free)), self.new_label(), self.new_label()
        outside, self.waiting = self.waiting, []
        self.emit("try", mark, ("f", handler))
        self.y[mark[1]] = "mark"
        self.some(self.draw.randrange(1, 5), [self.take_apart, self.guard, self.call_bif, self.call_local, self.test, self.build])
        self.merge_all()
        self.emit("try_end", mark)
        self.y[mark[1]] = "term"
        if 0 not in self.x:
            self.emit("move", NIL, ("x", 0))
        self.emit("jump", ("f", on))
        self.emit("label", ("u", handler))
        self.emit("try_case", mark)
        if self.draw.random() < 0.5:
            self.emit("move", ("x", 2), ("x", 0))
            self.emit("build_stacktrace")
        else:
            self.emit("move", ("x", 1), ("x", 0))
        self.ends_at(on, outside)

    def ends_at(self, label, outside):
        """All ways of a try or a receive meet here, with x0; labels that wait `outside` of it are reached with no more."""
        self.emit("label", ("u", label))
        self.after_call()
        self.waiting = outside
        for _, x in self.waiting:
            x.intersection_update({0})

    def received(self):
        """A message to itself, which is looked at before it is taken out of the queue, or left there."""
        if not self.frame_is_defined():
            return
        again, none, out = self.new_label(), self.new_label(), self.new_label()
        self.emit("move", self.source(), ("x", 1))
        self.emit("bif0", ("import", "erlang", "self", 0), ("x", 0))
        self.emit("send")
        outside, self.waiting = self.waiting, []
        self.emit("label", ("u", again))
        self.emit("loop_rec", ("f", none), ("x", 0))
        self.after_call()
        self.some(self.draw.randrange(4), [self.take_apart, self.test, self.move, self.guard, self.map_fields])
        self.emit("remove_message")
        # Nothing that fails: the labels that wait are where the message is still under examination.
        self.some(self.draw.randrange(2), [self.move, self.build])
        if 0 not in self.x:
            self.emit("move", NIL, ("x", 0))
        self.emit("jump", ("f", out))
        self.merge_all()
        self.emit("loop_rec_end", ("f", again))
        self.emit("label", ("u", none))
        self.emit("wait_timeout", ("f", again), self.draw.choice([("i", 0), ("i", 1), self.constant()]))
        self.emit("timeout")
        self.emit("move", NIL, ("x", 0))
        self.ends_at(out, outside)

    def trim(self):
        """Drops what lies lowest in the frame; ways from before have another one."""
        if self.y is not None and len(self.y) > 1 and not self.waiting and "mark" not in self.y:
            self.emit("trim", ("u", 1), ("u", len(self.y) - 1))
            del self.y[0]

    # ---- the whole ----

    def merge(self):
        if self.waiting:
            self.place(self.draw.choice(self.waiting))

    def merge_all(self):
        while self.waiting:
            self.place(self.waiting[0])

    def some(self, count, chances=None):
        for _ in range(count):
            if chances:
                self.draw.choice(chances)()
            else:
                self.draw.choices([c for _, c in self.chances], [w for w, _ in self.chances])[0]()

    def drawn(self):
        self.some(self.draw.randrange(6))
        self.merge_all()
        live, size = self.live(), self.draw.randrange(1, 4)
        self.emit("allocate", ("u", size), ("u", live))
        self.kept(live)
        self.emit("init_yregs", ("list", [("y", r) for r in range(size)]))
        self.y = size * ["term"]
        for r in range(size):
            if self.draw.random() < 0.8:
                self.emit("move", self.source(), ("y", r))
        self.some(self.draw.randrange(3, 16))
        self.merge_all()
        result = self.source()
        self.emit("move", result, ("x", 0))
        self.emit("deallocate", ("u", len(self.y)))
        self.x, self.y = {0}, None
        self.some(self.draw.randrange(3))
        self.merge_all()
        if 0 not in self.x:
            self.emit("move", NIL, ("x", 0))
        end = self.draw.randrange(12)
        if end == 0:
            self.emit(self.draw.choice(["badmatch", "case_end"]), ("x", 0))
        elif end == 1 and self.arity == 1:
            self.emit("jump", ("f", "info"))
        else:
            self.emit("return")
        return (self.name, self.arity, self.code)


def damaged(draw, code):
    """The same with a few changes that need not make sense: most such code is refused, none may break anything."""
    code = list(code)
    labels = [i[1][1] for i in code if i[0] == "label"]
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(code))
        kind = draw.randrange(8)
        if kind == 0 and code[at][0] != "label" and len(code) > 2:
            del code[at]
        elif kind == 1:
            there = draw.randrange(len(code))
            if "label" not in (code[at][0], code[there][0]):
                code[at], code[there] = code[there], code[at]
        elif kind == 2 and code[at][0] != "label":
            code.insert(draw.randrange(len(code)), code[at])
        elif code[at][0] != "label":
            code[at] = (code[at][0], *(changed(draw, o, labels) for o in code[at][1:]))
    return code


def changed(draw, operand, labels):
    """The operand, or another one that may stand in its place."""
    if operand[0] == "list":
        return ("list", [changed(draw, o, labels) for o in operand[1]])
    if draw.random() < 0.5:
        return operand
    if operand[0] in ("x", "y"):
        beside = (operand[0], max(0, operand[1] + draw.choice([-1, 1])))
        return draw.choice([("x", draw.randrange(6)), ("y", draw.randrange(3)), beside])
    if operand[0] == "f" and isinstance(operand[1], int) and operand[1] != 0 and labels:
        return ("f", draw.choice(labels))
    if operand[0] == "u":
        return ("u", max(0, operand[1] + draw.choice([-1, 1, 1, 8])))
    if operand[0] in ("i", "literal", "atom"):
        literal = ("literal", draw.randrange(len(LITERALS)))
        return draw.choice([("i", draw.choice([0, 1, 8, -1])), literal, ("atom", draw.choice(ATOMS)), NIL])
    return operand


def draw_register(draw):
    return draw.randrange(4)


def module(seed, number):
    draw = random.Random("%d %d" % (seed, number))
    signatures = [("f%d" % n, draw.randrange(1, 4)) for n in range(draw.randrange(1, 4))]
    functions = [Function(draw, n, signatures).drawn() for n in range(len(signatures))]
    if draw.random() < 0.5:
        n = draw.randrange(len(functions))
        functions[n] = (*functions[n][:2], damaged(draw, functions[n][2]))
    return beam_code.Builder("m%07d" % number, functions, literals=LITERALS, records=["r"],
                             label_count=200 + LABELS * len(functions)).data()


# What differs between two runs; the bytes are a reference's in the external format.
MASKS = [(re.compile(p), w) for p, w in (
    (rb"<\d+\.\d+\.\d+>", b"<PID>"), (rb"#Ref<[\d.]+>", b"#REF"), (rb"131,90,0,3,[\d,]+", b"REF"), (rb"#Fun<[^>]*>", b"#FUN"))]


def lines_of(out):
    """{(file, place among its lines): text}"""
    lines, counts = {}, {}
    for line in out.splitlines():
        name, _, text = line.partition(b" ")
        for pattern, word in MASKS:
            text = pattern.sub(word, text)
        counts[name] = counts.get(name, 0) + 1
        lines[name, counts[name]] = text
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True, metavar="BIN")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=0, help="instead of --seconds")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where the last modules are left")
    parser.add_argument("--show", action="store_true", help="what came of each")
    options = parser.parse_args()
    minivm = shutil.which(options.minivm) or parser.error("no such program: %s" % options.minivm)
    minivm = str(pathlib.Path(minivm).resolve())
    number, failed, counts = options.first, [], {"refused": 0, "called": 0}
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        subprocess.run(["erlc", "-o", str(place), str(FOLDER / "random_code.erl")], check=True)
        end = time.monotonic() + options.seconds
        while number < options.first + options.count if options.count else time.monotonic() < end:
            batch = min(BATCH, options.first + options.count - number) if options.count else BATCH
            folder = options.keep or place / "modules"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for n in range(number, number + batch):
                (folder / ("m%07d.beam" % n)).write_bytes(module(options.seed, n))
            number = run_batch(minivm, place, folder, number, batch, failed, counts, options)
    print("seed %d: %s" % (options.seed, ", ".join("%d %s" % (n, w) for w, n in counts.items())))
    print("%d passed, %d failed" % (number - options.first - len(set(failed)), len(set(failed))))
    return 1 if failed else 0


def run_batch(minivm, place, folder, number, batch, failed, counts, options):
    """The number of the next module: behind the one that ended the program, if one has."""
    outcomes = []
    for engine in ("interp", "jit"):
        command = ["timeout", "-k", "5", str(LIMIT_S), minivm, "run", "-S", "1", "--engine", engine]
        done = subprocess.run([*command, str(place / "random_code.beam"), str(folder)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=place, check=False)
        if done.returncode != 0 or any(report in done.stderr for report in REPORTS):
            names = re.findall(rb"^m(\d+)\.beam", done.stdout, re.MULTILINE)
            last = int(names[-1]) if names else number
            print("module %d (%s, --seed %d --first %d --count 1): status %d\n%s" % (
                last, engine, options.seed, last, done.returncode, done.stderr.decode("utf-8", "replace")[:3000]), flush=True)
            failed.append(last)
            return last + 1
        outcomes.append(lines_of(done.stdout))
        if options.show:
            print(done.stdout.decode("utf-8", "replace"))
    for key, text in outcomes[0].items():
        other = outcomes[1].get(key)
        counts["refused"] += text.startswith(b"{refused")
        counts["called"] += text.startswith(b"{f")
        limited = any(word in (text + other if other else b"") for word in (b"ran_on", b"ended"))
        not_itself = re.match(rb"\{f\d+,\{(false|true,false)", text) is not None
        if (other != text and not limited) or not_itself:
            n = int(key[0][1:8])
            failed.append(n)
            print("module %d (--seed %d --first %d --count 1): interp and jit:\n  %s\n  %s" % (
                n, options.seed, n, text.decode("utf-8", "replace")[:1500], (other or b"nothing").decode("utf-8", "replace")[:1500]), flush=True)
    return number + batch


if __name__ == "__main__":
    sys.exit(main())
