// Kernel values are computed for eight rows at a time, since there are as many as pairs of rows;
// the rest is written as the formulas are.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "proof/certificate.h"

namespace hinge {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::uint64_t kRowsOfTask = 64;
using Lanes = std::array<double, kLanes>;

// Inner products with rows of these squares become kernel values.
void apply(const KernelFunction& kernel, Lanes& dots, const Lanes& squares, double square,
           std::size_t size) {
  const double gamma = kernel.gamma, coef0 = kernel.coef0;
  const auto each = [&](const auto& value) {
    for (std::size_t b = 0; b < size; ++b) dots[b] = value(dots[b], squares[b]);
  };
  switch (kernel.kind) {
    case KernelKind::linear:
      break;
    case KernelKind::rbf:
      each([&](double dot, double other) { return std::exp(-gamma * (square + other - 2 * dot)); });
      break;
    case KernelKind::poly:
      each([&](double dot, double) { return std::pow(gamma * dot + coef0, kernel.degree); });
      break;
    case KernelKind::sigmoid:
      each([&](double dot, double) { return std::tanh(gamma * dot + coef0); });
      break;
  }
}

// |x - z|^2 of row i of m and row j of `others`, column by column.
template <class Value, class Other>
double square_of_difference(const CsrView<Value>& m, std::uint64_t i, const CsrView<Other>& others,
                            std::uint64_t j) {
  std::size_t k = 0, e = 0;
  double sum = 0;
  while (k < m.size_of(i) || e < others.size_of(j)) {
    const std::uint64_t ours = k < m.size_of(i) ? m.columns_of(i)[k] : UINT64_MAX;
    const std::uint64_t theirs = e < others.size_of(j) ? others.columns_of(j)[e] : UINT64_MAX;
    double difference = 0;
    if (ours <= theirs) difference += static_cast<double>(m.values_of(i)[k++]);
    if (theirs <= ours) difference -= static_cast<double>(others.values_of(j)[e++]);
    sum += difference * difference;
  }
  return sum;
}

template <class Value>
double square_of(const CsrView<Value>& m, std::uint64_t i) {
  double sum = 0;
  for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
    const auto value = static_cast<double>(m.values[k]);
    sum += value * value;
  }
  return sum;
}

// Calls use(first, k, {K(x_first, z_k), K(x_first + 1, z_k), ...}) for eight rows x at a time
// (values beyond `end` mean nothing) and the rows z_k with k < count(first). x_i is row(i) of m,
// z_k other(k) of `others`.
//
// |x - z|^2 as |x|^2 + |z|^2 - 2 <x, z> is good as long as the rounding of the squares is nothing
// to the kernel; `differences` says that it is not.
template <class Value, class RowOf, class Other, class Count, class OtherOf, class Use>
void for_all_pairs(const CsrView<Value>& m, std::uint64_t begin, std::uint64_t end,
                   const RowOf& row, const CsrView<Other>& others, const Count& count,
                   const OtherOf& other, const KernelFunction& kernel, bool differences,
                   double constant, const Use& use) {
  std::vector<Lanes> dense(differences ? 0 : m.features);
  for (std::uint64_t first = begin; first < end; first += kLanes) {
    const std::size_t size = std::min<std::uint64_t>(kLanes, end - first);
    Lanes squares{};
    const auto fill = [&](bool clear) {
      for (std::size_t b = 0; b < size; ++b) {
        const std::uint64_t i = row(first + b);
        for (std::size_t k = 0; k < m.size_of(i); ++k) {
          dense[m.columns_of(i)[k]][b] = clear ? 0.0 : static_cast<double>(m.values_of(i)[k]);
        }
        squares[b] = square_of(m, i);
      }
    };
    if (!differences) fill(false);
    const std::uint64_t last = count(first);
    for (std::uint64_t k = 0; k < last; ++k) {
      const std::uint64_t j = other(k);
      Lanes values{};
      if (differences) {
        for (std::size_t b = 0; b < size; ++b) {
          const double square = square_of_difference(m, row(first + b), others, j);
          values[b] = std::exp(-kernel.gamma * square) + constant;
        }
        use(first, k, values);
        continue;
      }
      double square = 0;
      for (std::size_t e = 0; e < others.size_of(j); ++e) {
        const auto value = static_cast<double>(others.values_of(j)[e]);
        const Lanes& x = dense[others.columns_of(j)[e]];
        for (std::size_t b = 0; b < kLanes; ++b) values[b] += value * x[b];
        square += value * value;
      }
      apply(kernel, values, squares, square, size);
      for (std::size_t b = 0; b < size; ++b) values[b] += constant;
      use(first, k, values);
    }
    if (!differences) fill(true);
  }
}

