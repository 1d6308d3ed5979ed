#!/usr/bin/env python3
"""Systems that people run, as Debian packages them, on `erl` and on minivm: the same words of their tools, nothing lost.

    tests/systems/systems.py --minivm build/release/tools/minivm [--folder build/systems] [NAME...]

Packages are downloaded and unpacked into the folder, not installed: the systems run in namespaces of their own, where the unpacked
files lie over /usr, /etc and /var (overlay), nobody else has ports, and what they start ends with them. That takes root, `unshare`
and overlayfs. Their scripts are as they come; minivm is the `erl` that they are told to use (`minivm install`).

ejabberd: two accounts exchange messages over TLS, by slixmpp. rabbitmq: transient and confirmed durable messages by pika, what its
own tools say. On minivm both are traced meanwhile, modules in use are loaded anew, and the VM is killed at last (kill -9): its
recording names what ran.
"""

import argparse
import fcntl
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve()
PACKAGES = ("ejabberd", "rabbitmq-server", "python3-slixmpp", "python3-pika")
# What they need and machines for minivm may not have: the rest is erlang's, python's and libraries that are there.
WANTED = re.compile(r"^(erlang-|ejabberd$|rabbitmq-server$|python3-(slixmpp|pika|aiodns|pycares|pyasn1|pyasn1-modules|cffi-backend|"
                    r"idna|typing-extensions)$|lib(yaml|expat|gd|webp|cares)[a-z0-9.-]*$)")
MESSAGES = 300
PYTHON = "/usr/bin/python3"

XMPP = """
import asyncio, ssl, sys
import slixmpp
class Client(slixmpp.ClientXMPP):
    def __init__(self, name):
        super().__init__(name + '@localhost/' + name, name)
        self.got, self.up = [], asyncio.Event()
        self.ssl_context = ssl.create_default_context()
        self.ssl_context.check_hostname, self.ssl_context.verify_mode = False, ssl.CERT_NONE
        self.add_event_handler('session_start', self.begin)
        self.add_event_handler('message', lambda m: self.got.append(m['body']))
    async def begin(self, _):
        self.send_presence()
        await self.get_roster()
        self.up.set()
async def main(count):
    alice, bob = Client('alice'), Client('bob')
    for client in alice, bob:
        client.connect(('127.0.0.1', 5222))
    await asyncio.wait_for(asyncio.gather(alice.up.wait(), bob.up.wait()), 60)
    for n in range(count):
        alice.send_message(mto='bob@localhost/bob', mbody='h\\u00e4llo %d' % n, mtype='chat')
        bob.send_message(mto='alice@localhost/alice', mbody='back %d' % n, mtype='chat')
    for _ in range(900):
        if len(alice.got) == len(bob.got) == count:
            break
        await asyncio.sleep(0.1)
    print('in order', bob.got == ['h\\u00e4llo %d' % n for n in range(count)], alice.got == ['back %d' % n for n in range(count)])
    await alice.disconnect()
    await bob.disconnect()
asyncio.get_event_loop().run_until_complete(main(int(sys.argv[1])))
"""

AMQP = """
import sys
import pika
count = int(sys.argv[1])
connection = pika.BlockingConnection(pika.ConnectionParameters('127.0.0.1'))
channel = connection.channel()
channel.queue_declare('durable', durable=True)
channel.queue_declare('transient')
for n in range(20 * count):
    channel.basic_publish('', 'transient', b'message %d' % n)
got = []
for _, _, body in channel.consume('transient', auto_ack=True):
    got.append(body)
    if len(got) == 20 * count:
        break
channel.cancel()
channel.confirm_delivery()
for n in range(count):
    channel.basic_publish('', 'durable', b'x' * 1000, pika.BasicProperties(delivery_mode=2))
print('in order', got == [b'message %d' % n for n in range(20 * count)])
connection.close()
"""


def say(text):
    print(text, flush=True)


