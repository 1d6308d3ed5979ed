#!/usr/bin/env python3
"""However long ordinary work goes on, the last failures are in the recording.

    rare_hour.py --minivm build/release/tools/minivm --seconds 3600

Four VMs run at once, on 1, 2, 8 and 200 schedulers, with recordings of the default size: processes are spawned,
linked, monitored and end, messages go round, heaps are collected, tables and timers used, modules loaded and patterns
of traces changed, and twenty times a second a process fails. Every five minutes, and at last when the VMs have been
killed, the last 1,000 failures have to be in the recording.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

WANTED = 1000
BETWEEN_S = 300
PROGRAM = r"""
-module(rare_load).
-export([main/1, traced/1]).

main(_) ->
    logger:set_primary_config(level, none),
    {module, _} = code:ensure_loaded(lists),
    Beam = element(2, file:read_file(code:which(orddict))),
    [spawn_link(fun() -> again(F) end) ||
        F <- [fun one_after_the_other/0, fun linked/0, fun round/0, fun garbage/0, fun table/0, fun timers/0,
              fun traced/0, fun() -> load(Beam) end]],
    fail(1).

%% Each is there before the line that says so.
fail(N) ->
    {_, Ref} = spawn_monitor(fun() -> error({gone, N}) end),
    receive {'DOWN', Ref, process, _, _} -> ok end,
    io:format("~b~n", [N]),
    timer:sleep(50),
    fail(N + 1).

again(F) -> F(), again(F).

one_after_the_other() ->
    [begin
         {_, R} = spawn_monitor(fun() -> lists:seq(1, 300) end),
         receive {'DOWN', R, _, _, _} -> ok end
     end || _ <- lists:seq(1, 100)].

linked() ->
    process_flag(trap_exit, true),
    Pids = [spawn_link(fun() -> receive stop -> exit(normal) end end) || _ <- lists:seq(1, 50)],
    [P ! stop || P <- Pids],
    [receive {'EXIT', P, normal} -> ok end || P <- Pids].

round() ->
    Self = self(),
    P = spawn_link(fun() -> echo(1000) end),
    [begin P ! {Self, N}, receive N -> ok end end || N <- lists:seq(1, 1000)].

echo(0) -> ok;
echo(N) -> receive {From, M} -> From ! M, echo(N - 1) end.

garbage() -> length(lists:foldl(fun(I, L) -> [{I, integer_to_list(I)} | lists:sublist(L, 100)] end, [], lists:seq(1, 2000))).

table() ->
    T = ets:new(t, []),
    ets:insert(T, [{I, I} || I <- lists:seq(1, 1000)]),
    ets:delete(T).

timers() ->
    [erlang:send_after(5, self(), I) || I <- lists:seq(1, 20)],
    [receive I -> ok end || I <- lists:seq(1, 20)].

traced() ->
    erlang:trace_pattern({?MODULE, traced, 1}, true, [call_count]),
    traced(1),
    erlang:trace_pattern({?MODULE, traced, 1}, false, [call_count]),
    timer:sleep(100).
traced(X) -> X.

load(Beam) ->
    code:purge(orddict),
    {module, _} = code:load_binary(orddict, "orddict.beam", Beam),
    timer:sleep(1000).
"""


class Load:
    def __init__(self, minivm, folder, schedulers):
        self.minivm = minivm
        self.schedulers = schedulers
        self.file = folder / f"{schedulers}.rec"
        self.last = 0
        self.vm = subprocess.Popen([minivm, "run", "-S", str(schedulers), "--record", self.file, folder / "rare_load.beam"],
                                   stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.vm.stdout:
            self.last = int(line)

    # What is wrong, or None.
    def check(self, when):
        last = self.last
        dump = subprocess.run([self.minivm, "dump", self.file], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, errors="replace", check=False)
        found = {int(n) for n in re.findall(r" process uncaught +uncaught in \S+: error \{gone,(\d+)\}", dump.stdout)}
        missing = sorted(set(range(max(1, last - WANTED + 1), last + 1)) - found)
        wrong = dump.returncode != 0 or missing or last == 0
        print("%s  -S %d: %s, %d failures so far, %d in the recording%s" % (
            "FAIL" if wrong else "ok  ", self.schedulers, when, last, len(found),
            ", %d of the last missing: %s" % (len(missing), missing[:10]) if missing else ""), flush=True)
        if dump.returncode != 0:
            print(dump.stderr)
        return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minivm", required=True)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--schedulers", default="1,2,8,200")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="minivm-rare-"))
    passed = failed = 0
    loads = []
    try:
        (folder / "rare_load.erl").write_text(PROGRAM, encoding="utf-8")
        subprocess.run(["erlc", "-o", folder, folder / "rare_load.erl"], check=True)
        loads = [Load(options.minivm, folder, int(n)) for n in options.schedulers.split(",")]
        began = time.monotonic()
        checks = []
        while (left := began + options.seconds - time.monotonic()) > 0:
            time.sleep(min(left, BETWEEN_S))
            if left > BETWEEN_S:
                checks += [load.check("after %d s" % (time.monotonic() - began)) for load in loads]
        for load in loads:
            alive = load.vm.poll() is None
            load.vm.kill()
            load.vm.wait()
            checks.append(load.check("killed after %d s" % (time.monotonic() - began)) and alive)
        passed, failed = checks.count(True), checks.count(False)
    finally:
        for load in loads:
            load.vm.kill()
        shutil.rmtree(folder)
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
