#!/usr/bin/env python3
"""Trace programs from a seed: a module of small functions, and steps that trace what processes do with it.

    generate_trace.py --seed N      # prints both

run_trace.py runs them. A step is a term that trace_harness.erl understands; {'$w',1} stands there for
the first worker, {'$t',1} for the first tracer.

Left out, because minivm is meant to differ (docs/differences_with_beam.md, docs/protocols/tracing.md):
- `X + 1` of what is no number, calls of what is no fun: other frames in stack traces;
- tokens of sequential tracing together with spawns: other serial numbers;
- loading a module again that is traced, deleting one with global patterns;
- call_memory and current_stacktrace, which OTP 25 does not have; sessions; tracers that
  are modules; ports;
- several messages that wait when a process receives: `'receive'` is told of all of them at once, in OTP
  mostly of each when it is looked at;
- what a process asks another one with `process_info/2`, `group_leader/2` and their like: which of the answers
  are messages that `'receive'` tells of;
- a pattern of a function of the VM while another of another kind is turned off.
Left out, because nothing says what has to come out: when processes run and collect (only that those
events come in pairs), times, counts of patterns for all modules, the number of a scheduler.
"""

import argparse
import collections
import random

FUNCTIONS = 11
LARGEST_COST = 40  # calls that one call may lead to
BIFS = ["{erlang,atom_to_list,1}", "{erlang,integer_to_list,1}", "{erlang,list_to_binary,1}",
        "{lists,reverse,2}", "{lists,member,2}", "{lists,keyfind,3}", "{maps,get,2}", "{maps,put,3}",
        "{maps,merge,2}", "{erlang,term_to_binary,1}", "{erlang,binary_to_term,1}", "{erlang,abs,1}",
        "{erlang,length,1}", "{erlang,element,2}", "{erlang,put,2}", "{erlang,get,1}",
        "{erlang,throw,1}", "{erlang,exit,1}", "{erlang,setelement,3}", "{erlang,tuple_to_list,1}",
        "{erlang,spawn_monitor,3}", "{erlang,link,1}", "{erlang,unlink,1}", "{erlang,send,2}",
        "{erlang,register,2}", "{erlang,monitor,2}", "{erlang,demonitor,2}", "{erlang,process_flag,2}",
        "{erlang,md5,1}", "{erlang,phash2,1}", "{lists,map,2}", "{lists,foldl,3}", "{lists,append,2}",
        "{erlang,split_binary,2}", "{erlang,make_tuple,2}", "{erlang,self,0}", "{erlang,hd,1}"]
CALLS_OF_BIFS = [
    "atom_to_list(X)", "integer_to_list(X)", "list_to_binary(X)", "lists:reverse(X, [z])",
    "lists:member(X, [1, a, {b}])", "lists:keyfind(X, 1, [{1, one}, {a, two}])", "maps:get(X, #{a => 1})",
    "maps:put(k, X, #{})", "maps:merge(#{a => X}, X)", "binary_to_term(term_to_binary({a, [1]}))", "abs(X)",
    "length(X)", "element(1, X)", "put(key, X)", "get(key)", "setelement(1, X, new)",
    "tuple_to_list(X)", "erlang:md5(X)", "erlang:phash2([a, 1])", "lists:append(X, [tail])", "split_binary(X, 1)",
    "erlang:make_tuple(2, X)", "hd(X)", "binary_to_atom(X, utf8)", "list_to_tuple(X)",
    "erlang:append_element(X, last)", "erlang:apply(erlang, abs, [X])", "erlang:'++'(X, [more])",
    "process_info(self(), trap_exit)", "erlang:get_module_info(X)", "is_process_alive(self())"]
RAISES = ["throw({thrown, X})", "exit({exited, X})", "error({bad, X})", "error(bad, [X, args])",
          "erlang:raise(error, {raised, X}, [])", "erlang:raise(throw, X, [])", "hd({X})",
          "1 div (X - X)", "case X of never -> X end", "{never, _} = {X, 1}", "map_get(nokey, #{k => X})",
          "?MODULE:no_such_function(X)", "if X =:= never -> X end", "erlang:exit(X)", "X#{key := 1}"]
