#!/usr/bin/env python3
"""With the libraries of another release of OTP, minivm is what that release's programs expect.

    releases_test.py MINIVM [TEST...]

Which release a library tree belongs to is told by files of its own: that is tested with trees made of
the installed libraries. Everything else needs another OTP: what tools/newest_otp has built at
build/otp-newest and build/otp-N, or the folders that MINIVM_OTP names (colon-separated); without one, those
tests are skipped.
"""

import base64
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "tools"))
import tool_tests  # noqa: E402  (leaves no compiled copy there)

minivm, folder = None, None  # the program under test; a folder with the compiled sources
# The library applications whose functions may be the VM's.
VM_LIBRARIES = ("erts", "kernel", "stdlib")


def other_otps():
    """Folders with bin/erl in them."""
    if "MINIVM_OTP" in os.environ:
        named = [pathlib.Path(f) for f in os.environ["MINIVM_OTP"].split(":") if f]
    else:
        named = sorted((REPOSITORY / "build").glob("otp-*"))
    places = [f / "otp" if (f / "otp" / "bin" / "erl").exists() else f for f in named]
    return [f.resolve() for f in places if (f / "bin" / "erl").exists()]


def release_of(otp):
    text = output(["erl", "-noshell", "-eval", "io:put_chars(erlang:system_info(otp_release)), halt()."],
                  with_otp(otp))
    return int(text) if text.isdigit() else 0


def installed_libraries():
    erl = subprocess.run(["erl", "-noshell", "-eval", "io:put_chars(code:lib_dir()), halt()."],
                         stdout=subprocess.PIPE, check=True)
    return pathlib.Path(erl.stdout.decode())


def with_otp(otp):
    """The environment in which erl, erlc and minivm are those of one OTP."""
    env = dict(os.environ, LC_ALL="C.UTF-8")
    env.pop("ROOTDIR", None)
    if otp is not None:
        env["PATH"] = "%s:%s" % (otp / "bin", env["PATH"])
    return env


def output(command, env, timeout=300):
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=env, cwd=folder, timeout=timeout, check=False)
    return done.stdout.decode("utf-8", "backslashreplace")


def on_minivm(env, *arguments, engine="jit"):
    return output([minivm, "run", "--engine", engine, *arguments], env)


