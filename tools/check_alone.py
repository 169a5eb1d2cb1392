#!/usr/bin/env python3
"""Usage: check_alone.py BUILD_FOLDER

Files that are compiled together (HINGE_TOGETHER) must compile alone, too, each with the includes it needs. Takes the
commands that BUILD_FOLDER was compiled with, and asks the compiler to look at every file by itself.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def alone(entry):
    """For every file of an entry of compile_commands.json that puts several together: the file, and its command."""
    words = shlex.split(entry["command"])
    compiler = next(k for k, word in enumerate(words) if os.path.basename(word).endswith("++"))  # ccache comes before it
    words = words[compiler : words.index("-o")]
    folders = [pathlib.Path(word[2:]) for word in words if word.startswith("-I")]
    for line in pathlib.Path(entry["file"]).read_text().splitlines():
        name = line.split('"')[1]
        path = next(folder / name for folder in folders if (folder / name).exists())
        yield path, [*words, "-fsyntax-only", str(path)]


def main(build):
    entries = json.loads((build / "compile_commands.json").read_text())
    files = [item for entry in entries if "/together/" in entry["file"] for item in alone(entry)]
    if not files:
        return f"nothing is compiled together in {build}"

    def check(item):
        done = subprocess.run(item[1], cwd=build, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            print(f"{item[0]} does not compile alone:\n{done.stderr}", file=sys.stderr)
        return done.returncode

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = sum(code != 0 for code in pool.map(check, files))
    if failed:
        return f"{failed} of {len(files)} files do not compile alone"
    print(f"{len(files)} files compile alone")
    return None


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
