#!/usr/bin/env python3
"""Whether two builds of hinge find the same, to the last bit.

    tools/same_bits.py record  PROGRAM FILE     runs every case and writes checksums of what came out
    tools/same_bits.py compare PROGRAM FILE     runs them again and names each case that differs from FILE
    ... --only WORD                             cases with WORD in their names
    ... --jobs N                                at the same time, 2

A case is a command on small data made here: solvers x biases x classes x weights x kernels x ranks, paths of costs,
starts, runs cut short and resumed, streams, predictions. What is compared: bytes of models and predictions, records of
traces and JSON without times and memory. Exits 1 if a case differs. A change that moves the shape of the code and not
what it computes leaves them all the same; one that does not has a reason, which its commit says.
"""

import argparse
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOLVERS = ["dual", "newton", "cpa", "ocas", "ocas3", "active", "focus", "pegasos"]
BIASES = ["none", "1", "free"]
PLANES = ["cpa", "ocas", "ocas3", "active", "focus"]
GAPS = {"cpa": "1e-2", "ocas3": "1e-4", "active": "1e-4"}  # others: 1e-6
PEGASOS = {
    "batch": "--batch 7", "all": "--batch all --epochs 40", "projection": "--projection on", "replace": "--sampling replace",
    "order": "--sampling order", "last": "--iterate last", "average": "--iterate average", "random": "--iterate random",
    "best": "--iterate best-of:3", "steps": "--steps 500", "gap": "--gap 0.05",
    "mistake": "--update mistake",
}
KERNELS = {
    "rbf": "--kernel rbf --gamma 0.3", "poly": "--kernel poly --degree 2 --coef0 1", "sigmoid": "--kernel sigmoid --gamma 0.01",
    "budget": "--kernel rbf --gamma 0.3 --budget 20",
}
NOT_COMPARED = re.compile(r"seconds|memory|threads|^model$|^file$|^path$|bytes_sent|messages")


# ---- Data.

def rows(seed, count, columns, filled, classes=(1, -1), noise=0.15, shift=0.0, digits=3):
    """Lines of libsvm text: labels by a random hyperplane a class, some of them wrong; a few rows are empty."""
    draw = random.Random(seed)
    planes = [[draw.gauss(0, 1) for _ in range(columns)] for _ in classes]
    lines = []
    for number in range(count):
        k = columns if filled >= 1 else max(1, int(draw.expovariate(1 / (filled * columns))))
        chosen = sorted(draw.sample(range(columns), min(k, columns))) if number % 97 != 5 else []
        values = [round(draw.gauss(shift, 1), digits) for _ in chosen]
        scores = [sum(p[j] * (v - shift) for j, v in zip(chosen, values)) for p in planes]
        best = max(range(len(classes)), key=scores.__getitem__)
        label = draw.choice(classes) if draw.random() < noise else classes[best]
        lines.append(" ".join([str(label), *(f"{j + 1}:{v}" for j, v in zip(chosen, values))]))
    return "\n".join(lines) + "\n"


def make_data(folder):
    files = {
        "sparse": rows(1, 400, 80, 0.1), "full": rows(2, 300, 12, 1), "three": rows(3, 300, 20, 0.5, (3, 1, 7)),
        "far": rows(4, 250, 8, 1, shift=30.0), "wide": rows(5, 120, 4000, 0.01), "larger": rows(6, 5000, 300, 0.1),
        "tall": rows(7, 6000, 9, 1), "other": rows(8, 80, 80, 0.1),
    }
    for name, text in files.items():
        (folder / f"{name}.svm").write_text(text)
    draw = random.Random(9)
    for name in files:
        count = files[name].count("\n")
        (folder / f"{name}.weights").write_text("".join(f"{round(draw.uniform(0, 3), 2)}\n" for _ in range(count)))
    long_names = files["wide"].replace("4000:", "3999999:")
    (folder / "far-columns.svm").write_text(long_names)


# ---- Cases: name -> commands, of which {m} is the model and whatever begins with it is kept.