class Tree(unittest.TestCase):
    """Trees of the installed libraries that say they are another release's."""

    def tree(self, name, files=(), erts=None):
        root = folder / name
        (root / "lib").mkdir(parents=True)
        for application in installed_libraries().iterdir():
            new = application.name
            if new.startswith("erts-") and erts:
                new = "erts-" + erts
            (root / "lib" / new).symlink_to(application)
        for file, text in files:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text, encoding="utf-8")
        return dict(os.environ, ROOTDIR=str(root))

    def constants(self, env):
        return on_minivm(env, folder / "tree_constants.beam").split("\n")

    def test_the_release_is_the_one_of_the_installed_tree(self):
        env = self.tree("of_26", [("releases/26/OTP_VERSION", "26.2.5\n")], "14.2.5")
        self.assertEqual(self.constants(env)[:3], ["26", "14.2.5", "2.17"])

    def test_the_newest_of_several_in_one_tree_counts(self):
        env = self.tree("of_two", [("releases/%d/OTP_VERSION" % n, "%d.1" % n)
                                   for n in (27, 9, 28)], "16.0.3")
        self.assertEqual(self.constants(env)[:2], ["28", "16.0.3"])

    def test_a_tree_without_releases_is_known_by_its_erts(self):
        self.assertEqual(self.constants(self.tree("of_erts", (), "17.0"))[:3],
                         ["29", "17.0", "2.18"])

    def test_a_tree_of_sources_is_known_by_its_version_file(self):
        env = self.tree("of_sources", [("OTP_VERSION", "27.0-rc2\n")], "15.0")
        self.assertEqual(self.constants(env)[0], "27")

    def test_files_that_make_no_sense_are_passed_over(self):
        env = self.tree("of_nothing", [("releases/27/OTP_VERSION", "what?"),
                                       ("releases/x/OTP_VERSION", "28"),
                                       ("OTP_VERSION", "-3")], "14.0")
        self.assertEqual(self.constants(env)[0], "26")

    def test_atoms_are_written_as_utf_8_from_otp_26_on(self):
        old = self.constants(self.tree("atoms_25", [("releases/25/OTP_VERSION", "25.0")], "13.0"))
        new = self.constants(self.tree("atoms_26", [("releases/26/OTP_VERSION", "26.0")], "14.0"))
        self.assertEqual(old[3:5], ["131,100,0,1,97", "5"])
        self.assertEqual(new[3:5], ["131,119,1,97", "4"])

    def test_the_largest_integer_is_the_release_s(self):
        old = self.constants(self.tree("large_25", [("releases/25/OTP_VERSION", "25.0")], "13.0"))
        new = self.constants(self.tree("large_27", [("releases/27/OTP_VERSION", "27.0")], "15.0"))
        self.assertEqual((old[5], new[5]), ("ok", "system_limit"))

    def test_halt_ends_without_its_output_when_the_time_for_that_is_over(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        env = self.tree("flush_27", [("releases/27/OTP_VERSION", "27.0")], "15.0")
        for options, status in (("flush_timeout, 200", 255), ("flush_timeout, 0", 255), ("flush, false", 3)):
            text = ("P = open_port({fd, 0, 1}, [out, binary]), port_command(P, binary:copy(<<0>>, 1000000), [nosuspend]),"
                    "{'EXIT', {badarg, _}} = (catch halt(0, [{flush_timeout, -1}])), halt(3, [{%s}])." % options)
            done = subprocess.run([minivm, "run", "-eval", text], env=env, stdout=writer, timeout=60, check=False)
            self.assertEqual(done.returncode, status, options)

    def test_the_natives_of_the_terminal_are_those_of_otp_26_to_28(self):
        def told(release, erts, *options):
            env = self.tree("terminal_%d" % release, [("releases/%d/OTP_VERSION" % release, "%d.0" % release)], erts)
            out = folder / ("terminal_%d" % release) / "ebin"
            out.mkdir()
            subprocess.run(["erlc", *options, "-o", out, HERE / "prim_tty.erl"], check=True)
            child, terminal = pty.fork()
            if child == 0:
                os.execvpe(minivm, [str(minivm), "run", str(out / "prim_tty.beam")], dict(env, LC_ALL="C.UTF-8"))
            shown = b""
            try:
                for awaited, key in ((b"enotsup}\r\n", b"x"), (b'"x">>}\r\n', b"y"), (b"done\r\n", b"")):
                    while awaited not in shown:
                        shown += os.read(terminal, 4096)
                    os.write(terminal, key)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
            finally:
                os.close(terminal)  # which ends it if it still runs
            return shown.decode().split("\r\n")[:-1]
        first = "{true,true,utf8,true,false,1,{ok,2},4}"
        termcap = '{ok,80,true,{ok,<<"\\b">>},false,{ok,<<"<0>">>},{ok,<<"<%s>">>},{ok,<<"<5 4>">>}}'
        typed = ["{error,enotsup}", '{ok,<<"x">>}', '{ok,<<"y">>}', "done"]
        signals = ["{ok,winch}", "{ok,cont}"]
        self.assertEqual(told(26, "14.0"), [first, termcap % "8 1", "[badarg,badarg,badarg,badarg]", *signals, *typed])
        self.assertEqual(told(27, "15.0"), [first, termcap % "1 8", "[badarg,badarg,badarg,badarg]", *signals, *typed])
        self.assertEqual(told(28, "16.0", "-DOTP28"), [first, termcap % "1 8", "[badarg,badarg,badarg]", *typed])

    def test_native_records_of_a_file_that_otp_29_compiled(self):
        self.file_of_otp_29("native_records")

    def test_the_context_of_a_match_is_a_bit_string_to_code_that_otp_29_compiled(self):
        self.file_of_otp_29("context_is_bitstring")

    def test_tries_that_the_compiler_of_otp_29_makes_guards_of(self):
        self.file_of_otp_29("guards_of_tries")

    def test_module_re_is_pcre2_to_code_of_otp_29(self):
        self.file_of_otp_29("regular_expressions")

    def test_events_of_the_system_are_told_by_session(self):
        self.file_of_otp_29("system_monitors")

    def file_of_otp_29(self, name):
        """NAME.beam.txt is the file, NAME.txt what OTP 29's erl printed."""
        env = self.tree(name + "_29", [("releases/29/OTP_VERSION", "29.0")], "17.0")
        beam = folder / (name + "_29") / (name + ".beam")
        beam.write_bytes(base64.b64decode((HERE / (name + ".beam.txt")).read_bytes()))
        expected = (HERE / (name + ".txt")).read_text(encoding="utf-8")
        for options in (["--engine", "interp"], ["--engine", "jit"], ["--engine", "jit-default"],
                        ["--engine", "jit", "--stress-gc"]):
            with self.subTest(options=options):
                here = output([minivm, "run", *options, beam], env)
                self.assertEqual(here.replace("\r\n", "\n"), expected)

    def test_module_zstd_has_the_natives_that_otp_28_declares(self):
        expected = (HERE / "zstd.txt").read_text(encoding="utf-8")
        for options in (["--engine", "interp"], ["--engine", "jit"], ["--engine", "jit", "--stress-gc"]):
            with self.subTest(options=options):
                self.assertEqual(output([minivm, "run", *options, folder / "zstd.beam"], with_otp(None)), expected)

    def test_before_otp_29_nothing_makes_a_native_record(self):
        env = self.tree("records_28", [("releases/28/OTP_VERSION", "28.0")], "16.0")
        self.assertEqual(self.constants(env)[6], "badarg")


TREE_CONSTANTS = r"""
-module(tree_constants).
-export([main/1]).
main(_) ->
    [io:put_chars([erlang:system_info(Item), $\n]) || Item <- [otp_release, version, nif_version]],
    io:put_chars(lists:join($,, [integer_to_list(B) || <<B>> <= term_to_binary(a)])),
    io:format("~n~p~n", [erlang:external_size(a)]),
    io:format("~p~n", [try 1 bsl list_to_integer(os:getenv("NO_SUCH_NAME", "4194304")) of _ -> ok catch error:Reason -> Reason end]),
    io:format("~p~n", [try binary_to_term(<<131,67,0:32,1,119,1,"m",119,1,"r">>) of _ -> ok catch error:Reason2 -> Reason2 end]).
"""


class OfOtherReleases(unittest.TestCase):
    """What is done with each other OTP."""

    def each(self, check, least=0):
        otps = [o for o in other_otps() if release_of(o) >= least]
        if not otps:
            self.skipTest("no other OTP: tools/newest_otp builds one")
        for otp in otps:
            with self.subTest(otp=otp.parent.name if otp.name == "otp" else otp.name):
                check(otp, with_otp(otp))


class OtherReleases(OfOtherReleases):
    maxDiff = None

    def compiled(self, env, name, out):
        out = folder / out
        out.mkdir(exist_ok=True)
        self.assertEqual(output(["erlc", "-W0", "+debug_info", "-o", out, HERE / (name + ".erl")], env), "")
        return out / (name + ".beam")

    def same_as_erl(self, name, least=0):
        def check(otp, env):
            beam = self.compiled(env, name, otp.parent.name)
            expected = output(["erl", "-noshell", "-pa", beam.parent, "-eval", name + ":main([]), halt()."],
                              env)
            for engine in ("interp", "jit"):
                self.assertEqual(on_minivm(env, beam, engine=engine), expected)
        self.each(check, least)

    def test_constants_and_the_external_format_are_the_release_s(self):
        self.same_as_erl("release_constants")

    def test_functions_of_later_releases_do_what_they_do_there(self):
        self.same_as_erl("release_functions")

    def test_native_records_are_the_release_s(self):
        self.same_as_erl("native_records", least=29)

    def test_a_context_that_is_asked_whether_it_is_a_bit_string(self):
        self.same_as_erl("context_is_bitstring", least=27)

    def test_tries_that_the_compiler_makes_guards_of(self):
        self.same_as_erl("guards_of_tries")

    def test_module_re_is_pcre2(self):
        self.same_as_erl("regular_expressions", least=28)

    def test_module_zstd_is_that_of_erl(self):
        self.same_as_erl("zstd", least=28)


class Boot(OfOtherReleases):
    """OTP's own boot, of another release: what tests/tools/erl_test.py does with the installed one, and the shell."""
    LEAST = 29  # up to OTP 28 prim_tty has other natives

    def test_otps_boot_is_that_of_the_release(self):
        def check(_, env):
            done = subprocess.run([HERE.parent / "tools" / "erl_test.py", minivm], env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
        self.each(check, self.LEAST)

    def test_a_boot_in_embedded_mode_loads_every_module_first(self):
        def check(_, env):
            expression = 'io:format("~p", [{code:get_mode(), code:is_loaded(zstd)}]), halt().'
            arguments = ["-mode", "embedded", "-noshell", "-eval", expression]
            expected, own = (output([*c, *arguments], env) for c in (["erl"], [minivm, "erl"]))
            self.assertEqual(own, expected)
        self.each(check, self.LEAST)

    def test_the_shell_edits_lines_on_a_terminal(self):
        keys = [b"1 + 2.\r", b"lists:rev\t", b"([1, 2]).\r", b"\x1b[A", b"\r", b'io:get_line("x> ").\r', b"hello\r",
                b"\x01X\x05\x7f\x0b", b"\x15", b"\x07", b"c\r", b"halt(3).\r"]

        def check(_, env):
            expected, own = (on_terminal(c, env, keys) for c in (["erl"], [minivm, "erl"]))
            self.assertIn("1> 1 + 2.", expected[1])
            # What the last line looks like is not waited for.
            self.assertEqual((own[0], own[1].partition("--> c")[0]), (expected[0], expected[1].partition("--> c")[0]))
        self.each(check, self.LEAST)

    def test_the_terminal_is_as_it_was_when_the_vm_has_ended(self):
        def check(_, env):
            command = 'stty -g; "$@"; stty -g'
            text = on_terminal(["sh", "-c", command, "sh", minivm, "erl", "-eval", "halt()."], env, [])[1].split()
            self.assertEqual(text[0], text[-1], text)
        self.each(check, self.LEAST)


def on_terminal(command, env, keys):
    """Types the keys, each when what the one before it brought has been shown; (exit status, all that was shown)."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(command[0], list(map(str, command)), dict(env, TERM="xterm", HOME=str(folder)))
    shown = b""

    def read(quiet):
        """Until nothing has come for so long; False: it has ended."""
        nonlocal shown
        while select.select([terminal], [], [], quiet)[0]:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                return False
            if not data:
                return False
            shown += data
        return True
    there = read(5)
    for key in keys:
        if there:
            os.write(terminal, key)
            there = read(1)
    if there and read(30):
        os.kill(child, signal.SIGKILL)  # which the status shows
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, re.sub(r"Erlang/OTP \d+ \[[^\r]*", "BANNER", shown.decode("utf-8", "replace"))


class Functions(unittest.TestCase):
    """The functions that the libraries leave to the VM."""

    def test_those_that_are_not_there_are_listed_with_the_reason(self):
        listed = {}
        for line in (HERE / "not_there.tsv").read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                name, _, reason = line.partition("\t")
                self.assertTrue(reason, name)
                listed[name] = reason
        seen = set()
        for otp in (None, *other_otps()):
            env = with_otp(otp)
            lib = otp / "lib" / "erlang" / "lib" if otp else installed_libraries()
            folders = [f for app in VM_LIBRARIES for f in sorted(lib.glob(app + "-*/ebin"))]
            lines = on_minivm(env, folder / "vm_functions.beam", *folders).splitlines()
            self.assertGreater(len(lines), 500, lines[-5:])
            missing = [line.split()[0] for line in lines if line.endswith(" missing")]
            seen.update(missing)
            with self.subTest(otp=str(otp)):
                self.assertEqual([m for m in missing if self.reason(listed, m) is None], [])
            print("\n%s: %d functions are left to the VM, %d of them are not there:" % (
                otp or "the installed OTP", len(lines), len(missing)))
            for m in missing:
                print("  %-44s %s" % (m, self.reason(listed, m)))
        if other_otps():
            stale = [name for name in listed
                     if not any(m == name or name.endswith(":*") and m.startswith(name[:-1])
                                for m in seen)]
            self.assertEqual(stale, [])

    @staticmethod
    def reason(listed, function):
        return listed.get(function) or listed.get(function.partition(":")[0] + ":*")


if __name__ == "__main__":
    sys.exit(tool_tests.main(
        sys.modules[__name__],
        {"tree_constants.erl": TREE_CONSTANTS, "zstd.erl": (HERE / "zstd.erl").read_text(encoding="utf-8"),
         "vm_functions.erl": (HERE / "vm_functions.erl").read_text(encoding="utf-8")}))
