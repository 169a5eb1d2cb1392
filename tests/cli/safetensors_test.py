"""What hinge writes is opened by the `safetensors` library, with the arrays and the metadata that are in it.

Needs the Python modules safetensors and numpy; tools/install_deps.sh test installs them where pip may.
"""

import unittest

import support
from support import TEXT, THREE, CommandCase, Container, table, to_text

try:
    import numpy
    from safetensors import safe_open
except ImportError as problem:
    numpy, MISSING = None, f"{problem}: install the Python modules safetensors and numpy"
else:
    MISSING = ""

FILES = [  # name, data, command that writes x, the format it names
    ("data", TEXT, "convert d.svm x --to binary", "hinge.dataset"),
    ("data in double precision", TEXT, "convert d.svm x --to binary --precision f64", "hinge.dataset"),
    ("data with weights", TEXT, "convert d.svm x --to binary --weights w", "hinge.dataset"),
    ("data without features", "1\n-1\n", "convert d.svm x --to binary", "hinge.dataset"),
    ("model", TEXT, "train d.svm x --bias 1", "hinge.model"),
    ("model of three classes", to_text(THREE), "train d.svm x", "hinge.model"),
    ("model of few columns", "1 5:1\n-1 900:1\n", "train d.svm x", "hinge.model"),
    ("model with a kernel", TEXT, "train d.svm x --kernel rbf --budget 50", "hinge.model"),
    ("model without proof", TEXT, "train d.svm x --no-witness", "hinge.model"),
]


@unittest.skipIf(MISSING, MISSING)
@table(FILES)
class SafetensorsTest(CommandCase):
    def check(self, row):
        _, text, command, kind = row
        self.write("d.svm", text)
        self.write("w", "0.5\n" * 200)
        self.hinge(*command.split())
        ours = Container(self.dir / "x")
        with safe_open(self.dir / "x", framework="numpy") as theirs:
            self.assertEqual(theirs.metadata(), ours.metadata)
            self.assertEqual(theirs.metadata()["format"], kind)
            self.assertEqual(set(theirs.keys()), set(ours.arrays))
            for name, values in ours.arrays.items():
                with self.subTest(name):
                    found = theirs.get_tensor(name)
                    self.assertEqual(list(found.shape), ours.shapes.get(name, [len(values)]))
                    self.assertEqual(found.dtype, numpy.dtype(values.typecode))
                    self.assertEqual(found.tobytes(), values.tobytes())


if __name__ == "__main__":
    support.main()
