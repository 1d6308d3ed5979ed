#!/usr/bin/env python3
"""Writes modules in the compiler's assembly, from a seed: operand shapes that erlc hardly writes.

    generate_asm.py --seed N [--functions N] [--out DIR]

As in generate.py a function is called with tuples of edge values and its answer depends on them alone.
It is a row of steps; while they are written, the generator keeps track of which registers hold what,
so that erlc's validator accepts nearly all of it. At its end, and wherever a test fails, a function
answers with every register it knows to hold a term, so a value that went to the wrong place shows.
run_generated.py compiles it with +from_asm +no_postopt, which leaves it as it is.
"""

import argparse
import pathlib
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import values  # noqa: E402  (needs the path above)
from generate import CALLS_PER_FUNCTION, Function  # noqa: E402
from tree import Node, items, smaller as smaller_trees  # noqa: E402

HINTS = ("int", "small", "float", "number", "atom", "bool", "list", "ints", "tuple", "map", "bin", "bits",
         "any")
FITS = {"number": ("int", "small", "float"), "int": ("int", "small"), "list": ("list", "ints"),
        "bits": ("bits", "bin"), "atom": ("atom", "bool")}
HINT_WEIGHTS = (6, 3, 3, 2, 1, 1, 3, 1, 3, 2, 4, 3, 2)
LAST_X = 9  # registers above the arguments that are used; now and then one far above
FAR_X = (15, 16, 31, 255, 1022)
TYPE_TESTS = ("is_integer", "is_float", "is_number", "is_atom", "is_boolean", "is_pid", "is_port",
              "is_reference", "is_nil", "is_list", "is_nonempty_list", "is_binary", "is_bitstr",
              "is_tuple", "is_map", "is_function")
COMPARISONS = ("is_lt", "is_ge", "is_eq", "is_ne", "is_eq_exact", "is_ne_exact")
ARITHMETIC = ("+", "-", "*", "div", "rem", "band", "bor", "bxor", "bsl", "bsr", "/")
COMPARING_BIFS = ("==", "/=", "=:=", "=/=", "<", ">=", "=<", ">")
ATOMS = ("a", "b", "ok", "true", "false", "rec0", "'hello world'")


class State:
    """What registers hold where code is being written.

    "term"; "context" of bs_start_match; "mark" of try and catch; "set" after init_yregs, which the
    validator lets nobody read.
    """

    def __init__(self, hints):
        self.x = {r: "term" for r in range(len(hints))}
        self.y = {}
        self.frame = None
        self.floats = set()
        self.known = {}  # operand -> what a test has told: "integer", "float", ("tuple", arity), ...
        self.hints = {"{x,%d}" % r: hint for r, hint in enumerate(hints)}  # what is likely there
        self.caught = False

    def live(self):
        count = 0
        while count in self.x:
            count += 1
        return count

    def terms(self):
        return ["{x,%d}" % r for r, k in sorted(self.x.items()) if k == "term"] + [
            "{y,%d}" % r for r, k in sorted(self.y.items()) if k == "term"]


