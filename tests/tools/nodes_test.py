#!/usr/bin/env python3
"""Nodes of `minivm erl` beside those of `erl`: what programs see of them is the same whichever runs on either side, and
neither a storm of links, monitors and cuts nor a peer that sends garbage does any harm.

    tests/tools/nodes_test.py MINIVM [TEST...]
"""

import concurrent.futures
import hashlib
import os
import pathlib
import random
import socket
import struct
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

minivm, folder = None, None  # tool_tests.main() sets them
WAIT_S = 120
COOKIE = "biscuit"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# A name server of our own: others on the machine are not seen, and it goes with the test.
ENV = dict(os.environ, ERL_EPMD_PORT=str(free_port()))


def ours():
    return [minivm, "erl"]


def start(program, name, call, *arguments):
    return subprocess.Popen([*program, "-noshell", "-sname", name, "-setcookie", COOKIE, "-kernel",
                             "logger_level", "none", *arguments, "-eval", call + "."],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            encoding="utf-8", cwd=folder, env=ENV)


class Server:
    """A node that serves until its client lets it halt."""

    def __init__(self, program, *arguments):
        self.name = "server%d" % random.SystemRandom().randrange(1 << 30)
        self.process = start(program, self.name, "nodes:serve()", *arguments)
        line = self.process.stdout.readline()
        if line != "ready\n":
            self.process.kill()
            raise AssertionError("the server says %r" % (line + self.process.communicate()[0]))

    def end(self):
        try:
            out = self.process.communicate(timeout=WAIT_S)[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            out = self.process.communicate()[0] + "(did not end)"
        return self.process.returncode, out

    def kill(self):
        self.process.kill()
        self.process.wait()


def pair(server_program, client_program, call):
    server = Server(server_program)
    client = start(client_program, "client%d" % random.SystemRandom().randrange(1 << 30), call % server.name)
    try:
        out = client.communicate(timeout=WAIT_S)[0]
    finally:
        client.kill()
    if client.returncode != 0:
        server.process.kill()
    return client.returncode, out.replace(server.name, "SERVER"), server.end()


# ---- a node in Python, as far as it takes to send garbage ----------------------------------------------------------

FLAGS = (0x4 | 0x10 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x20000 | 0x40000 | 0x1000000 | 0x2000000
         | 0x8 | 0x20 | 0x400000 | 0x80000 | (1 << 32) | (4 << 32) | (8 << 32))


def port_of(name):
    with socket.create_connection(("127.0.0.1", int(ENV["ERL_EPMD_PORT"])), 10) as s:
        s.sendall(struct.pack(">HB", len(name) + 1, 122) + name.encode())
        answer = b""
        while chunk := s.recv(4096):
            answer += chunk
    return struct.unpack(">H", answer[2:4])[0]


def receive(s, size):
    data = b""
    while len(data) < size:
        chunk = s.recv(size - len(data))
        if not chunk:
            raise ConnectionError("closed")
        data += chunk
    return data


def receive2(s):
    return receive(s, struct.unpack(">H", receive(s, 2))[0])


class Impostor:
    """Connected to the node of that name on this machine."""

    def __init__(self, name, cookie=COOKIE):
        self.name = "impostor%d@%s" % (random.SystemRandom().randrange(1 << 30), socket.gethostname().split(".")[0])
        self.socket = s = socket.create_connection(("127.0.0.1", port_of(name)), 10)
        own = self.name.encode()
        greeting = b"N" + struct.pack(">QIH", FLAGS, 7, len(own)) + own
        s.sendall(struct.pack(">H", len(greeting)) + greeting)
        status = receive2(s)
        if status not in (b"sok", b"sok_simultaneous"):
            raise ConnectionError(status)
        challenge = receive2(s)
        number = struct.unpack(">I", challenge[9:13])[0]
        digest = hashlib.md5((cookie + str(number)).encode()).digest()
        reply = b"r" + struct.pack(">I", 1) + digest
        s.sendall(struct.pack(">H", len(reply)) + reply)
        receive2(s)

    def send(self, packet):
        self.socket.sendall(struct.pack(">I", len(packet)) + packet)

    def close(self):
        self.socket.close()


def atom(text):
    return b"w" + bytes([len(text.encode())]) + text.encode()


def small(n):
    return b"a" + bytes([n]) if 0 <= n < 256 else b"b" + struct.pack(">i", n)


def tup(*elements):
    return b"h" + bytes([len(elements)]) + b"".join(elements)


def pid(node, number, serial=0, creation=7):
    return b"X" + atom(node) + struct.pack(">III", number, serial, creation)


def ref(node, *words):
    return b"Z" + struct.pack(">H", len(words)) + atom(node) + struct.pack(">I", 7) + struct.pack(">%dI" % len(words), *words)


def some_packet(rng, me, server):
    """A control message that is nearly one, with a payload or not; sometimes with bytes changed."""
    def term(depth=0):
        return rng.choice([
            lambda: small(rng.randrange(-3, 300)), lambda: atom(rng.choice(["echo", "rex", "", "normal", "kill"])),
            lambda: pid(me, rng.randrange(4)), lambda: pid(server, rng.randrange(200), 0, rng.randrange(9)),
            lambda: ref(me, *[rng.randrange(1 << 18) for _ in range(rng.randrange(1, 6))]),
            lambda: b"j", lambda: b"m" + struct.pack(">I", 3) + b"abc",
            lambda: pid("other@nowhere", 5) if depth > 2 else tup(*[term(depth + 1) for _ in range(rng.randrange(5))]),
        ])()

    control = tup(small(rng.choice([1, 2, 3, 4, 6, 7, 8, 12, 13, 16, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
                                    31, 32, 33, 34, 35, 36, 37, 5, 99])), *[term() for _ in range(rng.randrange(7))])
    packet = b"p\x83" + control
    if rng.random() < 0.6:
        packet += b"\x83" + term()
    if rng.random() < 0.3:
        data = bytearray(packet)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        packet = bytes(data[:rng.randrange(1, len(data) + 1)] if rng.random() < 0.3 else data)
    return packet


class Nodes(unittest.TestCase):
    maxDiff = None

    def test_a_node_alone_is_the_same(self):
        def run(program):
            done = subprocess.run([*program, "-noshell", "-kernel", "logger_level", "none", "-eval", "nodes:alone()."], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", cwd=folder, env=ENV,
                                  timeout=WAIT_S, check=False)
            return done.returncode, done.stdout
        subprocess.run(["epmd", "-daemon"], env=ENV, check=True)
        self.assertEqual(run(ours()), run(["erl"]))

    def test_two_nodes_are_the_same_whichever_they_are(self):
        def run(programs):
            return pair(*programs, 'nodes:pair("%s")')
        kinds = [(["erl"], ["erl"]), (["erl"], ours()), (ours(), ["erl"]), (ours(), ours())]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:  # they wait more than they work
            expected, *others = pool.map(run, kinds)
        self.assertEqual(expected[0], 0, expected[1])
        for (server, client), result in zip(kinds[1:], others):
            self.assertEqual(result, expected, "%s <- %s" % (server, client))

    def test_a_silent_connection_stays_and_one_that_stands_still_goes(self):
        def run(programs):
            server = Server(programs[0], "net_ticktime", "1")
            client = start(programs[1], "ticker%d" % random.SystemRandom().randrange(1 << 30),
                           'nodes:ticks("%s", "%d")' % (server.name, server.process.pid), "net_ticktime", "1")
            try:
                return client.communicate(timeout=WAIT_S)[0]
            finally:
                client.kill()
                server.kill()
        kinds = [(["erl"], ours()), (ours(), ["erl"]), (ours(), ours())]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for programs, out in zip(kinds, pool.map(run, kinds)):
                self.assertEqual(out, "silence: true\nstands still: [{nodedown_reason,net_tick_timeout}]\n",
                                 "%s <- %s" % programs)

    def test_a_connection_begins_when_the_one_before_has_been_lost_and_not_before(self):
        # While the last packets of a connection were handled, net_kernel got its handle for the next one, which nobody could
        # connect or give up: that node stayed `pending` for ever. The storm found it, as rarely as its timing.
        for program in (["erl"], ours()):
            node = start([*program, "+S", "4"], "late%d" % random.SystemRandom().randrange(1 << 30), "nodes:late()")
            out = node.communicate(timeout=WAIT_S)[0]
            self.assertEqual((node.returncode, out.splitlines()), (0, ["{began,[1]} x", "{1,true}"]), program)

    def test_a_storm_loses_nothing_and_leaves_nothing(self):
        seed = tool_tests.seed()
        kinds = [(ours(), ours()), (["erl"], ours()), (ours(), ["erl"])]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = pool.map(lambda programs: pair(*programs, 'nodes:storm("%%s", %d)' % seed), kinds)
        for (server, client), (status, out, (_, said)) in zip(kinds, results):
            self.assertEqual((status, out.splitlines()[-1:]), (0, ["ok"]),
                             "seed %d, %s <- %s: %s%s" % (seed, server, client, out, said))

    def test_a_node_that_restarts_says_nothing_without_its_name(self):
        status, out, _ = pair(ours(), ours(), 'nodes:restarts("%s")')
        self.assertEqual((status, out), (0, "ok\n"))

    def test_nodes_that_a_node_starts(self):
        node = start(ours(), "boss%d" % os.getpid(), "nodes:peers()")
        out = node.communicate(timeout=WAIT_S)[0]
        self.assertEqual((node.returncode, out), (0, "peer: {true,pong,true}\nsame machine: true\n"
                                                     "over standard io: {nonode@nohost,nonode@nohost}\n"))

    def test_erl_call(self):
        def call(*arguments, text=""):
            done = subprocess.run(["erl_call", "-sname", server.name, *arguments], input=text, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, encoding="utf-8", env=ENV, timeout=WAIT_S, check=False)
            return done.returncode, done.stdout.replace(server.name, "SERVER").split("@")[0]
        server = Server(ours())
        try:
            self.assertEqual(call("-c", COOKIE, "-a", "erlang node"), (0, "SERVER"))
            self.assertEqual(call("-c", COOKIE, "-a", "erlang nodes"), (0, "[]"))
            self.assertEqual(call("-c", COOKIE, "-e", text="lists:sum([1,2,3]).\n"), (0, "{ok, 6}"))
            self.assertEqual(call("-c", "wrong", "-a", "erlang node")[0], 1)
            self.assertEqual(call("-c", COOKIE, "-q"), (0, ""))
            self.assertEqual(server.end()[0], 0)
        finally:
            server.kill()

    def test_garbage_ends_its_connection_and_nothing_else(self):
        seconds = float(os.environ.get("FUZZ_SECONDS", "4"))
        seed = tool_tests.seed()
        rng = random.Random(seed)
        server = Server(ours())
        witness = Server(["erl"])
        try:
            full = "%s@%s" % (server.name, socket.gethostname().split(".")[0])
            end = time.monotonic() + seconds
            connections = packets = 0
            while time.monotonic() < end:
                with self.subTest(seed=seed, connection=connections):
                    peer = Impostor(server.name)
                    connections += 1
                    try:
                        for _ in range(rng.randrange(1, 60)):
                            peer.send(some_packet(rng, peer.name, full))
                            packets += 1
                    except OSError:
                        pass  # it was cut off, as it should be
                    peer.close()
                    self.assertIsNone(server.process.poll(), "seed %d" % seed)
            self.assertGreater(packets, 10)
            # Who was connected all the time still is, and the node does what it did.
            client = start(["erl"], "after%d" % os.getpid(),
                           'N = nodes:module_info(module), pong = net_adm:ping(list_to_atom("%s")), '
                           '{echo, list_to_atom("%s")} ! {self(), N}, receive {_, N} -> io:format("fine~n") after 5000 -> ok end, '
                           'rpc:cast(list_to_atom("%s"), erlang, halt, [0]), timer:sleep(300), halt()' % (full, full, full))
            out = client.communicate(timeout=WAIT_S)[0]
            self.assertEqual((out, server.end()[0]), ("fine\n", 0), "seed %d" % seed)
        finally:
            server.kill()
            witness.kill()


if __name__ == "__main__":
    SOURCE = pathlib.Path(__file__).with_name("nodes.erl").read_text(encoding="utf-8")
    try:
        sys.exit(tool_tests.main(sys.modules[__name__], {"nodes.erl": SOURCE}))
    finally:
        subprocess.run(["epmd", "-kill"], env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
