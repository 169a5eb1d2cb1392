#!/usr/bin/env python3
"""Holds the tree to the rules of ARCHITECTURE.md that a compiler does not know.

    tools/check_includes.py [ROOT]     checks include/, src/, cli/, python/ and examples/ below ROOT
    tools/check_includes.py --self-test

Prints file:line: message for every breach and exits 1 if there was one.
"""

import re
import sys
import tempfile
from pathlib import Path

# ---- The rules.

# Folder of src/ -> folders it may include besides itself. Arrows only point down; a folder inside another is a place of
# its own, and those of solvers do not see each other. Declaring a type that another folder defines counts as including it.
BELOW_DATA = {"base", "files", "ranks", "simd"}
BELOW_ROWS = BELOW_DATA | {"data", "objective"}
BELOW_SOLVERS = BELOW_ROWS | {"rows", "solve"}
LAYERS = {
    "base": set(),
    "files": {"base"},
    "ranks": {"base"},
    "ranks/mpi": {"base"},
    "simd": set(),
    "data": BELOW_DATA,
    "data/text": BELOW_DATA | {"data"},
    "data/generate": BELOW_DATA,
    "objective": BELOW_DATA | {"data"},
    "rows": BELOW_ROWS,
    "rows/cuda": BELOW_ROWS | {"rows"},
    "proof": {"base", "files", "ranks", "data", "objective"},
    "solve": BELOW_ROWS | {"rows"},
    "solve/dual": BELOW_SOLVERS,
    "solve/newton": BELOW_SOLVERS,
    "solve/planes": BELOW_SOLVERS,
    "solve/pegasos": BELOW_SOLVERS,
    "model": {"base", "files", "simd", "data", "objective", "proof"},
    "metrics": {"base", "simd", "data", "objective", "model"},
    "train": BELOW_SOLVERS | {"proof", "model"},
    "tune": BELOW_SOLVERS | {"proof", "model", "train"},
    "compare": BELOW_SOLVERS | {"proof", "model", "train"},
    "stream": {"base", "files", "simd", "data", "objective", "model", "solve"},
}
SEES_ALL = {"src/file_kind.cc", "src/options.cc", "src/options_check.cc"}  # at most three
PUBLIC_FOR_SIMD = {"hinge/dataset.h", "hinge/kernel.h"}

# Headers with one home.
HOMES = [
    (re.compile(r"(.*/)?mpi\.h"), "src/ranks/mpi", "MPI"),
    (re.compile(r"(cuda|cublas|cusparse|cusolver|curand|nccl|thrust/|cub/).*"), "src/rows/cuda", "CUDA"),
    (re.compile(r"([a-z0-9]*intrin|arm_neon|arm_sve|arm_acle)\.h"), "src/simd", "intrinsics"),
]

# Words the library, and the module of the Python package, must not contain (comments and strings do not count).
FORBIDDEN_IN_SRC = [
    (r"\b(?:secure_getenv|getenv|setenv|putenv)\b", "the library does not read the environment"),
    (r"\b(?:v?f?printf|v?dprintf|puts|fputs|putchar|perror)\s*\(", "the library does not print"),
    (r"\bstd::(?:cout|cerr|clog|print|println)\b|\bfmt::(?:print|println)\b", "the library does not print"),
    (r"(?<!\.)(?<!->)\b(?:_exit|_Exit|exit|quick_exit|abort|terminate)\s*\(",
     "the library does not end the process"),
]
FORBIDDEN_IN_SRC_AND_CLI = [
    (r"\bstd::(?:basic_|w)?o?fstream\b", "files are written with hinge::OutputFile"),
]
MAX_LINES = 700
MAX_FILES = 24  # sources and headers of one folder

SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
# Of types, at the beginning of a line: those of a namespace, as clang-format leaves them.
DEFINITION = re.compile(r"^(?:class|struct|enum class) (\w+)[^;{]*\{", re.MULTILINE)
DECLARATION = re.compile(r"^(?:class|struct|enum class) (\w+)(?: : [\w:]+)?;", re.MULTILINE)
CONDITIONAL = r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)\b"
FOPEN = re.compile(r"\b(?:fopen|fdopen|freopen)\s*\(")
TOKEN = re.compile(r"""
    //[^\n]* | /\*.*?\*/                               # comments
  | R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"               # raw strings
  | "(?:\\.|[^"\\\n])*"                               # strings
  | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'               # characters, not the ' of 1'000
""", re.DOTALL | re.VERBOSE)