VALUES = ["0", "1", "2", "3", "7", "-4", "a", "b", "[]", "[1]", "[a, b]", "\"text\"", "{a}", "{a, 1}",
          "{b, [1, 2]}", "<<>>", "<<1, 2>>", "<<\"bin\">>", "#{a => 1}", "#{}", "#{b => {x}}", "2.5",
          "1000000000000000000000", "first", "true", "false", "undefined", "<<5:3>>"]
FLAGS = ["call"] * 6 + ["return_to", "return_to", "send", "send", "'receive'", "'receive'", "procs",
                        "procs", "set_on_spawn", "set_on_first_spawn", "set_on_link", "set_on_first_link",
                        "arity", "silent", "timestamp", "monotonic_timestamp",
                        "strict_monotonic_timestamp", "running", "running_procs", "exiting",
                        "garbage_collection"]
BAD_FLAGS = ["nonsense", "{tracer, 1}", "{tracer, '$gone'}", "1", "{tracer}", "cpu_timestamp", "{}"]
INFO_OF_PROCESS = ["flags", "tracer", "flags", "tracer", "traced", "nonsense", "1"]
INFO_OF_FUNCTION = ["traced", "match_spec", "meta", "meta_match_spec", "call_count", "call_time", "all",
                    "all", "flags", "nonsense"]
ENABLED = ["call", "return_to", "send", "'receive'", "procs", "arity", "silent", "timestamp",
           "monotonic_timestamp", "strict_monotonic_timestamp", "set_on_spawn", "set_on_link"]
GUARDS_1 = ["is_atom", "is_float", "is_integer", "is_list", "is_number", "is_pid", "is_port",
            "is_reference", "is_tuple", "is_map", "is_binary", "is_function", "abs", "hd", "tl", "length",
            "round", "trunc", "float", "size", "byte_size", "bit_size", "map_size", "'not'", "'bnot'",
            "node", "'-'", "'+'"]
GUARDS_2 = ["'+'", "'-'", "'*'", "'div'", "'rem'", "'band'", "'bor'", "'bxor'", "'and'", "'or'", "'xor'",
            "'andalso'", "'orelse'", "'>'", "'>='", "'<'", "'=<'", "'=:='", "'=='", "'=/='", "'/='",
            "element", "is_map_key", "map_get", "'andalso'", "'orelse'", "'and'", "'or'", "'=='", "'=:='"]


class Function:
    def __init__(self, number, arity, exported):
        self.name = "f%d" % number
        self.arity = arity
        self.exported = exported
        self.cost = 1
        self.text = ""

    def head(self, *arguments):
        return "%s(%s)" % (self.name, ", ".join(arguments[-self.arity:] if self.arity < 3
                                                else arguments))


