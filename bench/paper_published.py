"""What the active-set paper printed (Xiao, Zhou 2013, Tables 2 and 3), and which sets here stand for its four.

[12] is OCAS (Franc, Sonnenburg 2009) as its authors ran it: an Intel Xeon 5620, one thread, C = 1 for each row, at most 20
planes. T1 and T2 are seconds in the objective and in the line search.
"""

GAPS = (1e-2, 1e-3, 1e-4, 1e-5)
PLANES = 20
GAP_PER_ROW = 1e-5  # the stop of Figure 2

# Table 2: rows for training and testing, features, nonzeros, nonzeros a row.
SETS = {
    "CCAT": (781_265, 23_149, 47_152, 59_155_144, 75.7),
    "COV1": (522_912, 58_100, 54, 6_246_016, 11.94),
    "REAL-SIM": (65_078, 7_231, 20_958, 3_340_340, 50.84),
    "NEWS20": (17_959, 1_955, 1_355_191, 8_205_212, 456.89),
}

# Table 3: at each gap ([12], the paper's method), as it is printed.
TABLE = {
    "CCAT": {"T1": (("7.5", "7.4"), ("14.7", "12.7"), ("33.3", "17.6"), ("93.9", "23.9")),
             "T2": (("2.4", "0.6"), ("4.8", "0.7"), ("10.6", "0.7"), ("29.2", "0.8")),
             "error": (("5.06", "5.05"), ("5.04", "5.05"), ("5.03", "5.03"), ("5.04", "5.04"))},
    "COV1": {"T1": (("0.7", "0.7"), ("1.0", "0.9"), ("1.5", "1.2"), ("2.1", "1.6")),
             "T2": (("1.3", "0.7"), ("1.9", "0.7"), ("2.9", "0.8"), ("4.0", "0.8")),
             "error": (("32.9", "32.9"), ("32.6", "32.6"), ("32.4", "32.5"), ("32.2", "32.2"))},
    "REAL-SIM": {"T1": (("0.2", "0.2"), ("0.6", "0.4"), ("2.0", "0.7"), ("7.3", "1.3")),
                 "T2": (("0.1", "0.02"), ("0.3", "0.02"), ("0.9", "0.04"), ("2.8", "0.1")),
                 "error": (("2.34", "2.34"), ("2.35", "2.35"), ("2.35", "2.35"), ("2.37", "2.37"))},
    "NEWS20": {"T1": (("1.2", "1.1"), ("4.1", "2.6"), ("14.8", "6.9"), ("67.6", "31.0")),
               "T2": (("0.04", "0.01"), ("0.1", "0.02"), ("0.4", "0.1"), ("1.7", "0.3")),
               "error": (("2.71", "2.71"), ("2.66", "2.66"), ("2.66", "2.66"), ("2.66", "2.66"))},
}

# Which of the four each set here stands for; the real ones first.
STANDS_FOR = {"ccat": "CCAT", "like-ccat": "CCAT", "covtype": "COV1", "like-cov1": "COV1", "like-real-sim": "REAL-SIM",
              "news20": "NEWS20", "like-news20": "NEWS20"}


def ratio(name, gap):
    """T1 + T2 of [12] over those of the paper's method."""
    k = GAPS.index(gap)
    before, now = (sum(float(TABLE[name][stage][k][who]) for stage in ("T1", "T2")) for who in (0, 1))
    return before / now


def bounds(name, gap):
    """The least and the largest that ratio() may have been before the figures were rounded for print."""
    k = GAPS.index(gap)

    def ends(who):
        printed = [TABLE[name][stage][k][who] for stage in ("T1", "T2")]
        half = [0.5 * 10.0 ** -len(text.split(".")[1]) for text in printed]
        total = sum(map(float, printed))
        return total - sum(half), total + sum(half)

    (low, high), (least, most) = ends(0), ends(1)
    return low / most, high / least
