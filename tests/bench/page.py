#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""page.py TOOL [ROUNDS]: how smoothly the page of `otelprof flame` with 100,000 frames goes in headless Chromium; writes
docs/PERFORMANCE.md. Of the rounds the least of each figure: what others do on the machine only makes it more."""
import glob
import http.server
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
DOCUMENT = os.path.join(TOP, "docs/PERFORMANCE.md")
BEGIN, END = "<!-- made by tests/bench/page.sh: begin -->", "<!-- made by tests/bench/page.sh: end -->"


def page(tool, folder):
    """The page with what works with it behind it; its policy would forbid to tell the outcome. And how many frames it has."""
    subprocess.run([sys.executable, os.path.join(TOP, "tests/tool/otlp_gen.py"), "good", folder + "/large.otlp", "stacks=20000",
                    "depth=24"], check=True)
    subprocess.run([tool, "flame", "-t", "samples", "-o", folder + "/large.html", folder + "/large.otlp"], check=True)
    with open(folder + "/large.html", encoding="utf-8") as f:
        text = f.read()
    with open(os.path.join(HERE, "page.js"), encoding="utf-8") as f:
        script = f.read()
    frames = text.split('"depth":[')[1].split("]")[0].count(",")
    policy = text[text.index("<meta http-equiv=") :].split(">")[0] + ">"
    return text.replace(policy, "").replace("</body>", "<script>\n%s</script>\n</body>" % script).encode(), frames


def main_thread_ms(folder):
    """CPU time of the page's main thread so far."""
    best = 0
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        pid = path.split("/")[2]
        try:
            with open(path, "rb") as f:
                words = f.read()
            if b"--type=renderer" in words and folder.encode() in words:
                with open("/proc/%s/task/%s/schedstat" % (pid, pid)) as f:
                    best = max(best, int(f.read().split()[0]) / 1e6)
        except OSError:
            pass
    return best


def once(content):
    folder = tempfile.mkdtemp(prefix="otelprof-page.")
    done = threading.Event()
    answer = []

    class Server(http.server.BaseHTTPRequestHandler):
        def reply(self, body, kind):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            if self.path == "/cpu":
                self.reply(b"%.3f" % main_thread_ms(folder), "text/plain")
            else:
                self.reply(content, "text/html; charset=utf-8")

        def do_POST(self):
            answer.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.reply(b"", "text/plain")
            done.set()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = subprocess.Popen(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                                "--disable-sync", "--disable-background-networking", "--disable-component-update",
                                "--window-size=1200,800", "--user-data-dir=" + folder + "/data", "--remote-debugging-port=0",
                                "http://127.0.0.1:%d/page" % server.server_port],
                               env=dict(os.environ, HOME=folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ended = done.wait(300)
    browser.terminate()
    browser.wait()
    server.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
    if not ended:
        sys.exit("page.py: the page did not come to its end")
    return answer[0]


def main():
    tool, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    folder = tempfile.mkdtemp(prefix="otelprof-page.")
    content, frames = page(tool, folder)
    shutil.rmtree(folder)
    with open("/proc/loadavg") as f:
        load = f.read().split()[0]
    seen = [once(content) for _ in range(rounds)]
    lines = ["| interaction | events | CPU ms an event | at most | slowest event, ms | longest task, ms | longest frame, ms |", "|---|---|---|---|---|---|---|"]
    for parts in zip(*seen):
        least = {k: min(p[k] for p in parts) for k in parts[0] if k != "name"}
        name = parts[0]["name"]
        if name == "opening":
            name += " (ready after %.0f ms)" % least["ready"]
        lines.append("| %s | %d | %.1f | %.0f | %s | %s | %s |" % (
            name, least["steps"], least["cpu"] / least["steps"], least["most"], "%.1f" % least["slowest"] if least["slowest"] else "",
            "%.0f" % least["long"] if least["long"] else "below 50", "%.0f" % least["gap"] if least["gap"] else ""))
    with open("/proc/cpuinfo") as f:
        model = next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "unknown processor")
    browser = subprocess.run(["chromium", "--version"], capture_output=True, text=True).stdout.strip()
    head = "%d frames, %.1f MB; %s, headless, 1200 × 800, without GPU; %d × %s, Linux %s; %s; load %s at the start; least of %d rounds." % (
        frames, len(content) / 1e6, browser, os.cpu_count(), model, platform.release(), time.strftime("%Y-%m-%d", time.gmtime()), load, rounds)
    with open(DOCUMENT, encoding="utf-8") as f:
        before, rest = f.read().split(BEGIN)
    text = "\n".join([BEGIN, head, ""] + lines + [END])
    with open(DOCUMENT, "w", encoding="utf-8") as f:
        f.write(before + text + rest.split(END)[1])
    print(head)
    print("\n".join(lines))


main()