# ---- The checker.

class Checker:
    def __init__(self, root):
        self.root = Path(root)
        self.errors = []
        self.definitions = {}  # type -> header of src/ that defines it

    def run(self):
        files = sorted(p for top in ("include", "src", "cli", "python", "examples")
                       for p in self.root.glob(f"{top}/**/*") if p.suffix in SUFFIXES)
        for path in files:
            self.note_definitions(path)
        for path in files:
            self.check_file(path)
        for folder in sorted({p.parent for p in files}):
            count = sum(p.parent == folder for p in files)
            if count > MAX_FILES:
                self.report(folder.relative_to(self.root), 1, f"{count} files, at most {MAX_FILES}")
        return self.errors

    def report(self, name, line, message):
        self.errors.append(f"{name}:{line}: {message}")

    def note_definitions(self, path):
        name = path.relative_to(self.root)
        if name.parts[0] == "src" and path.suffix in {".h", ".cuh"}:
            code = blank(path.read_text(encoding="utf-8", errors="replace"), comments=True, strings=True)
            for match in DEFINITION.finditer(code):
                self.definitions[match[1]] = name.relative_to("src").as_posix()

    def check_file(self, path):
        name = path.relative_to(self.root).as_posix()
        raw = path.read_text(encoding="utf-8", errors="replace")
        text = blank(raw, comments=True, strings=False)
        code = blank(raw, comments=True, strings=True)

        def search(pattern, message):
            for match in re.finditer(pattern, code, re.MULTILINE):
                self.report(name, line_of(code, match.start()), f"{message}: {match.group().strip()}")

        lines = raw.count("\n")
        if lines > MAX_LINES:
            self.report(name, MAX_LINES + 1, f"{lines} lines, at most {MAX_LINES}: split it")
        if path.suffix in {".h", ".cuh"} and not re.search(r"^#pragma once$", code, re.MULTILINE):
            self.report(name, 1, "no #pragma once")
        for match in INCLUDE.finditer(text):
            message = include_breach(name, path, match[2], match[1] == "<")
            if message:
                self.report(name, line_of(text, match.start()), message)
        for match in DECLARATION.finditer(code) if not name.startswith("include/") else ():
            header = self.definitions.get(match[1])
            message = header and include_breach(name, path, header, False)
            if message:
                self.report(name, line_of(code, match.start()), f"{match[1]} of {message}")
        if name.startswith("src/solve/"):
            search(CONDITIONAL, "no conditional compilation in solvers")
        if name.startswith(("src/", "python/")):  # the module is the library, too
            for pattern, message in FORBIDDEN_IN_SRC:
                search(pattern, message)
        if name.startswith(("src/", "cli/", "python/")):
            for pattern, message in FORBIDDEN_IN_SRC_AND_CLI:
                search(pattern, message)
            for match in FOPEN.finditer(code):
                mode = re.match(r'[^;]*,\s*"(r[be]*)"', text[match.end():])
                if not mode:
                    self.report(name, line_of(code, match.start()),
                                "files are written with hinge::OutputFile; fopen takes a literal \"r\" mode")


def include_breach(name, path, header, angle):
    """Why the file `name` may not include `header`, or None."""
    for pattern, home, what in HOMES:
        if pattern.fullmatch(header) and not name.startswith(home + "/"):
            return f"<{header}>: {what} lives in {home} only"
    if header.startswith(".") or "/../" in header:
        return f'"{header}": name the header from the root of its tree'

    top, first = name.split("/")[0], header.split("/")[0]
    public = first == "hinge" and "/" in header
    ours = first in LAYERS and "/" in header
    beside = not angle and (path.parent / header).is_file()

    standard = angle and re.fullmatch(r"[a-z0-9_]+", header)
    if top == "include":
        return None if public or standard else f"{header}: include/ sees the standard library and itself"
    if top == "examples":
        allowed = standard or (public and angle)
        return None if allowed else f"{header}: examples/ sees the standard library and include/hinge only, as <hinge/...>"
    if top in ("cli", "python"):
        allowed = public or beside or (angle and not ours) or (not angle and first == top)
        return None if allowed else f"{header}: {top}/ sees include/hinge only"

    folder = name[len("src/"):].rpartition("/")[0]  # "" of src/ itself
    if public:
        if folder == "simd" and header not in PUBLIC_FOR_SIMD:
            return f"{header}: src/simd sees {', '.join(sorted(PUBLIC_FOR_SIMD))} only"
        return None
    if angle and not ours or beside or name in SEES_ALL:
        return None
    if folder and folder not in LAYERS:
        return f"src/{folder} has no place in the layers of tools/check_includes.py"
    home = header.rpartition("/")[0]
    if ours and folder and (home == folder or home in LAYERS[folder]):
        return None
    return f"{header}: src/{folder} may not see it"


