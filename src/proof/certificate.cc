#include "proof/certificate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/buffer.h"

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
    const std::uint32_t* const columns = m.columns_of(i);
    const Value* const values = m.values_of(i);
    for (std::size_t k = 0; k < m.size_of(i); ++k) {
      const auto value = static_cast<double>(values[k]);
      score += value * w[columns[k]];
      square += value * value;
    }
    part.loss += problem.upper(i) * std::max(0.0, 1 - problem.y[i] * score);
    part.square = std::max(part.square, square);
  }
  return part;
}

// v = sum_i alpha_i y_i x_i over some rows.
template <class Value>
Buffer<double> combine(const Problem& problem, const CsrView<Value>& m,
                       std::span<const double> alpha, std::uint64_t begin, std::uint64_t end,
                       const Pool& pool) {
  Buffer<double> out(problem.dimension());  // zeros
  const std::span<double> v = out.span();
  for (std::uint64_t i = begin; i < end; ++i) {
    if (i % 1024 == 0) pool.poll();
    const double a = alpha[i] * problem.y[i];
    if (a == 0) continue;
    const std::uint32_t* const columns = m.columns_of(i);
    const Value* const values = m.values_of(i);
    for (std::size_t k = 0; k < m.size_of(i); ++k)
      v[columns[k]] += a * static_cast<double>(values[k]);
    if (problem.bias != 0) v.back() += a * problem.bias;
  }
  return out;
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
  const std::size_t blocks = cuts.size() - 1;
  std::vector<Part> losses(blocks);
  // v is summed in parts, each a vector as long as w: few, and where rows are few against columns
  // only one.
  const std::size_t worth = problem.data->nonzeros() / (16 * problem.dimension() + 1);
  const std::size_t parts =
      alpha.empty() ? 0 : std::clamp<std::size_t>(worth, 1, std::clamp<std::size_t>(blocks, 1, 16));
  std::vector<Buffer<double>> sums(parts);
  problem.data->visit([&](const auto& m) {
    pool.run(parts + blocks, [&](std::size_t block) {
      if (block < parts) {
        const std::uint64_t begin = cuts[blocks * block / parts],
                            end = cuts[blocks * (block + 1) / parts];
        sums[block] = combine(problem, m, alpha, begin, end, pool);
      } else {
        losses[block - parts] = loss(problem, m, w, cuts[block - parts], cuts[block - parts + 1]);
      }
    });
  });
  Certificate certificate;
  certificate.primal = half_square(w.first(problem.regularised()));
  double longest = 0;
  for (const Part& part : losses) {
    certificate.primal += part.loss;
    longest = std::max(longest, part.square);
  }
  certificate.bound = alpha.empty() ? "none" : "witness";
  if (!alpha.empty()) {
    double sum = 0;
    for (const double a : alpha) sum += a;
    for (std::size_t part = 1; part < parts; ++part) {
      for (std::size_t j = 0; j < sums[0].size(); ++j) sums[0][j] += sums[part][j];
    }
    const std::span<const double> v = sums[0].span();
    certificate.dual = sum - half_square(v.first(problem.regularised()));
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
