#!/usr/bin/env python3
"""Sockets of `minivm erl` beside those of `erl`: the same results, messages and errors; and many connections at once.

    tests/tools/sockets_test.py MINIVM [TEST...]
"""

import ctypes
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

minivm, folder = None, None  # tool_tests.main() sets them
WAIT_S = 240


def run(program, call):
    done = subprocess.run([*program, "-noshell", "-eval", call + "."], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="latin-1", cwd=folder, timeout=WAIT_S, check=False)
    return done.returncode, done.stdout


# A and B: the two ends of a connection.
PAIR = """{ok, L} = socket:open(inet, stream, tcp), ok = socket:bind(L, #{family => inet, port => 0, addr => loopback}),
    ok = socket:listen(L), {ok, At} = socket:sockname(L), {ok, B} = socket:open(inet, stream, tcp),
    ok = socket:connect(B, At), {ok, A} = socket:accept(L), """


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

    def test_a_killed_owner_of_a_lingering_socket_stops_no_scheduler(self):
        # Its scheduler waited in close(2), for as long as the option says, until the peer had read everything.
        call = PAIR + """Fill = fun Fill() -> case socket:send(A, <<0:800000>>, 0) of ok -> Fill(); _ -> full end end,
            {Owner, Ref} = spawn_monitor(fun() -> receive go -> full = Fill() end,
                                                  ok = socket:setopt(A, {socket, linger}, #{onoff => true, linger => 100000}),
                                                  exit(filled) end),
            ok = socket:setopt(A, {otp, controlling_process}, Owner), Owner ! go,
            receive {'DOWN', Ref, _, _, filled} -> ok end,
            Gone = fun Gone() -> case socket:send(A, <<"x">>, 0) of {error, closed} -> ok; _ -> timer:sleep(1), Gone() end end,
            Gone(), io:format("ok~n"), halt()"""
        self.assertEqual(run([minivm, "erl", "+S", "1"], " ".join(call.split())), (0, "ok\n"))

    def test_sockets_of_one_file_wait_for_nothing_and_close_it(self):
        # The first that was closed made the file a blocking one, so a read of the second stopped a scheduler; and with
        # dup => false nobody closed it in the end.
        call = PAIR + """{ok, Fd} = socket:getopt(A, {otp, fd}), {ok, Same} = socket:open(Fd, #{dup => false}),
            {ok, Copy} = socket:open(Fd, #{dup => true}), ok = socket:close(A),
            {error, timeout} = socket:recv(Same, 0, 0), {error, timeout} = socket:recv(Copy, 0, 0),
            ok = socket:close(Copy), {error, timeout} = socket:recv(B, 0, 0),
            ok = socket:close(Same), {error, closed} = socket:recv(B, 0), io:format("ok~n"), halt()"""
        self.assertEqual(run([minivm, "erl"], " ".join(call.split())), (0, "ok\n"))

    def test_a_path_that_fills_the_address_is_all_there(self):
        # The system counts a zero behind it, which was read past the address.
        with tempfile.TemporaryDirectory() as there, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            here = os.getcwd()
            os.chdir(there)
            try:
                address = struct.pack("H108s", socket.AF_UNIX, b"p" * 108)
                self.assertEqual(ctypes.CDLL(None).bind(sender.fileno(), address, len(address)), 0)
                receiver.bind("receiver")
                for program in (["erl"], [minivm, "erl"]):
                    sender.sendto(b"text", "receiver")
                    call = ("{ok, S} = socket:open(%d, #{dup => true}), {ok, {#{path := P}, Text}} = socket:recvfrom(S), "
                            "io:format(\"~p ~s~n\", [{byte_size(P), Text}, P]), halt()." % receiver.fileno())
                    done = subprocess.run([*program, "-noshell", "-eval", call], stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, pass_fds=[receiver.fileno()], encoding="latin-1",
                                          timeout=WAIT_S, check=False)
                    self.assertEqual((done.returncode, done.stdout), (0, "{108,<<\"text\">>} " + "p" * 108 + "\n"))
            finally:
                os.chdir(here)

    def test_sockets_are_counted_by_family_as_on_erl(self):
        call = """{ok, _} = socket:open(local, stream), {ok, _} = socket:open(inet6, dgram), #{counters := C} = socket:info(),
            io:format("~p~n", [[V || {num_dlocal, _} = V <- maps:to_list(C)] ++ [maps:get(num_dinet6, C)]]), halt()"""
        call = " ".join(call.split())
        self.assertEqual(run([minivm, "erl"], call), run(["erl"], call))

    def test_dbg_traces_to_a_client_over_the_network(self):
        # trace_ip_drv was no driver: sh was asked for it, and dbg got its complaint as a trace message.
        told = "".join("{trace,pid,call,{trace_ip,f,[%d]}}\n" % n for n in (1, 2, 3))
        later = "".join("{trace,pid,call,{trace_ip,f,[%d]}}\n" % n for n in (20, 21, 22, 30))
        self.assertEqual(run([minivm, "erl"], "trace_ip:main(), halt()"), (0, (
            "true true\n" + told + "left out: 7\nsecond {error,closed}\n" + later +
            "[" + ",\n ".join(6 * ["{error,einval}"]) + "]\n{trace,pid,call,{trace_ip,f,\"(\"}}\n{error,econnrefused}\n")))

    def test_a_trace_file_has_any_number_of_files(self):
        # The number after the last file's was counted modulo 2^64, and one more than -1 is 0: SIGFPE.
        call = """process_flag(trap_exit, true), P = open_port({spawn, "trace_file_drv w 1 -1 0 2 n tf.x"}, []),
            [P ! {self(), {command, [C]}} || C <- "abc"], true = port_close(P),
            Files = lists:sort(filelib:wildcard("tf*.x")), [ok = file:delete(F) || F <- Files],
            io:format("~p~n", [Files]), halt()"""
        self.assertEqual(run([minivm, "erl"], " ".join(call.split())), (0, '["tf0.x","tf1.x","tf2.x","tf3.x"]\n'))

    def test_errors_of_the_network_have_the_names_that_erl_knows(self):
        # ehostunreach and enetunreach were `unknown`.
        call = 'io:format("~0p~n", [gen_tcp:connect({255, 255, 255, 255}, 9, [], 1000)]), halt()'
        self.assertEqual(run([minivm, "erl"], call), run(["erl"], call))


if __name__ == "__main__":
    HERE = pathlib.Path(__file__).parent
    sys.exit(tool_tests.main(sys.modules[__name__], {name: (HERE / name).read_text(encoding="utf-8")
                                                     for name in ("sockets.erl", "socket_natives.erl", "trace_ip.erl", "bare_sockets.erl")}))
