#!/usr/bin/env python3
"""What `minivm report` and `dump --format perfetto` write, in headless Chromium.

    tests/tools/browser_test.py build/release/tools/minivm [--screenshot FILE.png]

Needs Debian's chromium; tools/soak browser installs it. The page has to draw its timeline without an
error, and the trace has to be what Chrome's trace viewer takes: its own checks are repeated on it by
a script in the browser (phases that open are closed in order on each lane, an arrow ends after it began).
"""

import base64
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import tool_tests  # noqa: E402  (beside this file; leaves no compiled copy there)

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANSWER_S = 120

minivm = None   # set by tool_tests.main
folder = None   # holds blackbox.beam
screenshot = None

# Looks at the trace as a viewer would, and says what it found as the text of the page.
VIEWER = """<!doctype html><meta charset=utf-8><body><script>
window.onerror = e => { document.body.textContent = 'error: ' + e; };
const trace = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob('%s'), c => c.charCodeAt(0))));
const found = {events: 0, boxes: 0, flows: 0, lanes: 0, wrong: []};
const open = new Map(), begun = new Map(), named = new Set();
for (const e of trace.traceEvents) {
  found.events++;
  if (typeof e.ph !== 'string' || (e.ph !== 'M' && !Number.isFinite(e.ts))) found.wrong.push(e);
  const lane = e.pid + '/' + e.tid;
  if (e.ph === 'M' && e.name === 'thread_name') { found.lanes++; named.add(lane); }
  if (e.ph === 'X') { found.boxes++; if (!(e.dur >= 0)) found.wrong.push(e); }
  if (e.ph === 'B') { (open.get(lane) || open.set(lane, []).get(lane)).push(e); }
  if (e.ph === 'E') {
    const b = (open.get(lane) || []).pop();
    if (b === undefined || b.ts > e.ts) found.wrong.push(e); else found.boxes++;
  }
  if (e.ph === 's') begun.set(e.id, e.ts);
  if (e.ph === 'f') { found.flows++; if (!(begun.get(e.id) <= e.ts)) found.wrong.push(e); }
}
document.body.textContent = JSON.stringify(found);
</script></body>"""


def chromium(*arguments):
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--user-data-dir=%s" % (folder / "profile"), "--virtual-time-budget=10000", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=ANSWER_S, check=True)
    return done.stdout


def run(*arguments):
    return subprocess.run([minivm, *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=ANSWER_S, check=False)


class Browser(unittest.TestCase):
    def setUp(self):
        self.recording = folder / "box.rec"
        run("run", "--record", self.recording, folder / "blackbox.beam", "error")

    def test_the_report_draws_itself(self):
        page = folder / "report.html"
        self.assertEqual(run("report", self.recording, "-o", page).returncode, 0)
        # Errors of the page's script, and how much of the canvas is no background, as its title.
        text = page.read_text(encoding="utf-8")
        probe = text.replace("<script>", "<script>window.onerror = e => { document.title = 'error: ' + e; };"
                             "</script><script>", 1)
        probe += ("<script>{ const c = document.getElementById('timeline');"
                  "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                  "const colours = new Set(); for (let i = 0; i < d.length; i += 4)"
                  "colours.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);"
                  "if (!document.title.startsWith('error'))"
                  "document.title = 'drawn ' + c.width + 'x' + c.height + ' ' + colours.size; }</script>")
        (folder / "probe.html").write_text(probe, encoding="utf-8")
        dom = chromium("--dump-dom", (folder / "probe.html").as_uri())
        title = re.search(r"<title>(.*?)</title>", dom, re.S)[1]
        self.assertRegex(title, r"^drawn \d+x\d+ \d+$")
        width, height, colours = map(int, re.findall(r"\d+", title))
        self.assertGreater(width, 300)
        self.assertGreater(height, 60)
        self.assertGreater(colours, 4)
        self.assertIn("uncaught in", dom)
        picture = folder / "report.png"
        chromium("--window-size=1000,1250", "--screenshot=%s" % picture, page.as_uri())
        self.assertEqual(picture.read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        if screenshot:
            shutil.copy(picture, screenshot)

    def test_the_trace_loads(self):
        trace = folder / "trace.json"
        self.assertEqual(run("dump", self.recording, "--format", "perfetto", "-o", trace).returncode, 0)
        data = trace.read_bytes()
        (folder / "viewer.html").write_text(VIEWER % base64.b64encode(data).decode(), encoding="utf-8")
        dom = chromium("--dump-dom", (folder / "viewer.html").as_uri())
        body = re.search(r"<body>(.*?)</body>", dom, re.S)[1]
        found = json.loads(body.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
        self.assertEqual(found["wrong"], [])
        self.assertEqual(found["events"], len(json.loads(data)["traceEvents"]))
        self.assertGreater(found["boxes"], 100)
        self.assertGreater(found["flows"], 100)
        self.assertGreater(found["lanes"], 4)


if __name__ == "__main__":
    if "--screenshot" in sys.argv:
        at = sys.argv.index("--screenshot")
        screenshot = sys.argv[at + 1]
        del sys.argv[at:at + 2]
    if not shutil.which("chromium"):
        sys.exit("browser_test.py: there is no chromium here (apt-get install chromium)")
    sys.exit(tool_tests.main(sys.modules[__name__], {
        "blackbox.erl": (ROOT / "samples" / "blackbox.erl").read_text(encoding="utf-8")}))
