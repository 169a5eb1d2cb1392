#include "proof/certificate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/buffer.h"

namespace hinge {
namespace {

// In blocks: one chain of sums would round many numbers that are the same, as dual variables are,
// all the same way.
template <class Term>
double sum_of(std::span<const double> v, const Term& term) {
  constexpr std::size_t kBlock = 512;
  double sum = 0;
  for (std::size_t from = 0; from < v.size(); from += kBlock) {
    double block = 0;
    for (const double x : v.subspan(from, std::min(kBlock, v.size() - from))) block += term(x);
    sum += block;
  }
  return sum;
}

double half_square(std::span<const double> v) {
  return sum_of(v, [](double x) { return x * x; }) / 2;
}

struct Part {
  double loss = 0;    // sum_i U_i max(0, 1 - y_i <w, x_i>)
  double square = 0;  // with a free bias: the largest |x_i|^2
};

// In lanes, which need not wait for each other.
template <class Value>
double score_of(const CsrView<Value>& m, std::uint64_t i, std::span<const double> w) {
  constexpr std::size_t kLanes = 8;
  const std::uint32_t* const columns = m.columns_of(i);
  const Value* const values = m.values_of(i);
  const std::size_t size = m.size_of(i);
  double lanes[kLanes] = {}, score = 0;
  std::size_t k = 0;
  if (m.full) {
    for (; k + kLanes <= size; k += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += static_cast<double>(values[k + lane]) * w[k + lane];
      }
    }
  } else {
    for (; k + kLanes <= size; k += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += static_cast<double>(values[k + lane]) * w[columns[k + lane]];
      }
    }
  }
  for (; k < size; ++k) score += static_cast<double>(values[k]) * w[columns[k]];
  for (const double lane : lanes) score += lane;
  return score;
}

// Of some rows.
template <class Value>
Part loss(const Problem& problem, const CsrView<Value>& m, std::span<const double> w,
          std::uint64_t begin, std::uint64_t end) {
  const double constant = problem.bias == 0 ? 0.0 : problem.bias * w.back();
  Part part;
  for (std::uint64_t i = begin; i < end; ++i) {
    const double score = constant + score_of(m, i, w);
    part.loss += problem.upper(i) * std::max(0.0, 1 - problem.y[i] * score);
    if (!problem.free_bias) continue;
    double square = 0;
    for (const Value value : std::span(m.values_of(i), m.size_of(i))) {
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    part.square = std::max(part.square, square);
  }
  return part;
}

// v = sum_i alpha_i y_i x_i over some rows.
template <class Value>
std::vector<double> combine(const Problem& problem, const CsrView<Value>& m,
                            std::span<const double> alpha, std::uint64_t begin, std::uint64_t end,
                            const Pool& pool) {
  // Zeros that were written: a page that is read before costs two faults, and every core a pause.
  std::vector<double> v = huge_vector(problem.dimension());
  for (std::uint64_t i = begin; i < end; ++i) {
    if (i % 1024 == 0) pool.poll();
    const double a = alpha[i] * problem.y[i];
    if (a == 0) continue;
    const std::uint32_t* const columns = m.columns_of(i);
    const Value* const values = m.values_of(i);
    const std::size_t size = m.size_of(i);
    if (m.full) {  // the same, but compilers see that entries do not meet
      for (std::size_t k = 0; k < size; ++k) v[k] += a * static_cast<double>(values[k]);
    } else {
      for (std::size_t k = 0; k < size; ++k) v[columns[k]] += a * static_cast<double>(values[k]);
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
                    std::span<const double> alpha, Pool& pool, Comm* comm) {
  const std::vector<std::uint64_t> cuts = cut_rows(*problem.data);
  const std::size_t blocks = cuts.size() - 1;
  std::vector<Part> losses(blocks);
  // v is summed in parts, each a vector as long as w: few, and where rows are few against columns
  // only one.
  const std::size_t worth = problem.data->nonzeros() / (16 * problem.dimension() + 1);
  // A rank without rows has no alpha, and a bound if the others have one.
  const bool bounded = comm == nullptr
                           ? !alpha.empty()
                           : comm->sum(alpha.size() == problem.y.size() ? 0.0 : 1.0) == 0;
  const std::size_t parts =
      !bounded ? 0 : std::clamp<std::size_t>(worth, 1, std::clamp<std::size_t>(blocks, 1, 16));
  std::vector<std::vector<double>> sums(parts);
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
  if (comm == nullptr) {
    for (const Part& part : losses) {
      certificate.primal += part.loss;
      longest = std::max(longest, part.square);
    }
  } else {
    double loss = 0;
    for (const Part& part : losses) {
      loss += part.loss;
      longest = std::max(longest, part.square);
    }
    certificate.primal += comm->sum(loss);
    longest = comm->max(longest);
  }
  certificate.bound = bounded ? "witness" : "none";
  if (bounded) {
    double sum = sum_of(alpha, [](double a) { return a; });
    for (std::size_t part = 1; part < parts; ++part) {
      for (std::size_t j = 0; j < sums[0].size(); ++j) sums[0][j] += sums[part][j];
    }
    const std::span<double> v = sums[0];
    if (comm != nullptr) {
      sum = comm->sum(sum);
      comm->sum(v);
    }
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