def run(*command, wait=180, env=None, check=True):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=wait, env=dict(os.environ, **(env or {})), check=False)
    if check and done.returncode != 0:
        raise RuntimeError("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stdout[-2000:]))
    return done.stdout


# ---- outside ----------------------------------------------------------------------------------------


def fetch(folder):
    """The packages' files below folder/root."""
    root = folder / "root"
    if (folder / "fetched").exists():
        return
    say("fetching %s and what they need" % ", ".join(PACKAGES))
    debs = folder / "debs"
    shutil.rmtree(root, ignore_errors=True)
    debs.mkdir(parents=True, exist_ok=True)
    listed = run("apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks",
                 "--no-replaces", "--no-enhances", *PACKAGES)
    names = sorted({line for line in listed.splitlines() if WANTED.match(line)})
    done = subprocess.run(["apt-get", "download", *names], cwd=debs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit("systems: apt-get download: " + done.stdout[-1000:])
    for deb in sorted(debs.glob("*.deb")):
        run("dpkg", "-x", str(deb), str(root))
    (folder / "fetched").write_text("\n".join(names) + "\n", encoding="utf-8")


# ---- inside the namespace -----------------------------------------------------------------------------


def loopback_up():
    get_flags, set_flags, up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = fcntl.ioctl(any_socket, get_flags, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", request)[1]
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sH14x", b"lo", flags | up))


def overlay(folder):
    for name in ("usr", "etc", "var"):
        for part in ("upper", "work"):
            (folder / "overlay" / part / name).mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "overlay", "overlay", "-o", "lowerdir=%s/root/%s:/%s,upperdir=%s/overlay/upper/%s,workdir=%s/overlay/work/%s"
            % (folder, name, name, folder, name, folder, name), "/" + name)


class System:
    """`erl` is the folder whose bin/erl it gets, or None for the one of the machine."""

    def __init__(self, erl):
        self.erl = erl
        self.told = []
        user = self.name
        run("useradd", "-r", "-d", "/var/lib/" + user, "-s", "/bin/sh", user, check=False)
        for place in ("/var/lib/", "/var/log/", "/etc/"):
            pathlib.Path(place + user).mkdir(parents=True, exist_ok=True)
            run("chown", "-R", user, place + user)

    def tell(self, what):
        self.told.append(what)

    def vm(self):
        """Its process."""
        for pid in run("pgrep", "-u", self.name, "-r", "S,R,D", "beam.smp").split():
            return int(pid)
        raise RuntimeError("%s does not run" % self.name)

    def eval(self, expression):
        """What an expression gives in the running system, by rpc from a node of `erl`."""
        cookie = pathlib.Path("/var/lib/%s/.erlang.cookie" % self.name).read_text(encoding="utf-8").strip()
        return run("erl", "-noshell", "-hidden", "-sname", "asks@localhost" if "localhost" in self.node() else "asks",
                   "-setcookie", cookie, "-eval", "N = list_to_atom(\"%s\"), {ok, T, _} = erl_scan:string(\"%s\"), "
                   "{ok, E} = erl_parse:parse_exprs(T), io:format(\"~0p\", [rpc:call(N, erl_eval, exprs, [E, []])]), halt()."
                   % (self.node(), expression.replace("\\", "\\\\").replace('"', '\\"'))).strip()

    def trace_and_reload(self):
        """Calls of a module in use are counted from here on, and it is loaded anew."""
        module = self.module
        return self.eval("erlang:trace(processes, true, [call]), erlang:trace_pattern({%s, '_', '_'}, true, [local, call_count]), "
                         "code:purge(%s), {module, %s} = code:load_file(%s), ok." % (module, module, module, module))


class Ejabberd(System):
    name = "ejabberd"
    module = "ejabberd_c2s"

    def node(self):
        return "ejabberd@localhost"

    def start(self):
        shutil.copy("/usr/share/ejabberd/ejabberd.yml.example", "/etc/ejabberd/ejabberd.yml")
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=localhost", "-keyout",
            "/etc/ejabberd/k.pem", "-out", "/etc/ejabberd/c.pem")
        pem = pathlib.Path("/etc/ejabberd/ejabberd.pem")
        pem.write_text("".join(pathlib.Path("/etc/ejabberd/%s.pem" % p).read_text(encoding="ascii") for p in "kc"), encoding="ascii")
        pathlib.Path("/etc/default/ejabberd").write_text("ERL=%s\n" % (self.erl + "/bin/erl" if self.erl else "/usr/bin/erl"),
                                                         encoding="ascii")
        run("chown", "-R", "ejabberd", "/etc/ejabberd")
        run("ejabberdctl", "start")
        run("ejabberdctl", "started")

    def work(self):
        self.tell(run("ejabberdctl", "status"))
        for account in ("alice", "bob"):
            self.tell(run("ejabberdctl", "register", account, "localhost", account))
        self.tell(run("ejabberdctl", "registered_users", "localhost"))
        clients = subprocess.Popen([PYTHON, "-c", XMPP, str(MESSAGES)], stdout=subprocess.PIPE, text=True)
        time.sleep(3)
        self.tell(self.trace_and_reload())
        self.tell(re.findall("in order .*", clients.communicate(timeout=120)[0]))
        self.tell(run("ejabberdctl", "connected_users"))
        self.tell(pathlib.Path("/var/log/ejabberd/error.log").read_text(encoding="utf-8"))

    def stop(self):
        run("ejabberdctl", "stop")
        run("ejabberdctl", "stopped")


class Rabbitmq(System):
    name = "rabbitmq"
    module = "rabbit_channel"

    def __init__(self, erl):
        super().__init__(erl)
        self.env = {"PATH": (erl + "/bin:" if erl else "") + os.environ["PATH"]}

    def tool(self, *words, **options):
        return run(*words, env=self.env, **options)

    def node(self):
        return "rabbit@" + run("hostname", "-s").strip()

    def start(self):
        pathlib.Path("/etc/rabbitmq/enabled_plugins").write_text("[rabbitmq_management,rabbitmq_mqtt,rabbitmq_stomp].\n",
                                                                 encoding="ascii")
        with open("/etc/hosts", "a", encoding="ascii") as hosts:
            hosts.write("127.0.0.1 %s\n" % run("hostname").strip())
        self.tool("rabbitmq-server", "-detached")
        time.sleep(2)
        self.tool("rabbitmqctl", "wait", "--timeout", "120", "--pid", str(self.vm()))

    def work(self):
        clients = subprocess.Popen([PYTHON, "-c", AMQP, str(MESSAGES)], stdout=subprocess.PIPE, text=True)
        time.sleep(1)
        self.tell(self.trace_and_reload())
        self.tell(re.findall("in order .*", clients.communicate(timeout=120)[0]))
        self.tell(sorted(self.tool("rabbitmqctl", "-q", "list_queues", "name", "messages").split("\n")))
        self.tell(re.findall("(?m)^RabbitMQ.*version.*|^ \\* rabbitmq_.*", self.tool("rabbitmqctl", "status")))
        self.tell(self.tool("rabbitmq-diagnostics", "check_running"))
        self.tell(sorted(line.split(":")[0] for line in self.tool("rabbitmq-diagnostics", "-q", "memory_breakdown").splitlines()))
        self.tell(sorted(set(re.findall(r"(?m)^\S+ \S+ \[error\] .*", self.log()))))

    @staticmethod
    def log():
        return "".join(p.read_text(encoding="utf-8") for p in pathlib.Path("/var/log/rabbitmq").glob("rabbit@*.log"))

    def stop(self):
        self.tool("rabbitmqctl", "stop")


SYSTEMS = {"ejabberd": Ejabberd, "rabbitmq": Rabbitmq}


def inside(name, minivm, folder):
    """One system on one of them; prints what it told, as Python writes it."""
    overlay(folder)
    loopback_up()
    erl = None
    if minivm:
        # Its user must be able to run it, wherever this repository lies.
        shutil.copy(minivm, "/var/tmp/minivm")
        erl = "/var/tmp/installed"
        run("/var/tmp/minivm", "install", erl)
    system = SYSTEMS[name](erl)
    system.start()
    try:
        system.work()
    finally:
        if minivm:
            pid = system.vm()
            os.kill(pid, 9)
            user = run("id", "-u", system.name).strip()
            recordings = list(pathlib.Path("/dev/shm/minivm-" + user).glob("*-%d.rec" % pid))
            crash = run(minivm, "dump", "--crash", str(recordings[0]), check=False) if recordings else "no recording"
            killed = "the program was killed from outside" in crash and "The last records of all:" in crash
            say("crash view: " + ("names what ran" if killed else crash[:2000]))
        else:
            system.stop()
        run("pkill", "-u", system.name, "epmd", check=False)
    say("told: %r" % system.told)


# ---- side by side -----------------------------------------------------------------------------------------


def outcome(name, minivm, folder):
    shutil.rmtree(folder / "overlay", ignore_errors=True)
    began = time.monotonic()
    done = subprocess.run(["unshare", "-m", "-n", "-p", "-f", "--mount-proc", "--propagation", "private", sys.executable, str(HERE), "--inside",
                           "--minivm", minivm or "", "--folder", str(folder), name], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600, check=False)
    told = re.search("(?m)^told: (.*)$", done.stdout)
    say("%s on %s: %.0f s" % (name, "minivm" if minivm else "erl", time.monotonic() - began))
    if told is None:
        return None, done.stdout[-3000:]
    return told[1], done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--minivm", required=True)
    parser.add_argument("--folder", default="build/systems")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", choices=[[], *SYSTEMS])
    options = parser.parse_args()
    folder = pathlib.Path(options.folder).resolve()
    if options.inside:
        inside(options.names[0], options.minivm, folder)
        return 0
    if os.geteuid() != 0:
        sys.exit("systems: root is needed, for namespaces")
    folder.mkdir(parents=True, exist_ok=True)
    fetch(folder)
    passed = failed = 0
    for name in options.names or SYSTEMS:
        expected, said = outcome(name, None, folder)
        if expected is None:
            sys.exit("systems: %s does not run on erl:\n%s" % (name, said))
        got, said = outcome(name, str(pathlib.Path(options.minivm).resolve()), folder)
        if got == expected and "crash view: names what ran" in said:
            passed += 1
        else:
            failed += 1
            say("%s differs\n  erl:    %s\n  minivm: %s\n%s" % (name, expected, got, said[-3000:]))
    say("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