def blank(text, comments, strings):
    """`text` with comments and/or literals replaced by spaces; every offset stays the same."""

    def spaces(match):
        token = match.group()
        wanted = comments if token.startswith(("//", "/*")) else strings
        return re.sub(r"[^\n]", " ", token) if wanted else token

    return TOKEN.sub(spaces, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


# ---- Each rule is shown to fire, and to stay quiet on what is allowed.

BAD = [  # file, text, line, part of the message
    ("src/base/a.cc", '#include "data/b.h"\n', 1, "may not see"),
    ("src/data/a.cc", '\n#include "rows/b.h"\n', 2, "may not see"),
    ("src/base/a.cc", '#include <simd/b.h>\n', 1, "may not see"),
    ("src/rows/a.cc", '#include "solve/b.h"\n', 1, "may not see"),
    ("src/solve/a.cc", '#include "proof/b.h"\n', 1, "may not see"),
    ("src/solve/a.cc", '#include "model/b.h"\n', 1, "may not see"),
    ("src/proof/a.cc", '#include "rows/b.h"\n', 1, "may not see"),
    ("src/solve/dual/a.cc", '#include "solve/newton/b.h"\n', 1, "may not see"),
    ("src/solve/a.cc", '#include "solve/dual/b.h"\n', 1, "may not see"),
    ("src/train/a.cc", '#include "tune/b.h"\n', 1, "may not see"),
    ("src/model/a.cc", '#include "solve/b.h"\n', 1, "may not see"),
    ("src/simd/a.cc", '#include "base/b.h"\n', 1, "may not see"),
    ("src/simd/a.cc", '#include "hinge/train.h"\n', 1, "hinge/dataset.h, hinge/kernel.h only"),
    ("src/other/a.cc", '#include "base/b.h"\n', 1, "no place in the layers"),
    ("src/version.cc", '#include "base/b.h"\n', 1, "may not see"),
    ("src/base/a.cc", '#include "../data/b.h"\n', 1, "root of its tree"),
    ("cli/a.cc", '#include "base/b.h"\n', 1, "include/hinge only"),
    ("cli/a.cc", '#include <solve/b.h>\n', 1, "include/hinge only"),
    ("python/a.cc", '#include "model/b.h"\n', 1, "include/hinge only"),
    ("python/a.cc", "void f() { std::fprintf(stderr, x); }\n", 1, "does not print"),
    ("python/a.cc", "std::ofstream out(x);\n", 1, "OutputFile"),
    ("examples/a.cc", '#include "data/b.h"\n', 1, "include/hinge only"),
    ("examples/a.cc", "#include <base/b.h>\n", 1, "include/hinge only"),
    ("examples/a.cc", "#include <fmt/core.h>\n", 1, "include/hinge only"),
    ("examples/a.cc", '#include "hinge/train.h"\n', 1, "as <hinge/...>"),
    ("include/hinge/a.h", '#pragma once\n#include <fmt/format.h>\n', 2, "standard library"),
    ("include/hinge/a.h", '#pragma once\n#include "base/b.h"\n', 2, "standard library"),
    ("src/base/a.cc", "#include <mpi.h>\n", 1, "src/ranks/mpi only"),
    ("src/rows/a.cc", "#include <cuda_runtime.h>\n", 1, "src/rows/cuda only"),
    ("src/data/a.cc", "#include <immintrin.h>\n", 1, "src/simd only"),
    ("cli/a.cc", "#include <arm_neon.h>\n", 1, "src/simd only"),
    ("src/solve/a.cc", "int a;\n  # ifdef X\n#endif\n", 2, "conditional"),
    ("src/solve/a.cc", "#if 1\n#endif\n", 1, "conditional"),
    ("src/base/a.cc", "auto a = std::getenv(x);\n", 1, "environment"),
    ("src/base/a.cc", "void f() { printf(x); }\n", 1, "does not print"),
    ("src/base/a.cc", "void f() { std::fprintf(stderr, x); }\n", 1, "does not print"),
    ("src/base/a.cc", "void f() { std::cout << 1; }\n", 1, "does not print"),
    ("src/base/a.cc", "void f() { std::cerr << 1; }\n", 1, "does not print"),
    ("src/base/a.cc", "void f() { fmt::print(x); }\n", 1, "does not print"),
    ("src/base/a.cc", "auto k = 1'0; void f() { exit(1); } auto l = 1'0;\n", 1, "end the process"),
    ("src/base/a.cc", "void f() { std::abort(); }\n", 1, "end the process"),
    ("src/base/a.cc", "std::ofstream out(x);\n", 1, "OutputFile"),
    ("cli/a.cc", "std::fstream out(x);\n", 1, "OutputFile"),
    ("cli/a.cc", 'auto* f = fopen(x, "wb");\n', 1, "OutputFile"),
    ("src/base/a.cc", 'auto* f = std::fopen(x.c_str(),\n  "r+");\n', 1, "OutputFile"),
    ("src/base/a.h", "// #pragma once\nint a;\n", 1, "no #pragma once"),
    ("src/base/a.cc", "\n" * (MAX_LINES + 1), MAX_LINES + 1, "split it"),
]
GOOD = {
    "include/hinge/a.h": '#pragma once\n#include <span>\n#include "hinge/b.h"\n',
    "src/base/a.h": "#pragma once\n",
    "src/base/a.cc": '#include "base/a.h"\n#include <fmt/format.h>\n#include "hinge/files.h"\n'
                     '// exit(1), std::cout\n/* getenv("X")\n abort() */ const char* s = "printf(1)";\n'
                     'auto* f = fopen(x, "rb"); const char c = \'"\'; auto n = snprintf(b, 1, s);\n'
                     "auto k = 1'000; auto l = 'x';\n#include <fstream>\n"
                     "void g() { on_exit(1); file.abort(); std::ifstream in(x); }\n",
    "src/simd/a.cc": '#include <immintrin.h>\n#include "hinge/dataset.h"\n#include "simd/k.h"\n',
    "src/data/a.cc": '#include "base/a.h"\n#include "data/b.h"\n#ifdef X\n#endif\n',
    "src/solve/a.cc": '#include "rows/a.h"\n#include "simd/k.h"\n#include "data/b.h"\n#pragma GCC x\n',
    "src/model/a.cc": '#include "proof/a.h"\n#include "simd/k.h"\n',
    "src/ranks/mpi/a.cc": "#include <mpi.h>\n",
    "src/rows/cuda/a.cu": "#include <cuda_runtime.h>\n",
    "src/rows/a.h": "#pragma once\nclass Rows final : public Base {\n};\nstruct Inner;\n",
    "src/solve/dual/a.cc": 'class Rows;\nstruct Unknown;\n#include "solve/a.h"\n',
    "src/file_kind.cc": '#include "solve/a.h"\n#include "proof/a.h"\n',
    "cli/a.h": "#pragma once\n",
    "cli/a.cc": '#include <CLI/CLI.hpp>\n#include "a.h"\n#include "cli/a.h"\n#include "hinge/hinge.h"\n'
                "int main() { std::fprintf(stderr, \"x\"); std::exit(1); }\n",
    "examples/a.cc": '#include <hinge/train.h>\n#include <csignal>\nint main() { std::printf("x"); }\n',
    "python/bindings.cc": '#include <nanobind/nanobind.h>\n#include "hinge/hinge.h"\n',
}


def check_tree(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return Checker(root).run()


def self_test():
    failures = [f"allowed, but reported: {error}" for error in check_tree(GOOD)]
    crowd = {f"src/base/f{i}.cc": "" for i in range(MAX_FILES + 1)}
    cases = [({name: text}, f"{name}:{line}: ", part) for name, text, line, part in BAD]
    cases.append((crowd, "src/base:1: ", "at most"))
    declared = {"src/rows/a.h": "#pragma once\nstruct Rows {\n};\n", "src/proof/a.cc": "int a;\nstruct Rows;\n"}
    cases.append((declared, "src/proof/a.cc:2: ", "Rows of rows/a.h"))
    for files, place, part in cases:
        errors = check_tree(files)
        if len(errors) != 1 or not errors[0].startswith(place) or part not in errors[0]:
            text = next(iter(files.values()))[:80]
            failures.append(f"wanted {place}...{part}... for {text!r}, got {errors}")
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        errors = self_test()
    elif len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        print(__doc__.strip(), file=sys.stderr)
        return 64
    else:
        root = arguments[0] if arguments else Path(__file__).resolve().parent.parent
        errors = Checker(root).run()
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