// Whether rounding of |x|^2 may change the kernel by more than a ten-billionth.
template <class Value>
bool loses_to_rounding(const KernelFunction& kernel, const CsrView<Value>& m) {
  double largest = 0;
  for (std::uint64_t i = 0; i < m.rows; ++i) largest = std::max(largest, square_of(m, i));
  return kernel.kind == KernelKind::rbf &&
         (!(largest < 1e300) || kernel.gamma * largest > 1e-10 / 1e-15);
}

// One task for each run of rows; what tasks return is added up in their order.
template <class Task>
std::vector<double> sum_of_tasks(std::uint64_t rows, std::size_t width, Pool& pool,
                                 const Task& task) {
  const std::uint64_t tasks = (rows + kRowsOfTask - 1) / kRowsOfTask;
  std::vector<std::vector<double>> parts(tasks);
  pool.run(tasks, [&](std::size_t t) {
    parts[t].resize(width);
    task(t * kRowsOfTask, std::min(rows, (t + 1) * kRowsOfTask), parts[t]);
  });
  std::vector<double> sum(width);
  for (const std::vector<double>& part : parts) {
    for (std::size_t k = 0; k < width; ++k) sum[k] += part[k];
  }
  return sum;
}

class KernelProof {
 public:
  KernelProof(std::span<const Problem> problems, const KernelFunction& kernel,
              const Dataset& support, std::span<const double> coefficients, Pool& pool)
      : problems_(problems),
        kernel_(kernel),
        constant_(problems[0].bias * problems[0].bias),
        support_(support),
        coefficients_(coefficients),
        pool_(pool) {
    const auto loses = [&](const auto& m) { return loses_to_rounding(kernel, m); };
    differences_ = problems[0].data->visit(loses) || support.visit(loses);
  }

  // sum_i U_i max(0, 1 - y_i score_i) for each problem
  std::vector<double> losses() const {
    const std::size_t planes = problems_.size();
    return visit_pairs([&](const auto& m, const auto& s) {
      return sum_of_tasks(
          m.rows, planes, pool_,
          [&](std::uint64_t begin, std::uint64_t end, std::vector<double>& out) {
            std::vector<double> scores((end - begin) * planes);
            const auto all = [&](std::uint64_t) { return s.rows; };
            for_all_pairs(m, begin, end, std::identity(), s, all, std::identity(), kernel_,
                          differences_, constant_,
                          [&](std::uint64_t first, std::uint64_t j, const Lanes& k) {
                            add(scores.data() + (first - begin) * planes,
                                std::min<std::uint64_t>(kLanes, end - first), j, k);
                          });
            for (std::uint64_t i = begin; i < end; ++i) {
              for (std::size_t c = 0; c < planes; ++c) {
                const Problem& problem = problems_[c];
                const double score = scores[(i - begin) * planes + c];
                out[c] += problem.upper(i) * std::max(0.0, 1 - problem.y[i] * score);
              }
            }
          });
    });
  }

  // |w|^2 for each problem
  std::vector<double> squares() const {
    const std::size_t planes = problems_.size();
    std::vector<double> coefficients(coefficients_.size());
    for (std::size_t c = 0; c < planes; ++c) {
      for (std::uint64_t j = 0; j < support_.rows(); ++j) {
        coefficients[j * planes + c] = coefficients_[c * support_.rows() + j];
      }
    }
    return squares_of(support_, support_.rows(), std::identity(), coefficients);
  }

