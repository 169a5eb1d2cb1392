#include "proof/certificate.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hinge {
namespace {

double half_square(std::span<const double> v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return sum / 2;
}

struct Part {
  double loss = 0;    // sum_i U_i max(0, 1 - y_i <w, x_i>)
  double square = 0;  // the largest |x_i|^2
};

// Of some rows.
template <class Value>
Part loss(const Problem& problem, const CsrView<Value>& m, std::span<const double> w,
          std::uint64_t begin, std::uint64_t end) {
  const double constant = problem.bias == 0 ? 0.0 : problem.bias * w.back();
  Part part;
  for (std::uint64_t i = begin; i < end; ++i) {
    double score = constant, square = 0;
    for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
      const auto value = static_cast<double>(m.values[k]);
      score += value * w[m.columns[k]];
      square += value * value;
    }
    part.loss += problem.upper(i) * std::max(0.0, 1 - problem.y[i] * score);
    part.square = std::max(part.square, square);
  }
  return part;
}

// v = sum_i alpha_i y_i x_i
template <class Value>
std::vector<double> combine(const Problem& problem, const CsrView<Value>& m,
                            std::span<const double> alpha) {
  std::vector<double> v(problem.dimension());
  for (std::uint64_t i = 0; i < m.rows; ++i) {
    const double a = alpha[i] * problem.y[i];
    if (a == 0) continue;
    for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
      v[m.columns[k]] += a * static_cast<double>(m.values[k]);
    }
    if (problem.bias != 0) v.back() += a * problem.bias;
  }
  return v;
}

}  // namespace

void set_gap(Certificate& certificate) {
  const double gap = (certificate.primal - certificate.dual) / certificate.primal;
  certificate.relative_gap = certificate.primal == 0 ? 0.0
                             : !std::isfinite(gap)   ? 1.0
                                                     : std::max(0.0, gap);
}

Certificate certify(const Problem& problem, std::span<const double> w,
                    std::span<const double> alpha, Pool& pool) {
  const std::vector<std::uint64_t> cuts = cut_rows(*problem.data);
  std::vector<Part> parts(cuts.size() - 1);
  std::vector<double> v;
  // Block 0 sums v, which cannot be cut by rows without one copy of v a block; the others the loss.
  problem.data->visit([&](const auto& m) {
    pool.run(cuts.size(), [&](std::size_t block) {
      if (block > 0) {
        parts[block - 1] = loss(problem, m, w, cuts[block - 1], cuts[block]);
      } else if (!alpha.empty()) {
        v = combine(problem, m, alpha);
      }
    });
  });
  Certificate certificate;
  certificate.primal = half_square(w.first(problem.regularised()));
  double longest = 0;
  for (const Part& part : parts) {
    certificate.primal += part.loss;
    longest = std::max(longest, part.square);
  }
  certificate.bound = alpha.empty() ? "none" : "witness";
  if (!alpha.empty()) {
    double sum = 0;
    for (const double a : alpha) sum += a;
    certificate.dual = sum - half_square(std::span(v).first(problem.regularised()));
    if (problem.free_bias) {
      // sum_i alpha_i y_i should be 0. What rounding left of it costs as much times |b| at the
      // optimum, where b = y_i - <w,x_i> of some row and 1/2 |w|^2 <= P.
      const double most = 1 + std::sqrt(2 * certificate.primal * longest);
      certificate.dual -= std::abs(v.back()) * most;
    }
  }
  set_gap(certificate);
  return certificate;
}

}  // namespace hinge