def cases():
    def train(data, options, ranks=1, n="1"):
        return [(ranks, f"train {data}.svm {{m}} {options} -n {n} --trace {{m}}.trace --json")]

    found = {}
    for solver, bias, data in itertools.product(["auto", *SOLVERS], BIASES, ["sparse", "full", "three"]):
        gap = "" if solver == "pegasos" else f"--gap {GAPS.get(solver, '1e-6')}"
        for name, weights in [("plain", ""), ("weights", f"--weights {data}.weights"), ("class", "-w1 2.5")]:
            found[f"{solver}/{bias}/{data}/{name}"] = train(data, f"-s {solver} -B {bias} {gap} {weights}")
    for solver, data in itertools.product(["auto", *SOLVERS], ["far", "wide", "larger", "tall", "far-columns"]):
        found[f"{solver}/{data}"] = train(data, f"-s {solver} --gap 0.01")
        found[f"{solver}/{data}/f64"] = train(data, f"-s {solver} --gap 0.01 --precision f64")
    for solver, cost in itertools.product(["auto", "dual", "newton", "focus"], ["0.01", "100"]):
        found[f"{solver}/cost {cost}"] = train("larger", f"-s {solver} -c {cost} --gap 1e-4", n="2")
    for bias, data in itertools.product(BIASES, ["larger", "tall"]):
        found[f"auto/{bias}/{data}/threads"] = train(data, f"-B {bias} --gap 1e-5", n="2")
    for (name, options), bias, data in itertools.product(PEGASOS.items(), BIASES, ["sparse", "three"]):
        found[f"pegasos {name}/{bias}/{data}"] = train(data, f"-s pegasos -B {bias} {options}")
    for (name, options), data in itertools.product(KERNELS.items(), ["full", "three"]):
        found[f"kernel {name}/{data}"] = train(data, f"-s pegasos {options} --epochs 5")
    for planes, mu in [("2", "0.1"), ("20", "0.05"), ("3", "0.5")]:
        for solver in PLANES:
            found[f"{solver}/planes {planes}"] = train("sparse", f"-s {solver} --planes {planes} --mu {mu} --gap 0.02")
    for solver in ["auto", "dual", "newton", "focus", "ocas", "pegasos --t0 100"]:
        found[f"{solver}/path"] = train("sparse", f"-s {solver} -c 0.01,0.1,1,10")
        found[f"{solver}/path, three classes"] = train("three", f"-s {solver} -c 0.01,0.1,1 -B free", n="2")
    for solver, data in itertools.product(["focus", "ocas", "newton", "pegasos --t0 100"], ["sparse", "three"]):
        found[f"{solver}/{data}/start"] = [
            (1, f"train {data}.svm {{m}}.first -c 0.1"),
            (1, f"train {data}.svm {{m}} -s {solver} -n 1 --start {{m}}.first --trace {{m}}.trace --json")]
    for solver, bias, data in itertools.product(SOLVERS, ["none", "free"], ["sparse", "three"]):
        gap = "--epochs 30" if solver == "pegasos" else f"--gap {GAPS.get(solver, '1e-8')}"
        found[f"{solver}/{bias}/{data}/resumed"] = [
            (1, f"train {data}.svm {{m}}.cut -s {solver} -B {bias} {gap} --checkpoint {{m}}.ck --every 1e-9 --max-passes 12"),
            (1, f"train {data}.svm {{m}} --resume {{m}}.ck --json")]
    for name in KERNELS:
        found[f"kernel {name}/resumed"] = [
            (1, f"train full.svm {{m}}.cut {KERNELS[name]} --epochs 8 --checkpoint {{m}}.ck --every 1e-9 --max-passes 3"),
            (1, f"train full.svm {{m}} --resume {{m}}.ck --json")]
    for solver, bias, data, ranks in itertools.product(["auto", "dual", "focus", "ocas", "cpa", "ocas3", "active", "pegasos"],
                                                       ["none", "1", "free"], ["sparse", "three"], [2, 3]):
        gap = "--batch 20" if solver == "pegasos" else f"--gap {GAPS.get(solver, '1e-4')}"
        found[f"ranks/{solver}/{bias}/{data}/{ranks}"] = train(data, f"-s {solver} -B {bias} {gap}", ranks)
    for options in ["--batch all", "--batch 7 --iterate last", "--batch 30 --iterate average --sampling order",
                    "--batch 16 --gap 0.2", "--batch 20 --weights sparse.weights --check-every 2"]:
        found[f"ranks/pegasos {options}"] = train("sparse", f"-s pegasos {options}", 2)
    found["ranks/weights"] = train("sparse", "-s focus --weights sparse.weights", 2)
    found["ranks/resumed"] = [
        (2, "train sparse.svm {m}.cut -s focus --gap 1e-6 --checkpoint {m}.ck --every 1e-9 --max-passes 12"),
        (3, "train sparse.svm {m} --resume {m}.ck --json")]
    for loss in ["--lambda 0.01", "--lambda 0.001 -B 1", "--lambda 0.1 --t0 50"]:
        for data in ["sparse", "three"]:
            found[f"stream {loss}/{data}"] = [(1, f"stream {loss} {{m}} < {data}.svm")]
    for data in ["sparse", "three"]:
        found[f"uses/{data}"] = [
            (1, f"train {data}.svm {{m}}.native"), (1, f"predict {data}.svm {{m}}.native {{m}}.labels --scores"),
            (1, f"evaluate {data}.svm {{m}}.native --json"), (1, f"verify {{m}}.native {data}.svm --json"),
            (1, f"convert {{m}}.native {{m}}.liblinear"), (1, f"convert {{m}}.liblinear {{m}}.back.model"),
            (1, f"predict {data}.svm {{m}}.liblinear {{m}}.labels2"), (1, f"convert {data}.svm {{m}}.hds"),
            (1, f"train {{m}}.hds {{m}}.again"), (1, f"check {data}.svm --json"), (1, f"info {{m}}.native --json")]
        found[f"folds/{data}"] = [(1, f"train {data}.svm -v 3 --json")]
        found[f"limited/{data}"] = train(data, "--max-passes 3 --gap 1e-8")
        found[f"split/{data}"] = [(1, f"split {data}.svm {{m}}.train {{m}}.test --test 0.2")]
    return found


