#include "proof/stored_proof.h"

#include <vector>

#include "proof/tuning.h"
#include "proof/witness.h"

namespace hinge {
namespace {

// About how much less D(rounded) is than D(alpha) where alpha is best: what is rounded has nothing
// to do with one another, so that 1/2 sum_i d_i^2 (|x_i|^2 + what l* is bent) is left.
double rounding_loss(const Problem& problem, std::span<const double> alpha,
                     std::span<const double> rounded, Comm* comm) {
  double loss = 0;
  problem.data->visit([&](const auto& m) {
    visit_loss(problem.loss, [&](const auto& of) {
      for (std::uint64_t i = 0; i < m.rows; ++i) {
        const double off = rounded[i] - alpha[i];
        if (off == 0) continue;
        double square = problem.bias * problem.bias;
        for (std::size_t k = 0; k < m.size_of(i); ++k) {
          const auto x = static_cast<double>(m.values_of(i)[k]);
          square += x * x;
        }
        const double bent = of.dual_curvature(alpha[i], problem.upper(i));
        loss += off * off * (square + bent) / 2;
      }
    });
  });
  return comm == nullptr ? loss : comm->sum(loss);
}

}  // namespace

bool rounds_witness(const LossChoice& loss) {
  return visit_loss(loss, []<class Loss>(Loss) { return Loss::kSmooth; });
}

Proof certify_as_stored(const Problem& problem, std::span<const double> w,
                        std::span<const double> alpha, const Origin& asked, Pool& pool, Comm* comm,
                        double gap, Witness& witness) {
  // Ranks decide the same: by sums, and by a proof that is that of all.
  const bool complete = alpha.size() == problem.y.size();
  bool rounds = rounds_witness(problem.loss) && complete;
  if (comm != nullptr && rounds_witness(problem.loss)) {
    rounds = comm->sum(complete ? 0.0 : 1.0) == 0;
  }
  const int own = rounds ? share_exponent(problem, alpha) : kNoShares;
  const int exponent = comm != nullptr && rounds ? static_cast<int>(comm->max(own)) : own;
  rounds = rounds && exponent != kNoShares;
  for (const int bits : {16, 32}) {
    if (!rounds || (bits == 16 && gap <= StoredProofTuning::kLeastGapOf16Bits)) continue;
    std::vector<double> rounded;
    witness = compact(problem, alpha, bits, exponent, rounded);
    Proof proof = certify(problem, w, rounded, pool, comm, gap);
    if (reaches(proof, asked)) return proof;
    const double lost = rounding_loss(problem, alpha, rounded, comm);
    if (!(lost > StoredProofTuning::kMuch * (proof.primal - proof.dual))) return proof;
  }
  witness = {};
  return certify(problem, w, alpha, pool, comm, gap);
}

}  // namespace hinge
