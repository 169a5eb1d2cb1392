// The proof that a model keeps: the dual variables as they will be stored, and the certificate of
// these. Where most of them are in between their bounds, they are rounded to so few bits that the
// goal is still reached.
#pragma once

#include <span>

#include "base/pool.h"
#include "hinge/model.h"
#include "objective/problem.h"
#include "proof/certificate.h"
#include "ranks/comm.h"

namespace hinge {

// Whether values in between are rounded: with a loss that leaves most of them there.
bool rounds_witness(const LossChoice& loss);

// certify() of w and of alpha as `witness` holds it: rounded to 16 bits; where these make out a
// part of the gap, and a goal is missed, to 32; or as it is, and then the witness is left empty. On
// several ranks it is that of this one's rows. `asked` has the goals, and `gap` is as in certify().
Proof certify_as_stored(const Problem& problem, std::span<const double> w,
                        std::span<const double> alpha, const Origin& asked, Pool& pool, Comm* comm,
                        double gap, Witness& witness);

}  // namespace hinge