class Program:
    def __init__(self, seed, name):
        self.random = random.Random(seed)
        self.name = name
        self.module = name
        # Not both (see above).
        self.tokens = self.random.random() < 0.15
        self.functions = []
        for number in reversed(range(FUNCTIONS)):
            self.functions.insert(0, self.make_function(number))
        self.workers = self.pick(1, 1, 2, 2, 3)
        self.tracers = self.random.randint(1, 2)
        # A meta tracer that has ended is not asked for (see above).
        self.kills = self.chance(0.2)
        self.kinds_set = collections.defaultdict(set)  # of patterns, by what they name
        self.steps = self.make_steps()

    # ---- the module -----------------------------------------------------------------------------

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    def make_function(self, number):
        self.current = Function(number, self.pick(1, 2, 2, 2, 3), number < 2 or self.chance(0.6))
        while True:
            self.current.cost = 1
            leaf = number >= FUNCTIONS - 3 or self.chance(0.2)
            self.text = self.leaf() if leaf else self.inner(number)
            if self.current.cost <= LARGEST_COST:
                self.current.text = self.text
                return self.current

    def own_head(self, n="N", x="X", y="Y"):
        return "%s(%s)" % (self.current.name, ", ".join([[x], [n, x], [n, x, y]][self.current.arity - 1]))

    def x_argument(self):
        return self.pick("X", "X", "X", "{X}", "[X]", "[X, a]", "a", "1", "<<\"b\">>", "[]", "self()")

    def arguments(self, function, n=None):
        n = n or self.pick("0", "1", "2", "2", "3")
        return [[self.x_argument()], [n, self.x_argument()],
                [n, self.x_argument(), self.pick("X", "y", "[]")]][function.arity - 1]

    def callee(self, exported=False):
        choices = [f for f in self.functions[:6] if f.exported or not exported]
        if not choices:
            choices = [f for f in self.functions if f.exported]
        if not choices:
            return None
        callee = self.random.choice(choices)
        self.current.cost += callee.cost
        return callee

    def call(self):
        callee = self.callee()
        kind = self.pick("local", "local", "local", "remote", "remote", "apply", "fun", "variable", "external")
        arguments = ", ".join(self.arguments(callee))
        if kind == "local" or not callee.exported:
            if kind == "fun":
                return "(fun(Z) -> {Z, %s(%s)} end)(X)" % (callee.name, arguments)
            return "%s(%s)" % (callee.name, arguments)
        if kind == "apply":
            return "apply(?MODULE, %s, [%s])" % (callee.name, arguments)
        if kind == "variable":
            return "(mod()):%s(%s)" % (callee.name, arguments)
        if kind == "external":
            return "(fun ?MODULE:%s/%d)(%s)" % (callee.name, callee.arity, arguments)
        return "?MODULE:%s(%s)" % (callee.name, arguments)

    def spawned(self):
        """The arguments of a spawn."""
        callee = self.callee(exported=True)
        if callee is None or self.chance(0.2):
            return "fun() -> %s end" % self.pick("X", "exit(X)", "self() ! X, receive X -> ok end")
        return "?MODULE, %s, [%s]" % (callee.name, ", ".join(self.arguments(callee)))

    def value(self):
        """A call that gives a value, or raises."""
        return self.pick(self.call(), self.call(), self.random.choice(CALLS_OF_BIFS))

    def leaf(self):
        kind = self.pick("bif", "bif", "bif", "raise", "bits", "send", "message", "constant",
                         "dictionary", "timeout", "bif_body", "clauses")
        head = self.own_head()
        if kind == "bif":
            return "%s -> %s." % (head, self.random.choice(CALLS_OF_BIFS))
        if kind == "bif_body":
            return "%s -> {%s, X}." % (head, self.random.choice(CALLS_OF_BIFS))
        if kind == "raise":
            return "%s -> %s." % (head, self.random.choice(RAISES))
        if kind == "bits":
            self.current.cost += 4
            return "%s -> %s(2, <<A, B>>, [A | B]);\n%s -> bits(X)." % (
                self.own_head(x="<<A, B:8, _/bits>>"), "tripled", head)
        if kind == "send":
            return "%s -> self() ! {own, X}, receive {own, Z} -> Z end." % head
        if kind == "message":
            return "%s -> self() ! X, dead() ! {to_nobody, X}, waiting()." % head
        if kind == "constant":
            return "%s -> %s." % (head, self.random.choice(VALUES))
        if kind == "dictionary":
            return "%s -> put(X, x), Z = get(X), erase(X), {Z, get(key)}." % head
        if kind == "timeout":
            return "%s -> receive {never, Z} -> Z after %s -> late end." % (head, self.pick("0", "1"))
        return "%s -> {one, X};\n%s when is_list(X) -> length(X);\n%s when is_atom(X) -> X." % (
            self.own_head(x="{X}"), head, head)

    def inner(self, number):
        kinds = ["body", "tail", "tail", "try", "catch", "after", "of", "sequence", "map", "comprehension",
                 "foldl", "raise_through"]
        if self.current.arity >= 2:
            kinds += ["recursion", "loop", "recursion"]
        if not self.tokens:
            kinds += ["spawn", "spawn", "spawn_link", "link", "register", "monitor", "spawn_opt", "trap"]
        kind = self.random.choice(kinds)
        head = self.own_head()
        first = self.value()
        if kind == "body":
            return "%s -> {%s, X}." % (head, first)
        if kind == "tail":
            return "%s -> %s." % (head, self.call())
        if kind == "sequence":
            return "%s -> Z = %s, [%s | Z]." % (head, first, self.value())
        if kind == "try":
            return "%s -> try {ok, %s} catch C:R -> {C, R, %s} end." % (
                head, first, self.pick("X", self.value()))
        if kind == "catch":
            return "%s -> {X, catch %s}." % (head, first)
        if kind == "after":
            return "%s -> try %s after %s end." % (head, first, self.value())
        if kind == "of":
            return "%s -> try %s of Z -> {Z, %s} catch throw:T -> T; exit:_ -> %s end." % (
                head, first, self.value(), self.call())
        if kind == "raise_through":
            return "%s -> Z = (catch %s), {%s, Z}." % (head, first, self.random.choice(RAISES))
        if kind == "map":
            return "%s -> lists:map(fun(Z) -> %s end, [1, X])." % (
                head, first.replace("X", "Z"))
        if kind == "comprehension":
            return "%s -> [{Z, %s} || Z <- [1, 2], X =/= Z]." % (head, first)
        if kind == "foldl":
            return "%s -> lists:foldl(fun(A, B) -> [A, %s | B] end, [], [X])." % (head, first)
        if kind in ("recursion", "loop"):
            self.current.cost *= 4
            me = self.current
            again = [None, None, "%s(N - 1, %s)", "%s(N - 1, %s, Y)"][me.arity] % (
                self.pick(me.name, me.name, "?MODULE:" + me.name) if me.exported else me.name,
                self.pick("X", "[X]"))
            bottom = "%s -> %s" % (self.own_head(n="0"), self.pick("X", first))
            step = "[%s | X]" % again if kind == "recursion" else again
            return "%s;\n%s when N > 0, N < 4 -> %s." % (
                bottom, head, self.pick(step, step, "_ = %s, %s" % (first, step)))
        if kind == "spawn":
            return ("%s -> {P, R} = spawn_monitor(%s), "
                    "receive {'DOWN', R, process, P, Why} -> {down, Why} end." % (head, self.spawned()))
        if kind == "spawn_opt":
            return ("%s -> {P, R} = spawn_opt(%s, [%s]), "
                    "receive {'DOWN', R, process, P, Why} -> {down, Why} end." % (
                        head, self.spawned(), self.pick("monitor", "monitor, {priority, high}")))
        if kind in ("spawn_link", "trap"):
            return ("%s -> Old = process_flag(trap_exit, true), P = spawn_link(%s), "
                    "receive {'EXIT', P, Why} -> {Old, exited, Why} end." % (head, self.spawned()))
        if kind == "link":
            return "%s -> P = kid(), link(P), %s, stop(P), X." % (
                head, self.pick("unlink(P)", "unlink(P)", "unlink(P), link(P), unlink(P)"))
        if kind == "register":
            return "%s -> register(gt_name, self()), gt_name ! X, Z = waiting(), " \
                   "true = unregister(gt_name), {Z, catch gt_name ! X}." % head
        return "%s -> P = kid(), R = monitor(process, P), %s, stop(P), X." % (
            head, self.pick("demonitor(R)", "demonitor(R, [flush])"))

    # Beside the functions: a name that the compiler does not see through, others to talk to, and a
    # function that begins with a receive.
    HELPERS = """
mod() -> hd([?MODULE]).
dead() -> {P, R} = spawn_monitor(fun() -> ok end), receive {'DOWN', R, _, _, _} -> P end.
kid() -> P = spawn(fun() -> waiting() end), trace_harness:wait_for(P), P.
stop(P) -> R = monitor(process, P), P ! stop, receive {'DOWN', R, _, _, _} -> ok end.
waiting() -> receive {to_nobody, _} -> ?MODULE:waiting(); Z -> Z end.
tripled(0, B, T) -> {B, T};
tripled(N, <<A, B/bits>>, T) -> tripled(N - 1, <<B/bits, A, A>>, [T | A]).
bits(<<A, T/bits>>) -> [A | bits(T)];
bits(T) -> T.
"""

    def source(self):
        helpers = self.HELPERS
        if self.tokens:
            helpers = helpers.replace(
                "{P, R} = spawn_monitor(fun() -> ok end), receive {'DOWN', R, _, _, _} -> P end", "self()")
        exports = ["%s/%d" % (f.name, f.arity) for f in self.functions if f.exported]
        return "-module(%s).\n-compile([nowarn_unused_function, nowarn_unused_vars]).\n" \
               "-compile(nowarn_deprecated_catch).\n-export([waiting/0, %s]).\n\n%s\n%s" % (
                   self.module, ", ".join(exports), "\n".join(f.text for f in self.functions), helpers)

    # ---- match specifications -------------------------------------------------------------------

    def variable(self):
        return self.pick("'$1'", "'$1'", "'$2'", "'$3'")

    def literal(self):
        return self.random.choice(VALUES)

    def pattern(self, depth=2):
        kind = self.random.random()
        if kind < 0.35:
            return "'_'"
        if kind < 0.7:
            return self.variable()
        if kind < 0.8 or depth == 0:
            return self.literal()
        parts = [self.pattern(depth - 1) for _ in range(self.random.randint(0, 2))]
        return self.pick("[%s]" % ", ".join(parts), "{%s}" % ", ".join(parts),
                         "[%s | %s]" % (self.pattern(depth - 1), self.pattern(depth - 1)),
                         "#{%s => %s}" % (self.pick("a", "b", "k"), self.pattern(depth - 1)))

    def spec_head(self, arity):
        kind = self.random.random()
        if kind < 0.3:
            return "'_'"
        if kind < 0.4:
            return "'$1'"
        if kind < 0.44:
            return self.pick("['_' | '_']", "'$_'", "{'_'}", "[]", "a", "#{a => 1}", "#{'$1' => 1}")
        return "[%s]" % ", ".join(self.pattern() for _ in range(arity))

    def expression(self, depth=2, trace=True):
        kind = self.random.random()
        if depth == 0 or kind < 0.3:
            return self.pick(self.variable(), self.variable(), self.variable(), "'$_'", "'$$'", "'$*'",
                             self.pick("a", "1", "0", "true", "false", "[]", "2.5", "<<1, 2>>", "\"text\""),
                             "{const, %s}" % self.literal(), "{self}")
        inner = [self.expression(depth - 1, trace) for _ in range(3)]
        if kind < 0.5:
            return "{%s, %s}" % (self.random.choice(GUARDS_1), inner[0])
        if kind < 0.8:
            return "{%s, %s, %s}" % (self.random.choice(GUARDS_2), inner[0], inner[1])
        if kind < 0.82:
            return "{'%s', %s, %s}" % (self.pick("bsl", "bsr"), inner[0], self.pick("1", "2", "a"))
        return self.pick(
            "{{%s, %s}}" % (inner[0], inner[1]), "[%s, %s]" % (inner[0], inner[1]),
            "[%s | %s]" % (inner[0], inner[1]), "#{k => %s}" % inner[0], "{{}}",
            "{is_record, %s, %s, 2}" % (inner[0], self.pick("a", "b", "{const, a}")), "{node}",
            "{get_tcw}" if trace else "{self}", "{is_seq_trace}" if trace else "{node}",
            "{'andalso', %s, %s, %s}" % tuple(inner), "{'or', %s, %s, %s}" % tuple(inner),
            "{binary_part, %s, 0, 1}" % inner[0], "{%s, 1, 2}" % self.pick("no_such", "is_atom", "message"),
            "{is_function, %s, 1}" % inner[0], "{'and', %s}" % inner[0], "{%s}" % inner[0],
            "{ceil, %s}" % inner[0], "{min, %s, %s}" % (inner[0], inner[1]))

    def guard(self, trace=True):
        if self.chance(0.5):
            return self.pick("{is_atom, '$1'}", "{is_integer, '$1'}", "{is_list, '$2'}",
                             "{'>', '$1', 0}", "{'=:=', {self}, {'$w', 1}}", "{'<', {get_tcw}, 3}",
                             "{'==', '$1', '$2'}", "{is_tuple, '$_'}", "{'not', {is_pid, '$1'}}", "true",
                             "{'>', {length, '$_'}, 1}")
        return self.expression(2, trace)

    def some_worker(self):
        return "{'$w',%d}" % self.random.randint(1, self.workers)

    def some_tracer(self):
        return "{'$t',%d}" % self.random.randint(1, self.tracers)

    def enabled(self):
        return self.random.choice(ENABLED) if self.chance(0.95) else self.pick("nonsense", "1")

    def flag_list(self):
        flags = [self.enabled() for _ in range(self.random.randint(0, 3))]
        if self.chance(0.15):
            flags.append("{tracer, %s}" % self.some_tracer())
        if self.chance(0.05):
            flags.append(self.random.choice(BAD_FLAGS))
        return "[%s]" % ", ".join(flags)

    def action(self):
        kind = self.random.random()
        if kind < 0.2:
            return "{return_trace}"
        if kind < 0.4:
            return "{exception_trace}"
        if kind < 0.5:
            return "{message, %s}" % self.pick("true", "false", "{caller}", "'$_'", "'$$'")
        if kind < 0.65:
            return "{message, %s}" % self.nested()
        if kind < 0.68:
            return "{message, %s, 1}" % self.variable()
        if self.tokens and kind < 0.8:
            return "{set_seq_token, %s, %s}" % self.pick(
                ("label", "17"), ("label", "{const, {l}}"), ("send", "true"), ("serial", "{{3, 4}}"),
                ("timestamp", "true"), ("'receive'", "false"), ("print", "true"), ("nonsense", "1"),
                ("[]", "[]"))
        return self.pick(self.nested(), self.nested(), self.expression(1))

    def nested(self):
        """An action that gives something to look at."""
        if self.tokens and self.chance(0.4):
            return self.pick("{get_seq_token}", "{is_seq_trace}")
        return self.pick(
            "{caller}", "{caller}", "{caller_line}", "{process_dump}",
            "{enable_trace, %s}" % self.enabled(), "{disable_trace, %s}" % self.enabled(),
            "{enable_trace, %s, %s}" % (self.target(), self.enabled()),
            "{disable_trace, %s, %s}" % (self.target(), self.enabled()),
            "{trace, %s, %s}" % (self.flag_list(), self.flag_list()),
            "{trace, %s, %s, %s}" % (self.target(), self.flag_list(), self.flag_list()),
            "{silent, %s}" % self.pick("true", "false", "false", "maybe"),
            "{set_tcw, %s}" % self.pick("1", "2", "17", "'$1'", "a"), "{get_tcw}",
            "{is_seq_trace}", "{get_seq_token}", "{{%s, %s}}" % (self.expression(1), self.expression(1)),
            "[%s]" % self.expression(1), "#{m => %s}" % self.expression(1), self.expression(2),
            "{return_trace}")

    def target(self):
        return self.pick("{self}", self.some_worker(), self.some_worker(), "'$1'", "gt_name", "'$gone'")

    def clause(self, arity):
        guards = [self.guard() for _ in range(self.pick(0, 0, 0, 1, 1, 2))]
        actions = [self.action() for _ in range(self.pick(0, 1, 1, 1, 2, 3))]
        return "{%s, [%s], [%s]}" % (self.spec_head(arity), ", ".join(guards), ", ".join(actions))

    def spec(self, arity):
        kind = self.random.random()
        if kind < 0.2:
            return "true"
        if kind < 0.3:
            return "[{'_', [], [{%s}]}]" % self.pick("return_trace", "exception_trace")
        if kind < 0.33:
            return "[]"
        if kind < 0.37:
            return self.pick("[{'_', []}]", "[a]", "{}", "1", "[{'_', [], []} | a]", "[{'_', a, []}]",
                             "[{'_', [], a}]", "nonsense", "[{'_', [], [{return_trace, 1}]}]")
        return "[%s]" % ", ".join(self.clause(arity) for _ in range(self.pick(1, 1, 1, 2, 3)))

    # ---- steps ----------------------------------------------------------------------------------

    def own_functions(self):
        """What a pattern names, and an arity for its heads."""
        f = self.random.choice(self.functions)
        return self.pick(("{%s,%s,%d}" % (self.module, f.name, f.arity), f.arity),
                         ("{%s,%s,%d}" % (self.module, f.name, f.arity), f.arity),
                         ("{%s,%s,'_'}" % (self.module, f.name), f.arity),
                         ("{%s,'_','_'}" % self.module, f.arity))

    def functions_and_arity(self):
        kind = self.random.random()
        if kind < 0.65:
            return self.own_functions()
        if kind < 0.88:
            bif = self.random.choice(BIFS)
            return bif, int(bif[-2])
        if kind < 0.93:
            return self.pick(("{trace_late,'_','_'}", 1), ("{trace_late,two,2}", 2),
                             ("{trace_late,hidden,1}", 1), ("{%s,waiting,0}" % self.module, 0),
                             ("{%s,bits,1}" % self.module, 1))
        return self.pick(("{%s,no_such,1}" % self.module, 1), ("{no_such,'_','_'}", 1), ("{'_',f1,2}", 2),
                         ("{a,b}", 1), ("{%s,f1,-1}" % self.module, 1), ("nonsense", 1),
                         ("{%s,'_',1}" % self.module, 1), ("{1,2,3}", 1), ("{%s,f1,256}" % self.module, 1),
                         ("on_load", 1))

    def pattern_step(self):
        if self.chance(0.1):
            which = self.pick("send", "'receive'")
            arity = 2 if which == "send" else 3
            how = self.pick("false", "true", "true", self.spec(arity), self.spec(arity))
            return "{pattern, %s, %s, %s}" % (which, how, "[]" if self.chance(0.95) else "[local]")
        which, arity = self.functions_and_arity()
        options = self.pick("[local]", "[local]", "[local]", "[]", "[global]", "[global]", "[meta]", "[meta]",
                            "[{meta, %s}]" % self.some_tracer(),
                            "[call_count]", "[call_time]",
                            "[call_count, local]", "[local, meta]", "[call_count, call_time]",
                            "[local, global]", "[nonsense]", "local") \
            if self.chance(0.5) else self.pick("[local]", "[global]")
        kind = self.random.random()
        if "call_" in options:
            if which.startswith(("{erlang", "{lists", "{maps")):  # everybody's calls count
                which = self.own_functions()[0]
            how = self.pick("true", "true", "true", "false", "pause", "restart", self.spec(arity))
        else:
            how = "false" if kind < 0.12 else self.pick("restart", "pause") if kind < 0.14 \
                else self.spec(arity)
        # What is turned off is left on instead where a BIF has a pattern of another kind (see above).
        kinds = {kind for kind in ("local", "global", "meta") if kind in options} or {"global"}
        if how == "false" and which in BIFS and self.kinds_set[which] - kinds:
            how = "true"
        if how != "false":
            self.kinds_set[which] |= kinds
        return "{pattern, %s, %s, %s}" % (which, how, options)

    def trace_step(self):
        flags = [self.random.choice(FLAGS) for _ in range(self.random.randint(1, 4))]
        if self.chance(0.7):
            flags.append("call")
        if self.chance(0.3):
            flags.append("{tracer, %s}" % self.some_tracer())
        if self.chance(0.04):
            flags.append(self.random.choice(BAD_FLAGS))
        how = self.pick(*["true"] * 8, "false", "false")
        if how == "false" and self.chance(0.3):
            flags = ["all"]
        if self.chance(0.01):
            how = "maybe"
        text = "[%s]" % ", ".join(flags)
        who = self.some_worker()
        if self.chance(0.12):
            who = self.pick("new", "new_processes", "new", "'$gone'", "nonsense", "1", "new_ports", "existing",
                            "all", "processes", "existing_ports", "existing_processes", "a")
            if who in ("existing", "all", "processes", "existing_ports", "existing_processes"):
                how = "false"  # processes of the system are nobody's business
        if self.chance(0.05):  # who is a tracer cannot be traced by itself
            who, tracer = self.pick(("'$control'", self.some_tracer()), ("{'$t',1}", "'$control'"))
            text = "[call, {tracer, %s}]" % tracer
        return "{trace, %s, %s, %s}" % (who, how, text)

    def work_arguments(self):
        exported = [f for f in self.functions if f.exported]
        f = self.random.choice(exported[:5])
        values = [str(self.random.randint(0, 3)), self.literal(), self.literal()]
        arguments = [values[1:2], values[:2], values][f.arity - 1]
        if self.chance(0.05):
            return "{'$w',1}, %s" % self.module, f.name, arguments
        return self.module, f.name, arguments

    def work_step(self, kind="work"):
        module, function, arguments = self.work_arguments()
        return "{%s, %s, %s, %s, [%s]}" % (kind, self.some_worker(), self.module, function,
                                           ", ".join(arguments))

    def info_step(self):
        if self.chance(0.4):
            return "{info, %s, %s}" % (
                self.pick(self.some_worker(), self.some_worker(), "new", "new_processes", "'$gone'",
                          "'$control'", "nonsense", "1"),
                self.random.choice(INFO_OF_PROCESS))
        if self.chance(0.1):
            return "{info, %s, %s}" % (self.pick("send", "'receive'", "on_load"),
                                       self.pick("match_spec", "all", "traced", "flags"))
        which, _ = self.functions_and_arity()
        which = which.replace("'_'", "1") if self.chance(0.7) else which
        return "{info, %s, %s}" % (which, self.random.choice(INFO_OF_FUNCTION))

    def test_step(self):
        arity = self.random.randint(1, 3)  # erl crashes on '$_' of no arguments
        arguments = [self.literal() for _ in range(arity)]
        if self.chance(0.5):
            return "{test, [%s], %s, trace}" % (", ".join(arguments), self.spec(arity))
        head = self.pick("'_'", "'$1'", "{%s}" % ", ".join(self.pattern() for _ in range(arity)),
                         self.pattern())
        guards = [self.expression(2, self.chance(0.1)) for _ in range(self.pick(0, 1, 2))]
        body = [self.expression(2, self.chance(0.1)) for _ in range(self.pick(0, 1, 1, 1, 2))]
        clause = "{%s, [%s], [%s]}" % (head, ", ".join(guards), ", ".join(body))
        return "{test, %s, [%s], %s}" % (
            self.pick("{%s}" % ", ".join(arguments), "{%s}" % ", ".join(arguments), self.literal()),
            clause, self.pick("table", "table", "table", "table", "nonsense"))

    def make_steps(self):
        steps = ["{tracer, {'$new',%d}}" % n for n in range(1, self.tracers + 1)]
        steps += ["{worker, {'$w',%d}}" % n for n in range(1, self.workers + 1)]
        steps.append("{trace, {'$w',1}, true, [call, %s]}" % self.random.choice(FLAGS))
        loaded = False
        for _ in range(self.random.randint(3, 6)):
            kinds = ["pattern"] * self.random.randint(1, 3) + ["trace"] * self.random.randint(0, 2) + \
                ["info"] * self.random.randint(0, 2) + ["test"] * self.random.randint(0, 1)
            self.random.shuffle(kinds)
            steps += [getattr(self, kind + "_step")() for kind in kinds]
            if self.chance(0.12) and not loaded:
                loaded = True
                if self.chance(0.7):
                    steps.append("{pattern, on_load, %s, %s}" % (self.spec(1), self.pick("[local]", "[]")))
                steps.append("load_late")
            if self.chance(0.08):
                steps.append("{tell, %s, %s}" % (self.some_worker(), self.literal()))
            for _ in range(self.random.randint(1, 3)):
                steps.append(self.work_step())
                if loaded and self.chance(0.5):
                    steps.append("{work, %s, trace_late, two, [2, %s]}" % (self.some_worker(),
                                                                         self.literal()))
            if self.chance(0.1):
                steps.append(self.work_step("last") if self.chance(0.7) else "{exit, %s, %s}" % (
                    self.some_worker(), self.pick("kill", "bye")))
                ended = steps[-1].split(", ")[1]
                if self.chance(0.7):
                    steps.append(self.info_step())
                steps.append("{worker, %s}" % ended)
            if self.kills and self.chance(0.25):
                steps.append("{kill, %s}" % self.some_tracer())
        return steps

    def terms(self, name=None, steps=None):
        return "{%s, %s,\n [%s]}." % (name or self.name, self.module,
                                      ",\n  ".join(self.steps if steps is None else steps))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program = Program(options.seed, "gt_%d" % options.seed)
    print(program.source())
    print(program.terms())


if __name__ == "__main__":
    main()
