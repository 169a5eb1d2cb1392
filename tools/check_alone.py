#!/usr/bin/env python3
"""Usage: check_alone.py BUILD_FOLDER

Files that are compiled together (HINGE_TOGETHER) must compile alone, too, each with the headers of ours that it needs.
Takes the commands that BUILD_FOLDER was compiled with, and asks the compiler, which is Clang, to look at every file by
itself. Headers of others are most of that work, so all that any file names are compiled before, once for each list of
options: that one of them is missing is found only by a build without HINGE_TOGETHER, such as the preset debug.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys


def alone(entry):
    """For every file of an entry of compile_commands.json that puts several together: the file, and its command."""
    words = shlex.split(entry["command"])
    compiler = next(k for k, word in enumerate(words) if os.path.basename(word).endswith("++"))  # ccache comes before it
    words = words[compiler : words.index("-o")]
    words = [word for k, word in enumerate(words) if word not in ("-MD", "-MF", "-MT") and words[k - 1] not in ("-MF", "-MT")]
    folders = [pathlib.Path(word[2:]) for word in words if word.startswith("-I")]
    for line in pathlib.Path(entry["file"]).read_text().splitlines():
        name = line.split('"')[1]
        path = next(folder / name for folder in folders if (folder / name).exists())
        yield path, words


def headers_of_others(paths):
    return sorted({name for path in paths for name in re.findall(r"^#include <(.+)>", path.read_text(), re.MULTILINE)})


def precompiled(words, paths, build, name):
    """The option that gives a command the headers of others that some files name, compiled."""
    header, compiled = build / f"{name}.h", build / f"{name}.pch"
    header.write_text("".join(f"#include <{one}>\n" for one in headers_of_others(paths)))
    command = [*words, "-fpch-instantiate-templates", "-x", "c++-header", str(header), "-o", str(compiled)]
    subprocess.run(command, cwd=build, check=True)
    return ["-include-pch", str(compiled)]


def main(build):
    entries = json.loads((build / "compile_commands.json").read_text())
    files = [item for entry in entries if "/together/" in entry["file"] for item in alone(entry)]
    if not files:
        return f"nothing is compiled together in {build}"

    by_options = {}
    for path, words in files:
        by_options.setdefault(tuple(words), []).append(path)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        given = dict(zip(by_options, pool.map(lambda k: precompiled(*k[1], build, f"headers_{k[0]}"),
                                              enumerate(by_options.items()))))

    def check(item):
        command = [*item[1], *given[tuple(item[1])], "-fsyntax-only", str(item[0])]
        done = subprocess.run(command, cwd=build, stderr=subprocess.PIPE, text=True)
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
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
