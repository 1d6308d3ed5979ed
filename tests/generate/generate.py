#!/usr/bin/env python3
"""Writes Erlang modules of many small functions, from a seed.

    generate.py --seed N [--functions N] [--out DIR]

A function is called with tuples of edge values (calls/0 of its module lists them). Everything it does
ends, and what it answers depends on its arguments alone: no time, no order of processes, no sizes of
memory. Functions call only functions that were made before them, loops count down, and what a loop
may cost is added up while it is made. run_generated.py compares what engines make of them.
"""

import argparse
import contextlib
import pathlib
import random
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import values  # noqa: E402  (needs the path above)
from tree import Node, items, smaller as smaller_trees  # noqa: E402

HINTS = ("int", "small", "float", "number", "atom", "bool", "list", "ints", "tuple", "map", "bin",
         "bits", "fun", "any")
PARAMETER_WEIGHTS = (5, 3, 3, 2, 1, 1, 2, 2, 2, 2, 3, 2, 1, 3)
# Hints whose values are also values of the other hint.
COVERS = {"number": ("int", "small", "float"), "int": ("small",), "list": ("ints",),
          "bits": ("bin",), "any": HINTS, "atom": ("bool",)}
RECORDS = {"rec0": ("f1", "f2", "f3"), "rec1": ("g1",),
           "rec2": ("h1", "h2", "h3", "h4", "h5", "h6")}
# What one call may cost, in expressions; what a callee may cost to be called at all.
COST_LIMIT = 20000
CALLEE_LIMIT = 1500
CALLS_PER_FUNCTION = 8

# Each list of options makes other instructions out of one source.
COMPILE_OPTIONS = (
    (), (), (), (), ("inline",), ("inline", "{inline_size,60}"), ("no_type_opt",),
    ("no_bool_opt", "no_recv_opt"),  # without the second erlc crashes often
    ("no_copt",), ("no_copt", "no_postopt"), ("no_postopt",), ("no_ssa_opt",), ("no_bsm_opt",),
    ("no_share_opt",), ("no_stack_trimming",), ("no_fun_opt",), ("r22",), ("r23",), ("r24",),
    ("r22", "no_copt"), ("no_ssa_opt_float",), ("no_ssa_opt_ranges",),
    ("no_bs_create_bin", "no_type_opt"),
    ("no_init_yregs",), ("no_swap",), ("no_ssa_opt_sink",), ("no_ssa_opt_cse", "no_ssa_opt_dead"),
    ("inline_list_funcs",), ("no_make_fun3",), ("no_recv_opt",),
    ("no_ssa_opt", "no_postopt"), ("no_ssa_opt_bs_create_bin",), ("no_ssa_opt_tail_phis",))

PRELUDE = """\
-record(rec0, {f1, f2 = 7, f3}).
-record(rec1, {g1 = []}).
-record(rec2, {h1, h2, h3 = a, h4, h5 = 1.5, h6}).
"""
# OTP 25's list_to_integer takes characters modulo 256.
# Sizes and shifts between "fits" and "system_limit" would only cost time and memory.
HELPERS = """\
id(X) -> X.
sz(S) when is_integer(S), S > 20000, S < 1 bsl 64 -> S rem 1000;
sz(S) -> S.
chars([C | T]) when is_integer(C) -> [C band 127 | chars(T)];
chars([H | T]) -> [H | chars(T)];
chars(T) -> T.
burn(0) -> [];
burn(N) -> [{N, float(N)} | burn(N - 1)].
ext(T) when is_number(T); is_atom(T); is_bitstring(T); T =:= [] -> T;
ext([H | T]) -> [ext(H) | ext(T)];
ext(T) when is_tuple(T) -> list_to_tuple(ext(tuple_to_list(T)));
ext(T) when is_map(T) -> map_size(T);
ext(_) -> opaque.
"""


class Function:
    def __init__(self, name, hints, node, cost, local, plain):
        self.name = name
        self.hints = hints
        self.node = node
        self.cost = cost
        self.local = local  # not exported: the compiler knows all its callers
        self.plain = plain  # one process only, so its reductions are its own
        self.calls = []


def x(*parts, hint=None):
    return Node("expr", parts, hint=hint)


