// Kernel values are computed for eight rows at a time, since there are as many as pairs of rows;
// the rest is written as the formulas are. Every kernel value comes with how far it may be off:
// exp, pow and tanh of the C library are trusted to 4 units in the last place, which a test holds
// them to, and all else is rounding that is counted.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "proof/certificate.h"
#include "proof/gain.h"
#include "proof/outward.h"

namespace hinge {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::uint64_t kRowsOfTask = 64;
using Lanes = std::array<double, kLanes>;

constexpr double kLibrary = 8 * kUnit;  // relative, of exp, pow and tanh

// Kernel values of eight rows with one, and how far each may be off.
struct Values {
  Lanes value{}, off{};
};

// exp(-gamma square), where `square` may be off by `off`.
void set_rbf(Values& values, std::size_t b, double gamma, double square, double off) {
  const double value = std::exp(-gamma * square);
  const double argument = gamma * (off + 2 * kUnit * std::abs(square));
  values.value[b] = value;
  values.off[b] = argument < 0.5 ? value * (2 * argument + kLibrary) + 4 * kTiny : 1.0;
}

// Inner products with rows of these squares become kernel values. Inner products and squares are
// sums of at most `size` products.
void apply(const KernelFunction& kernel, Values& values, const Lanes& squares, double square,
           std::size_t lanes, double size) {
  const double gamma = kernel.gamma, coef0 = kernel.coef0;
  const double depth = (size + 4) * kUnit;
  const auto dot_off = [&](std::size_t b) {
    const double lost = size * kTiny;  // what squares may have underflowed by
    return depth * (std::sqrt(square + lost) * std::sqrt(squares[b] + lost)) + 2 * lost;
  };
  // gamma dot + coef0, and how far it is off.
  const auto inner = [&](std::size_t b) {
    const double scaled = gamma * values.value[b];
    return std::pair(scaled + coef0,
                     gamma * dot_off(b) + 4 * kUnit * (std::abs(scaled) + std::abs(coef0)));
  };
  for (std::size_t b = 0; b < lanes; ++b) {
    switch (kernel.kind) {
      case KernelKind::linear:
        values.off[b] = dot_off(b);
        break;
      case KernelKind::rbf: {
        const double both = square + squares[b];
        set_rbf(values, b, gamma, both - 2 * values.value[b], 2 * depth * both + 4 * size * kTiny);
        break;
      }
      case KernelKind::poly: {
        const auto [base, off] = inner(b);
        const double value = std::pow(base, kernel.degree);
        const double slope = kernel.degree * std::pow(std::abs(base) + off, kernel.degree - 1);
        values.value[b] = value;
        values.off[b] = 1.001 * (slope * off) + kLibrary * std::abs(value) + 4 * kTiny;
        break;
      }
      case KernelKind::sigmoid: {
        const auto [base, off] = inner(b);
        values.value[b] = std::tanh(base);
        values.off[b] = off + kLibrary * std::abs(values.value[b]) + 4 * kTiny;
        break;
      }
    }
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
// (values beyond `end` mean nothing) and the rows z_k with k < count(first), with how far each
// value may be off. x_i is row(i) of m, z_k other(k) of `others`.
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
    std::size_t longest = 0;
    const auto fill = [&](bool clear) {
      for (std::size_t b = 0; b < size; ++b) {
        const std::uint64_t i = row(first + b);
        for (std::size_t k = 0; k < m.size_of(i); ++k) {
          dense[m.columns_of(i)[k]][b] = clear ? 0.0 : static_cast<double>(m.values_of(i)[k]);
        }
        squares[b] = square_of(m, i);
        longest = std::max<std::size_t>(longest, m.size_of(i));
      }
    };
    if (!differences) fill(false);
    const std::uint64_t last = count(first);
    for (std::uint64_t k = 0; k < last; ++k) {
      const std::uint64_t j = other(k);
      Values values;
      // The constant feature is a number more in every inner product.
      const auto hand_over = [&] {
        for (std::size_t b = 0; constant != 0 && b < size; ++b) {
          values.value[b] += constant;
          values.off[b] += 4 * kUnit * (constant + std::abs(values.value[b]));
        }
        use(first, k, values);
      };
      if (differences) {
        for (std::size_t b = 0; b < size; ++b) {
          const std::uint64_t i = row(first + b);
          const double square = square_of_difference(m, i, others, j);
          const auto terms = static_cast<double>(m.size_of(i) + others.size_of(j));
          set_rbf(values, b, kernel.gamma, square, (terms + 6) * kUnit * square + terms * kTiny);
        }
        hand_over();
        continue;
      }
      double square = 0;
      for (std::size_t e = 0; e < others.size_of(j); ++e) {
        const auto value = static_cast<double>(others.values_of(j)[e]);
        const Lanes& x = dense[others.columns_of(j)[e]];
        for (std::size_t b = 0; b < kLanes; ++b) values.value[b] += value * x[b];
        square += value * value;
      }
      const std::size_t most = std::max<std::size_t>(longest, others.size_of(j));
      apply(kernel, values, squares, square, size, static_cast<double>(most));
      hand_over();
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
    const PlainArithmetic plain;
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

  // sum_i U_i l(y_i score_i) for each problem
  template <class Loss>
  std::vector<Interval> losses(const Loss& loss) const {
    const std::size_t planes = problems_.size();
    const std::vector<double> sums = visit_pairs([&](const auto& m, const auto& s) {
      return sum_of_tasks(
          m.rows, kNumbers * planes, pool_,
          [&](std::uint64_t begin, std::uint64_t end, std::vector<double>& out) {
            std::vector<Sum> scores((end - begin) * planes);
            const auto all = [&](std::uint64_t) { return s.rows; };
            for_all_pairs(m, begin, end, std::identity(), s, all, std::identity(), kernel_,
                          differences_, constant_,
                          [&](std::uint64_t first, std::uint64_t j, const Values& k) {
                            add(scores.data() + (first - begin) * planes,
                                std::min<std::uint64_t>(kLanes, end - first), j, k);
                          });
            for (std::uint64_t i = begin; i < end; ++i) {
              for (std::size_t c = 0; c < planes; ++c) {
                const Problem& problem = problems_[c];
                const Sum& score = scores[(i - begin) * planes + c];
                const double off =
                    1.001 * (score.off(static_cast<double>(s.rows)) + 2 * Loss::kCorner * kUnit);
                const auto [most, doubt] =
                    loss.enclose(loss.slack(problem.y[i] * score.value), off);
                if (most == 0) continue;
                out[kNumbers * c] += problem.upper(i) * most;
                out[kNumbers * c + 1] += problem.upper(i) * doubt;
                out[kNumbers * c + 2] += 1;
              }
            }
          });
    });
    const auto rows = static_cast<double>(problems_[0].y.size());
    const double depth = kRowsOfTask + rows / kRowsOfTask + 7 + Loss::kRoundings;
    std::vector<Interval> losses(planes);
    for (std::size_t c = 0; c < planes; ++c) {
      const double* const sum = &sums[kNumbers * c];
      losses[c] = enclose_sum(sum[0], depth, sum[2]);
      const double doubt = 2 * enclose_sum(sum[1], depth, sum[2]).high;
      losses[c].low = std::max(0.0, down(losses[c].low - up(doubt)));
    }
    return losses;
  }

  // |w|^2 for each problem
  std::vector<Interval> squares() const {
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
  std::vector<Interval> squares(std::span<const std::vector<double>> alphas) const {
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
  // A sum of factors times kernel values: its computed value, the sum of the sizes of its terms,
  // and how far they may be off.
  struct Sum {
    double value = 0, size = 0, doubt = 0;

    void add(double factor, double kernel_value, double kernel_off) {
      const double term = factor * kernel_value;
      value += term;
      size += std::abs(term);
      doubt += std::abs(factor) * kernel_off;
    }
    double off(double terms) const { return doubt + (terms + 4) * kUnit * (size + terms * kTiny); }
  };
  static constexpr std::size_t kNumbers = 3;  // that are summed for each problem

  // |sum_k a[k * planes + c] phi(row(k))|^2 for each c, k < count. Every pair is met once: those
  // before the eight rows in hand count twice, those among them are met both ways.
  template <class RowOf>
  std::vector<Interval> squares_of(const Dataset& data, std::uint64_t count, const RowOf& row,
                                   std::span<const double> a) const {
    const std::size_t planes = problems_.size();
    const std::vector<double> sums = data.visit([&](const auto& m) {
      return sum_of_tasks(
          count, kNumbers * planes, pool_,
          [&](std::uint64_t begin, std::uint64_t end, std::vector<double>& out) {
            const auto until = [end](std::uint64_t first) { return std::min(end, first + kLanes); };
            for_all_pairs(m, begin, end, row, m, until, row, kernel_, differences_, constant_,
                          [&](std::uint64_t first, std::uint64_t k, const Values& values) {
                            const std::size_t size = until(first) - first;
                            const double times = k < first ? 2 : 1;
                            for (std::size_t c = 0; c < planes; ++c) {
                              Sum sum;
                              for (std::size_t b = 0; b < size; ++b) {
                                sum.add(a[(first + b) * planes + c], values.value[b],
                                        values.off[b]);
                              }
                              const double factor = times * a[k * planes + c];
                              out[kNumbers * c] += factor * sum.value;
                              out[kNumbers * c + 1] += std::abs(factor) * sum.size;
                              out[kNumbers * c + 2] += std::abs(factor) * sum.doubt;
                            }
                          });
          });
    });
    const auto rows = static_cast<double>(count);
    // In a task the rows before it are met with every eight of its own.
    const double depth = 16 + rows * (kRowsOfTask / kLanes) + rows / kRowsOfTask + 8;
    double largest = 0;
    for (const double factor : a) largest = std::max(largest, std::abs(factor));
    std::vector<Interval> squares(planes);
    for (std::size_t c = 0; c < planes; ++c) {
      const double* const sum = &sums[kNumbers * c];
      const double off =
          1.001 * (sum[2] + gamma(depth) * sum[1]) + rows * rows * 2 * (1 + largest) * kTiny;
      squares[c] = {down(sum[0] - off), up(sum[0] + off)};
      if (count == 0) squares[c] = {};
    }
    return squares;
  }

  // Adds what support row j brings to the scores of some rows, in every problem.
  void add(Sum* scores, std::size_t size, std::uint64_t j, const Values& values) const {
    const std::size_t planes = problems_.size();
    for (std::size_t c = 0; c < planes; ++c) {
      const double coefficient = coefficients_[c * support_.rows() + j];
      if (coefficient == 0) continue;
      for (std::size_t b = 0; b < size; ++b) {
        scores[b * planes + c].add(coefficient, values.value[b], values.off[b]);
      }
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

std::vector<Proof> certify(std::span<const Problem> problems, const KernelFunction& kernel,
                           const Dataset& support, std::span<const double> coefficients,
                           std::span<const std::vector<double>> alphas, Pool& pool) {
  const PlainArithmetic plain;
  const KernelProof proof(problems, kernel, support, coefficients, pool);
  const std::vector<Interval> squares = proof.squares();
  const std::vector<Interval> duals =
      kernel.positive_definite() ? proof.squares(alphas) : std::vector<Interval>();
  return visit_loss(problems[0].loss, [&]<class Loss>(const Loss& loss) {
    const std::vector<Interval> losses = proof.losses(loss);
    std::vector<Proof> proofs;
    for (std::size_t c = 0; c < problems.size(); ++c) {
      const Interval primal = {down(squares[c].low / 2 + losses[c].low),
                               up(up(squares[c].high / 2) + losses[c].high)};
      if (alphas[c].empty() || duals.empty()) {
        proofs.push_back(make_proof(primal, nullptr));
        continue;
      }
      const auto rows = static_cast<double>(alphas[c].size());
      const GainSums sums = gain_of(loss, problems[c], alphas[c]);
      const Interval gain = enclose_gain<Loss>(sums, rows, sum_depth(alphas[c].size()));
      Interval dual = {down(gain.low - up(duals[c].high / 2)),
                       up(gain.high - std::max(0.0, down(duals[c].low / 2)))};
      if (sums.more == 0 && sums.less == 0) dual = {};
      proofs.push_back(make_proof(primal, &dual));
    }
    return proofs;
  });
}

}  // namespace hinge
