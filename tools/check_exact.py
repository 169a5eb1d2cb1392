#!/usr/bin/env python3
"""Checks the certificate of a hinge model in exact arithmetic. Shares no code with hinge: it knows the formats of
docs/formats.md and the formulas of docs/math.md, and rounds nothing but the square root in the bound of a free bias
(upwards), the kernels exp and tanh (both ways), and the logarithms of the logistic loss (to the side that is safe, after
150 digits).

    tools/check_exact.py MODEL DATA [--weights FILE] [--json]

DATA is what the model was trained on: libsvm text, plain or compressed by gzip, bzip2 or xz, or a binary data set. For
every problem of every model in the file it computes P(w) and, from the witness, what D(alpha) proves, and says whether

  - the stored primal is not below P(w), and the stored bound not above what is proved;
  - the stored relative gap is not below (primal - bound)/primal of the stored values, rounded once;
  - the dual variables lie in their boxes;
  - `converged` is said only where every problem has what was asked for: the gap, in one of its forms, or the primal value.

Nothing is tolerated: a primal that rounding left one unit too low is false. Where there is no witness the bound is not
proved, which is no fault. Exits with 0 if all holds, with 1 if something does not, with 2 if it cannot read the files.

As a module: check(model, data, weights) returns a list of findings, one a problem.
"""

import argparse
import array
import bz2
import decimal
import fractions
import gzip
import json
import lzma
import math
import re
import struct
import sys
import types
import zlib

Fraction = fractions.Fraction


class CannotRead(Exception):
    """A file is not what it should be, or not what belongs to the model."""


# ---- Files.

ARRAY_TYPES = {"U8": "B", "U32": "I", "U64": "Q", "I64": "q", "F32": "f", "F64": "d"}
DECOMPRESSORS = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress, b"\xfd7zXZ\0": lzma.decompress}
LOSSES = ("hinge", "squared_hinge", "logistic", "epsilon_insensitive", "squared_epsilon")
REGRESSION = ("epsilon_insensitive", "squared_epsilon")  # where labels are numbers that are to be predicted
SIGNED = REGRESSION  # losses whose dual variables may be negative
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[+-]?[0-9]+")


