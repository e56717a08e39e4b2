#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""refers.py MESSAGE: exit status 0 when a resource of this ProfilesData has a key that is an index of the string table."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from judge import fields, one  # noqa: E402

with open(sys.argv[1], "rb") as f:
    top = fields(f.read())
for raw in top[1]:
    if any(3 in fields(a) for a in fields(one(fields(raw), 1, b""))[1]):
        sys.exit(0)
sys.exit(1)