class Assembler:
    def __init__(self, seed, name, count):
        self.rng = random.Random(seed)
        self.name = name
        self.count = count
        self.next_label = 1
        self.functions = []
        self.state = None
        self.lines = []
        self.ends = []  # blocks to put behind the steps
        self.recovering = False
        self.pending = []  # tests of this step that may fail, with the registers there

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, sequence):
        return self.rng.choice(sequence)

    def label(self):
        self.next_label += 1
        return self.next_label - 1

    def emit(self, text, *arguments):
        self.lines.append("    " + (text % arguments if arguments else text) + ".")

    # ---- operands ----

    def constant(self, hint=None):
        hint = hint or self.rng.choices(HINTS, HINT_WEIGHTS)[0]
        if hint in ("int", "small"):
            return "{integer,%s}" % values.literal(self.rng, hint)
        if hint == "number":
            return self.constant(self.pick(("int", "float")))
        if hint == "float":
            return "{float,%s}" % values.float_text(self.rng)
        if hint in ("atom", "bool"):
            return "{atom,%s}" % (self.pick(ATOMS) if hint == "atom" else self.pick(("true", "false")))
        text = values.literal(self.rng, hint)
        if text == "[]":
            return "nil"
        if text.lstrip("-").isdigit():
            return "{integer,%s}" % text
        if text[0] in "abcdefghijklmnopqrstuvwxyz'":
            return "{atom,%s}" % text
        try:
            float(text)
            return "{float,%s}" % text
        except ValueError:
            return "{literal,%s}" % text

    def likely(self, hint):
        """A register that probably holds such a value, or None."""
        fits = FITS.get(hint, (hint,))
        names = [t for t in self.state.terms() if self.state.hints.get(t) in fits]
        return self.pick(names) if names and self.chance(0.75) else None

    def source(self, hint=None):
        likely = hint and self.likely(hint)
        if likely:
            return likely
        terms = self.state.terms()
        if terms and self.chance(0.8):
            return self.pick(terms)
        return self.constant(hint)

    def register(self, hint=None):
        likely = hint and self.likely(hint)
        if likely:
            return likely
        terms = self.state.terms()
        if terms:
            return self.pick(terms)
        self.emit("{move,%s,{x,0}}", self.constant())
        self.define("{x,0}")
        return "{x,0}"

    def destination(self):
        s = self.state
        if s.frame and self.chance(0.4):
            usable = [r for r in range(s.frame) if s.y.get(r) in ("term", "set")]
            if usable:
                return "{y,%d}" % self.pick(usable)
        if self.chance(0.03):
            return "{x,%d}" % self.pick(FAR_X)
        return "{x,%d}" % self.rng.randint(0, LAST_X)

    def define(self, register, known=None, kind="term", hint=None):
        s = self.state
        number = int(register[3:-1])
        (s.x if register[1] == "x" else s.y)[number] = kind
        s.known.pop(register, None)
        s.hints.pop(register, None)
        if known:
            s.known[register] = known
            hint = hint or {"cons": "list", "integer": "int", "range": "small", "tuple": "tuple"}.get(
                known if isinstance(known, str) else known[0], known)
        if hint:
            s.hints[register] = hint

    def collect(self, needed=()):
        """The Live operand of an instruction; what lies above it is gone afterwards."""
        s = self.state
        live = s.live()
        if self.chance(0.2):
            live = self.rng.randint(0, live)
        for number in [r for r in s.x if r >= live]:
            del s.x[number]
            s.known.pop("{x,%d}" % number, None)
        return live

    # ---- where tests fail ----

    def fail(self):
        """A label to fail to from here: it answers with what is known to be a term here."""
        s = self.state
        label = self.label()
        if self.recovering:
            self.pending.append((label, dict(s.x), dict(s.y)))
            return label
        terms = s.terms()
        self.rng.shuffle(terms)
        self.ends.append(["  {label,%d}." % label] + self.finish_lines(terms[:6] + ["{atom,failed}"]))
        return label

    def join(self):
        """Where tests of this step failed, what it did not write gets a value, and the next one is gone
        on with."""
        s = self.state
        if not self.pending:
            return
        end = self.label()
        self.lines.append("  {label,%d}." % end)
        for label, x, y in self.pending:
            lines = ["  {label,%d}." % label]
            for letter, now, then in (("x", s.x, x), ("y", s.y, y)):
                for number in sorted(now):
                    if now[number] == "term" and then.get(number) != "term":
                        lines.append("    {move,%s,{%s,%d}}." % (self.constant(), letter, number))
            lines.append("    {jump,{f,%d}}." % end)
            self.ends.append(lines)
        s.known = {}
        self.pending = []

    def finish_lines(self, operands):
        """Answer with a tuple of these."""
        s = self.state
        lines = []
        live = s.live()
        if any(o.startswith("{x") and int(o[3:-1]) >= live for o in operands):
            operands = [o for o in operands if not o.startswith("{x") or int(o[3:-1]) < live]
        if s.caught:
            lines.append("    {try_end,{y,%d}}." % s.caught_at)
        lines.append("    {test_heap,%d,%d}." % (len(operands) + 1, live))
        lines.append("    {put_tuple2,{x,0},{list,[%s]}}." % ",".join(operands))
        if s.frame is not None:
            lines.append("    {deallocate,%d}." % s.frame)
        lines.append("    return.")
        return lines

    # ---- steps: each writes whole instructions and keeps the state true ----

    def step_move(self):
        source, to = self.source(), self.destination()
        known, hint = self.state.known.get(source), self.state.hints.get(source)
        self.emit("{move,%s,%s}", source, to)
        self.define(to, known, hint=hint)

    def step_moves(self):
        for _ in range(self.rng.randint(2, 4)):
            self.step_move()

    def step_swap(self):
        a, b = self.register(), self.register()
        if a != b:
            self.emit("{swap,%s,%s}", a, b)
            s = self.state
            first, second = s.known.get(a), s.known.get(b)
            self.define(a, second)
            self.define(b, first)

    def step_put_tuple(self):
        count = self.rng.randint(0, 6)
        sources = [self.source() for _ in range(count)]
        live = self.collect()
        sources = [o for o in sources if not o.startswith("{x") or int(o[3:-1]) < live]
        if not sources:
            return
        self.emit("{test_heap,%d,%d}", len(sources) + 1, live)
        to = self.destination()
        self.emit("{put_tuple2,%s,{list,[%s]}}", to, ",".join(sources))
        self.define(to, ("tuple", len(sources)))

    def step_put_list(self):
        count = self.rng.randint(1, 3)
        live = self.collect()
        self.emit("{test_heap,%d,%d}", 2 * count, live)
        for _ in range(count):
            head, tail, to = self.source(), self.source("list"), self.destination()
            self.emit("{put_list,%s,%s,%s}", head, tail, to)
            self.define(to, "cons")

    def step_get_list(self):
        source = self.register("list")
        if self.state.known.get(source) != "cons":
            self.emit("{test,is_nonempty_list,{f,%d},[%s]}", self.fail(), source)
        self.state.known[source] = "cons"
        kind = self.rng.randint(0, 4)
        if kind <= 2:
            head = source if kind == 1 else self.destination()
            tail = source if kind == 2 else self.destination()
            if head == tail:
                return
            self.emit("{get_list,%s,%s,%s}", source, head, tail)
            self.define(head)
            self.define(tail)
        else:
            to = self.destination() if self.chance(0.7) else source
            self.emit("{%s,%s,%s}", self.pick(("get_hd", "get_tl")), source, to)
            self.define(to)

    def step_get_element(self):
        source = self.register("tuple")
        known = self.state.known.get(source)
        if not (isinstance(known, tuple) and known[0] == "tuple"):
            arity = self.pick((1, 2, 2, 2, 3, 4, 4))
            kind = self.rng.randint(0, 2)
            if kind == 0:
                self.emit("{test,is_tagged_tuple,{f,%d},[%s,%d,{atom,%s}]}", self.fail(), source, arity,
                          self.pick(("rec0", "rec1", "a", "ok")))
            else:
                self.emit("{test,is_tuple,{f,%d},[%s]}", self.fail(), source)
                self.emit("{test,test_arity,{f,%d},[%s,%d]}", self.fail(), source, arity)
            known = self.state.known[source] = ("tuple", arity)
        for _ in range(self.rng.randint(1, 3)):
            if known[1] == 0:
                return
            to = self.destination() if self.chance(0.8) else source
            self.emit("{get_tuple_element,%s,%d,%s}", source, self.rng.randrange(known[1]), to)
            self.define(to)
            if to == source:
                return

    def typed(self, operand):
        """The operand with the type that a test has proved."""
        known = self.state.known.get(operand)
        if not self.chance(0.7):
            return operand
        if known == "integer":
            return "{tr,%s,{t_integer,any}}" % operand
        if known == "float":
            return "{tr,%s,{t_float,any}}" % operand
        if isinstance(known, tuple) and known[0] == "range":
            return "{tr,%s,{t_integer,{%d,%d}}}" % (operand, known[1], known[2])
        return operand

    def step_know(self):
        """A test that later operands are typed by."""
        register = self.register()
        if register in self.state.known:
            return
        kind = self.pick(("integer", "integer", "float", "range"))
        if kind == "range":
            mask = self.pick((63, 255, (1 << 59) - 1, (1 << 60) - 1, (1 << 58) - 1, 1))
            live = self.collect()
            register = self.register()
            if register in self.state.known or live < self.state.live():
                return
            to = self.destination()
            self.emit("{test,is_integer,{f,%d},[%s]}", self.fail(), register)
            self.emit("{gc_bif,'band',{f,0},%d,[%s,{integer,%d}],%s}", live, register, mask, to)
            self.define(to, ("range", 0, mask))
            return
        self.emit("{test,is_%s,{f,%d},[%s]}", kind, self.fail(), register)
        self.state.known[register] = kind

    def step_arithmetic(self):
        live = self.collect()
        fail = 0 if self.state.caught or self.chance(0.3) else self.fail()
        name = self.pick(ARITHMETIC)
        if self.chance(0.15):
            name, operands = self.pick(("-", "bnot")), [self.source("int")]
        elif name in ("bsl", "bsr"):
            operands = [self.source("int"), "{integer,%s}" % values.literal(self.rng, "small")]
        else:
            operands = [self.source("number"), self.source("int")]
            if self.chance(0.3):
                operands[1] = operands[0]
        to = self.destination()
        self.emit("{gc_bif,'%s',{f,%d},%d,[%s],%s}", name, fail, live,
                  ",".join(self.typed(o) for o in operands), to)
        for operand in operands:  # what the compiler's validator concludes
            self.state.known.pop(operand, None)
        self.define(to, hint="int")

    def step_gc_bif(self):
        name, hint = self.pick((("length", "list"), ("byte_size", "bits"), ("bit_size", "bits"),
                                ("map_size", "map"), ("abs", "number"), ("trunc", "float"), ("round", "float"),
                                ("float", "int"), ("floor", "float"), ("ceil", "float"), ("size", "tuple")))
        live = self.collect()
        fail = 0 if self.state.caught or self.chance(0.3) else self.fail()
        source, to = self.source(hint), self.destination()
        self.emit("{gc_bif,%s,{f,%d},%d,[%s],%s}", name, fail, live, source, to)
        self.state.known.pop(source, None)
        self.define(to, hint="int")

    def step_bif(self):
        kind = self.rng.randint(0, 5)
        to = self.destination()
        fail = 0 if self.state.caught or self.chance(0.3) else self.fail()
        if kind == 0:
            name, sources = self.pick(COMPARING_BIFS), [self.source(), self.source()]
            fail = 0
        elif kind == 1:
            name, sources = "element", [self.source("small"), self.source("tuple")]
        elif kind == 2:
            name, sources = self.pick(("hd", "tl", "tuple_size", "not")), [self.register("list")]
        elif kind == 3:
            name, sources = self.pick(("and", "or", "xor")), [self.source("bool"), self.source("bool")]
        elif kind == 4:
            name, sources = self.pick(("is_integer", "is_tuple", "is_atom", "is_map")), [self.source()]
            fail = 0
        else:
            name, sources = self.pick((("self", []), ("node", []), ("map_get", [
                self.source("atom"), self.source("map")]), ("is_map_key", [
                    self.source("atom"), self.source("map")])))
            if not sources:
                fail = 0
        self.emit("{bif,'%s',{f,%d},[%s],%s}", name, fail, ",".join(sources), to)
        for source in sources:
            self.state.known.pop(source, None)
        self.define(to)

    def step_test(self):
        if self.chance(0.5):
            register = self.register()
            if register in self.state.known:
                return
            self.emit("{test,%s,{f,%d},[%s]}", self.pick(TYPE_TESTS), self.skip(), register)
        elif self.chance(0.15):
            self.emit("{test,is_function2,{f,%d},[%s,%s]}", self.skip(), self.register(),
                      self.pick(("{integer,1}", "{integer,0}", "{integer,256}", self.source("small"))))
        else:
            a, b = self.source(), self.source()
            if self.chance(0.2):
                b = a
            if a in self.state.known or b in self.state.known:
                return
            self.emit("{test,%s,{f,%d},[%s,%s]}", self.pick(COMPARISONS), self.skip(), a, b)
        self.close_skip()

    def skip(self):
        """A label a little further on: both ways meet there, in the same state."""
        self.skipped = self.label()
        return self.skipped

    def close_skip(self):
        """Changes that one of the two ways makes, then the label."""
        s = self.state
        for _ in range(self.rng.randint(0, 2)):
            defined = [t for t in s.terms() if t not in s.known]
            if defined:
                self.emit("{move,%s,%s}", self.source(), self.pick(defined))
        self.lines.append("  {label,%d}." % self.skipped)

    def step_select(self):
        register = self.register()
        s = self.state
        if register in s.known:
            return
        end, other = self.label(), self.label()
        kind = self.rng.randint(0, 3)
        count = self.rng.randint(2, 7)
        if kind == 0:
            keys = sorted(set(values.integer(self.rng) for _ in range(count)))
            keys = ["{integer,%d}" % k for k in keys]
        elif kind == 1:
            first = self.pick((0, 1, -2, (1 << 59) - 2, 60))
            keys = ["{integer,%d}" % (first + k) for k in range(count)]
        elif kind == 2:
            keys = ["{atom,%s}" % k for k in self.rng.sample(values.ATOMS[:10], count)]
        else:
            keys = [str(k) for k in self.rng.sample(range(8), count)]
        self.rng.shuffle(keys)
        labels = [self.label() for _ in keys]
        pairs = ",".join("%s,{f,%d}" % pair for pair in zip(keys, labels))
        if kind == 3:
            self.emit("{test,is_tuple,{f,%d},[%s]}", other, register)
            self.emit("{select_tuple_arity,%s,{f,%d},{list,[%s]}}", register, other, pairs)
        else:
            self.emit("{select_val,%s,{f,%d},{list,[%s]}}", register, other, pairs)
        targets = [t for t in s.terms() if t not in s.known and t != register]
        for number, label in enumerate([*labels, other]):
            self.lines.append("  {label,%d}." % label)
            if targets:
                self.emit("{move,{integer,%d},%s}", number, self.pick(targets))
            self.emit("{jump,{f,%d}}", end)
        self.lines.append("  {label,%d}." % end)

    def step_floats(self):
        s = self.state
        count = self.rng.randint(1, 3)
        for _ in range(count):
            number = self.rng.randint(0, 3)
            source = self.register("number")
            known = s.known.get(source)
            if known == "float":
                self.emit("{fmove,%s,{fr,%d}}", source, number)
            elif self.chance(0.2):
                self.emit("{fmove,{float,%s},{fr,%d}}", values.float_text(self.rng), number)
            else:
                if known != "integer":
                    test = self.pick(("is_number", "is_float"))
                    if known is not None:
                        continue
                    self.emit("{test,%s,{f,%d},[%s]}", test, self.fail(), source)
                    if test == "is_float":
                        s.known[source] = "float"
                self.emit("{fconv,%s,{fr,%d}}", source, number)
            s.floats.add(number)
        for _ in range(self.rng.randint(1, 3)):
            if not s.floats:
                return
            a, b = self.pick(sorted(s.floats)), self.pick(sorted(s.floats))
            to = self.rng.randint(0, 4)
            if self.chance(0.15):
                self.emit("{bif,fnegate,{f,0},[{fr,%d}],{fr,%d}}", a, to)
            else:
                self.emit("{bif,%s,{f,0},[{fr,%d},{fr,%d}],{fr,%d}}",
                          self.pick(("fadd", "fsub", "fmul", "fdiv")), a, b, to)
            s.floats.add(to)
        numbers = sorted(s.floats)[:self.rng.randint(1, 3)]
        live = self.collect()
        self.emit("{test_heap,{alloc,[{words,0},{floats,%d},{funs,0}]},%d}", len(numbers), live)
        for number in numbers:
            to = self.destination()
            self.emit("{fmove,{fr,%d},%s}", number, to)
            self.define(to, "float")
        s.floats.clear()

    def step_map(self):
        kind = self.rng.randint(0, 3)
        if kind <= 1:
            live = self.collect()
            if not self.state.terms():
                return
            pairs = [o for _ in range(self.rng.randint(1, 3)) for o in (
                self.pick(("{atom,a}", "{atom,b}", "{integer,1}", "{atom,ok}", "{literal,{1}}")),
                self.source())]
            keys = pairs[::2]
            if len(set(keys)) < len(keys):
                return
            order = ("{integer", "{atom", "{literal")  # the compiler sorts them
            pairs = [o for pair in sorted(zip(keys, pairs[1::2]), key=lambda p: (
                order.index(p[0].split(",")[0]), p[0])) for o in pair]
            source = "{literal,#{}}" if self.chance(0.3) else self.register("map")
            known = self.state.known.get(source)
            if source.startswith("{literal"):
                name = "put_map_assoc"
            else:
                name = self.pick(("put_map_assoc", "put_map_exact"))
                if known != "map":
                    if known is not None:
                        return
                    self.emit("{test,is_map,{f,%d},[%s]}", self.fail(), source)
                    self.state.known[source] = "map"
            to = self.destination()
            self.emit("{%s,{f,0},%s,%s,%d,{list,[%s]}}", name, source, to, live, ",".join(pairs))
            self.define(to, "map")
            return
        source = self.register("map")
        known = self.state.known.get(source)
        if known != "map":
            if known is not None:
                return
            self.emit("{test,is_map,{f,%d},[%s]}", self.fail(), source)
            self.state.known[source] = "map"
        keys = self.rng.sample(("{atom,a}", "{atom,b}", "{integer,1}", "{atom,x}", "{literal,{1}}",
                                "{literal,<<1>>}", "{integer,31}"), self.rng.randint(1, 3))
        if kind == 2:
            self.emit("{test,has_map_fields,{f,%d},%s,{list,[%s]}}", self.fail(), source, ",".join(keys))
        else:
            targets = []
            while len(targets) < len(keys):
                to = self.destination()
                if to not in targets and to != source:
                    targets.append(to)
            if self.chance(0.3):
                targets[-1] = source
            # a failure leaves some of them written: the label may not look at them
            before, after = dict(self.state.x), dict(self.state.y)
            for to in targets:
                (self.state.x if to[1] == "x" else self.state.y).pop(int(to[3:-1]), None)
            fail = self.fail()
            self.state.x, self.state.y = before, after
            self.emit("{get_map_elements,{f,%d},%s,{list,[%s]}}", fail, source,
                      ",".join("%s,%s" % pair for pair in zip(keys, targets)))
            for to in targets:
                self.define(to)

    def step_match(self):
        """A bit string is matched: a few fields, each into any register."""
        s = self.state
        source = self.register("bits")
        if s.known.get(source) is not None or s.live() > 8:
            return
        context = "{x,%d}" % s.live()
        live = self.match_live()
        if source.startswith("{x") and int(source[3:-1]) >= live:
            return
        fail = self.fail()
        self.emit("{test,bs_start_match3,{f,%d},%d,[%s],%s}", fail, live, source, context)
        self.define(context, kind="context")
        if self.chance(0.3) and s.frame:
            free = [r for r in range(s.frame) if s.y.get(r) == "term"]
            if free:  # the context lives in a y register
                there = self.pick(free)
                self.emit("{move,%s,{y,%d}}", context, there)
                s.x.pop(int(context[3:-1]))
                context = "{y,%d}" % there
                self.define(context, kind="context")
        for _ in range(self.rng.randint(1, 4)):
            self.match_field(context)
        number = int(context[3:-1])
        kind = self.rng.randint(0, 2)
        if kind == 0:
            self.emit("{bs_get_tail,%s,%s,%d}", context, context, self.match_live())
            self.define(context)
        else:
            if kind == 1:
                self.emit("{test,%s,{f,%d},[%s,%d]}", self.pick(("bs_test_tail2", "bs_test_unit")),
                          self.fail(), context, self.pick((1, 8, 16, 7)))
            if context.startswith("{x"):
                s.x.pop(number)
            else:
                self.emit("{init_yregs,{list,[%s]}}", context)
                self.define(context, kind="set")

    def match_live(self):
        s = self.state
        live = s.live()
        for number in [r for r in s.x if r >= live]:
            del s.x[number]
            s.known.pop("{x,%d}" % number, None)
        return live

    def match_field(self, context):
        flags = "{field_flags,[%s]}" % ",".join(self.rng.sample(("signed", "little", "native"),
                                                                self.rng.randint(0, 1)))
        kind = self.rng.randint(0, 7)
        live = self.match_live()
        to = self.destination()
        # OTP's utf32 writes before it fails
        kept_x, kept_y = dict(self.state.x), dict(self.state.y)
        if to != context:
            (self.state.x if to[1] == "x" else self.state.y).pop(int(to[3:-1]), None)
        fail = self.fail()
        self.state.x, self.state.y = kept_x, kept_y
        if to == context:
            return
        size = "{integer,%d}" % self.pick((0, 1, 3, 7, 8, 8, 16, 24, 31, 32, 33, 59, 60, 61, 64, 65, 128))
        if self.chance(0.2):
            size = self.pick(self.state.terms() or [size])
        if kind <= 2:
            self.emit("{test,bs_get_integer2,{f,%d},%d,[%s,%s,%d,%s],%s}", fail, live, context, size,
                      self.pick((1, 1, 1, 8, 3)), flags, to)
            self.state.known.pop(size, None)
            self.define(to)
        elif kind == 3:
            self.emit("{test,bs_get_float2,{f,%d},%d,[%s,{integer,%d},1,%s],%s}", fail, live, context,
                      self.pick((16, 32, 64)), flags, to)
            self.define(to)
        elif kind == 4:
            self.emit("{test,bs_get_binary2,{f,%d},%d,[%s,%s,%d,%s],%s}", fail, live, context,
                      self.pick(("{atom,all}", "{integer,1}", "{integer,3}", size)), self.pick((1, 8, 4)),
                      flags, to)
            self.define(to)
        elif kind == 5:
            self.emit("{test,bs_skip_bits2,{f,%d},[%s,%s,%d,%s]}", fail, context, size,
                      self.pick((1, 8)), flags)
        elif kind == 6:
            text = self.pick(("<<97>>", "<<\"ab\">>", "<<0>>", "<<16#5A>>"))
            bits = 8 * (2 if "ab" in text else 1)
            self.emit("{test,bs_match_string,{f,%d},[%s,%d,{string,%s}]}", fail, context,
                      self.pick((bits, bits, 5, 3)), text)
        else:
            coding = self.pick(("utf8", "utf16", "utf32"))
            if self.chance(0.5):
                self.emit("{test,bs_get_%s,{f,%d},%d,[%s,%s],%s}", coding, fail, live, context, flags, to)
                self.define(to)
            else:
                self.emit("{test,bs_skip_%s,{f,%d},[%s,%d,%s]}", coding, fail, context, live, flags)

    def step_create(self):
        """A bit string is built of any operands."""
        live = self.collect()
        fail = 0 if self.state.caught or self.chance(0.4) else self.fail()
        segments = []
        first = True
        for number in range(self.rng.randint(1, 4)):
            flags = self.pick(("nil", "{literal,[little]}", "{literal,[signed]}", "{literal,[native]}"))
            kind = self.pick(("integer", "integer", "float", "binary", "string", "utf8", "utf16", "utf32",
                              "append"))
            if kind == "append" and not first:
                kind = "binary"
            first = False
            if kind == "integer":
                segments += ["{atom,integer}", str(number), "1", flags, self.source("int"),
                             "{integer,%d}" % self.pick((0, 1, 7, 8, 9, 16, 31, 32, 59, 60, 61, 64, 65, 130))]
            elif kind == "float":
                segments += ["{atom,float}", str(number), "1", flags, self.source("float"),
                             "{integer,%d}" % self.pick((16, 32, 64))]
            elif kind in ("binary", "append"):
                unit = self.pick((1, 8))
                size = "{atom,all}" if kind == "append" or self.chance(0.6) else "{integer,%d}" % (
                    self.pick((0, 1, 3, 8)))
                segments += ["{atom,%s}" % kind, str(number), str(unit), "nil", self.source("bits"), size]
            elif kind == "string":
                segments += ["{atom,string}", str(number), "8", "nil", "{string,<<\"xyz\">>}",
                             "{integer,3}"]
            else:
                segments += ["{atom,%s}" % kind, str(number), "0", flags, self.source("int"),
                             "{atom,undefined}"]
        to = self.destination()
        self.emit("{bs_create_bin,{f,%d},0,%d,1,%s,{list,[%s]}}", fail, live, to, ",".join(segments))
        for operand in segments:
            self.state.known.pop(operand, None)
        self.define(to, hint="bits")

    def step_call(self):
        """A call forgets x and floats; needs a frame."""
        s = self.state
        if s.frame is None:
            return
        s.floats.clear()
        kind = self.rng.randint(0, 5)
        if kind <= 1:
            self.emit("{move,%s,{x,0}}", self.source())
            self.emit(self.pick(("{call,1,{f,2}}", "{call_ext,1,{extfunc,generated_harness,id,1}}")))
        elif kind == 2:
            self.emit("{call_ext,0,{extfunc,erlang,garbage_collect,0}}")
        elif kind == 3:
            self.emit("{move,%s,{x,0}}", self.source("fun"))
            self.emit("{move,{x,0},{x,1}}")
            self.emit("{move,{literal,fun erlang:abs/1},{x,1}}")
            self.emit("{move,%s,{x,0}}", self.constant("number"))
            self.emit("{call_fun,1}")
        elif kind == 4:
            self.emit("{move,{atom,generated_harness},{x,1}}")
            self.emit("{move,%s,{x,0}}", self.constant())
            self.emit("{move,{atom,id},{x,2}}")
            self.emit("{apply,1}")
        else:
            a, b = self.source("list"), self.constant("list")
            self.emit("{move,%s,{x,0}}", a)
            self.emit("{move,%s,{x,1}}", b)
            self.emit("{call_ext,2,{extfunc,erlang,'++',2}}")
        self.after_call()

    def after_call(self):
        s = self.state
        s.x = {}
        s.known = {k: v for k, v in s.known.items() if k.startswith("{y")}
        s.floats.clear()
        self.define("{x,0}")

    def step_trim(self):
        s = self.state
        if not s.frame or s.frame < 3 or s.caught:
            return
        dropped = self.rng.randint(1, s.frame - 1)
        self.emit("{trim,%d,%d}", dropped, s.frame - dropped)
        s.frame -= dropped
        s.y = {r - dropped: k for r, k in s.y.items() if r >= dropped}
        known = {}
        for operand, what in s.known.items():
            if operand.startswith("{x"):
                known[operand] = what
            elif int(operand[3:-1]) >= dropped:
                known["{y,%d}" % (int(operand[3:-1]) - dropped)] = what
        s.known = known

    def step_init(self):
        s = self.state
        if not s.frame:
            return
        usable = [r for r in range(s.frame) if s.y.get(r) == "term"]
        if usable:
            chosen = self.rng.sample(usable, self.rng.randint(1, len(usable)))
            self.emit("{init_yregs,{list,[%s]}}", ",".join("{y,%d}" % r for r in sorted(chosen)))
            for r in chosen:
                self.define("{y,%d}" % r, kind="set")

    def step_protected(self):
        """Steps inside of try or catch."""
        s = self.state
        if not s.frame or s.caught:
            return
        usable = [r for r in range(s.frame) if s.y.get(r) in ("term", "set")]
        if not usable:
            return
        mark = self.pick(usable)
        kind = self.pick(("try", "catch"))
        handler, end = self.label(), self.label()
        self.emit("{'%s',{y,%d},{f,%d}}", kind, mark, handler)
        before = dict(s.y)
        s.y[mark] = "mark"
        s.known.pop("{y,%d}" % mark, None)
        s.caught, s.caught_at = True, mark
        for _ in range(self.rng.randint(1, 4)):
            self.pick((self.step_move, self.step_arithmetic, self.step_gc_bif, self.step_bif,
                       self.step_put_tuple, self.step_call, self.step_create))()
        self.emit("{move,%s,{x,0}}", self.source())
        if kind == "catch":
            self.lines.append("  {label,%d}." % handler)
            self.emit("{catch_end,{y,%d}}", mark)
            self.emit("{call_ext,1,{extfunc,generated_harness,caught,1}}")
        else:
            self.emit("{try_end,{y,%d}}", mark)
            self.emit("{jump,{f,%d}}", end)
            self.lines.append("  {label,%d}." % handler)
            self.emit("{try_case,{y,%d}}", mark)
            way = self.rng.randint(0, 3)
            if way == 0:
                self.emit("{move,{x,1},{x,0}}")
            elif way == 1:
                self.emit("{test_heap,3,2}")
                self.emit("{put_tuple2,{x,0},{list,[{x,1},{x,0}]}}")
            elif way == 2:
                self.emit("raw_raise")
            else:
                self.emit("{move,{x,2},{x,0}}")
                self.emit("build_stacktrace")
                self.emit("{call_ext,1,{extfunc,generated_harness,own,1}}")
            self.lines.append("  {label,%d}." % end)
        s.caught = False
        self.after_call()
        # Both ways meet: what was written or proved inside of the try does not count.
        s.y = {r: k if before[r] == "term" else before[r] for r, k in s.y.items()}
        s.known = {}
        self.emit("{init_yregs,{list,[{y,%d}]}}", mark)
        self.define("{y,%d}" % mark, kind="set")

    def step_frame(self):
        s = self.state
        if s.frame is not None:
            return
        live = self.collect()
        size = self.rng.randint(0, 8)
        words = self.pick((0, 0, 5))
        if words:
            self.emit("{allocate_heap,%d,%d,%d}", size, words, live)
        else:
            self.emit("{allocate,%d,%d}", size, live)
        s.frame = size
        if size:
            self.emit("{init_yregs,{list,[%s]}}", ",".join("{y,%d}" % r for r in range(size)))
            s.y = {r: "set" for r in range(size)}
            for _ in range(self.rng.randint(1, size)):
                to = "{y,%d}" % self.rng.randrange(size)
                self.emit("{move,%s,%s}", self.source(), to)
                self.define(to)

    def step_unframe(self):
        s = self.state
        if s.frame is None or s.caught or not s.x:
            return
        if self.chance(0.8):
            return
        self.emit("{deallocate,%d}", s.frame)
        s.frame, s.y = None, {}
        s.known = {k: v for k, v in s.known.items() if k.startswith("{x")}

    # ---- functions ----

    STEPS = ((4, "move"), (2, "moves"), (2, "swap"), (3, "put_tuple"), (3, "put_list"), (4, "get_list"),
             (4, "get_element"), (3, "know"), (7, "arithmetic"), (3, "gc_bif"), (4, "bif"), (5, "test"),
             (2, "select"), (3, "floats"), (4, "map"), (5, "match"), (4, "create"), (4, "call"),
             (2, "trim"), (1, "init"), (3, "protected"), (3, "frame"), (1, "unframe"))

    def make_function(self, index):
        name = "f%d" % index
        arity = self.pick((1, 2, 2, 3, 3, 4, 6))
        hints = self.rng.choices(HINTS, HINT_WEIGHTS, k=arity)
        info, entry = self.label(), self.label()
        self.state = State(hints)
        self.ends = []
        head = ["{function,%s,%d,%d}." % (name, arity, entry), "  {label,%d}." % info,
                "    {line,[{location,\"%s.S\",%d}]}." % (self.name, index + 1),
                "    {func_info,{atom,%s},{atom,%s},%d}." % (self.name, name, arity),
                "  {label,%d}." % entry]
        steps = []
        weights, names = zip(*self.STEPS)
        for _ in range(self.rng.randint(3, 14)):
            self.lines = []
            self.recovering = self.chance(0.8)
            getattr(self, "step_" + self.rng.choices(names, weights)[0])()
            self.join()
            if self.lines:
                steps.append(Node("text", ["\n".join(self.lines) + "\n"]))
        self.lines = []
        terms = self.state.terms()
        self.rng.shuffle(terms)
        end = self.rng.randint(0, 9)
        last = self.finish_lines(terms[:12] + ["{atom,done}"])
        if end == 0 and self.state.frame is not None:
            last = ["    {move,%s,{x,0}}." % self.source(), "    {deallocate,%d}." % self.state.frame,
                    self.pick(("    {call_only,1,{f,2}}.", "    return."))]
        elif end == 1 and self.state.frame is not None:
            last = ["    {move,%s,{x,0}}." % self.source(),
                    self.pick(("    {call_last,1,{f,2},%d}.",
                               "    {call_ext_last,1,{extfunc,generated_harness,id,1},%d}."))
                    % self.state.frame]
        elif end == 2 and self.state.frame is not None:
            last = ["    %s." % self.pick(("{badmatch,%s}" % self.source(), "{case_end,%s}" % self.source(),
                                           "if_end"))]
        tails = [Node("text", ["\n".join(lines) + "\n"]) for lines in self.ends]
        node = Node("text", ["\n".join(head) + "\n", items(steps, "", 0), "\n".join(last) + "\n",
                             items(tails, "", 0)])
        function = Function(name, hints, node, 1, False, True)
        for _ in range(CALLS_PER_FUNCTION):
            function.calls.append([self.argument(h) for h in hints])
        return function

    def argument(self, hint):
        return values.argument(self.rng, hint)

    def module(self):
        self.next_label = 5
        for index in range(self.count):
            self.functions.append(self.make_function(index))
        return AsmModule(self.name, self.functions, self.next_label)


