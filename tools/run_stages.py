#!/usr/bin/env python3
"""Usage: run_stages.py STAGE...

Runs `make test-STAGE` for every stage, until one fails, and ends with one line: what ran, what was skipped and why,
seconds by stage. Stages leave what they ran in reports/ of their build folder, in JUnit's format.
"""

import collections
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = {"long": "release", "asan": "asan-clang"}  # below build/, where they are not named as the stage


def reports(stage):
    return sorted((ROOT / "build" / FOLDERS.get(stage, stage) / "reports").glob("*.xml"))


def kind(path):
    """What the tests of a report are tests of."""
    kinds = {"unit": "unit tests", "cli": "tests of the program", "python": "tests of the package", "examples": "tests of examples"}
    return kinds[path.name.partition(".")[0]]


def read(stage):
    """Counts by kind, and why tests were skipped, of a stage that just ran."""
    ran, skipped = collections.Counter(), collections.Counter()
    for path in reports(stage):
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            reason = case.find("skipped")
            if reason is None:
                ran[kind(path)] += 1
            else:  # GoogleTest puts the place before it
                skipped[(reason.get("message") or "no reason given").split("\n")[-1].strip()] += 1
    return ran, skipped


def listed(counts):
    return ", ".join(f"{count} {what}" for what, count in counts.items())


def main(stages):
    parts, skipped, begun = [], collections.Counter(), time.monotonic()
    for stage in stages:
        print(f"== {stage}", flush=True)
        start = time.monotonic()
        if subprocess.run(["make", "--no-print-directory", f"test-{stage}"], cwd=ROOT).returncode:
            return f"FAILED: {stage}, after {time.monotonic() - begun:.0f} s" + (
                f"; passed: {'; '.join(parts)}" if parts else "")
        ran, why = read(stage)
        parts.append(f"{stage} {time.monotonic() - start:.0f} s" + (f" ({listed(ran)})" if ran else ""))
        skipped += why
    what = "; ".join(f"{count} x {reason}" for reason, count in skipped.most_common()) or "none"
    print(f"passed in {time.monotonic() - begun:.0f} s: {'; '.join(parts)}. Skipped: {what}", flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
