#!/usr/bin/env python3
"""Web servers that people run, cowboy (as Debian's rabbitmq-server has it) and inets' httpd, on `erl` and on minivm.

    tests/systems/web.py --minivm build/release/tools/minivm [--folder build/systems] [--seconds 5] [--connections 20] [NAME...]

NAME: cowboy or httpd, then tls or tcp, then a page, as in `cowboy/tls/small`; all without. For each: how many requests a second the
server takes (closed loop), its processor time for a thousand of them, and how long they take when they come at 50 and 80 percent of what
`erl` takes (open loop: a request's time counts from when it was due), and again while each request is traced and all modules that
may be are loaded anew, over and over. Clients are always `erl`; everything shares this machine, so only the ratios say something.

What fails it: an answer that is wrong or missing, a version that stays after its upgrade, a call that the trace has not, and on
minivm a recording that does not say what ran when the VM was killed (kill -9). Times never do.
"""

import argparse
import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import systems  # noqa: E402  (beside this file)

HERE = pathlib.Path(__file__).resolve().parent
PAGES = [(kind, how, page) for kind, pages in (("cowboy", ("small", "big", "chunked")), ("httpd", ("small", "big")))
         for how in ("tcp", "tls") for page in pages]
WAIT_S = 120
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """One VM with a server in it."""

    def __init__(self, erl, files, code, kind, how):
        self.kind, self.how, self.files = kind, how, files
        self.said = open(files / "server.log", "w+", encoding="utf-8")
        self.vm = subprocess.Popen([erl, "-noshell", "-pa", *code, "-pa", str(files), "-s", "web_server", "main", "--", kind, how,
                                    str(files)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True, bufsize=1,
                                   env={k: v for k, v in os.environ.items() if k != "XDG_RUNTIME_DIR"})  # killed() looks in /dev/shm
        self.port = int(self.answer(r"port (\d+)"))

    def answer(self, pattern):
        for line in iter(self.vm.stdout.readline, ""):
            if found := re.fullmatch(pattern, line.strip()):
                return found[1] if found.groups() else found[0]
        self.said.seek(0)
        raise RuntimeError("the server has ended: " + self.said.read()[-2000:])

    def ask(self, command):
        self.vm.stdin.write(command + "\n")
        return self.answer(r"(?:ok ?)?(\d*)")

    def load(self, page, connections, rate, seconds):
        """(answers, answers a second, (P50, P99, P999, most), wrong, versions), CPU seconds of the server."""
        before = self.cpu_s()
        done = subprocess.run(["erl", "-noshell", "-pa", str(self.files), "-s", "web_load", "main", "--", self.how, str(self.port),
                               "/" + page, str(connections), str(rate), str(seconds)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=WAIT_S, check=False,
                              env=dict(os.environ, ERL_CRASH_DUMP_SECONDS="0"))
        if done.returncode != 0:
            raise RuntimeError("the clients of %s/%s/%s: %s" % (self.kind, self.how, page, done.stdout[:2000]))
        return ast.literal_eval(done.stdout.strip().rstrip(".").replace("{", "(").replace("}", ")")), self.cpu_s() - before

    def cpu_s(self):
        fields = pathlib.Path("/proc/%d/stat" % self.vm.pid).read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def end(self):
        self.vm.stdin.close()
        self.vm.wait(WAIT_S)
        self.said.close()


class Failures:
    def __init__(self):
        self.all = []

    def check(self, holds, what):
        if not holds:
            self.all.append(what)
            print("FAIL " + what, flush=True)


def compile_all(files):
    def erlc(out, *arguments):
        subprocess.run(["erlc", "-W0", "-o", str(out), *arguments], check=True)
    for version in "12":
        (files / ("v" + version)).mkdir()
        erlc(files / ("v" + version), "-DVERSION=" + version, str(HERE / "web_answer.erl"))
    erlc(files, str(HERE / "web_server.erl"), str(HERE / "web_load.erl"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=localhost", "-keyout",
                    files / "key.pem", "-out", files / "cert.pem"], stderr=subprocess.DEVNULL, check=True)
    (files / "small").write_text("Hello, world!", encoding="ascii")
    (files / "big").write_text("0123456789" * 10000, encoding="ascii")


def killed(minivm, server, failures, what):
    """The recording after a kill -9."""
    pid = server.vm.pid
    server.vm.kill()
    server.vm.wait(WAIT_S)
    server.said.close()
    recording, = pathlib.Path("/dev/shm/minivm-%d" % os.geteuid()).glob("*-%d.rec" % pid)
    crash = systems.run(minivm, "dump", "--crash", str(recording), check=False)
    failures.check("the program was killed from outside" in crash and "The last records of all:" in crash,
                   what + ": the recording says\n" + crash[:1000])


def measured(name, erls, files, code, options, failures):
    """Rows for one page, and both servers upgraded, traced and ended."""
    kind, how, page = name
    what = "/".join(name)
    servers = {side: Server(erl, files, code, kind, how) for side, erl in erls.items()}
    most, rows = {}, {}
    try:
        for side, server in servers.items():
            server.load(page, options.connections, "max", 1)
            (answers, rate, _, wrong, _), cpu = server.load(page, options.connections, "max", options.seconds)
            failures.check(wrong == 0, "%s on %s: %d wrong answers" % (what, side, wrong))
            most[side], rows[side] = rate, ["%6d" % rate, "%5.0f" % (1e6 * cpu / answers)]
        for part in (0.5, 0.8):
            rate = max(int(part * most["erl"]), options.connections)
            for side, server in servers.items():
                (answers, _, times, wrong, _), _ = server.load(page, options.connections, rate, options.seconds)
                failures.check(wrong == 0 and answers >= rate * options.seconds - options.connections,
                               "%s on %s at %d/s: %d answers, %d wrong" % (what, side, rate, answers, wrong))
                rows[side].append("%7.1f %7.1f %7.1f" % tuple(t / 1000 for t in times[:3]))
        rate = max(int(0.5 * most["erl"]), options.connections)
        for side, server in servers.items():
            server.ask("upgrade")
            server.ask("trace")
            server.ask("reload")
            (answers, _, times, wrong, versions), _ = server.load(page, options.connections, rate, options.seconds)
            reloaded = int(server.ask("reloaded"))
            counted = int(server.ask("traced"))
            server.ask("untrace")
            failures.check(wrong == 0 and answers >= rate * options.seconds - options.connections and reloaded > 0,
                           "%s on %s, loaded anew: %d answers, %d wrong, %d loads" % (what, side, answers, wrong, reloaded))
            if kind == "cowboy":
                # Each connection's first request is no part of the load, each answer is two calls: its headers' version and the page.
                failures.check(list(versions) == [2], "%s on %s: versions %r after the upgrade" % (what, side, versions))
                failures.check(counted == 2 * (answers + options.connections),
                               "%s on %s: %d calls in the trace of %d answers" % (what, side, counted, answers + options.connections))
            rows[side].append("%7.1f %7.1f %7.1f  %5d" % (*(t / 1000 for t in times[:3]), reloaded))
        killed(options.minivm, servers["minivm"], failures, what)
    finally:
        for server in servers.values():
            if server.vm.poll() is None:
                server.end()
    for side, row in rows.items():
        print("%-20s %-6s %s" % (what, side, " | ".join(row)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--minivm", required=True)
    parser.add_argument("--folder", default="build/systems")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    wanted = [name for name in PAGES if not options.names or any("/".join(name).startswith(n) for n in options.names)]
    if not wanted:
        sys.exit("web: none of %s" % ", ".join("/".join(name) for name in PAGES))
    folder = pathlib.Path(options.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    systems.fetch(folder)
    code = [str(p) for name in ("cowboy", "cowlib", "ranch")
            for p in folder.glob("root/usr/lib/rabbitmq/lib/*/plugins/%s-*/ebin" % name)]
    failures = Failures()
    with tempfile.TemporaryDirectory(prefix="web-") as place:
        files = pathlib.Path(place)
        compile_all(files)
        systems.run(options.minivm, "install", str(files / "minivm"))
        erls = {"erl": "erl", "minivm": str(files / "minivm" / "bin" / "erl")}
        print("%-20s %-6s req/s | CPU us | at 50 %% of erl's: p50, p99, p99.9 ms | at 80 %% | at 50 %%, traced and loaded anew, loads" % ("", ""))
        began = time.monotonic()
        for name in wanted:
            try:
                measured(name, erls, files, code, options, failures)
            except (RuntimeError, subprocess.SubprocessError) as error:
                failures.check(False, "%s: %s" % ("/".join(name), error))
        print("%.0f s" % (time.monotonic() - began))
    bad = len({f.split(" ", 1)[0].rstrip(":") for f in failures.all})
    print("%d passed, %d failed" % (len(wanted) - bad, bad))
    return 1 if failures.all else 0


if __name__ == "__main__":
    sys.exit(main())