  // |sum_i alpha_i y_i phi(x_i)|^2 for each problem
  std::vector<double> squares(std::span<const std::vector<double>> alphas) const {
    const std::size_t planes = problems_.size();
    std::vector<std::uint64_t> rows;  // with a dual variable in some problem
    for (std::uint64_t i = 0; i < problems_[0].y.size(); ++i) {
      if (std::ranges::any_of(alphas, [&](const auto& a) { return !a.empty() && a[i] > 0; })) {
        rows.push_back(i);
      }
    }
    std::vector<double> signed_alphas(rows.size() * planes);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      for (std::size_t c = 0; c < planes; ++c) {
        if (alphas[c].empty()) continue;
        signed_alphas[k * planes + c] = alphas[c][rows[k]] * problems_[c].y[rows[k]];
      }
    }
    const auto row = [&](std::uint64_t k) { return rows[k]; };
    return squares_of(*problems_[0].data, rows.size(), row, signed_alphas);
  }

 private:
  // |sum_k a[k * planes + c] phi(row(k))|^2 for each c, k < count. Every pair is met once: those
  // before the eight rows in hand count twice, those among them are met both ways.
  template <class RowOf>
  std::vector<double> squares_of(const Dataset& data, std::uint64_t count, const RowOf& row,
                                 std::span<const double> a) const {
    const std::size_t planes = problems_.size();
    return data.visit([&](const auto& m) {
      return sum_of_tasks(
          count, planes, pool_,
          [&](std::uint64_t begin, std::uint64_t end, std::vector<double>& out) {
            const auto until = [end](std::uint64_t first) { return std::min(end, first + kLanes); };
            for_all_pairs(m, begin, end, row, m, until, row, kernel_, differences_, constant_,
                          [&](std::uint64_t first, std::uint64_t k, const Lanes& values) {
                            const std::size_t size = until(first) - first;
                            const double times = k < first ? 2 : 1;
                            for (std::size_t c = 0; c < planes; ++c) {
                              double sum = 0;
                              for (std::size_t b = 0; b < size; ++b) {
                                sum += a[(first + b) * planes + c] * values[b];
                              }
                              out[c] += times * a[k * planes + c] * sum;
                            }
                          });
          });
    });
  }

  // scores[b * planes + c] += coefficient of support row j in problem c, times the kernel value
  void add(double* scores, std::size_t size, std::uint64_t j, const Lanes& values) const {
    const std::size_t planes = problems_.size();
    for (std::size_t c = 0; c < planes; ++c) {
      const double coefficient = coefficients_[c * support_.rows() + j];
      if (coefficient == 0) continue;
      for (std::size_t b = 0; b < size; ++b) scores[b * planes + c] += coefficient * values[b];
    }
  }

  template <class Work>
  std::vector<double> visit_pairs(const Work& work) const {
    return problems_[0].data->visit(
        [&](const auto& m) { return support_.visit([&](const auto& s) { return work(m, s); }); });
  }

  std::span<const Problem> problems_;
  const KernelFunction& kernel_;
  double constant_;
  bool differences_ = false;
  const Dataset& support_;
  std::span<const double> coefficients_;
  Pool& pool_;
};

}  // namespace

std::vector<Certificate> certify(std::span<const Problem> problems, const KernelFunction& kernel,
                                 const Dataset& support, std::span<const double> coefficients,
                                 std::span<const std::vector<double>> alphas, Pool& pool) {
  const KernelProof proof(problems, kernel, support, coefficients, pool);
  const std::vector<double> losses = proof.losses(), squares = proof.squares();
  const std::vector<double> duals =
      kernel.positive_definite() ? proof.squares(alphas) : std::vector<double>();
  std::vector<Certificate> certificates(problems.size());
  for (std::size_t c = 0; c < problems.size(); ++c) {
    Certificate& certificate = certificates[c];
    certificate.primal = squares[c] / 2 + losses[c];
    certificate.bound = "none";
    if (alphas[c].empty() || duals.empty()) continue;
    certificate.bound = "witness";
    double sum = 0;
    for (const double a : alphas[c]) sum += a;
    certificate.dual = sum - duals[c] / 2;
    set_gap(certificate);
  }
  return certificates;
}

}  // namespace hinge