class AsmModule:
    suffix = ".S"
    options = ("no_postopt",)

    def __init__(self, name, functions, labels):
        self.name = name
        self.functions = functions
        self.labels = labels
        self.made_as = name

    def only(self, name, as_name, *others):
        result = AsmModule(as_name, [f for f in self.functions if f.name == name or f.name in others],
                           self.labels)
        result.made_as = self.made_as
        return result

    def smaller(self, name):
        reached = self.only(name, self.name)
        if len(reached.functions) < len(self.functions):
            yield reached
            for function in self.functions:
                if function.name != name:
                    yield self.only(name, self.name, function.name)
        for function in self.functions:
            if function.name == name and len(function.calls) > 1:
                half = len(function.calls) // 2
                for calls in (function.calls[:half], function.calls[half:]):
                    yield self.with_changed(function, function.node, calls)
        for function in self.functions:
            for node in smaller_trees(function.node):
                yield self.with_changed(function, node, function.calls)

    def with_changed(self, function, node, calls):
        changed = Function(function.name, function.hints, node, 1, False, True)
        changed.calls = calls
        result = AsmModule(self.name, [changed if f is function else f for f in self.functions],
                           self.labels)
        result.made_as = self.made_as
        return result

    def sources(self):
        return [(self.name, self.text())]

    def text(self):
        calls = ",\n    ".join("{%s,true,[%s]}" % (f.name, ",\n      ".join(
            "[%s]" % ",".join(a) for a in f.calls)) for f in self.functions)
        parts = ["{module,%s}.\n{exports,[{calls,0},{id,1}%s]}.\n{attributes,[]}.\n{labels,%d}.\n" % (
            self.name, "".join(",{%s,%d}" % (f.name, len(f.hints)) for f in self.functions), self.labels),
                 "{function,id,1,2}.\n  {label,1}.\n    {func_info,{atom,%s},{atom,id},1}.\n"
                 "  {label,2}.\n    return.\n" % self.name]
        for function in self.functions:
            parts.append(function.node.text().replace("{atom,%s}" % self.made_as,
                                                      "{atom,%s}" % self.name))
        parts.append("{function,calls,0,4}.\n  {label,3}.\n    {func_info,{atom,%s},{atom,calls},0}.\n"
                     "  {label,4}.\n    {move,{literal,[%s]},{x,0}}.\n    return.\n" % (self.name, calls))
        return "\n".join(parts)


def generate(seed, name, count):
    return Assembler(seed, name, count).module()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--functions", type=int, default=40)
    parser.add_argument("--out", type=pathlib.Path, help="folder for the module (default: print it)")
    options = parser.parse_args()
    module = generate(options.seed, "gen_%d" % options.seed, options.functions)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        path = options.out / (module.name + ".S")
        path.write_text(module.text(), encoding="utf-8")
        print(path)
    else:
        print(module.text())


if __name__ == "__main__":
    main()
