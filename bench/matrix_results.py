"""What the matrix has measured so far: a JSON file, and the questions asked of it.

  sets        name -> rows, features, nonzeros, classes, bytes
  references  set -> cost -> the lowest primal and the highest bound that anybody has found, by class
  solve       set -> cost -> solver -> {"points": {knob: {seconds: [...], primal: [...], ...}}, "ended": why}
  files       set -> solver -> {knob, seconds: [...], peak, primal, from: text|binary, stages, ...}

A gap is that of the worst class. hinge reaches a gap where it says "converged", which it has proved. A peer reaches it
where (P - D)/P is within it for its true primal P and the best bound D known. Where D itself is known no better than
to half of that gap, the lowest primal known stands in for it: the doubt is in favour of the peer.
"""
import json
import os

HINGE = ("hinge", "hinge, all cores", "hinge, two threads", "hinge from text", "hinge from text, two threads")


class Results:
    def __init__(self, path):
        self.path = path
        self.all = {"sets": {}, "references": {}, "solve": {}, "files": {}, "about": {}}
        if os.path.exists(path):
            with open(path) as file:
                self.all.update(json.load(file))

    def save(self):
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        with open(f"{self.path}.part", "w") as file:
            json.dump(self.all, file, indent=1)
            file.write("\n")
        os.replace(f"{self.path}.part", self.path)

    def take(self, name, part, other):
        """What others have of this part of a set, a cost or its files, in place of what is here."""
        for kind in ("sets", "files"):
            if name in other.all[kind] and (kind == "sets" or part == "files"):
                self.all[kind][name] = other.all[kind][name]
        for kind in ("references", "solve"):
            if part in other.all[kind].get(name, {}):
                self.all[kind].setdefault(name, {})[part] = other.all[kind][name][part]
        for cost, known in other.all["references"].get(name, {}).items():  # files need one, too
            self.all["references"].setdefault(name, {}).setdefault(cost, known)

    # References

    def learn(self, name, cost, primal, dual=None):
        known = self.all["references"].setdefault(name, {}).setdefault(cost, {"primal": primal, "dual": None})
        known["primal"] = [min(pair) for pair in zip(known["primal"], primal)]
        if dual:
            known["dual"] = [max(pair) for pair in zip(known["dual"] or dual, dual)]

    def reference_gap(self, name, cost):
        known = self.all["references"][name][cost]
        return max((p - d) / p for p, d in zip(known["primal"], known["dual"]))

    def gap(self, name, cost, primal, target=0.0):
        """How far above the optimum, as a share of itself; with a target, as that target asks (see above)."""
        known = self.all["references"][name][cost]
        return max((p - (d if best - d <= best * target / 2 or not target else best)) / p
                   for p, best, d in zip(primal, known["primal"], known["dual"]))

    # Solving

    def solver(self, name, cost, solver):
        return self.all["solve"].get(name, {}).get(cost, {}).get(solver)

    def forget(self, name, cost, solver):
        self.all["solve"].setdefault(name, {}).setdefault(cost, {})[solver] = {"points": {}, "ended": ""}

    def add(self, name, cost, solver, point):
        points = self.solver(name, cost, solver)["points"]
        if point.knob in points:
            points[point.knob]["seconds"].append(point.seconds)
        else:
            points[point.knob] = {"seconds": [point.seconds], "primal": point.primal, **point.more}
        self.learn(name, cost, point.primal, point.more.get("dual"))

    def reached(self, name, cost, solver, knob, target):
        point = self.solver(name, cost, solver)["points"][knob]
        if solver in HINGE:
            return float(knob) <= target and point["status"] == "converged"
        return self.gap(name, cost, point["primal"], target) <= target

    def fastest(self, name, cost, solver, target):
        """-> (seconds, knob) of the fastest run within the target, or None. hinge is taken at its word: the gap asked."""
        run = self.solver(name, cost, solver)
        if not run:
            return None
        within = [(min(point["seconds"]), knob) for knob, point in run["points"].items()
                  if self.reached(name, cost, solver, knob, target)
                  and (solver not in HINGE or float(knob) == target)]
        return min(within, default=None)

    def costs(self, name):
        return sorted(self.all["solve"].get(name, {}), key=float)

    def gaps(self):
        return sorted(map(float, self.all["about"]["gaps"]), reverse=True)
