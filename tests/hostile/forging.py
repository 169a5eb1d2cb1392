"""Forging: files of hinge that were damaged, or altered with checksums that are right, and every command that reads them.

A damaged file is refused, with 80 wherever it can still be told what it was. One whose checksums are right may be taken
for what it says; whatever that is, nothing crashes, hangs or takes memory that the file's own bytes do not account for.
"""

import json
import struct

from support import Container
from trial import GIB, Trial

DAMAGED = 80
BEGINNING = 16  # bytes by which a container is told, and then by a member such as "format":"hinge.dataset"
FORGERIES = 8  # of each file

CONTAINER_READERS = ("info x", "predict d.svm x out", "evaluate d.svm x", "verify x d.svm", "verify x d.svm --prove",
                     "convert x out", "convert x out --to liblinear")
STARTED = tuple(f"train d.svm out --start x -s {solver} --max-passes 5 --time-limit 2" for solver in ("ocas", "pegasos", "dual"))
KINDS = {  # how the file x is made, one of these; what reads it
    "data set": (("convert d.svm x --to binary", "convert d.svm x --to binary --precision f64"),
                 ("info x", "check x", "train x out --max-passes 20", "predict x good out", "evaluate x good", "verify good x",
                  "convert x out --to text", "compare x --max-passes 5")),
    "model": (tuple(f"train d.svm x --max-passes 50 {more}" for more in (
        "", "--bias free", "--bias 1 --reject", "--no-witness", "-c 0.1,1,10", "-s pegasos --kernel rbf --epochs 2")),
              CONTAINER_READERS + STARTED),
    "stream": (("stream x --lambda 0.01 <d.svm", "stream x --lambda 0.1 --bias 1 --labels -1,1,2,3 <d.svm"),
               CONTAINER_READERS + ("stream --resume x <d.svm", "stream --resume --skip-seen x --predictions out <d.svm")),
    "checkpoint": (tuple(f"train d.svm out --checkpoint x --every 1e-9 --max-passes 6 -s {solver}" for solver in (
        "dual", "newton", "pegasos --epochs 3", "pegasos --kernel rbf --epochs 3", "ocas", "active", "focus", "dual -c 0.1,1,10")),
                   ("info x", "train d.svm out --resume x --time-limit 2", "train d.svm out --resume x --time-limit 2 -n 1")),
    "cache": (("train d.svm out --cache --max-passes 20", "evaluate d.svm good --cache"),
              ("info d.svm --cache", "train d.svm out --cache --max-passes 20", "train d.svm out --cache=strict --max-passes 20",
               "predict d.svm good out --cache", "evaluate d.svm good --cache")),
    "liblinear": (("train d.svm x --model-format liblinear", "train d.svm x --model-format liblinear --bias 1"),
                  ("info x", "predict d.svm x out", "evaluate d.svm x", "convert x out --to native", STARTED[0])),
}

WHOLE = (0, 1, 2, 3, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1)
REAL = (0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 1e150, 1.7e308, float("inf"), float("-inf"), float("nan"))
ODD = (None, True, "", "x" * 1000, "\x00\x1b[31m", [], {}, [[]], -1, 1.5, *WHOLE, *REAL)