# ---- Running.

def strip(value):
    """JSON without what a clock or the machine decides."""
    if isinstance(value, dict):
        return {k: strip(v) for k, v in value.items() if not NOT_COMPARED.search(k)}
    return [strip(v) for v in value] if isinstance(value, list) else value


def digest(path):
    data = path.read_bytes()
    if path.suffix == ".trace":  # threads may take turns otherwise, but not within a problem
        records = [strip(json.loads(line)) for line in data.splitlines()]
        records.sort(key=lambda record: (str(record.get("cost")), str(record.get("problem"))))
        data = "\n".join(map(json.dumps, records)).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def run(program, data, name, commands):
    """Checksums of all that a case leaves, by what it is; also how its commands ended."""
    folder = Path(tempfile.mkdtemp(prefix="same-bits-"))
    result = {}
    try:
        for path in data.iterdir():
            (folder / path.name).symlink_to(path)
        for number, (ranks, words) in enumerate(commands):
            words = words.replace("{m}", "m")
            words, _, standard_input = words.partition(" < ")
            launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
            with open(folder / standard_input if standard_input else os.devnull, "rb") as stdin:
                done = subprocess.run([*launch, program, *words.split()], cwd=folder, stdin=stdin, capture_output=True,
                                      timeout=120)
            result[f"exit {number}"] = done.returncode
            if done.stdout.startswith(b"{"):
                said = "\n".join(json.dumps(strip(json.loads(line)), sort_keys=True) for line in done.stdout.splitlines())
                result[f"json {number}"] = hashlib.sha256(said.encode()).hexdigest()[:16]
        for path in sorted(folder.glob("m*")):
            # What a cut run had come to when it was cut, and was written into its checkpoint, depends on no clock; but
            # the format of a checkpoint may change.
            if not re.search(r"\.ck(\.previous)?$", path.name) and path.is_file():
                result[path.name] = digest(path)
    except subprocess.TimeoutExpired:
        result["exit"] = "timed out"
    finally:
        shutil.rmtree(folder)
    return name, result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("program")
    parser.add_argument("file")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    program = str(Path(given.program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        make_data(data)
        wanted = {name: commands for name, commands in cases().items() if given.only in name}
        with ThreadPoolExecutor(given.jobs) as pool:
            found = dict(pool.map(lambda item: run(program, data, *item), wanted.items()))
    failed = sum(any(code != 0 for key, code in result.items() if key.startswith("exit")) for result in found.values())
    if given.what == "record":
        Path(given.file).write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        print(f"{len(found)} cases recorded, in {failed} of which a command refuses")
        return 0
    known = json.loads(Path(given.file).read_text())
    differ = 0
    for name, result in found.items():
        if name not in known:
            print(f"{name}: not in {given.file}")
        elif result != known[name]:
            differ += 1
            before = known[name]
            what = [key for key in sorted({*result, *before}) if result.get(key) != before.get(key)]
            print(f"{name}: {', '.join(what)}")
    print(f"{len(found)} cases, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
