#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""speedscope.py PACKAGE FILE: opens FILE in speedscope, in headless Chromium; prints what its page is called then."""
import base64
import os
import re
import subprocess
import sys
import tempfile

release = os.path.join(sys.argv[1], "dist", "release")
folder = tempfile.mkdtemp(prefix="otelprof-speedscope.")
name = os.path.basename(sys.argv[2])
with open(os.path.join(folder, "profile.js"), "w") as f:
    f.write("speedscope.loadFileFromBase64(%r, %r)" % (name, base64.b64encode(open(sys.argv[2], "rb").read()).decode()))
page = "file://%s/index.html#localProfilePath=%s/profile.js" % (os.path.abspath(release), folder)
out = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                      "--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files",
                      "--enable-unsafe-swiftshader", "--user-data-dir=" + os.path.join(folder, "data"),
                      "--virtual-time-budget=20000", "--dump-dom", page],
                     capture_output=True, text=True, timeout=300, env=dict(os.environ, HOME=folder)).stdout
subprocess.run(["rm", "-rf", folder], check=False)
title = re.search(r"<title>(.*?)</title>", out, re.S)
print(title.group(1) if title else "no title in %r" % out[:200])
sys.exit(not title or name not in title.group(1))