def read_bytes(path):
    """The bytes of a file, decompressed."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise CannotRead(f"{path}: {error.strerror}") from None
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        raise CannotRead(f"{path}: compressed by zstd, which this program cannot read: decompress it first")
    for magic, decompress in DECOMPRESSORS.items():
        if data.startswith(magic):
            try:
                return decompress(data)
            except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
                raise CannotRead(f"{path}: {error}") from None
    return data


class Container:
    """The safetensors file that a model or a binary data set is. Checksums are not looked at."""

    def __init__(self, data, path):
        self.path = path
        try:
            (length,) = struct.unpack_from("<Q", data)
            header = json.loads(data[8 : 8 + length])
            self.metadata = header.pop("__metadata__")
            self.arrays, self.types, self.shapes, end = {}, {}, {}, 0
            for name, entry in header.items():
                begin, before = entry["data_offsets"][0], end
                end = entry["data_offsets"][1]
                values = array.array(ARRAY_TYPES[entry["dtype"]])
                values.frombytes(data[8 + length + begin : 8 + length + end])
                if sys.byteorder == "big":
                    values.byteswap()
                if begin != before or len(values) != math.prod(entry["shape"]):
                    raise ValueError(f"array {name} is not where it should be, or has another length")
                self.arrays[name], self.types[name], self.shapes[name] = values, entry["dtype"], entry["shape"]
            if len(data) != 8 + length + end:
                raise ValueError("the file has another length than its header says")
        except (AttributeError, KeyError, IndexError, TypeError, ValueError, struct.error) as error:
            raise CannotRead(f"{path}: {type(error).__name__}: {error}") from None

    def get(self, name, kind, *shape):
        """An array, which must have this type and shape."""
        if self.types.get(name) != kind or self.shapes[name] != list(shape):
            raise CannotRead(f"{self.path}: array {name} is missing, or not {kind} {list(shape)}")
        return self.arrays[name]

    def field(self, name):
        """A field of the metadata that holds JSON."""
        return json.loads(self.metadata[name])


def is_container(data):
    return data[8:9] == b"{" and data[4:8] == bytes(4)


# ---- Data.


def nearest_float32(text):
    """The float32 nearest to a decimal number, rounded once: the double on the way may lie between two of them."""

    def rounded(number):
        return struct.unpack("<f", struct.pack("<f", number))[0]

    double = float(text)
    value = rounded(double)
    if value == double:
        return value
    below, above = rounded(math.nextafter(double, -math.inf)), rounded(math.nextafter(double, math.inf))
    if below == above:
        return value
    exact, middle = Fraction(text), Fraction(double)
    return below if exact < middle else above if exact > middle else value


class Data:
    """Rows as a file has them. How numbers are held, and where columns begin, only a model can say: see rows()."""

    def __init__(self, path, weights=None):
        data = read_bytes(path)
        self.path = path
        self.found = {}  # what rows() returned, by its arguments
        self.binary = read_binary(Container(data, path)) if is_container(data) else None
        self.text = None if self.binary else read_text(data, path)
        self.weights = read_weights(weights) if weights is not None else self.binary and self.binary.weights

    def rows(self, precision, base):
        """Rows as a training in this precision had them: labels, for each row {column: value}, weights or None."""
        if (precision, base) not in self.found:
            rows = self.binary if self.binary else self.convert(precision, base)
            if rows.precision != precision:
                raise CannotRead(f"{self.path}: values are {rows.precision}, the model was trained on {precision}")
            if self.weights is not None and len(self.weights) != len(rows.labels):
                raise CannotRead(f"{len(self.weights)} weights for {len(rows.labels)} rows")
            rows.weights = self.weights
            rows.features = 1 + max((max(x) for x in rows.values if x), default=-1)
            rows.features = max(rows.features, rows.declared)
            rows.nonzeros = sum(map(len, rows.values))
            self.found[precision, base] = rows
        return self.found[precision, base]

    def convert(self, precision, base):
        number = nearest_float32 if precision == "f32" else float
        rows = types.SimpleNamespace(labels=[], values=[], precision=precision, declared=0)
        for line, label, features in self.text:
            x = {}
            for index, text in features:
                try:
                    value = number(text)
                except OverflowError:
                    value = math.inf
                if index < base or math.isinf(value):
                    raise CannotRead(f"{self.path}:{line}: index {index} or value {text} is out of range")
                if value != 0:
                    x[index - base] = value
            rows.labels.append(label)
            rows.values.append(x)
        return rows


def read_text(data, path):
    """Rows of libsvm text: (line, label, [(index, number as text)])."""
    rows = []
    lines = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n")
    for number, line in enumerate(lines, 1):
        tokens = [t for t in line.removesuffix("\r").partition("#")[0].replace("\t", " ").split(" ") if t]
        if not tokens:
            continue
        label, features = tokens[0], tokens[1:]
        if features and features[0].startswith("qid:"):
            del features[0]
        pairs = [feature.partition(":") for feature in features]
        bad = [f"{index}{colon}{text}" for index, colon, text in pairs
               if not (re.fullmatch(r"\+?[0-9]{1,20}", index) and DECIMAL.fullmatch(text))]
        if bad or not DECIMAL.fullmatch(label):
            raise CannotRead(f"{path}:{number}: expected a label and index:value, found {(bad or [label])[0]!r}")
        label = int(label) if WHOLE.fullmatch(label) else Fraction(label)
        whole = label == int(label) and -(2**63) <= label < 2**63
        if not whole and math.isinf(float(tokens[0])):
            raise CannotRead(f"{path}:{number}: the label is neither a whole number of 64 bits nor a double")
        label = int(label) if whole else float(tokens[0])
        pairs = [(int(index), text) for index, _, text in pairs]
        if len({index for index, _ in pairs}) != len(pairs) or any(index >= 2**32 - 1 for index, _ in pairs):
            raise CannotRead(f"{path}:{number}: an index occurs twice or is too large")
        rows.append((number, label, pairs))
    return rows


def read_sparse(container, prefix, features):
    """Rows {column: value} of the arrays of a data set, or of the support rows of a model."""
    kind = container.types.get(prefix + "values")
    if kind not in ("F32", "F64"):
        raise CannotRead(f"{container.path}: array {prefix}values is missing, or has another type")
    values = container.arrays[prefix + "values"]
    offsets = container.get(prefix + "offsets", "U64", *container.shapes.get(prefix + "offsets", [0])[:1])
    once = len(container.arrays.get(prefix + "columns", ())) != len(values)  # all rows have every column
    columns = container.get(prefix + "columns", "U32", features if once else len(values))
    if not offsets or offsets[0] != 0 or offsets[-1] != len(values) or list(offsets) != sorted(offsets):
        raise CannotRead(f"{container.path}: array {prefix}offsets makes no sense")
    rows = []
    for begin, end in zip(offsets, offsets[1:]):
        own = columns if once else columns[begin:end]
        if len(own) != end - begin or any(a >= b for a, b in zip(own, own[1:])) or (own and own[-1] >= features):
            raise CannotRead(f"{container.path}: array {prefix}columns makes no sense")
        rows.append(dict(zip(own, values[begin:end])))
    if not all(math.isfinite(value) for value in values):
        raise CannotRead(f"{container.path}: array {prefix}values holds what is not finite")
    return rows, kind.lower()


def read_binary(container):
    try:
        targets = "targets" in container.arrays
        versions = ("1", "3") if targets else ("1",)
        if container.metadata["format"] != "hinge.dataset" or container.metadata["version"] not in versions:
            raise CannotRead(f"{container.path}: not a data set of hinge")
        features = int(container.metadata["features"])
    except (KeyError, ValueError) as error:
        raise CannotRead(f"{container.path}: {type(error).__name__}: {error}") from None
    rows, precision = read_sparse(container, "", features)
    labels = list(container.get("targets", "F64", len(rows)) if targets else container.get("labels", "I64", len(rows)))
    weights = list(container.get("weights", "F64", len(rows))) if "weights" in container.arrays else None
    # A value of 0 may be there; it changes nothing but the number of nonzeros.
    return types.SimpleNamespace(labels=labels, values=rows, precision=precision, declared=features, weights=weights)


def read_weights(path):
    """Row weights: one number >= 0 a line."""
    weights = []
    for number, line in enumerate(read_bytes(path).decode("latin-1").split("\n"), 1):
        token = line.removesuffix("\r").strip(" \t")
        if not token:
            continue
        if not DECIMAL.fullmatch(token) or not 0 <= float(token) < math.inf:
            raise CannotRead(f"{path}:{number}: expected a finite number >= 0, found {token!r}")
        weights.append(float(token))
    return weights


# ---- Models.


def read_models(path):
    """The models of a file, by ascending cost. Empty: the file holds no certificate, and why is the second result."""
    data = read_bytes(path)
    if data.startswith(b"solver_type "):
        return [], "LIBLINEAR's text says nothing about the training data: there is nothing to check"
    if not is_container(data):
        raise CannotRead(f"{path}: not a model of hinge")
    container = Container(data, path)
    metadata = container.metadata
    if metadata.get("format") != "hinge.model" or metadata.get("version") not in ("1", "3"):
        raise CannotRead(f"{path}: not a model of hinge, or of another version")
    if "stream" in metadata:
        return [], "a model learned from a stream has no certificate: there is nothing to check"
    try:
        return read_native(container)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise CannotRead(f"{path}: {type(error).__name__}: {error}") from None


def read_loss(container):
    """The name of the loss, which a section has where it is not the hinge, and its epsilon, or None."""
    if "sections" not in container.metadata:
        return "hinge", None
    affecting = [section["name"] for section in container.field("sections")
                 if section["affects_predictions"] and section["name"] != "regression"]
    if affecting:
        raise CannotRead(f"{container.path}: section {affecting[0]} changes predictions, and is not known here")
    loss = container.metadata.get("section.loss", "hinge")
    if loss not in LOSSES:
        raise CannotRead(f"{container.path}: the loss {loss!r} is not known")
    epsilon = float(container.field("section.regression")["epsilon"]) if "section.regression" in container.metadata else None
    if (loss in REGRESSION) != (epsilon is not None) or (epsilon is not None and not 0 <= epsilon < math.inf):
        raise CannotRead(f"{container.path}: the loss {loss} with epsilon {epsilon!r}")
    return loss, epsilon


def read_native(container):
    options, data, labels = container.field("options"), container.field("data"), container.field("labels")
    if data["rows"] == 0:
        return [], "the model does not say what it was trained on: there is nothing to check"
    kernel = container.field("kernel") if "kernel" in container.metadata else None
    path = [{"cost": options["cost"], "status": container.metadata["status"]}]
    if "path" in container.metadata:
        path = container.field("path")
    loss, epsilon = read_loss(container)
    if (loss in REGRESSION) != (labels == []):
        raise CannotRead(f"{container.path}: the loss {loss} with labels {labels}")
    classes = [0] if loss in REGRESSION else labels[:1] if len(labels) == 2 else labels
    certificates = container.field("certificate")
    count = len(classes) * len(path)
    if len(certificates) != count or [c["class"] for c in certificates] != classes * len(path):
        raise CannotRead(f"{container.path}: labels and certificates do not fit together")
    if kernel and loss != "hinge":
        raise CannotRead(f"{container.path}: a kernel with the loss {loss}")
    support = read_sparse(container, "support.", data["features"])[0] if kernel else None
    columns = range(data["features"])
    if kernel:
        columns = range(len(support))
    elif "columns" in container.arrays:
        columns = container.get("columns", "U32", *container.shapes["columns"])
        if any(a >= b for a, b in zip(columns, columns[1:])) or (columns and columns[-1] >= data["features"]):
            raise CannotRead(f"{container.path}: array columns makes no sense")
    weights = container.get("weights", "F64", count, len(columns))
    bias = container.get("bias", "F64", count)
    witnesses = read_witnesses(container, count, data["rows"])
    models = []
    for m, entry in enumerate(path):
        model = types.SimpleNamespace(
            loss=loss, epsilon=epsilon, cost=float(entry["cost"]), status=entry["status"], labels=labels, kernel=kernel, support=support,
            gap=float(options["gap"]), gap_absolute=float(options.get("gap_absolute", 0)),
            gap_per_row=float(options.get("gap_per_row", 0)), target=float(options.get("target", 0)), bias_feature=float(options["bias_feature"]),
            free_bias=options.get("free_bias", False), row_weights=options["row_weights"],
            class_weights={label: float(factor) for label, factor in options["class_weights"]},
            rows=data["rows"], features=data["features"], nonzeros=data["nonzeros"], precision=data["precision"],
            index_base=data["index_base"], problems=[])
        for k, label in enumerate(classes):
            place = m * len(classes) + k
            stored = certificates[place]
            if None in stored.values():
                raise CannotRead(f"{container.path}: a value of the certificate is null, so it is no number")
            model.problems.append(types.SimpleNamespace(
                label=label, bias=bias[place], witness=witnesses and witnesses[place],
                weights=dict(zip(columns, weights[place * len(columns) : (place + 1) * len(columns)])),
                primal=float(stored["primal"]), dual=float(stored["dual"]), gap=float(stored["relative_gap"]),
                bound=stored["bound"]))
        models.append(model)
    numbers = [*weights, *bias, *(x for m in models for p in m.problems for x in (p.primal, p.dual, p.gap))]
    if not all(map(math.isfinite, numbers)):
        raise CannotRead(f"{container.path}: numbers that are not finite")
    return models, None


def read_witnesses(container, count, rows):
    """For every problem its states, one a row, its values in between, and whether these are shares of U_i; None if the
    model has none."""
    rounded = "section.witness" in container.metadata
    if not rounded and "witness.states" not in container.arrays:
        return None
    width = (rows + 3) // 4
    states = container.get("section.witness.states" if rounded else "witness.states", "U8", count, width)
    states = [[byte >> shift & 3 for byte in states[k * width : (k + 1) * width] for shift in (0, 2, 4, 6)]
              for k in range(count)]
    if rounded:
        values = read_shares(container, count)
    else:
        counts = container.get("witness.free_counts", "U64", count)
        free = container.get("witness.free", "F64", sum(counts))
        values = [(list(free[sum(counts[:k]) : sum(counts[: k + 1])]), False) for k in range(count)]
    return [(own, *value) for own, value in zip(states, values)]


def read_shares(container, count):
    """For every problem its values, and whether they are shares."""
    forms = container.field("section.witness")
    data = bytes(container.get("section.witness.values", "U8", *container.shapes["section.witness.values"]))
    if len(forms) != count:
        raise CannotRead(f"{container.path}: a witness of other problems than the model has")
    is_signed = container.metadata.get("section.loss") in SIGNED
    found = []
    for form in forms:
        bits, size = form["bits"], form["values"] * form["bits"] // 8
        if bits not in (16, 32, 64) or not -900 <= form["exponent"] <= 900 or size > len(data):
            raise CannotRead(f"{container.path}: a witness that makes no sense")
        numbers = array.array({16: "H", 32: "I", 64: "d"}[bits], data[:size])
        data = data[size:]
        if sys.byteorder == "big":
            numbers.byteswap()
        found.append((list(numbers), False) if bits == 64 else
                     ([share(code, bits, form["exponent"], is_signed) for code in numbers], True))
    if data:
        raise CannotRead(f"{container.path}: a witness with values left over")
    return found


def share(code, bits, exponent, is_signed):
    """What a code of docs/formats.md says."""
    place_bits = bits - (3 if bits == 16 else 5) - is_signed
    negative = is_signed and code >> (bits - 1)
    size = code & ((1 << (bits - is_signed)) - 1)
    octave, place = size >> place_bits, size & ((1 << place_bits) - 1)
    steps = place if octave == 0 else ((1 << place_bits) + place) << (octave - 1)
    value = math.ldexp(steps, exponent - place_bits - (7 if bits == 16 else 31))
    return -value if negative else value


# ---- Exact arithmetic: integers over a power of two.


def scaled(numbers):
    """Integers n and a shift s, with n/2^s for every one of these doubles."""
    ratios = [number.as_integer_ratio() for number in numbers]
    shift = max((below.bit_length() for _, below in ratios), default=1) - 1
    return [above << (shift + 1 - below.bit_length()) for above, below in ratios], shift


def over(number, shift):
    return Fraction(number, 1 << shift)


def root_from_above(square):
    """A number that is not below the square root, and above it by less than one part in 2^120."""
    if square == 0:
        return Fraction(0)
    above, below = square.numerator, square.denominator
    shift = max(0, 256 - above.bit_length() + below.bit_length()) // 2 + 1
    return over(math.isqrt((above << 2 * shift) // below) + 1, shift)


def exp_of_minus(above, shift, bits):
    """Integers around 2^bits exp(-above/2^shift), above >= 0."""
    if above == 0:
        return 1 << bits, 1 << bits
    if above >> shift >= bits:
        return 0, 1
    with decimal.localcontext() as context:
        context.prec = bits // 3 + 40  # decimals; a division and an exponential, both rounded correctly
        value = (-(decimal.Decimal(above) / decimal.Decimal(1 << shift))).exp() * decimal.Decimal(1 << bits)
        below = int(value)
    return max(0, below - 1), below + 2


DIGITS = 150
TINY = decimal.Decimal(f"1e-{DIGITS // 2}")  # below it x is log(1 + x), but for half of its square
MORE, LESS = decimal.Decimal(f"1.{'0' * (DIGITS - 20)}1"), decimal.Decimal(f"0.{'9' * (DIGITS - 20)}")


def rounding(where):
    return decimal.localcontext(decimal.Context(prec=DIGITS, rounding=where))


def as_decimal(number):
    """Rounded as the context says."""
    return decimal.Decimal(number.numerator) / decimal.Decimal(number.denominator)


def logistic_from_above(margin):
    """A decimal that is not below log(1 + exp(-margin)). (exp and ln are rounded to nearest, whatever the context says.)"""
    with rounding(decimal.ROUND_CEILING):
        power = max((-as_decimal(abs(margin))).exp() * MORE, decimal.Decimal("1e-99999"))
        log = power if power < TINY else (1 + power).ln() * MORE
        return log + as_decimal(max(Fraction(0), -margin))


def entropy_from_below(alpha, upper):
    """A decimal that is not above U times the entropy of alpha/U."""
    small = min(alpha, upper - alpha)
    if small == 0:
        return decimal.Decimal(0)
    with rounding(decimal.ROUND_FLOOR):
        least = as_decimal(small / upper)
    with rounding(decimal.ROUND_CEILING):
        share, rest = as_decimal(small / upper), 1 - least
    with rounding(decimal.ROUND_FLOOR):
        of_share = -share.ln() * LESS
        of_rest = least if least < TINY else -rest.ln() * LESS
        return as_decimal(small) * of_share + as_decimal(upper - small) * of_rest


def with_digits(number, digits=17):
    """A rational number as a decimal of so many digits."""
    if number == 0:
        return "0"
    with decimal.localcontext() as context:
        context.prec = digits
        return f"{decimal.Decimal(number.numerator) / decimal.Decimal(number.denominator):.{digits - 1}e}"


# ---- The values that certificates speak of. Both ways have primal(problem) and bound(problem, alpha, primal), of which
# the first is not below P(w) and the second not above D(alpha); without a kernel the first is P(w).


class Common:
    """Signs and upper bounds: U_i = C c_i, c_i = row weight times class factor, each product rounded to double."""

    def __init__(self, model, rows):
        costs = [1.0 if rows.weights is None else rows.weights[i] for i in range(len(rows.labels))]
        costs = [c * model.class_weights.get(label, 1.0) for c, label in zip(costs, rows.labels)]
        self.uppers = [model.cost * c for c in costs]
        if not all(map(math.isfinite, self.uppers)):
            raise CannotRead("a cost that is not finite")
        self.upper, self.upper_shift = scaled(self.uppers)
        self.labels = rows.labels

    def highest(self):
        """The largest that dual variables may be: U_i, or with the squared hinge any number where U_i > 0."""
        if self.model.loss == "squared_hinge":
            return [math.inf if upper > 0 else 0.0 for upper in self.uppers]
        return self.uppers

    def lowest(self):
        """The least that dual variables may be."""
        return [0.0] * len(self.uppers)

    def signs(self, problem):
        return [1 if label == problem.label else -1 for label in self.labels]


class Plane(Common):
    """Without a kernel, with any loss. The bias is the weight of a constant feature, whose column is None."""

    def __init__(self, model, rows):
        super().__init__(model, rows)
        self.model = model
        self.power = 2 if model.loss == "squared_hinge" else 1  # of what a margin lacks, in the loss
        self.constant = 1.0 if model.free_bias else model.bias_feature
        values, self.shift = scaled([*(value for x in rows.values for value in x.values()), self.constant])
        numbers = iter(values)
        self.rows = [[(column, next(numbers)) for column in x] for x in rows.values]
        self.longest = max(sum(value * value for _, value in row) for row in self.rows)
        if self.constant != 0:
            for row in self.rows:
                row.append((None, values[-1]))

    def weights(self, problem):
        """w as integers by column, and their shift. Of the constant feature: bias/S, as a double."""
        weights = {column: weight for column, weight in problem.weights.items() if weight != 0}
        if self.constant != 0:
            weights[None] = problem.bias / self.constant
        numbers, shift = scaled(weights.values())
        return dict(zip(weights, numbers)), shift

    def primal(self, problem):
        weights, shift = self.weights(problem)
        one = 1 << shift + self.shift
        loss, logistic = 0, Fraction(0)
        for row, y, upper in zip(self.rows, self.signs(problem), self.upper):
            margin = y * sum(weights.get(column, 0) * value for column, value in row)
            if self.model.loss == "logistic":
                logistic += self.logistic(margin, shift, upper)
            elif margin < one:
                loss += upper * (one - margin) ** self.power
        regularised = (w for column, w in weights.items() if column is not None or not self.model.free_bias)
        return (over(sum(w * w for w in regularised), 2 * shift + 1) + logistic +
                over(loss, self.upper_shift + self.power * (shift + self.shift)))

    def logistic(self, margin, shift, upper):
        """Not below the loss of a row, as a multiple of the smallest of numbers that would matter."""
        if upper == 0:
            return Fraction(0)
        with rounding(decimal.ROUND_CEILING):
            return Fraction(logistic_from_above(over(margin, shift + self.shift)) * as_decimal(over(upper, self.upper_shift)))

    def farthest(self, problem, primal):
        """Not below |b| at the optimum: 1 + sqrt(2 P) max |x|, with the logistic loss P/min(U+, U-) in the place of 1."""
        by_rows = root_from_above(2 * primal * over(self.longest, 2 * self.shift))
        if self.model.loss != "logistic":
            return self.corner() + by_rows
        sides = [sum(upper for y, upper in zip(self.signs(problem), self.upper) if y == sign) for sign in (-1, 1)]
        return primal / over(min(sides), self.upper_shift) + by_rows if min(sides) > 0 else None

    def gain(self, alpha):
        """What dual variables add to D besides -1/2 |v|^2."""
        if self.model.loss == "logistic":
            with rounding(decimal.ROUND_FLOOR):
                return Fraction(sum((entropy_from_below(Fraction(a), Fraction(upper))
                                     for a, upper in zip(alpha, self.uppers)), decimal.Decimal(0)))
        alpha, shift = scaled(alpha)
        gain = over(sum(alpha), shift)
        if self.power == 2:  # less alpha^2 / 4U
            gain -= sum(Fraction(a * a << self.upper_shift, upper << 2 * shift + 2)
                        for a, upper in zip(alpha, self.upper) if a != 0)
        return gain

    def corner(self):
        """|b| at the optimum is not above this + sqrt(2 P) max |x|."""
        return 1

    def bound(self, problem, alpha, primal):
        gain = self.gain(alpha)
        alpha, shift = scaled(alpha)
        point = {}
        for row, y, a in zip(self.rows, self.signs(problem), alpha):
            if a == 0:
                continue
            for column, value in row:
                point[column] = point.get(column, 0) + y * a * value
        left = 0
        if self.model.free_bias:  # sum alpha y should be 0; what is left of it costs as much times |b| at the optimum
            left = over(abs(point.pop(None, 0)), shift + self.shift)
            farthest = self.farthest(problem, primal) if left else 0
            if farthest is None:
                return Fraction(0)  # there is no optimum
            left *= farthest
        return gain - over(sum(v * v for v in point.values()), 2 * (shift + self.shift) + 1) - left


class RegressionPlane(Plane):
    """The same with targets t_i in place of labels: y_i is 1, and a row misses by <w,x_i> - t_i."""

    def __init__(self, model, rows):
        super().__init__(model, rows)
        self.power = 2 if model.loss == "squared_epsilon" else 1
        self.targets = [Fraction(float(label)) for label in rows.labels]
        self.epsilon = Fraction(model.epsilon)

    def signs(self, problem):
        return [1] * len(self.targets)

    def lowest(self):
        return [-upper for upper in self.highest()]

    def highest(self):
        return [math.inf if upper > 0 else 0.0 for upper in self.uppers] if self.power == 2 else self.uppers

    def corner(self):
        return max(map(abs, self.targets))

    def primal(self, problem):
        weights, shift = self.weights(problem)
        loss = Fraction(0)
        for row, target, upper in zip(self.rows, self.targets, self.upper):
            score = over(sum(weights.get(column, 0) * value for column, value in row), shift + self.shift)
            missed = abs(score - target) - self.epsilon
            if missed > 0:
                loss += over(upper, self.upper_shift) * missed**self.power
        regularised = (w for column, w in weights.items() if column is not None or not self.model.free_bias)
        return over(sum(w * w for w in regularised), 2 * shift + 1) + loss

    def gain(self, alpha):
        gain = Fraction(0)
        for number, target, upper in zip(alpha, self.targets, self.upper):
            a = Fraction(number)
            gain += a * target - self.epsilon * abs(a)
            if self.power == 2 and a != 0:
                gain -= a * a / (4 * over(upper, self.upper_shift))
        return gain


class KernelSpace(Common):
    """With a kernel: its values are integers lo, hi over 2^bits, with more bits until what follows is narrow."""

    START, MOST = 256, 1 << 14  # bits

    def __init__(self, model, rows):
        super().__init__(model, rows)
        self.model, self.kernel = model, model.kernel
        # Rows that are the same share their kernel values.
        numbers, self.shift = scaled([value for x in (*rows.values, *model.support) for value in x.values()])
        numbers = iter(numbers)
        places, self.rows = {}, []

        def place(x):
            row = {column: next(numbers) for column in x}
            key = tuple(sorted(row.items()))
            if key not in places:
                places[key] = len(self.rows)
                self.rows.append(row)
            return places[key]

        self.data = [place(x) for x in rows.values]
        self.support = [place(x) for x in model.support]
        (self.gamma, self.coef0, self.bias), self.option_shift = scaled(
            [float(self.kernel["gamma"]), float(self.kernel["coef0"]), model.bias_feature])
        self.set_bits(self.START)

    def set_bits(self, bits):
        self.bits = max(bits, 2 * self.option_shift)
        if self.kernel["kind"] == "poly":  # exact
            self.bits = max(self.kernel["degree"] * (self.option_shift + 2 * self.shift), 2 * self.option_shift)
        self.values = {}

    def value(self, a, b):
        """Around K(a, b) + S^2, of rows by their places."""
        key = (a, b) if a <= b else (b, a)
        if key not in self.values:
            low, high = self.kernel_value(self.rows[a], self.rows[b])
            constant = self.bias * self.bias << self.bits - 2 * self.option_shift
            self.values[key] = (low + constant, high + constant)
        return self.values[key]

    def kernel_value(self, x, z):
        shift = self.option_shift + 2 * self.shift
        if self.kernel["kind"] == "rbf":
            square = sum((x.get(column, 0) - z.get(column, 0)) ** 2 for column in x.keys() | z.keys())
            return exp_of_minus(self.gamma * square, shift, self.bits)
        dot = sum(value * z[column] for column, value in x.items() if column in z)
        inner = self.gamma * dot + (self.coef0 << 2 * self.shift)
        if self.kernel["kind"] == "poly":
            degree = self.kernel["degree"]
            power = inner**degree << self.bits - degree * shift
            return power, power
        # tanh |a| = (1 - e)/(1 + e), e = exp(-2 |a|)
        one = 1 << self.bits
        low, high = exp_of_minus(2 * abs(inner), shift, self.bits)
        low, high = ((one - high) << self.bits) // (one + high), -((-(one - low) << self.bits) // (one + low))
        return (low, high) if inner >= 0 else (-high, -low)

    def square(self, coefficients, places):
        """Around the square of sum_k coefficients[k] phi(places[k])."""
        gathered = {}
        for coefficient, place in zip(coefficients, places):
            gathered[place] = gathered.get(place, 0) + coefficient
        used = [(coefficient, place) for place, coefficient in gathered.items() if coefficient != 0]
        low = high = 0
        for k, (a, x) in enumerate(used):
            for j, (b, z) in enumerate(used[: k + 1]):
                factor = a * b if j == k else 2 * a * b
                below, above = self.value(x, z)
                low += factor * (below if factor > 0 else above)
                high += factor * (above if factor > 0 else below)
        return low, high

    def narrow(self, around, size):
        """around() with so many bits that its width is nothing beside size()."""
        while True:
            low, high = around()
            if high - low <= Fraction(size(low, high), 1 << 100) or self.bits >= self.MOST:
                return low, high
            self.set_bits(2 * self.bits)

    def primal(self, problem):
        coefficients, shift = scaled(problem.weights.values())
        signs = self.signs(problem)

        def around():
            bits = self.bits
            one = 1 << shift + bits
            ends = list(self.square(coefficients, self.support))
            ends = [over(end, 2 * shift + bits + 1) for end in ends]
            for y, upper, place in zip(signs, self.upper, self.data):
                low = high = 0
                for coefficient, other in zip(coefficients, self.support):
                    below, above = self.value(place, other)
                    low += coefficient * (below if coefficient > 0 else above)
                    high += coefficient * (above if coefficient > 0 else below)
                margins = (high, low) if y > 0 else (-low, -high)
                for e, margin in enumerate(margins):  # the larger the margin, the smaller the loss
                    ends[e] += over(upper * max(0, one - margin), self.upper_shift + shift + bits)
            return ends

        return self.narrow(around, lambda low, high: abs(high))[1]

    def bound(self, problem, alpha, primal):
        alpha, shift = scaled(alpha)
        terms = [y * a for y, a in zip(self.signs(problem), alpha)]

        def around():
            low, high = (over(end, 2 * shift + self.bits + 1) for end in self.square(terms, self.data))
            return over(sum(alpha), shift) - high, over(sum(alpha), shift) - low

        return self.narrow(around, lambda low, high: primal)[0]

    def has_bound(self):
        """Whether the kernel is an inner product, so that the dual bounds the primal."""
        return self.kernel["kind"] == "rbf" or (self.kernel["kind"] == "poly" and self.coef0 >= 0)


# ---- What is claimed, and whether it is so.


class Finding:
    """One problem of one model: exact values (rational, None where there is none), stored ones, and what is false."""

    def __init__(self, model, problem):
        self.cost, self.status, self.label, self.asked = model.cost, model.status, problem.label, model.gap
        self.stored = problem
        self.primal = self.bound = None
        self.false = []  # sentences
        self.excess = 0.0  # the worst of what is false of primal and bound, as a part of the exact primal

    @property
    def gap(self):
        """The exact relative gap."""
        if self.bound is None:
            return None
        return (self.primal - self.bound) / self.primal if self.primal > 0 else Fraction(0)

    def off(self, what, stored, exact, above):
        """Says that a stored value is on the wrong side of the exact one."""
        part = abs((Fraction(stored) - exact) / self.primal) if self.primal else Fraction(1)
        self.excess = max(self.excess, float(min(part, Fraction(10) ** 300)))
        self.false.append(f"the stored {what} {stored!r} is {'above' if above else 'below'} {with_digits(exact)}, "
                          f"by {with_digits(part, 3)} of the primal")


def expand(witness, lowers, uppers, factors, rows, finding):
    """The dual variables of a witness, between these bounds, shares being of U_i, the `factors`; None, and a sentence,
    where it makes no sense."""
    states, free, are_shares = witness
    if (3 in states and not any(lowers)) or any(states[rows:]) or states.count(2) != len(free):
        finding.false.append("the witness has a state that is unknown, or other than as many values as free rows")
        return None
    values, alpha = iter(free), []
    for i, (lower, upper) in enumerate(zip(lowers, uppers)):
        if states[i] == 2:
            alpha.append(next(values) * (factors[i] if are_shares else 1))  # rounded to a double, as hinge does
        else:
            alpha.append((0.0, upper, None, lower)[states[i]])
        if not lower <= alpha[i] <= upper or math.isinf(alpha[i]):
            finding.false.append(f"the dual variable of row {i + 1} is {alpha[i]!r}, outside {lower!r} .. {upper!r}")
            return None
    return alpha


def judge(model, problem, space):
    """Holds what is stored of one problem against what is exact."""
    finding = Finding(model, problem)
    if not check_bias(model, problem, finding):
        return finding
    finding.primal = space.primal(problem)
    provable = model.kernel is None or space.has_bound()
    if problem.witness is not None and provable:
        alpha = expand(problem.witness, space.lowest(), space.highest(), space.uppers, model.rows, finding)
        if alpha is not None:
            finding.bound = max(Fraction(0), space.bound(problem, alpha, finding.primal))  # P is never below 0
    if problem.bound == "unknown":
        if (problem.primal, problem.dual, problem.gap) != (0, 0, 1):
            finding.false.append("values that are said to be unknown are not 0, 0 and 1")
        return finding
    if Fraction(problem.primal) < finding.primal:
        finding.off("primal", problem.primal, finding.primal, above=False)
    if problem.bound == "none":
        if (problem.dual, problem.gap) != (0, 1):
            finding.false.append("there is said to be no bound, but it is not 0, or the gap not 1")
        return finding
    if not provable:
        finding.false.append(f"the kernel has no bound, but it is said to be {problem.bound!r}")
        return finding
    # Without a witness a bound can only be refuted.
    most = finding.bound if finding.bound is not None else finding.primal
    if Fraction(problem.dual) > most:
        finding.off("bound", problem.dual, most, above=True)
    if problem.primal > 0:
        gap = (Fraction(problem.primal) - Fraction(problem.dual)) / Fraction(problem.primal)
        if Fraction(math.nextafter(problem.gap, math.inf)) <= gap:
            finding.false.append(f"the stored gap {problem.gap!r} is below that of the stored values, "
                                 f"{with_digits(gap)}, by {with_digits(gap - Fraction(problem.gap), 3)}")
    return finding


def check_bias(model, problem, finding):
    """Whether the bias is what the constant feature contributes, and nothing of its own."""
    if model.bias_feature == 0:
        if problem.bias != 0:
            finding.false.append(f"there is a bias of {problem.bias!r}, but no feature it could come from")
        return problem.bias == 0
    if model.kernel is None:
        weight = problem.bias / model.bias_feature
        if not math.isfinite(weight):
            finding.false.append(f"the bias {problem.bias!r} would need a weight that is not finite")
        return math.isfinite(weight)
    factor = Fraction(model.bias_feature) ** 2
    exact = factor * sum(map(Fraction, problem.weights.values()))
    size = factor * sum(abs(Fraction(weight)) for weight in problem.weights.values())
    # As many roundings as there are terms, and a few more; what is smaller than any normal number is no matter.
    if abs(Fraction(problem.bias) - exact) > size * Fraction(len(problem.weights) + 4, 2**52) + Fraction(2) ** -1000:
        finding.false.append(f"the bias is {problem.bias!r}, not S^2 times the sum of the coefficients, "
                             f"{with_digits(exact)}")
    return True


def check(model_path, data, weights=None):
    """The findings of all problems of all models of a file, by cost, then by class. `data` is a path, or Data.

    Raises CannotRead where a file is not what it should be, or not what the model was trained on.
    """
    return check_models(read_models(model_path)[0], data, weights)


def check_models(models, data, weights=None):
    findings = []
    for model in models:
        if not isinstance(data, Data):
            data = Data(data, weights)
        rows = data.rows(model.precision, model.index_base)
        regression = model.loss in REGRESSION
        if not regression and not all(isinstance(label, int) for label in rows.labels):
            raise CannotRead("this is not the data the model was trained on: labels are not whole")
        for what, ours, theirs in (
                ("rows", len(rows.labels), model.rows), ("features", rows.features, model.features),
                ("nonzeros", rows.nonzeros, model.nonzeros), ("labels", [] if regression else sorted(set(rows.labels)), sorted(model.labels)),
                ("row weights", rows.weights is not None, model.row_weights)):
            if ours != theirs:
                raise CannotRead(f"this is not the data the model was trained on: {what}: {ours} instead of {theirs}")
        space = (RegressionPlane if regression else Plane if model.kernel is None else KernelSpace)(model, rows)
        own = [judge(model, problem, space) for problem in model.problems]
        late = [finding for finding in own if not reaches(finding.stored, model)]
        if model.status == "converged" and late:
            late[0].false.append(f"the model is said to have converged, but {goals(model)} was asked "
                                 f"for, and a gap of {late[0].stored.gap!r} reached")
        findings += own
    return findings


def reaches(stored, model):
    """Whether stored values are as good as what was asked for."""
    left = Fraction(stored.primal) - Fraction(stored.dual) if stored.bound not in ("none", "unknown") else None
    return (stored.bound != "unknown" and (stored.gap <= model.gap if model.gap else False)
            or stored.bound != "unknown" and bool(model.target) and stored.primal <= model.target
            or left is not None and bool(model.gap_absolute) and left <= Fraction(model.gap_absolute)
            or left is not None and bool(model.gap_per_row)
            and left <= Fraction(model.gap_per_row) * Fraction(model.cost) * model.rows)


def goals(model):
    asked = {"gap": model.gap, "gap-absolute": model.gap_absolute, "gap-per-row": model.gap_per_row,
             "target": model.target}
    return " or ".join(f"{name} {value!r}" for name, value in asked.items() if value) or "a gap of 0.0"


# ---- The command.


def to_json(finding):
    exact = {name: with_digits(value) if value is not None else None
             for name, value in (("primal", finding.primal), ("bound", finding.bound), ("relative_gap", finding.gap))}
    stored = finding.stored
    return {"cost": finding.cost, "status": finding.status, "class": finding.label, "asked": finding.asked,
            "exact": exact, "stored": {"primal": stored.primal, "bound": stored.dual, "relative_gap": stored.gap,
                                       "kind": stored.bound},
            "proved": finding.bound is not None, "excess": finding.excess, "false": finding.false}


def show(finding):
    stored, exact = finding.stored, to_json(finding)["exact"]
    print(f"class {finding.label}, C = {finding.cost!r}: {finding.status}, gap {finding.asked!r} asked for")
    if stored.bound == "unknown":
        print("  nothing is claimed: training was interrupted")
    for name, value in (("primal", stored.primal), ("bound", stored.dual), ("relative_gap", stored.gap)):
        print(f"  {name.replace('_', ' '):13}stored {value!r:24} exact {exact[name] or 'not proved'}")
    for sentence in finding.false:
        print(f"  FALSE: {sentence}")


def main(arguments):
    parser = argparse.ArgumentParser(description="Checks the certificate of a hinge model in exact arithmetic.")
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("data", metavar="DATA", help="what the model was trained on")
    parser.add_argument("--weights", metavar="FILE", help="the row weights it was trained with")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    try:
        models, reason = read_models(options.model)
        findings = check_models(models, options.data, options.weights)
    except CannotRead as error:
        print(f"check_exact: error: {error}", file=sys.stderr)
        return 2
    false = [finding for finding in findings if finding.false]
    if options.json:
        print(json.dumps({"holds": not false, "reason": reason, "problems": [to_json(f) for f in findings]}))
        return 1 if false else 0
    for finding in findings:
        show(finding)
    unproved = sum(finding.bound is None for finding in findings)
    if reason:
        print(reason)
    elif false:
        print(f"the certificate does not hold: {len(false)} of {len(findings)} problems")
    else:
        print("the certificate holds" + (f"; not proved: {unproved} of {len(findings)} bounds" if unproved else ""))
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
