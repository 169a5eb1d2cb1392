// What double arithmetic leaves to be desired of a solution, and how to mend it. Solvers work in
// plain double arithmetic; where values are huge, or costs beside |w|^2, what they call solved may
// not be, and the certificate says so.
#pragma once

#include <string>

#include "base/pool.h"
#include "objective/problem.h"
#include "proof/certificate.h"
#include "solve/solver.h"

namespace hinge {

// A solution that its solver takes for solved to `gap`, and that `proof` shows not to be, where
// rounding may be the reason. Points and dual variables become better ones, as far as that is to be
// had, and the proof theirs. Does nothing where rounding is none of it.
void mend_last_digits(const Problem& problem, double gap, Solution& solution, Proof& proof,
                      Pool& pool);

// Why a run that stalled did not reach what was asked for, in words.
std::string why_stalled(const Problem& problem, const Origin& asked, const Solution& solution,
                        const Proof& proof);

// The weights as a model keeps them: with a bias S the product S w_last, from which w_last comes
// back rounded.
void round_as_stored(const Problem& problem, std::span<double> w);

}  // namespace hinge