class Generator:
    def __init__(self, seed, name, count):
        self.rng = random.Random(seed)
        self.name = name
        self.count = count
        self.functions = []
        self.scope = []
        self.fresh = 0
        self.cost = 0
        self.times = 1
        self.plain = True
        self.pattern_base = None
        self.options = self.rng.choice(COMPILE_OPTIONS)
        # Modules whose qualified calls go to a twin of themselves, and come back from there.
        self.crossing = random.Random(seed * 7 + 3).random() < 0.4

    # ---- names and choices ----

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, sequence):
        return self.rng.choice(sequence)

    def weighted(self, *pairs):
        return self.rng.choices([p[1] for p in pairs], [p[0] for p in pairs])[0]

    def variable(self, hint):
        self.fresh += 1
        name = "V%d" % self.fresh
        self.scope.append((name, hint))
        return name

    def secret(self):
        """A variable that no other expression will use."""
        self.fresh += 1
        return "W%d" % self.fresh

    @contextlib.contextmanager
    def block(self, times=1):
        size, before = len(self.scope), self.times
        self.times *= times
        yield
        del self.scope[size:]
        self.times = before

    @contextlib.contextmanager
    def patterns(self):
        """Patterns that bind together: sizes in them may not use what the others bind."""
        before = self.pattern_base
        if before is None:
            self.pattern_base = len(self.scope)
        yield
        self.pattern_base = before

    def hint(self):
        return self.rng.choices(HINTS, PARAMETER_WEIGHTS)[0]

    def in_scope(self, hint):
        fits = (hint,) + COVERS.get(hint, ())
        return [v for v in self.scope if v[1] in fits]

    # ---- expressions ----

    def leaf(self, hint):
        names = self.in_scope(hint)
        if names and self.chance(0.8):
            # the youngest more often, so that values do not all die at once
            return x(self.pick(names[-6:] if self.chance(0.6) else names)[0], hint=hint)
        if self.scope and self.chance(0.1):
            return x(self.pick(self.scope)[0], hint=hint)
        if hint == "fun":
            return self.e_fun(1)
        text = values.literal(self.rng, hint)
        if self.chance(0.35):  # or the compiler computes it all
            text = "id(%s)" % text
        return x(text, hint=hint)

    def expr(self, hint, d):
        self.cost += self.times
        if d <= 0 or self.cost > COST_LIMIT or self.chance(0.1):
            return self.leaf(hint)
        if self.chance(0.03):
            hint = self.hint()
        if self.chance(0.25):
            node = self.structured(hint, d - 1)
        else:
            node = getattr(self, "e_" + hint)(d - 1)
        node.hint = hint
        return node

    def structured(self, hint, d):
        kind = self.weighted((6, "id"), (8, "case"), (3, "if"), (4, "try"), (2, "catch"), (2, "begin"),
                             (3, "iife"), (7, "call"), (1, "receive"), (1, "burn"), (2, "element"),
                             (1, "raise"), (1, "apply"), (1, "dictionary"), (2, "badclause"),
                             (1, "select"))
        return getattr(self, "s_" + kind)(hint, d)

    def s_id(self, hint, d):
        return x(self.pick(("id(", "id(", "generated_harness:id(")), self.expr(hint, d), ")")

    def s_begin(self, hint, d):
        with self.block():
            return x("begin ", self.body(hint, d, self.rng.randint(1, 2)), " end")

    def s_burn(self, hint, d):
        with self.block():
            self.cost += 20 * self.times
            junk = self.pick(("erlang:garbage_collect()", "burn(%d)" % self.pick((3, 30, 100)),
                              "_ = lists:seq(1, 200)"))
            return x("begin ", junk, ", ", self.expr(hint, d), " end")

    def s_element(self, hint, d):
        n = self.rng.randint(1, 4)
        at = self.rng.randint(1, n)
        parts = items([self.expr(hint if i == at else "any", d - 1) for i in range(1, n + 1)], ", ")
        return x("element(", self.pick((str(at), "id(%d)" % at)), ", {", parts, "})")

    def s_raise(self, hint, d):
        kind = self.pick(("throw", "error", "exit", "error2", "undef", "badfun", "badmatch"))
        if kind == "error2":
            return x("erlang:error(", self.expr("any", d - 1), ", [", self.expr("any", d - 1), "])")
        if kind == "undef":
            return x("no_such_module:f(", self.expr("any", d - 1), ")")
        if kind == "badfun":
            return x("(id(", self.leaf("any"), "))(", self.expr("any", d - 1), ")")
        if kind == "badmatch":
            with self.block():
                source = self.expr("any", d - 1)
                return x("begin ", self.pattern("any", 2), " = ", source, " end")
        return x(kind, "(", self.expr("any", d - 1), ")")

    def s_case(self, hint, d):
        subject = self.pick(("any", "int", "list", "tuple", "map", "atom", "bits", "number", "bool",
                             "float"))
        source = self.expr(subject, d)
        clauses = []
        for _ in range(self.rng.randint(1, 4)):
            with self.block():
                clauses.append(self.clause(self.pattern(subject, 2), hint, d))
        if self.chance(0.6):
            with self.block():
                clauses.append(Node("text", ["_ -> ", self.body(hint, d, 0)]))
        return x("case ", source, " of\n    ", items(clauses, ";\n    "), "\n  end")

    def clause(self, head, hint, d, stack=0):
        parts = [head]
        if self.chance(0.45):
            parts += [" when ", self.guard(2)]
        parts += [" -> ", self.body(hint, d, stack)]
        return Node("text", parts)

    def s_if(self, hint, d):
        clauses = []
        for _ in range(self.rng.randint(1, 3)):
            with self.block():
                clauses.append(Node("text", [self.guard(2), " -> ", self.body(hint, d, 0)]))
        if self.chance(0.8):
            with self.block():
                clauses.append(Node("text", ["true -> ", self.body(hint, d, 0)]))
        return x("if ", items(clauses, ";\n    "), " end")

    def s_select(self, hint, d):
        """A choice among many constants: a jump table or a search."""
        kind = self.pick(("int", "dense", "atom", "arity", "mixed"))
        count = self.rng.randint(3, 14)
        if kind == "int":
            keys = [str(values.integer(self.rng)) for _ in range(count)]
        elif kind == "dense":
            first = self.pick((0, -3, 1 << 59, (1 << 60) - 4, 250))
            keys = [str(first + k) for k in range(count)]
        elif kind == "atom":
            keys = list(values.ATOMS)
        elif kind == "arity":
            keys = ["{%s}" % ",".join("_" * k) for k in range(count)]
        else:
            keys = [values.literal(self.rng, self.pick(("int", "atom", "float", "list")))
                    for _ in range(count)]
        keys = [k for k in dict.fromkeys(keys) if "=>" not in k]  # no map is a pattern
        self.rng.shuffle(keys)
        subject = self.expr({"int": "int", "dense": "int", "atom": "atom", "arity": "tuple",
                             "mixed": "any"}[kind], d)
        clauses = [Node("text", [key, " -> ", self.leaf(hint)]) for key in keys[:count]]
        if self.chance(0.8):
            clauses.append(Node("text", ["_ -> ", self.leaf(hint)]))
        return x("case ", subject, " of\n    ", items(clauses, ";\n    "), "\n  end")

    def s_badclause(self, hint, d):
        """A fun with few clauses: function_clause is likely."""
        arity = self.rng.randint(0, 3)
        clauses = []
        for _ in range(self.rng.randint(1, 2)):
            with self.block():
                with self.patterns():
                    heads = items([self.pattern(self.hint(), 1) for _ in range(arity)], ", ", arity)
                clauses.append(self.clause(Node("text", ["(", heads, ")"]), hint, d - 1))
        arguments = items([self.expr("any", d - 2) for _ in range(arity)], ", ", arity)
        return x("(fun ", items(clauses, "; "), " end)(", arguments, ")")

    def s_try(self, hint, d):
        with self.block():
            body = self.body(hint, d, self.rng.randint(0, 2))
        parts = ["try ", body]
        if self.chance(0.4):
            clauses = []
            for _ in range(self.rng.randint(1, 2)):
                with self.block():
                    clauses.append(self.clause(self.pattern(hint, 2), hint, d - 1))
            if self.chance(0.6):
                name = self.secret()
                clauses.append(Node("text", [name, " -> ", name]))
            parts += [" of\n    ", items(clauses, ";\n    ")]
        with_catch = self.chance(0.85)
        if with_catch:
            clauses = []
            for _ in range(self.rng.randint(0, 2)):
                with self.block():
                    class_ = self.pick(("error:", "throw:", "exit:", ""))
                    head = Node("text", [class_, self.pattern("any", 1)])
                    clauses.append(self.clause(head, hint, d - 1))
            if self.chance(0.7) or not clauses:
                with self.block():
                    clauses.append(self.catch_all(hint, d - 1))
            parts += ["\n  catch ", items(clauses, ";\n    ")]
        if not with_catch or self.chance(0.3):
            with self.block():
                parts += ["\n  after ", self.body("any", d - 2, 0)]
        return x(*parts, "\n  end")

    def catch_all(self, hint, d):
        kind = self.weighted((4, "class"), (3, "stack"), (2, "again"), (2, "raise"), (1, "value"))
        c, r, s = self.secret(), self.secret(), self.secret()
        if kind == "class":
            return Node("text", [c, ":", r, " -> {", c, ", ", r, ", ", self.expr(hint, d), "}"])
        if kind == "stack":
            return Node("text", [c, ":", r, ":", s, " -> {", c, ", ", r,
                                 ", generated_harness:own(", s, ")}"])
        if kind == "again":
            return Node("text", [c, ":", r, ":", s, " -> ", self.expr("any", d), ", erlang:raise(",
                                 c, ", ", r, ", ", s, ")"])
        if kind == "raise":
            return Node("text", [c, ":", r, ":", s, " -> erlang:raise(",
                                 self.pick((c, "throw", "id(exit)", "id(nonsense)", "error")), ", {",
                                 c, ", ", r, "}, ", self.pick((s, "[]", "id(" + s + ")")), ")"])
        return Node("text", ["_:_ -> ", self.expr(hint, d)])

    def s_catch(self, hint, d):
        with self.block():
            inner = Node("text", ["(catch ", self.expr(hint, d), ")"])
            if self.chance(0.5):
                return x("generated_harness:caught(", inner, ")")
            name = self.secret()
            return x("case ", inner, " of {'EXIT', {", name, ", _}} -> {caught, ", name, "}; ",
                     "{'EXIT', ", name, "b} -> {exited, ", name, "b}; ", name, "c -> ", name, "c end")

    def s_iife(self, hint, d):
        arity = self.rng.randint(0, 3)
        hints = [self.hint() for _ in range(arity)]
        arguments = [self.expr(h, d - 1) for h in hints]
        with self.block():
            names = [self.variable(h) for h in hints]
            body = self.body(hint, d - 1, self.rng.randint(0, 1))
        head = "fun(%s) -> " % ", ".join(names)
        if self.chance(0.5):
            name = self.secret()
            with self.block():
                return x("begin ", name, " = ", head, body, " end, ", self.pick(("id(ok), ", "")),
                         name, "(", items(arguments, ", ", arity), ") end")
        return x("(", head, body, " end)(", items(arguments, ", ", arity), ")")

    def callee(self):
        fits = [f for f in self.functions if f.cost * self.times < CALLEE_LIMIT]
        if not fits:
            return None
        function = self.pick(fits[-12:])
        self.cost += function.cost * self.times
        self.plain = self.plain and function.plain
        return function

    def s_call(self, hint, d):
        function = self.callee()
        if function is None:
            return self.s_id(hint, d)
        arguments = items([self.expr(h, d - 1) for h in function.hints], ", ", len(function.hints))
        prefix = "" if function.local or self.chance(0.3 if self.crossing else 0.8) else "?MODULE:"
        return x(prefix, function.name, "(", arguments, ")")

    def s_apply(self, hint, d):
        function = self.callee()
        if function is None or function.local:
            return self.s_id(hint, d)
        arguments = items([self.expr(h, d - 1) for h in function.hints], ", ", len(function.hints))
        how = self.pick(("apply(?MODULE, %s, [", "apply(fun %s/%d, [", "(id(?MODULE)):%s(",
                         "apply(fun ?MODULE:%s/%d, [", "(id(%s))", "?MODULE:(id(%s))(", "(fun %s/%d)("))
        if how == "(id(%s))":
            how = "(id(?MODULE)):(id(%s))("
        name = how % ((function.name, len(function.hints)) if "%d" in how else function.name)
        return x(name, arguments, "])" if how.endswith("[") else ")")

    def s_dictionary(self, hint, d):
        key = self.pick(("a", "b", "{k, 1}"))
        return x(self.pick((
            Node("text", ["begin put(", key, ", ", self.expr(hint, d - 1), "), get(", key, ") end"]),
            Node("text", ["put(", key, ", ", self.expr(hint, d - 1), ")"]),
            Node("text", ["erase(", key, ")"]))))

    def s_receive(self, hint, d):
        """Messages to itself, taken in another order."""
        sent = [Node("text", ["self() ! ", self.message(d - 1)])
                for _ in range(self.rng.randint(0, 3))]
        clauses = []
        for _ in range(self.rng.randint(1, 3)):
            with self.block():
                clauses.append(self.clause(self.message_pattern(), hint, d - 1))
        if self.chance(0.15):
            clauses = []  # only a timeout
        with self.block():
            after = Node("text", ["after ", self.pick(("0", "0", "0", "1", "id(0)", "id(foo)", "id(-1)")),
                                  " -> ", self.body(hint, d - 1, 0)])
        if "after 1" in after.text():
            self.plain = False
        parts = ["receive\n    ", items(clauses, ";\n    ", 0), "\n  ", after, " end"]
        if sent:
            return x("begin ", items(sent, ", ", 0), ", ", Node("expr", parts), " end")
        return x(*parts)

    def message(self, d):
        return x("{", self.pick(("m1", "m2", "m3", "1")), ", ", self.expr("any", d), "}")

    def message_pattern(self):
        return Node("text", ["{", self.pick(("m1", "m2", "m3", "_")), ", ", self.pattern("any", 1), "}"])

    # ---- one kind of value each ----

    def e_any(self, d):
        return self.expr(self.pick(HINTS[:-1]), d + (1 if self.chance(0.3) else 0))

    def size(self, hint, d):
        """Of something that is built: bounded."""
        if self.chance(0.6):
            return x(values.literal(self.rng, "small"))
        return Node("text", ["sz(", self.expr(hint, d), ")"])

    def e_int(self, d):
        kind = self.rng.randint(0, 11)
        if kind <= 4:
            op = self.pick(("+", "-", "*", "+", "-", "*", "div", "rem", "band", "bor", "bxor"))
            a, b = self.expr("int", d), self.expr("int", d)
            if self.chance(0.35):
                b = x(values.literal(self.rng, self.pick(("int", "small"))))
            elif self.chance(0.2):
                a = x(values.literal(self.rng, self.pick(("int", "small"))))
            return x("(", a, " ", op, " ", b, ")")
        if kind == 5:
            return x("(", self.expr("int", d), self.pick((" bsl ", " bsr ")), self.size("small", d), ")")
        if kind == 6:
            return x("(", self.pick(("-", "bnot ", "+")), "(", self.expr("int", d), "))")
        if kind == 7:
            return x(self.pick(("trunc", "round", "floor", "ceil", "abs")), "(",
                     self.expr(self.pick(("float", "number")), d), ")")
        if kind == 8:
            name, hint = self.pick((("length", "list"), ("byte_size", "bits"), ("bit_size", "bits"),
                                    ("tuple_size", "tuple"), ("map_size", "map"), ("size", "tuple"),
                                    ("abs", "int"), ("hd", "ints"), ("binary_to_integer", "bin"),
                                    ("list_to_integer", "list"), ("lists:sum", "ints"),
                                    ("erlang:phash2", "atom"), ("erlang:crc32", "bin")))
            argument = self.expr(hint, d)
            if name == "list_to_integer":
                argument = Node("text", ["chars(", argument, ")"])
            if name == "erlang:phash2":  # of a reference or a fun it is another each time
                argument = Node("text", ["ext(", argument, ")"])
            return x(name, "(", argument, ")")
        if kind == 9:
            return x(self.pick(("max", "min")), "(", self.expr("int", d), ", ", self.expr("int", d), ")")
        if kind == 10:
            with self.block():  # typed by a guard, so that the compiler writes ranges
                return self.ranged("int", d)
        return self.binary_match("int", d)

    def ranged(self, hint, d):
        source = self.expr("int", d)
        name = self.variable("int")
        low = self.pick((0, 1, -1, -(1 << 59), -(1 << 60), -128, 1 << 58))
        high = self.pick((255, 1 << 59, (1 << 59) - 1, (1 << 60) - 1, 1 << 60, 65535, 1 << 62))
        guard = Node("guard", ["is_integer(%s), %s %s %d, %s %s %d" % (
            name, name, self.pick((">=", ">")), low, name, self.pick(("=<", "<")), high)])
        with self.block():
            inside = self.body(hint, d + 1, 1)
        self.scope.pop()
        other = self.expr(hint, d - 1)
        return x("case ", source, " of ", name, " when ", guard, " ->\n    ", inside, ";\n    _ -> ",
                 other, " end")

    def e_small(self, d):
        return x("(", self.expr("int", d), self.pick((" band 63", " band 15", " rem 20", " rem 65")), ")")

    def e_float(self, d):
        kind = self.rng.randint(0, 9)
        if kind <= 5:
            a, b = self.expr("float", d), self.expr(self.pick(("float", "float", "number")), d)
            if self.chance(0.3):
                b = x(values.float_text(self.rng))
            if self.chance(0.5):
                a, b = b, a
            op = self.pick((" + ", " - ", " * ", " / "))
            return x("(", a, op, b, ")")
        if kind == 6:
            return x("float(", self.expr(self.pick(("int", "number")), d), ")")
        if kind == 7:  # no negative zero comes of it where the float is known to be one
            return x("(-(", self.expr("float", d), "))")
        if kind == 8:
            return x(self.pick(("math:sqrt", "abs", "math:floor", "math:ceil")), "(",
                     self.expr("float", d), ")")
        with self.block():
            source = self.expr("any", d)
            name = self.variable("float")
            inside = self.body("float", d, 1)
            return x("case ", source, " of ", name, " when is_float(", name, ") -> ", inside,
                     "; _ -> 2.5 end")

    def e_number(self, d):
        if self.chance(0.5):
            op = self.pick((" + ", " - ", " * ", " / "))
            return x("(", self.expr("number", d), op, self.expr("number", d), ")")
        return self.expr(self.pick(("int", "float", "small")), d)

    def e_atom(self, d):
        if self.chance(0.3):
            return self.e_bool(d)
        return self.structured("atom", d)

    def comparison(self, a, b):
        return Node("text", ["(", a, self.pick((" == ", " /= ", " =:= ", " =/= ", " < ", " > ", " =< ",
                                                " >= ")), b, ")"])

    def e_bool(self, d):
        kind = self.rng.randint(0, 7)
        if kind <= 2:
            hint = self.pick(("any", "int", "number", "float", "list", "tuple", "map", "bits"))
            return x(self.comparison(self.expr(hint, d), self.expr(
                hint if self.chance(0.8) else "any", d)))
        if kind == 3:
            return x("(", self.expr("bool", d), self.pick((" and ", " or ", " andalso ", " orelse ",
                                                           " xor ")), self.expr("bool", d), ")")
        if kind == 4:
            return x("(not (", self.expr("bool", d), "))")
        if kind == 5:
            return x(self.pick(TESTS), "(", self.expr("any", d), ")")
        if kind == 6:
            return x("is_function(", self.expr("fun", d), ", ", self.expr("small", d), ")")
        return x("lists:", self.pick(("member(", "keymember(")), self.expr("any", d), ", ",
                 self.expr("list", d), ")") if self.chance(0.5) else x(
                     "lists:keymember(", self.expr("any", d), ", 1, ", self.expr("list", d), ")")

    def e_list(self, d):
        kind = self.rng.randint(0, 8)
        if kind <= 1:
            count = self.rng.randint(0, 4)
            return x("[", items([self.expr("any", d) for _ in range(count)], ", ", 0), "]")
        if kind == 2:
            return x("[", self.expr("any", d), " | ", self.expr("list", d), "]")
        if kind == 3:
            return x("(", self.expr("list", d), self.pick((" ++ ", " -- ")), self.expr("list", d), ")")
        if kind == 4:
            return x("tl(", self.expr("list", d), ")")
        if kind == 5:
            name, hint = self.pick((("lists:reverse", "list"), ("tuple_to_list", "tuple"),
                                    ("binary_to_list", "bin"), ("lists:sort", "list"),
                                    ("integer_to_list", "int"), ("atom_to_list", "atom"),
                                    ("lists:usort", "list"), ("float_to_list", "float"),
                                    ("bitstring_to_list", "bits")))
            return x(name, "(", self.expr(hint, d), ")")
        if kind == 6:
            name = self.pick(("lists:map", "lists:filter", "lists:foldl", "lists:mapfoldl"))
            extra = [self.expr("any", d - 1), ", "] if "fold" in name else []
            return x(name, "(", self.e_fun(d - 1, 2 if extra else 1, 8), ", ", *extra,
                     self.expr("list", d), ")")
        return self.comprehension(d)

    def e_ints(self, d):
        if self.chance(0.4):
            return x("lists:seq(", self.pick(("1", "0", "-2")), ", ", self.expr("int", d), " band 7)")
        if self.chance(0.4):
            return self.comprehension(d)
        return x("[", items([self.expr("int", d) for _ in range(self.rng.randint(0, 4))], ", ", 0), "]")

    def generator(self, d):
        """One generator of a comprehension; its variables stay in scope."""
        if self.chance(0.55):
            source = self.expr(self.pick(("list", "ints")), d)
            return Node("text", [self.pattern(self.pick(("any", "int")), 1), " <- ", source])
        source = self.expr(self.pick(("bin", "bits")), d)
        segments = self.layout(self.rng.randint(1, 2), tail=False, some=True)
        # One of no bits would match at the same place for ever.
        return Node("text", [self.match_pattern(segments, advances=True), " <= ", source])

    def comprehension(self, d):
        with self.block(6):
            qualifiers = [self.generator(d - 1)]
            if self.chance(0.25):
                qualifiers.append(self.generator(d - 2))
            if self.chance(0.4):
                qualifiers.append(self.guard(1, comprehension=True) if self.chance(0.5)
                                  else self.expr("bool", d - 2))
            return x("[", self.expr("any", d - 1), " || ", items(qualifiers, ", "), "]")

    def e_tuple(self, d):
        kind = self.rng.randint(0, 8)
        if kind <= 2:
            count = self.rng.randint(0, 5)
            return x("{", items([self.expr("any", d) for _ in range(count)], ", ", 0), "}")
        if kind == 3:
            return x("setelement(", self.expr("small", d), ", ", self.expr("tuple", d), ", ",
                     self.expr("any", d), ")")
        if kind <= 6:
            record = self.pick(tuple(RECORDS))
            fields = self.rng.sample(RECORDS[record], self.rng.randint(0, len(RECORDS[record])))
            pairs = items([Node("text", [f, " = ", self.expr("any", d)]) for f in fields], ", ", 0)
            if kind == 4:
                return x("#", record, "{", pairs, "}")
            return x("(", self.expr("tuple", d), ")#", record, "{", pairs, "}")
        if kind == 7:
            return x("list_to_tuple(", self.expr("list", d), ")")
        return x("setelement(", str(self.rng.randint(1, 3)), ", setelement(",
                 str(self.rng.randint(1, 3)), ", ", self.expr("tuple", d), ", ", self.expr("any", d - 1),
                 "), ", self.expr("any", d - 1), ")")

    def e_map(self, d):
        kind = self.rng.randint(0, 6)
        count = self.rng.randint(0, 4)
        if kind <= 1:
            pairs = [Node("text", [self.key(d), " => ", self.expr("any", d)]) for _ in range(count)]
            return x("#{", items(pairs, ", ", 0), "}")
        if kind <= 4:
            operator = (" => ", " := ")
            pairs = [Node("text", [self.key(d), self.pick(operator), self.expr("any", d)])
                     for _ in range(count)]
            return x("(", self.expr("map", d), ")#{", items(pairs, ", ", 0), "}")
        if kind == 5:
            return x("maps:", self.pick(("remove", "get", "take", "find")), "(", self.key(d), ", ",
                     self.expr("map", d), ")")
        return x("maps:", self.pick(("put", "update")), "(", self.key(d), ", ", self.expr("any", d), ", ",
                 self.expr("map", d), ")")

    def key(self, d):
        if self.chance(0.6):
            return x(self.pick(("a", "b", "c", "x", "ok", "1", "1.0", "0", "2", "31", "32", "<<1>>",
                                "{1}", "[1]", "18446744073709551616", "-1", "\"k\"")))
        return self.expr(self.pick(("atom", "int", "any")), d - 1)

    def e_fun(self, d, arity=None, times=1):
        if d < 0:
            return x(self.pick(("fun id/1", "fun erlang:abs/1", "fun generated_harness:id/1",
                                "fun erlang:'+'/2", "fun erlang:self/0")))
        if arity is None:
            if self.chance(0.15):
                return self.e_fun(-1)
            arity = self.pick((0, 1, 1, 1, 2, 3, 6))
        hints = [self.hint() for _ in range(arity)]
        clauses = []
        for _ in range(1 if self.chance(0.7) else 2):
            with self.block(times):
                if self.chance(0.7):
                    heads = ", ".join(self.variable(h) for h in hints)
                else:
                    with self.patterns():
                        heads = items([self.pattern(h, 1) for h in hints], ", ", arity)
                clauses.append(self.clause(Node("text", ["(", heads, ")"]), self.hint(), d - 1))
        return x("fun ", items(clauses, "; "), " end")

    # ---- bit strings ----

    def segment(self, some=False):
        kind = self.weighted((10, "integer"), (3, "float"), (4, "binary"), (1, "utf8"), (1, "utf16"),
                             (1, "utf32"), (2, "string"))
        endian = self.pick(("", "", "-little", "-big", "-native"))
        sign = self.pick(("", "", "-signed", "-unsigned"))
        if kind == "integer":
            unit = self.pick((1,) * 8 + (8, 8, 3, 4, 16, 7))
            size = self.pick((1, 3, 4, 7, 8, 8, 8, 9, 12, 15, 16, 16, 24, 31, 32, 32, 33, 48, 59, 60, 61,
                              62, 63, 64, 64, 65, 72, 127, 128, 129, 0))
            if unit > 1:
                size = self.pick((0, 1, 2, 3, 4, 5, 8, 9))
            if some and size == 0:
                size = 8
            return (kind, size, unit, sign, endian)
        if kind == "float":
            return (kind, self.pick((16, 32, 32, 64, 64, 64, 64)), 1, "", endian)
        if kind == "binary":
            unit = self.pick((8, 8, 8, 1, 1, 4, 16))
            return (kind, self.pick((1, 1, 2, 3, 4, 8, 9, 16, 17, 65)), unit, "", "")
        if kind == "string":
            return (kind, self.pick(("\"abc\"", "\"a\"", "\"hello, world\"", "1, 2, 3")), 8, "", "")
        return (kind, None, 1, "", endian if kind != "utf8" else "")

    def layout(self, count, tail=True, some=False):
        segments = [self.segment(some) for _ in range(count)]
        if tail and self.chance(0.5):
            segments.append((self.pick(("binary", "bits", "bits")), "rest",
                             self.pick((1, 1, 8, 3, 16)), "", ""))
        return segments

    @staticmethod
    def spec(segment):
        kind, _, unit, sign, endian = segment
        text = "/" + kind + sign + endian
        if kind == "integer" and unit != 1 or kind == "binary" and unit != 8 or (
                kind == "bits" and unit != 1):
            text += "-unit:%d" % unit
        return text

    def build_segment(self, segment, d):
        kind, size, unit, _, _ = segment
        if kind == "string":
            return Node("text", [size])
        if kind in ("utf8", "utf16", "utf32"):
            value = self.pick(("97", "16#20AC", "16#1F600", "16#D800", "16#7FF", "16#10FFFF", None))
            return Node("text", ["(", x(value) if value else self.expr("int", d), ")", self.spec(segment)])
        value = self.expr({"integer": "int", "float": self.pick(("float", "float", "number")),
                           "binary": "bits" if unit < 8 else "bin", "bits": "bits"}[kind], d)
        if size == "rest":
            text = "/bits" if unit == 1 else "/binary-unit:%d" % unit
            return Node("text", ["(", value, ")", text])
        if kind == "binary" and self.chance(0.7):
            return Node("text", ["(", value, ")", self.spec(segment)])
        if self.chance(0.25):
            size_node = Node("text", ["(", Node("text", ["sz(", self.expr("small", d - 1), ")"]), ")"])
        else:
            size_node = Node("text", [str(size)])
        if kind == "integer" and size == 8 and unit == 1 and self.chance(0.3):
            return Node("text", ["(", value, ")"])
        return Node("text", ["(", value, "):", size_node, self.spec(segment)])

    def build(self, segments, d):
        return x("<<", items([self.build_segment(s, d) for s in segments], ", ", 0), ">>")

    def e_bin(self, d):
        if self.chance(0.15):
            name, hint = self.pick((("list_to_binary", "list"), ("integer_to_binary", "int"),
                                    ("atom_to_binary", "atom"), ("iolist_to_binary", "list"),
                                    ("term_to_binary", "int")))
            if name == "term_to_binary":
                # A fun's has its creator's pid in it.
                return x(name, "(ext(", self.expr(hint, d), "))")
            return x(name, "(", self.expr(hint, d), ")")
        if self.chance(0.15):
            return x("binary_part(", self.expr("bin", d), ", ", self.expr("small", d - 1), ", ",
                     self.expr("small", d - 1), ")")
        segments = [s for s in self.layout(self.rng.randint(1, 4))
                    if s[0] in ("utf8", "string") or s[1] == "rest" or
                    isinstance(s[1], int) and s[1] * s[2] % 8 == 0]
        return self.build(segments, d)

    def e_bits(self, d):
        kind = self.rng.randint(0, 5)
        if kind == 0:
            with self.block(6):
                qualifiers = [self.generator(d - 1)]
                if self.chance(0.3):
                    qualifiers.append(self.expr("bool", d - 2))
                return x("<< ", self.build(self.layout(self.rng.randint(1, 2)), d - 1), " || ",
                         items(qualifiers, ", "), ">>")
        if kind == 1:  # append
            segments = [("bits", "rest", self.pick((1, 1, 8)), "", "")] + self.layout(2)
            return self.build(segments, d)
        if kind == 2:
            return self.binary_match("bits", d)
        return self.build(self.layout(self.rng.randint(1, 5)), d)

    def match_segment(self, segment, last, own, constant):
        kind, size, unit, _, _ = segment
        if kind == "string":
            return size
        value = self.weighted((5, "bind"), (3, "_"), (1, "literal"), (1, "bound"))
        result = {"integer": "int", "float": "float", "binary": "bin" if unit >= 8 else "bits",
                  "bits": "bits"}.get(kind, "int")
        if kind in ("binary", "bits") and value == "literal":
            value = "bind"
        pending = None
        if value == "_":
            name = "_"
        elif value == "literal":
            name = values.literal(self.rng, "float" if kind == "float" else "int")
            if kind == "float":
                name = "1.5"
            elif kind == "integer" and self.chance(0.7):
                name = str(self.rng.getrandbits(min(max(size * unit, 1), 8)))
        elif value == "bound" and self.in_scope(result):
            name = self.pick(self.in_scope(result))[0]
        else:
            if kind == "integer" and size is not None and size * unit <= 8:
                result = "small"
            self.fresh += 1
            name = "V%d" % self.fresh
            pending = (name, result)
        if kind.startswith("utf"):
            text = name + self.spec(segment)
        elif size == "rest":
            if last:
                text = name + ("/bits" if unit == 1 else "/binary-unit:%d" % unit)
            else:
                text = name + ":8/binary"
        else:
            sized = str(size)
            if not constant and self.chance(0.2):
                usable = self.scope[:self.pattern_base] + self.scope[own:]
                sizes = [v for v in usable if v[1] in ("int", "small")]
                if sizes:
                    sized = self.pick(sizes)[0]
                    if self.chance(0.3):
                        sized = "(%s + 1)" % sized
                    # OTP's products of sizes and units wrap round, so that it skips backwards.
                    if unit > 1:
                        sized = "(%s rem 16#FFFFFFFFFFFF)" % sized
            text = "%s:%s%s" % (name, sized, self.spec(segment))
        if pending:
            self.scope.append(pending)
        return text

    def match_pattern(self, segments, advances=False):
        own, last = len(self.scope), len(segments) - 1
        with self.patterns():
            texts = [self.match_segment(s, i == last, own, advances and i == 0)
                     for i, s in enumerate(segments)]
        return Node("text", ["<<", items(texts, ", ", 0), ">>"])

    def mutated(self, segments):
        result = list(segments)
        for _ in range(self.rng.randint(0, 2)):
            if result and self.chance(0.5):
                result[self.rng.randrange(len(result))] = self.segment()
            elif result and self.chance(0.5):
                result = result[:self.rng.randrange(len(result) + 1)]
            else:
                result.append((self.pick(("binary", "bits")), "rest", self.pick((1, 8)), "", ""))
        last = len(result) - 1
        return [s for i, s in enumerate(result) if s[1] != "rest" or i == last]

    def binary_match(self, hint, d):
        """Takes apart what was put together with a similar layout, or anything."""
        segments = self.layout(self.rng.randint(1, 5))
        source = self.build(segments, d) if self.chance(0.6) else self.expr("bits", d)
        clauses = []
        for _ in range(self.rng.randint(1, 4)):
            with self.block():
                clauses.append(self.clause(self.match_pattern(self.mutated(segments)), hint, d,
                                           self.rng.randint(0, 1)))
        if self.chance(0.7):
            with self.block():
                clauses.append(Node("text", ["_ -> ", self.expr(hint, d - 1)]))
        return x("case ", source, " of\n    ", items(clauses, ";\n    "), "\n  end")

    # ---- patterns and guards ----

    def pattern(self, hint, d):
        with self.patterns():
            return self.pattern_inside(hint, d)

    def pattern_inside(self, hint, d):
        if self.chance(0.06):
            hint = "any"
        if hint == "any":
            hint = self.pick(("int", "atom", "list", "tuple", "map", "bits", "float", "var", "var"))
        names = self.in_scope(hint) if hint in HINTS else self.scope
        if names and self.chance(0.05):
            return Node("text", [self.pick(names)[0]])
        if d <= 0 or hint in ("var", "fun") or self.chance(0.35):
            if self.chance(0.15):
                return Node("text", ["_"])
            return Node("text", [self.variable(hint if hint in HINTS else "any")])
        if self.chance(0.08):
            inner = self.pattern(hint, d)
            return Node("text", [inner, " = ", self.variable(hint)])
        if hint in ("int", "small", "number", "float", "atom", "bool"):
            return Node("text", [values.literal(self.rng, hint)])
        if hint in ("list", "ints"):
            inner = "int" if hint == "ints" else "any"
            kind = self.rng.randint(0, 3)
            if kind == 0:
                return Node("text", ["[", items([self.pattern(inner, d - 1) for _ in range(
                    self.rng.randint(0, 3))], ", ", 0), "]"])
            if kind == 1:
                return Node("text", [self.pick(("[]", "\"abc\"", "[1, 2, 3]", "\"a\" ++ _"))])
            return Node("text", ["[", self.pattern(inner, d - 1), " | ", self.pattern(hint, d - 1), "]"])
        if hint == "tuple":
            if self.chance(0.35):
                record = self.pick(tuple(RECORDS))
                fields = self.rng.sample(RECORDS[record], self.rng.randint(0, len(RECORDS[record])))
                return Node("text", ["#", record, "{", items([Node(
                    "text", [f, " = ", self.pattern("any", d - 1)]) for f in fields], ", ", 0), "}"])
            parts = [self.pattern("any", d - 1) for _ in range(self.rng.randint(0, 4))]
            if self.chance(0.4):
                parts.insert(0, Node("text", [self.pick(values.ATOMS)]))
            return Node("text", ["{", items(parts, ", ", 0), "}"])
        if hint == "map":
            keys = self.rng.sample(("a", "b", "c", "x", "1", "1.0", "{1}", "<<1>>", "31", "ok",
                                    "18446744073709551616"), self.rng.randint(0, 3))
            parts = [Node("text", [k, " := ", self.pattern("any", d - 1)]) for k in keys]
            return Node("text", ["#{", items(parts, ", ", 0), "}"])
        assert hint in ("bin", "bits"), hint
        return self.match_pattern(self.mutated(self.layout(self.rng.randint(1, 3))))

    def guard(self, d, comprehension=False):
        if comprehension:
            return Node("guard", [self.guard_test(d)])
        groups = []
        for _ in range(self.weighted((7, 1), (2, 2), (1, 3))):
            groups.append(", ".join(self.guard_test(d) for _ in range(self.weighted((5, 1), (3, 2),
                                                                                     (1, 3)))))
        return Node("guard", ["; ".join(groups)])

    def guard_test(self, d):
        kind = self.weighted((5, "compare"), (4, "is"), (3, "logic"), (1, "not"), (1, "function"),
                             (1, "key"), (1, "xor"), (1, "record"))
        if d <= 0:
            kind = self.pick(("compare", "is"))
        if kind == "compare":
            hint = self.pick(("int", "number", "any", "float", "atom", "list"))
            return "(%s %s %s)" % (self.guard_value(hint, d), self.pick(
                ("==", "/=", "=:=", "=/=", "<", ">", "=<", ">=")), self.guard_value(hint, d - 1))
        if kind == "is":
            return "%s(%s)" % (self.pick(TESTS), self.guard_value("any", d - 1))
        if kind == "logic":
            return "(%s %s %s)" % (self.guard_test(d - 1), self.pick(("and", "or", "andalso", "orelse")),
                                   self.guard_test(d - 1))
        if kind == "xor":
            return "(%s xor %s)" % (self.guard_test(d - 1), self.guard_test(d - 1))
        if kind == "not":
            return "(not %s)" % self.guard_test(d - 1)
        if kind == "function":
            return "is_function(%s, %s)" % (self.guard_value("fun", 0), self.guard_value("small", 0))
        if kind == "record":
            name = self.pick(tuple(RECORDS))
            return self.pick(("is_record(%s, %s)", "is_record(%s, %s, 4)")) % (
                self.guard_value("tuple", 0), name)
        return "is_map_key(%s, %s)" % (self.guard_value("any", 0), self.guard_value("map", 0))

    def guard_value(self, hint, d):
        names = self.in_scope(hint)
        if d <= 0 or self.chance(0.5):
            if names and self.chance(0.75):
                return self.pick(names)[0]
            if self.scope and self.chance(0.5):
                return self.pick(self.scope)[0]
            return "1" if hint == "fun" else values.literal(self.rng, hint)
        if hint in ("any", "atom", "list", "fun"):
            return self.pick((
                "element(%s, %s)" % (self.guard_value("small", 0), self.guard_value("tuple", 0)),
                "hd(%s)" % self.guard_value("list", 0), "tl(%s)" % self.guard_value("list", 0),
                "map_get(%s, %s)" % (self.pick(("a", "1", "x")), self.guard_value("map", 0)),
                "binary_part(%s, 0, %s)" % (self.guard_value("bin", 0), self.guard_value("small", 0)),
                "self()", "node()", "{%s}" % self.guard_value("any", 0)))
        if self.chance(0.6):
            op = self.pick(("+", "-", "*", "/")) if hint in ("float", "number") else self.pick(
                ("+", "-", "*", "div", "rem", "band", "bor", "bxor", "bsr"))
            return "(%s %s %s)" % (self.guard_value(hint, d - 1), op, self.guard_value(hint, d - 1))
        name, of = self.pick((("length", "list"), ("byte_size", "bits"), ("bit_size", "bits"),
                              ("tuple_size", "tuple"), ("map_size", "map"), ("size", "tuple"),
                              ("abs", "number"), ("trunc", "float"), ("round", "float"), ("floor", "float"),
                              ("ceil", "float"), ("float", "int"), ("-", "number"), ("bnot", "int"),
                              ("max", None), ("min", None)))
        if of is None:
            return self.guard_value(hint, 0)  # min and max are allowed in guards from OTP 26
        return "%s(%s)" % (name, self.guard_value(of, d - 1))

    # ---- statements ----

    def statement(self, d):
        kind = self.weighted((10, "bind"), (3, "match"), (1, "effect"), (1, "burn"), (1, "send"))
        if kind == "bind":
            hint = self.hint()
            value = self.expr(hint, d)
            return Node("text", [self.variable(hint), " = ", value])
        if kind == "match":
            hint = self.pick(("tuple", "list", "map", "bits"))
            if hint == "bits":
                segments = self.layout(self.rng.randint(1, 4))
                source = self.build(segments, d - 1)
                return Node("text", [self.match_pattern(segments), " = ", source])
            source = self.expr(hint, d)
            return Node("text", [self.pattern(hint, 2), " = ", source])
        if kind == "burn":
            self.cost += 20 * self.times
            return Node("text", [self.pick(("burn(50)", "erlang:garbage_collect()", "id(ok)"))])
        if kind == "send":
            return Node("text", ["self() ! ", self.message(d - 1)])
        return self.expr("any", d)

    def body(self, hint, d, statements):
        """Statements and a value; bindings stay until the caller's block ends."""
        parts = [self.statement(d) for _ in range(statements)]
        parts.append(self.expr(hint, d))
        return items(parts, ",\n    ")

    def keep_alive(self, value):
        """A tuple of the value and variables, which makes them live across everything before."""
        names = [v[0] for v in self.scope]
        self.rng.shuffle(names)
        return x("{", items([value] + [x(n) for n in names[:self.rng.randint(0, 8)]], ", "), "}")

    # ---- functions ----

    def head(self, name, hints, patterns):
        if patterns:
            with self.patterns():
                parts = items([self.pattern(h, 2) for h in hints], ", ", len(hints))
        else:
            parts = ", ".join(self.variable(h) for h in hints)
        return Node("text", [name, "(", parts, ")"])

    def f_general(self, name, hints):
        clauses = []
        for index in range(self.weighted((5, 1), (3, 2), (2, 3), (1, 5))):
            with self.block():
                head = self.head(name, hints, self.chance(0.6) or index > 0)
                guard = [" when ", self.guard(2)] if self.chance(0.4) else []
                statements = [self.statement(3) for _ in range(self.rng.randint(0, 5))]
                statements.append(self.keep_alive(self.expr("any", 4)) if self.chance(0.6)
                                  else self.expr("any", 4))
                clauses.append(Node("text", [head, *guard, " ->\n    ", items(statements, ",\n    ")]))
        if self.chance(0.5):
            heads = ", ".join("X%d" % i for i in range(len(hints)))
            clauses.append(Node("text", ["%s(%s) -> {none, %s}" % (
                name, heads, "X0" if hints else "0")]))
        return Node("text", [items(clauses, ";\n"), "."])

    def f_loop(self, name, hints):
        """Counts down; tail or body recursive, its state changes each time."""
        count = self.rng.randint(2, 6)  # what one round doubles must not become large
        with self.block():
            names = [self.variable(h) for h in hints]
            first = x("%s_loop(%d%s)" % (name, count, "".join(", " + n for n in names)))
            start = Node("text", ["%s(%s) ->\n    " % (name, ", ".join(names)), first, "."])
        with self.block(count):
            counter = self.variable("small")
            names = [self.variable(h) for h in hints]
            head = "%s_loop(%s%s)" % (name, counter, "".join(", " + n for n in names))
            end = Node("text", ["%s_loop(0%s) -> " % (name, "".join(", " + n for n in names)),
                                "{", ", ".join(names), "}"])
            guard, early = self.guard(2), self.expr("any", 2)
            statements = [self.statement(2) for _ in range(self.rng.randint(0, 2))]
            again = x("%s_loop(%s - 1" % (name, counter),
                      *[p for h in hints for p in (", ", self.expr(h, 2))], ")")
            kind = self.weighted((4, "tail"), (3, "cons"), (1, "try"), (1, "add"), (1, "after"))
            if kind == "cons":
                last = x("[", self.expr("any", 2), " | ", again, "]")
            elif kind == "try":
                last = x("try ", again, " catch ", self.catch_all("any", 2), " end")
            elif kind == "after":
                last = x("try ", again, " after ", self.expr("any", 1), " end")
            elif kind == "add":
                last = x("{", again, ", ", self.expr("any", 2), "}")
            else:
                last = again
            clauses = [end]
            if self.chance(0.4):
                clauses.append(Node("text", [head, " when ", guard, " -> ", early]))
            clauses.append(Node("text", [head, " ->\n    ", items(statements + [last], ",\n    ")]))
            self.rng.shuffle(clauses[1:])
        return Node("text", [start, "\n", items(clauses, ";\n"), "."])

    def f_scan(self, name, hints):
        """Walks a bit string with a match context."""
        with self.block():
            names = [self.variable(h) for h in hints]
            source = self.expr("bits", 3)
            start = Node("text", ["%s(%s) ->\n    %s_scan(" % (name, ", ".join(names), name), source,
                                  ", [])."])
        clauses = []
        for _ in range(self.rng.randint(1, 4)):
            with self.block(20):
                segments = self.layout(self.rng.randint(1, 3), tail=False, some=True)
                pattern = self.match_pattern(segments)
                rest = self.secret()
                pattern = Node("text", ["<<", pattern.parts[1], ", ", rest,
                                        self.pick(("/bits", "/bits", "/binary")), ">>"])
                name_list = self.secret()  # in no value: it would double each time
                guard = [" when ", self.guard(1)] if self.chance(0.3) else []
                kind = self.weighted((6, "next"), (1, "stop"), (1, "body"))
                value = self.expr("any", 2)
                if kind == "next":
                    last = x("%s_scan(%s, [" % (name, rest), value, " | %s])" % name_list)
                elif kind == "stop":
                    last = x("{", value, ", ", rest, ", ", name_list, "}")
                else:
                    last = x("[", value, " | %s_scan(%s, %s)]" % (name, rest, name_list))
                clauses.append(Node("text", [name, "_scan(", pattern, ", ", name_list, ")", *guard,
                                             " ->\n    ", last]))
        clauses.append(Node("text", ["%s_scan(Rest, Acc) -> {Rest, Acc}" % name]))
        return Node("text", [start, "\n", items(clauses, ";\n"), "."])

    def f_frames(self, name, hints):
        """Exceptions through several frames, with their stack trace."""
        depth = self.rng.randint(1, 6)
        with self.block():
            names = [self.variable(h) for h in hints]
            passed = self.expr("any", 2)
            start = Node("text", [
                "%s(%s) ->\n    try " % (name, ", ".join(names)), x("%s_deep(%d, " % (name, depth), passed,
                                                                  ")"),
                "\n    catch C:R:S -> {C, R, generated_harness:own(S)} end."])
        with self.block(depth):
            value = self.variable("any")
            with self.block():
                bottom = Node("text", ["%s_deep(0, %s) ->\n    " % (name, value), self.pick((
                    self.s_raise("any", 2), self.expr("any", 3)))])
            counter = self.variable("small")
            head = "%s_deep(%s, %s) ->\n    " % (name, counter, value)
            statements = [self.statement(1) for _ in range(self.rng.randint(0, 2))]
            deeper = x("%s_deep(%s - 1, " % (name, counter), self.expr("any", 1), ")")
            last = self.pick((x("[", deeper, "]"), x("{", deeper, ", ", self.leaf("any"), "}"),
                              x("case ", deeper, " of ", self.pattern("any", 1), " -> ", self.leaf("any"),
                                " end")))
            deep = Node("text", [head, items(statements + [last], ",\n    ")])
        return Node("text", [start, "\n", items([bottom, deep], ";\n"), "."])

    def f_process(self, name, hints):
        """Another process whose end or message is waited for."""
        self.plain = False
        with self.block():
            names = [self.variable(h) for h in hints]
            start = "%s(%s) ->\n    " % (name, ", ".join(names))
            with self.block():
                inside = self.body("any", 3, self.rng.randint(0, 2))
            kind = self.pick(("monitor", "link", "send", "request", "apply"))
            if kind == "monitor":
                text = ["{P, M} = spawn_monitor(fun() -> ", self.pick(("", "exit(")), "begin ", inside,
                        " end"]
                if text[1]:
                    text.append(")")
                text += [" end),\n    receive {'DOWN', M, process, P, R} -> generated_harness:reason(R) end"]
            elif kind == "link":
                text = ["process_flag(trap_exit, true),\n    P = spawn_link(fun() -> exit(begin ", inside,
                        " end) end),\n    receive {'EXIT', P, R} -> generated_harness:reason(R) end"]
            elif kind == "send":
                text = ["Me = self(),\n    P = spawn(fun() -> Me ! {self(), (catch begin ", inside,
                        " end)} end),\n    receive {P, R} -> generated_harness:caught(R) end"]
            elif kind == "request":
                text = ["P = spawn(fun() -> receive {From, Ref, X} -> From ! {Ref, (catch begin ", inside,
                        " end), X} end end),\n    ", self.pick(("", "self() ! noise, self() ! {a, 1},\n    ")),
                        "M = make_ref(), P ! {self(), M, ", self.leaf("any"),
                        "},\n    receive {M, R, X} -> {generated_harness:caught(R), X} end"]
            else:
                function = self.callee()
                if function is None or function.local:
                    called = "erlang, hd, [[]]"
                    arguments = Node("text", [called])
                else:
                    arguments = Node("text", ["?MODULE, ", function.name, ", [", items(
                        [self.expr(h, 2) for h in function.hints], ", ", len(function.hints)), "]"])
                text = ["{P, M} = spawn_monitor(", arguments,
                        "),\n    receive {'DOWN', M, process, P, R} -> generated_harness:reason(R) end"]
        return Node("text", [start, *text, "."])

    def make_function(self, index):
        name = "f%d" % index
        self.scope, self.cost, self.times, self.plain = [], 0, 1, True
        arity = self.weighted((1, 0), (5, 1), (8, 2), (6, 3), (3, 4), (1, 6), (1, 9))
        hints = [self.hint() for _ in range(arity)]
        shape = self.weighted((14, self.f_general), (4, self.f_loop), (3, self.f_scan),
                              (3, self.f_frames), (1, self.f_process))
        node = shape(name, hints)
        function = Function(name, hints, node, self.cost + 1, self.chance(0.2), self.plain)
        if not function.local:
            for _ in range(CALLS_PER_FUNCTION if arity else 1):
                function.calls.append([values.argument(self.rng, h) for h in hints])
        return function

    def module(self):
        for index in range(self.count):
            self.functions.append(self.make_function(index))
        return Module(self.name, self.functions, self.options, self.crossing)