class Forging(Trial):
    memory = GIB  # far more than these files need: where a run asks for more, it believed a number in one

    def play(self):
        kind = self.draw.choice(list(KINDS))
        makers, readers = KINDS[kind]
        x = "d.svm.cache" if kind == "cache" else "x"
        self.write("d.svm", self.rows(most=60))
        self.hinge("train", "d.svm", "good", code=0)
        self.command(self.draw.choice(makers), code=0)
        original, good = self.read(x), set(self.files())
        for _ in range(FORGERIES):
            mended = kind != "liblinear" and self.chance(0.6)
            forged = self.mend(original) if mended else self.damage(original)
            for reader in self.draw.sample(readers, 2):
                self.remove(*set(self.files()) - good, *(["out"] if kind != "checkpoint" else []), x + ".previous")
                self.write(x, forged)
                run = self.command(reader)
                self.expect(run.code != 81, f"a forged {kind} asks for more than {self.memory >> 30} GiB")
                if not mended and kind != "liblinear" and forged != original:
                    member = f'"format":"{Container(original).metadata["format"]}"'.encode()
                    known = forged[:BEGINNING] == original[:BEGINNING] and member in forged
                    self.judge(run, kind, known, reader)

    def command(self, line, **how):
        """Runs a command of the tables above."""
        line, _, source = line.partition("<")
        return self.hinge(*line.split(), source=source or None, **how)

    def judge(self, run, kind, known, reader):
        """Of a damaged file; where it is not known as hinge's any more, it is refused as text or as the wrong kind of file."""
        if run.code == DAMAGED or not known and run.code in (64, 65):
            return
        if kind == "cache" and run.code == 0:  # it was stale, being of the other precision, and made again
            made = self.bytes_of("out")
            plain = self.command(reader.replace("--cache=strict", "").replace("--cache", ""))
            same = run.out == plain.out or reader.startswith("info")  # which says how long it took to load
            self.expect(same and made == self.bytes_of("out"), "a damaged cache changes the result")
            return
        self.expect(False, f"a damaged {kind} ended with {run.code}, where {DAMAGED} was due")

    # ---- Damage.

    def damage(self, data):
        self.expect(data, "an empty file was written")
        draw, size = self.draw, len(data)
        at = draw.choice((draw.randrange(size), draw.randrange(size), min(size - 1, draw.randrange(4096)), draw.randrange(8)))
        forged = bytearray(data)
        how = draw.choice(("flip", "flip", "byte", "cut", "append", "block", "double"))
        if how == "flip":
            forged[at] ^= 1 << draw.randrange(8)
        elif how == "byte":
            forged[at] = draw.randrange(256)
        elif how == "cut":
            del forged[at:]
        elif how == "append":
            forged += draw.choice((b"\0", b"\n", draw.randbytes(draw.randint(1, 5000)), data))
        elif how == "block":
            forged[at : at + draw.randint(1, 64)] = draw.randbytes(draw.randint(1, 64))
        else:
            forged[at:at] = data[at : at + draw.randint(1, 512)]
        return bytes(forged)

    # ---- Alterations with checksums that are right.

    def mend(self, data):
        container = Container(data)
        header_edits = []
        for _ in range(self.draw.choice((1, 1, 2, 4))):
            edit = self.draw.choice((self.alter_metadata, self.alter_metadata, self.alter_values, self.alter_values,
                                     self.alter_length, self.alter_arrays, self.alter_header))
            edit(container, header_edits)
        forged = container.to_bytes(lambda header: [edit(header) for edit in header_edits])
        if self.chance(0.1):  # a length that is not that of the header
            forged = struct.pack("<Q", self.draw.choice(WHOLE)) + forged[8:]
        return forged

    def alter_metadata(self, container, _):
        draw, metadata = self.draw, container.metadata
        key = draw.choice(sorted(metadata))
        try:
            value = json.loads(metadata[key])
        except ValueError:
            value = None
        if self.chance(0.15):
            del metadata[key]
        elif isinstance(value, (dict, list)) and value and self.chance(0.85):
            self.alter_leaf(value)
            metadata[key] = json.dumps(value)
        else:
            metadata[key] = draw.choice((str(draw.choice(ODD)), json.dumps(draw.choice(ODD)), draw.choice(list(metadata.values()))))

    def alter_leaf(self, value):
        """Changes, adds or removes something in a JSON document that is not empty."""
        key = self.draw.choice(sorted(value) if isinstance(value, dict) else range(len(value)))
        if isinstance(value[key], (dict, list)) and value[key] and self.chance(0.7):
            self.alter_leaf(value[key])
        elif self.chance(0.15):
            del value[key]
        elif isinstance(value, list) and self.chance(0.2):
            value += value[key : key + 1] * self.draw.choice((1, 3, 1000))
        else:
            value[key] = self.draw.choice(ODD)

    def alter_values(self, container, _):
        values = container.arrays[self.draw.choice(list(container.arrays))]
        for _ in range(self.draw.choice((1, 1, 5)) if len(values) else 0):
            at, real = self.draw.randrange(len(values)), values.typecode in "fd"
            value = self.draw.choice(REAL) if real else self.draw.choice((*WHOLE, values[at] + 1, values[at] - 1))
            try:
                values[at] = value
            except OverflowError:
                values[at] = 0

    def alter_length(self, container, _):
        values = container.arrays[self.draw.choice(list(container.arrays))]
        if self.chance(0.5):
            del values[self.draw.randint(0, len(values)) :]
        else:
            values.extend(values[: self.draw.choice((1, 2, len(values)))])

    def alter_arrays(self, container, _):
        """Removes, renames or moves a whole array, or says that it is of another type."""
        arrays, types = container.arrays, container.types
        name = self.draw.choice(list(arrays))
        if self.chance(0.3):
            types[name] = self.draw.choice(("U8", "U32", "U64", "I64", "F32", "F64", "F16", "BOOL", ""))
        elif len(arrays) > 1:
            values, kind, shape = arrays.pop(name), types.pop(name), container.shapes.pop(name, None)
            if self.chance(0.7):
                name = self.draw.choice((name, "", "weights", "columns", name + "2"))
                arrays[name], types[name] = values, kind
                container.shapes.update({name: shape} if shape else {})

    def alter_header(self, container, header_edits):
        name, odd = self.draw.choice(list(container.arrays)), self.draw.choice(ODD)
        number, other = self.draw.choice(WHOLE), self.draw.choice(WHOLE)
        change = self.draw.choice(({"shape": [number]}, {"shape": [number, other]}, {"shape": odd}, {"data_offsets": [number, other]},
                                   {"data_offsets": [0, number]}, {"data_offsets": odd}, {"dtype": odd}, {"more": odd}))
        header_edits.append(lambda header: header[name].update(change) if name in header else header.update({name: change}))
