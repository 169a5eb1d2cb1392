"""Models that were altered, with checksums that are right, and what `hinge verify` says of each.

A certificate is a claim: the weights have at most this primal value, no weights whatsoever have less than this bound, and
the gap between them is what was asked for. Each test forges one part of the claim. HINGE is the program.
"""

import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import check_exact
import support
from support import CommandCase, ModelFile, make_rows, table, to_text

DISAGREES = 80
NOT_PROVED = 3


def next_up(x, steps=1):
    """The number so many doubles above x, which is positive."""
    (bits,) = struct.unpack("<q", struct.pack("<d", x))
    return struct.unpack("<d", struct.pack("<q", bits + steps))[0]


class Forged(ModelFile):
    """A model whose metadata can be changed by name."""

    def change(self, part, **values):
        document = json.loads(self.metadata[part])
        document.update(values)
        self.metadata[part] = json.dumps(document, separators=(",", ":"))

    @property
    def claimed(self):
        return self.certificate[0]

    def claim(self, **values):
        """Changes the certificate of the first problem."""
        self.claimed.update(values)
        self.metadata["certificate"] = json.dumps(self.certificate, separators=(",", ":"))


def forge_higher_bound(m):
    m.claim(dual=m.claimed["primal"])


def forge_bound_and_gap(m):
    m.claim(dual=m.claimed["primal"] * (1 - 1e-7), relative_gap=1e-7)


def forge_lower_primal(m):
    m.claim(primal=m.claimed["primal"] * (1 - 1e-6))


def forge_gap(m):
    m.claim(relative_gap=m.claimed["relative_gap"] / 2)


def forge_weights(m):
    m.arrays["weights"][0] += 1e-6


def forge_witness(m):
    m.arrays["witness.free"][0] *= 1.01


def forge_label(m):
    m.metadata["labels"] = json.dumps([99, m.labels[1]])
    m.claim(**{"class": 99})


def forge_asked_gap(m):
    m.change("options", gap=m.claimed["relative_gap"] / 2)


def forge_asked_goals(m):
    left = m.claimed["primal"] - m.claimed["dual"]
    m.change("options", gap_absolute=left / 2, gap_per_row=left / 60 / 2, target=m.claimed["primal"] * (1 - 1e-9))


def forge_status(m):
    m.metadata["status"] = "converged"


def forge_class_weight(m):
    m.change("options", class_weights=[[1, 2.0]])


def forge_cost(m):
    m.change("options", cost=m.options["cost"] * 1.001)


SENTENCES = [
    ("a bound as high as the primal value", [], forge_higher_bound, "bound"),
    ("a bound and a gap that go together, beyond what the witness shows", [], forge_bound_and_gap,
     "its bound is above what its proof shows"),
    ("a primal value a millionth too low", [], forge_lower_primal, "primal value"),
    ("half the gap", [], forge_gap, "its gap is not that of its primal value and its bound"),
    ("a weight moved by a millionth", [], forge_weights, "primal value"),
    ("a dual variable moved by a hundredth", [], forge_witness, "bound"),
    ("a label that no row has", [], forge_label, "its labels are not the classes of the data"),
    ("a smaller gap asked for than was reached", [], forge_asked_gap, "it says that it converged"),
    ("less of everything asked for than was reached", ["--gap-absolute", "1"], forge_asked_goals,
     "it says that it converged, and has none of what was asked for"),
    ("converged, where a limit ended the run", ["--max-passes", "1", "--gap", "1e-9"], forge_status,
     "it says that it converged"),
    ("a class weight that training did not have", [], forge_class_weight, "primal value"),
    ("another cost", [], forge_cost, ""),
]


class Case(CommandCase):
    def setUp(self):
        super().setUp()
        self.write("d.svm", to_text(make_rows(60, 8, seed=5)))


@table(SENTENCES)
class ForgedTest(Case):
    def check(self, row):
        what, options, forge, says = row
        self.hinge("train", "d.svm", "m", *options)
        self.hinge("verify", "m", "d.svm")
        model = Forged(self.dir / "m")
        forge(model)
        self.write("forged", model.to_bytes())
        run = self.hinge("verify", "forged", "d.svm", code=DISAGREES)
        self.assertIn(says, run.err, what)


class ProofTest(Case):
    def test_a_bias_so_large_that_the_primal_overflows(self):
        self.hinge("train", "d.svm", "m", "--bias", "free")
        model = Forged(self.dir / "m")
        model.arrays["bias"][0] = 1.2e308
        self.write("forged", model.to_bytes())
        run = self.hinge("verify", "forged", "d.svm", code=DISAGREES)
        self.assertIn("its primal value is not finite", run.err)

    def test_a_gap_where_the_kernel_has_no_bound(self):
        self.hinge("train", "d.svm", "m", "--kernel", "sigmoid")
        self.hinge("verify", "m", "d.svm")
        model = Forged(self.dir / "m")
        model.claim(dual=model.claimed["primal"] * (1 - 1e-6), relative_gap=1e-6)
        self.write("forged", model.to_bytes())
        run = self.hinge("verify", "forged", "d.svm", code=DISAGREES)
        self.assertIn("a gap without a bound", run.err)

    def test_a_bound_without_a_witness_is_not_proved(self):
        self.hinge("train", "d.svm", "m", "--no-witness")
        run = self.hinge("verify", "m", "d.svm", code=NOT_PROVED)
        self.assertIn("not proved", run.text)
        found = self.hinge("verify", "m", "d.svm", "--json", code=NOT_PROVED).json
        self.assertEqual((found["agrees"], found["proved"]), (True, False))
        found = self.hinge("verify", "m", "d.svm", "--json", "--prove").json
        self.assertEqual((found["agrees"], found["proved"]), (True, True))

    def test_a_witness_on_rows_one_digit_apart_shows_no_more_than_it_does(self):
        # Two rows with the same label's sign that differ in their last digit: plain sums lose what is left of v where
        # their terms cancel, and with it all of 1/2 |v|^2.
        low = 1e15 + 0.125
        high = next_up(low)
        self.write("d.svm", f"1 1:{low!r}\n-1 1:{high!r}\n")
        self.hinge("train", "d.svm", "m", "--precision", "f64", "-c", "1e4")
        model = Forged(self.dir / "m")
        model.arrays["witness.states"][0] = 0b0101  # both at their bound: v is C times the difference, 1250
        del model.arrays["witness.free"][:]
        model.arrays["witness.free_counts"][0] = 0
        model.claim(primal=20000.0, dual=20000.0, relative_gap=0.0)
        for j in range(len(model.arrays["weights"])):
            model.arrays["weights"][j] = 0.0
        self.write("forged", model.to_bytes())
        self.hinge("verify", "forged", "d.svm", code=DISAGREES)
        (finding,) = check_exact.check(self.dir / "forged", self.dir / "d.svm")
        self.assertTrue(finding.false)


if __name__ == "__main__":
    support.main()
