#include "hinge/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "data/columns.h"
#include "data/problem.h"
#include "kernels/kernels.h"
#include "proof/certificate.h"

namespace hinge {
namespace {

// A row cut off where the model's features end: columns ascend, so the rest is a tail.
template <class Value>
SparseRow<Value> known_part(SparseRow<Value> row, std::uint64_t features) {
  if (row.size > 0 && row.columns[row.size - 1] >= features) {
    row.size = static_cast<std::size_t>(
        std::lower_bound(row.columns, row.columns + row.size, features) - row.columns);
  }
  return row;
}

}  // namespace

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::converged:
      return "converged";
    case StopReason::limit:
      return "limit";
    case StopReason::interrupted:
      return "interrupted";
  }
  return "limit";
}

Certificate Model::certificate() const {
  Certificate sum;
  sum.relative_gap = 0;
  sum.bound = "witness";
  for (const BinaryProblem& problem : problems) {
    sum.primal += problem.certificate.primal;
    sum.dual += problem.certificate.dual;
    sum.relative_gap = std::max(sum.relative_gap, problem.certificate.relative_gap);
    if (problem.certificate.bound == "none") sum.bound = "none";
  }
  return sum;
}

Result<Predictions> predict(const Model& model, const Dataset& rows, int threads) {
  return guard([&] {
    const Dataset data = model.columns.empty() ? rows : keep_columns(rows, model.columns);
    const std::size_t problems = model.problems.size();
    const bool reject = model.reject && model.labels.size() > 2;
    Predictions out;
    out.labels.resize(data.rows());
    out.scores.resize(data.rows() * problems);
    if (reject) out.rejected.resize(data.rows());
    Pool pool(threads);
    const Kernels& kernels = best_kernels();
    const std::vector<std::uint64_t> cuts = cut_rows(data);
    data.visit([&](const auto& m) {
      pool.run(cuts.size() - 1, [&](std::size_t block) {
        for (std::uint64_t i = cuts[block]; i < cuts[block + 1]; ++i) {
          const auto row = known_part(row_of(m, i), model.width());
          double* const scores = out.scores.data() + i * problems;
          for (std::size_t k = 0; k < problems; ++k) {
            scores[k] = kernels.dot(row, model.weights_of(k).data()) + model.problems[k].bias;
          }
          if (!std::all_of(scores, scores + problems, [](double s) { return std::isfinite(s); })) {
            fail("solver.nonfinite", fmt::format("the score of row {} is not finite", i + 1),
                 "scale the data as it was scaled for training");
          }
          const std::size_t best =
              static_cast<std::size_t>(std::max_element(scores, scores + problems) - scores);
          out.labels[i] = model.binary() ? model.labels[scores[0] > 0 ? 0 : 1] : model.labels[best];
          if (reject) out.rejected[i] = scores[best] > 0 ? 0 : 1;
        }
      });
    });
    return out;
  });
}

}  // namespace hinge