TESTS = ("is_integer", "is_float", "is_number", "is_atom", "is_boolean", "is_list", "is_tuple", "is_map",
         "is_binary", "is_bitstring", "is_function", "is_pid", "is_reference", "is_port")


class Module:
    """A generated module; with_functions and the like answer changed copies."""

    def __init__(self, name, functions, options, crossing=False):
        self.name = name
        self.functions = functions
        self.options = options
        self.crossing = crossing

    suffix = ".erl"

    def only(self, name, as_name, *others):
        """These functions and those that they reach."""
        wanted, todo = set(), [name, *others]
        by_name = {f.name: f for f in self.functions}
        while todo:
            current = todo.pop()
            if current in wanted:
                continue
            wanted.add(current)
            todo += [n for n in re.findall(r"\bf\d+\b", by_name[current].node.text()) if n in by_name]
        return Module(as_name, [f for f in self.functions if f.name in wanted], self.options,
                      self.crossing)

    def smaller(self, name):
        """Modules with something taken out, the larger pieces first."""
        reached = self.only(name, self.name)
        if len(reached.functions) < len(self.functions):
            yield reached
        if self.options:
            yield Module(self.name, self.functions, (), self.crossing)
        if self.crossing:
            yield Module(self.name, self.functions, self.options)
        # when it is the loader that fails, another function may be the one
        for function in self.functions:
            pair = self.only(name, self.name, function.name)
            if len(pair.functions) < len(self.functions):
                yield pair
        for function in self.functions:
            if function.name == name and len(function.calls) > 1:
                half = len(function.calls) // 2
                for calls in (function.calls[:half], function.calls[half:]):
                    yield self.with_changed(function, function.node, calls)
        main = [f for f in self.functions if f.name == name]
        others = [f for f in self.functions if f.name != name]
        for function in main + others[::-1]:
            for node in smaller_trees(function.node):
                yield self.with_changed(function, node, function.calls)

    def with_changed(self, function, node, calls):
        changed = Function(function.name, function.hints, node, function.cost, function.local,
                           function.plain)
        changed.calls = calls
        return Module(self.name, [changed if f is function else f for f in self.functions],
                      self.options, self.crossing)

    def sources(self):
        """[(name, text)]: the module and its twin, if there is one."""
        if not self.crossing:
            return [(self.name, self.text())]
        twin = self.name + "_twin"
        return [(self.name, self.text(self.name, twin)), (twin, self.text(twin, self.name))]

    def text(self, name=None, other=None):
        exported = [f for f in self.functions if not f.local]
        parts = ["-module(%s)." % (name or self.name),
                 "-define(OTHER, %s)." % other if other else "",
                 "-compile([nowarn_unused_vars, {nowarn_unused_function, [%s]}])." % ", ".join(
                     ["{sz, 1}", "{burn, 1}", "{chars, 1}", "{ext, 1}"]
                     + ["{%s, %d}" % (f.name, len(f.hints)) for f in self.functions if f.local]),
                 "-export([calls/0, id/1%s])." % "".join(
                     ", %s/%d" % (f.name, len(f.hints)) for f in exported),
                 PRELUDE, HELPERS]
        for function in self.functions:
            text = function.node.text()
            parts.append((text.replace("?MODULE", "?OTHER") if other else text) + "\n")
        lines = []
        for function in exported:
            if not function.calls:
                continue
            lines.append("{%s, %s, [%s]}" % (
                function.name, "true" if function.plain else "false",
                ",\n    ".join("[%s]" % ", ".join(a) for a in function.calls)))
        parts.append("calls() ->\n  [%s].\n" % ",\n   ".join(lines))
        return "\n".join(parts)


def generate(seed, name, count):
    return Generator(seed, name, count).module()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--functions", type=int, default=40)
    parser.add_argument("--out", type=pathlib.Path, help="folder for the module (default: print it)")
    options = parser.parse_args()
    module = generate(options.seed, "gen_%d" % options.seed, options.functions)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        for name, text in module.sources():
            path = options.out / (name + ".erl")
            path.write_text(text, encoding="utf-8")
            print("%s [%s]" % (path, ",".join(module.options)))
    else:
        print("\n".join(text for _, text in module.sources()))


if __name__ == "__main__":
    main()
