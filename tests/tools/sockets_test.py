#!/usr/bin/env python3
"""Sockets of `minivm erl` beside those of `erl`: the same results, messages and errors; and many connections at once.

    tests/tools/sockets_test.py MINIVM [TEST...]
"""

import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

minivm, folder = None, None  # tool_tests.main() sets them
WAIT_S = 240


def run(program, call):
    done = subprocess.run([*program, "-noshell", "-eval", call + "."], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="latin-1", cwd=folder, timeout=WAIT_S, check=False)
    return done.returncode, done.stdout


class Sockets(unittest.TestCase):
    maxDiff = None

    def test_what_programs_see_is_the_same(self):
        expected = run(["erl"], "sockets:main()")
        self.assertIn("\ndelayed: ", expected[1])
        self.assertNotIn("did_not_end", expected[1])
        self.assertEqual(run([minivm, "erl"], "sockets:main()"), expected)

    def test_many_connections_lose_nothing_and_leave_nothing(self):
        for seed in range(tool_tests.seed(), tool_tests.seed() + 3):
            self.assertEqual(run([minivm, "erl"], "sockets:stress(%d)" % seed), (0, "ok\n"), "seed %d" % seed)

    def test_what_programs_see_of_module_socket_is_the_same(self):
        expected = run(["erl"], "socket_natives:main()")
        for word in ("did_not_end", "{ended,"):
            self.assertNotIn(word, expected[1])
        self.assertIn("---- backend_udp", expected[1])
        self.assertEqual(run([minivm, "erl"], "socket_natives:main()"), expected)

    def test_many_processes_on_sockets_of_module_socket_lose_nothing(self):
        for seed in range(tool_tests.seed(), tool_tests.seed() + 3):
            self.assertEqual(run([minivm, "erl"], "socket_natives:stress(%d)" % seed), (0, "ok\n"), "seed %d" % seed)

    def test_sockets_work_in_a_bare_boot(self):
        # gen_tcp:listen/2 found no module to ask: nobody had started the kernel for a table of inet_db. The natives of
        # prim_socket and prim_net were never loaded.
        done = subprocess.run([minivm, "run", "bare_sockets.erl"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", cwd=folder, timeout=WAIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "ok\n"))

    def test_reads_that_the_system_cuts_show_nothing_else(self):
        # With the flag trunc the system tells the length of what came, not of what is in the buffer.
        call = """{ok, A} = socket:open(inet, dgram, udp), ok = socket:bind(A, #{family => inet, port => 0, addr => loopback}),
            {ok, To} = socket:sockname(A), {ok, B} = socket:open(inet, dgram, udp),
            Big = binary:copy(<<"a">>, 60000), [ok = socket:sendto(B, Big, To) || _ <- [1, 2, 3]],
            {ok, <<"aaaaa">>} = socket:recv(A, 5, [trunc]), {ok, {_, <<"aaaa">>}} = socket:recvfrom(A, 4, [trunc], 1000),
            {ok, #{iov := [<<"aaa">>], flags := [trunc]}} = socket:recvmsg(A, 3, 0, [trunc], 1000),
            {ok, L} = socket:open(inet, stream, tcp), ok = socket:bind(L, #{family => inet, port => 0, addr => loopback}),
            ok = socket:listen(L), {ok, At} = socket:sockname(L), {ok, C} = socket:open(inet, stream, tcp),
            ok = socket:connect(C, At), {ok, S} = socket:accept(L), ok = socket:send(C, Big),
            {ok, <<0:800>>} = socket:recv(S, 100, [trunc]), {ok, <<"a">>} = socket:recv(S, 1), io:format("ok~n"), halt()"""
        self.assertEqual(run([minivm, "erl"], " ".join(call.split())), (0, "ok\n"))

    def test_dbg_traces_to_a_client_over_the_network(self):
        # trace_ip_drv was no driver: sh was asked for it, and dbg got its complaint as a trace message.
        told = "".join("{trace,pid,call,{trace_ip,f,[%d]}}\n" % n for n in (1, 2, 3))
        later = "".join("{trace,pid,call,{trace_ip,f,[%d]}}\n" % n for n in (20, 21, 22, 30))
        self.assertEqual(run([minivm, "erl"], "trace_ip:main(), halt()"), (0, (
            "true true\n" + told + "left out: 7\nsecond {error,closed}\n" + later +
            "[" + ",\n ".join(6 * ["{error,einval}"]) + "]\n{trace,pid,call,{trace_ip,f,\"(\"}}\n{error,econnrefused}\n")))

    def test_errors_of_the_network_have_the_names_that_erl_knows(self):
        # ehostunreach and enetunreach were `unknown`.
        call = 'io:format("~0p~n", [gen_tcp:connect({255, 255, 255, 255}, 9, [], 1000)]), halt()'
        self.assertEqual(run([minivm, "erl"], call), run(["erl"], call))


if __name__ == "__main__":
    HERE = pathlib.Path(__file__).parent
    sys.exit(tool_tests.main(sys.modules[__name__], {name: (HERE / name).read_text(encoding="utf-8")
                                                     for name in ("sockets.erl", "socket_natives.erl", "trace_ip.erl", "bare_sockets.erl")}))
