#include "proof/certificate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "data/survey.h"
#include "proof/gain.h"
#include "proof/outward.h"

namespace hinge {
namespace {

// Few values take no time, and are worth a second computation sooner.
constexpr double kMostOfFew = 1e-14;
constexpr std::uint64_t kFewValues = 20'000;

// A computed score and the sum of |x_j w_j|, which says how far it may be off.
struct Score {
  double value = 0, size = 0;
};

// In lanes, which need not wait for each other.
template <std::size_t lanes, class Value, class Weight>
Score score_in_lanes(const Value* values, std::size_t size, const Weight& weight) {
  double sums[lanes] = {}, sizes[lanes] = {};
  Score score;
  std::size_t k = 0;
  for (; k + lanes <= size; k += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double product = static_cast<double>(values[k + lane]) * weight(k + lane);
      sums[lane] += product;
      sizes[lane] += std::abs(product);
    }
  }
  for (; k < size; ++k) {
    const double product = static_cast<double>(values[k]) * weight(k);
    score.value += product;
    score.size += std::abs(product);
  }
  for (const double sum : sums) score.value += sum;
  for (const double sum : sizes) score.size += sum;
  return score;
}

template <class Value>
Score score_of(const CsrView<Value>& m, std::uint64_t i, std::span<const double> w) {
  const Value* const values = m.values_of(i);
  const std::size_t size = m.size_of(i);
  if (m.full) {
    return score_in_lanes<8>(values, size, [&](std::size_t k) { return w[k]; });
  }
  const std::uint32_t* const columns = m.columns_of(i);
  return score_in_lanes<4>(values, size, [&](std::size_t k) { return w[columns[k]]; });
}

// How many operations a product of a row of this size goes through at most on its way into a score:
// one by itself, the additions of its lane, those of the lanes, and that of the constant feature.
double score_depth(std::size_t size) {
  const double depth = static_cast<double>(size < 4 ? size + 1 : size / 4 + 17);
  return depth < 0x1p24 ? depth : 2 * depth;  // where depth^2 u counts, it is less than that again
}

// The slack of a row's margin (objective/loss.h), and how far it may be off.
struct Slack {
  double value = 0, off = 0;
};

template <class Loss, class Value>
Slack slack_of(const Problem& problem, const CsrView<Value>& m, std::uint64_t i,
               std::span<const double> w, double constant) {
  const Score score = score_of(m, i, w);
  const double size = score.size + std::abs(constant);
  return {Loss::slack(problem.y[i] * (score.value + constant)),
          kUnit * ((score_depth(m.size_of(i)) + 4) * size + 2 * Loss::kCorner)};
}

// This computes it with twice the digits: products and sums leave their rounding to a second sum.
// Where nothing was rounded, nothing is off.
template <class Loss, class Value>
Slack long_slack_of(const Problem& problem, const CsrView<Value>& m, std::uint64_t i,
                    std::span<const double> w) {
  double high = Loss::kCorner, low = 0, rounded = 0;
  const auto add = [&](double x, double weight) {
    const double factor = -problem.y[i] * x, product = factor * weight;
    const ExactSum next = two_sum(high, product);
    const double rest = std::fma(factor, weight, -product);
    high = next.sum;
    low += next.error + rest;
    rounded += std::abs(next.error) + std::abs(rest);
    // The rest of a product so small may be too small for a double.
    if (std::abs(product) < 0x1p-960 && factor != 0 && weight != 0) rounded += kTiny;
  };
  for (std::size_t k = 0; k < m.size_of(i); ++k) {
    add(static_cast<double>(m.values_of(i)[k]), w[m.columns_of(i)[k]]);
  }
  if (problem.bias != 0) add(problem.bias, w.back());
  if (rounded == 0) return {high, 0};
  const double value = high + low, terms = static_cast<double>(m.size_of(i) + 4);
  return {value, 2 * (kUnit * std::abs(value) + gamma(4 * terms) * rounded + terms * kTiny)};
}

struct LossPart {
  double loss = 0;        // sum_i U_i l(y_i <w, x_i>), every row's loss rounded up
  double doubt = 0;       // half of how much less it may be
  double underflows = 0;  // that products may have had
  double square = 0;      // with a free bias: the largest |x_i|^2, as computed
  double most = 0;        // and the most values in a row
};

// This sums the losses of the rows begin .. end - 1.
template <class Loss, bool twice, class Value>
LossPart loss_part(const Loss& loss, const Problem& problem, const CsrView<Value>& m,
                   std::span<const double> w, std::uint64_t begin, std::uint64_t end) {
  const double constant = problem.bias == 0 ? 0.0 : problem.bias * w.back();
  LossPart part, few;
  for (std::uint64_t i = begin; i < end; ++i) {
    const std::size_t size = m.size_of(i);
    const Slack slack =
        twice ? long_slack_of<Loss>(problem, m, i, w) : slack_of<Loss>(problem, m, i, w, constant);
    const double upper = problem.upper(i);
    const auto [most, doubt] = loss.enclose(slack.value, slack.off);
    if (most != 0 && upper > 0) {  // also where it is no number
      const double lost = upper * most;
      few.loss += lost;
      few.doubt += upper * doubt;
      few.underflows += lost < std::numeric_limits<double>::min() ? 1 : 0;
    }
    if ((i + 1 - begin) % kSumBlock == 0 || i + 1 == end) {  // many are added up in two steps
      part.loss += few.loss;
      part.doubt += few.doubt;
      part.underflows += few.underflows;
      few = {};
    }
    if (!problem.free_bias) continue;
    double square = 0;
    for (const Value value : std::span(m.values_of(i), size)) {
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    part.square = std::max(part.square, square);
    part.most = std::max(part.most, static_cast<double>(size));
  }
  return part;
}

// v = sum_i alpha_i y_i x_i over some rows. Rows are added up in chunks, which go into two sums:
// the second has what additions into the first rounded away.
struct Combination {
  std::vector<double> chunk;      // its sum
  std::vector<double> high, low;  // of chunks before; empty if there were none
  ExactSum bias = {0, 0};         // sum_i alpha_i y_i, if the bias is free
  double squares = 0;             // sum_i alpha_i |x_i|^2
  double rows = 0, products = 0;  // that have a part in it
  double most = 0;                // of products in a row

  void add_up() {
    if (high.empty()) {
      high = huge_vector(chunk.size());
      low = huge_vector(chunk.size());
    }
    for (std::size_t j = 0; j < chunk.size(); ++j) {
      const ExactSum next = two_sum(high[j], chunk[j]);
      high[j] = next.sum;
      low[j] += next.error;
      chunk[j] = 0;
    }
  }
};

// So many that adding up all columns is little beside adding up the rows; and few enough that what
// the rows of a chunk lose to rounding is nothing one could see.
std::uint64_t rows_of_chunk(const Problem& problem) {
  constexpr std::uint64_t kLeast = 64, kMost = 16384, kTimes = 4;
  const std::uint64_t values =
      problem.data->nonzeros() / std::max<std::uint64_t>(1, problem.y.size());
  return std::clamp(kTimes * problem.dimension() / (values + 1), kLeast, kMost);
}

// Adds up squares in lanes; the order is nothing to the sum of what is not negative.
template <class Value>
double square_in_lanes(const Value* values, std::size_t size) {
  constexpr std::size_t kLanes = 4;
  double lanes[kLanes] = {}, sum = 0;
  std::size_t k = 0;
  for (; k + kLanes <= size; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(values[k + lane]);
      lanes[lane] += value * value;
    }
  }
  for (; k < size; ++k) sum += static_cast<double>(values[k]) * static_cast<double>(values[k]);
  for (const double lane : lanes) sum += lane;
  return sum;
}

// `twice`: products, too, leave their rounding to the second sum, and there are no chunks.
template <bool twice, class Value>
Combination combine(const Problem& problem, const CsrView<Value>& m, std::span<const double> alpha,
                    std::uint64_t begin, std::uint64_t end, const Pool& pool) {
  Combination sum;
  // Zeros that were written: a page that is read before costs two faults, and every core a pause.
  sum.chunk = huge_vector(problem.dimension());
  if (twice) sum.add_up();
  const std::uint64_t chunk = rows_of_chunk(problem);
  const double constant = problem.free_bias ? 0.0 : problem.bias;
  const auto add = [&](std::size_t j, double a, double x) {
    if constexpr (twice) {
      const double product = a * x;
      const ExactSum next = two_sum(sum.high[j], product);
      sum.high[j] = next.sum;
      sum.low[j] += next.error + std::fma(a, x, -product);
    } else {
      sum.chunk[j] += a * x;
    }
  };
  for (std::uint64_t i = begin; i < end; ++i) {
    if (i % 1024 == 0) pool.poll();
    if (!twice && i > begin && (i - begin) % chunk == 0) sum.add_up();
    const double a = alpha[i] * problem.y[i];
    if (a == 0) continue;
    const std::uint32_t* const columns = m.columns_of(i);
    const Value* const values = m.values_of(i);
    const std::size_t size = m.size_of(i);
    if (m.full) {  // the same, but compilers see that entries do not meet
      for (std::size_t k = 0; k < size; ++k) add(k, a, static_cast<double>(values[k]));
    } else {
      for (std::size_t k = 0; k < size; ++k) add(columns[k], a, static_cast<double>(values[k]));
    }
    if (problem.free_bias) {
      const ExactSum next = two_sum(sum.bias.sum, a);
      sum.bias = {next.sum, sum.bias.error + next.error};
    } else if (problem.bias != 0) {
      add(problem.dimension() - 1, a, problem.bias);
    }
    const auto products = static_cast<double>(size + 1);
    sum.squares += std::abs(alpha[i]) * (square_in_lanes(values, size) + constant * constant);
    sum.rows += 1;
    sum.products += products;
    sum.most = std::max(sum.most, products);
  }
  return sum;
}

// Makes one of several parts. v is then in `chunk`.
void join(std::vector<Combination>& parts) {
  Combination& all = parts[0];
  for (std::size_t part = 1; part < parts.size(); ++part) {
    Combination& other = parts[part];
    all.add_up();
    all.chunk.swap(other.chunk);
    if (!other.high.empty()) {
      all.add_up();
      all.chunk.swap(other.high);
      for (std::size_t j = 0; j < all.low.size(); ++j) all.low[j] += other.low[j];
    }
    const ExactSum bias = two_sum(all.bias.sum, other.bias.sum);
    all.bias = {bias.sum, all.bias.error + (bias.error + other.bias.error)};
    all.squares += other.squares;
    all.rows += other.rows;
    all.products += other.products;
    all.most = std::max(all.most, other.most);
  }
  if (all.high.empty()) return;
  all.add_up();
  for (std::size_t j = 0; j < all.chunk.size(); ++j) all.chunk[j] = all.high[j] + all.low[j];
}

// D(alpha): what the variables gain, less 1/2 |v|^2 and what a free bias costs. v is off, in
// length, by at most share * sum_i alpha_i |x_i|: a share of u for every addition in a chunk and
// for the product, but with twice the digits, and of about (rows u)^2 for what is left of these; on
// several ranks one of u a rank more. sum_i alpha_i |x_i| is at most the root of sum_i alpha_i
// times sum_i alpha_i |x_i|^2.
// The sums of U_i over rows of either sign, of all ranks.
std::array<Interval, 2> costs_of_signs(const Problem& problem, Comm* comm) {
  double sums[2] = {}, blocks[2] = {};
  for (std::uint64_t i = 0; i < problem.y.size(); ++i) {
    blocks[problem.y[i] > 0 ? 1 : 0] += problem.upper(i);
    if ((i + 1) % kSumBlock != 0 && i + 1 != problem.y.size()) continue;
    for (std::size_t k = 0; k < 2; ++k) sums[k] += std::exchange(blocks[k], 0.0);
  }
  double depth = sum_depth(problem.y.size());
  if (comm != nullptr) {
    depth = comm->max(depth) + comm->size();
    comm->sum(sums);
  }
  return {enclose_sum(sums[0], depth, 0), enclose_sum(sums[1], depth, 0)};
}

// A bound of |b| at the optimum with a free bias, as docs/math.md derives it, rounded up; and the
// same rounded down. |w| |x_i| is at most sqrt(2 P) times the longest row. A loss of straight
// pieces has such a b where it breaks at the margin of some row, y_i b = kCorner - y_i <w,x_i>; a
// smooth one that only slopes below its corner between the breaks of a row of each sign: rows of
// both have a slope there, or none has. One that has a slope everywhere, at least as steep as -1,
// has a mean margin of the rows of either sign that costs no more than P.
template <class Loss>
Interval bound_of_bias(const Problem& problem, const Interval& primal, const Interval& longest,
                       Comm* comm) {
  const double by_rows = up(up(std::sqrt(up(2 * primal.high))) * up(std::sqrt(longest.high))),
               by_rows_low = std::sqrt(primal.low) * std::sqrt(longest.low);
  if constexpr (Loss::kSlopesEverywhere) {
    const std::array<Interval, 2> costs = costs_of_signs(problem, comm);
    const double least = std::min(costs[0].low, costs[1].low),
                 most = std::min(costs[0].high, costs[1].high);
    const double by_margins =
        least > 0 ? up(primal.high / least) : std::numeric_limits<double>::infinity();
    return {most > 0 ? primal.low / most + by_rows_low : by_rows_low, up(by_margins + by_rows)};
  } else {
    static_assert(!Loss::kSmooth || Loss::kLowest == 0, "its bias needs a bound of its own");
    return {Loss::kCorner + by_rows_low, up(Loss::kCorner + by_rows)};
  }
}

template <class Loss, bool twice>
Interval dual_value(const Loss& loss, const Problem& problem, std::span<const double> alpha,
                    std::vector<Combination>& parts, const Interval& primal,
                    const Interval& longest, Comm* comm) {
  join(parts);
  Combination& all = parts[0];
  std::vector<double>& v = all.chunk;
  if (problem.free_bias) v.back() = all.bias.sum + all.bias.error;
  const GainSums own = gain_of(loss, problem, alpha);
  double sums[] = {sum_of(alpha, [](double a) { return std::abs(a); }),
                   own.more,
                   own.less,
                   all.squares,
                   all.rows,
                   all.products};
  double ranks = 0, alphas = static_cast<double>(alpha.size()),
         joints = static_cast<double>(parts.size()),
         chunk =
             static_cast<double>(std::min<std::uint64_t>(rows_of_chunk(problem), problem.y.size()));
  if (comm != nullptr) {
    ranks = static_cast<double>(comm->size());
    alphas = comm->max(alphas);
    chunk = comm->max(chunk);
    joints = comm->max(joints);
    all.most = comm->max(all.most);
    comm->sum(sums);
    comm->sum(v);
  }
  const auto [total, more, less, squares, rows, products] = sums;
  if (total == 0) return {};
  const double additions = (rows + 2 * joints + 2) * kUnit;
  if (!(additions < 0x1p-12)) return {-std::numeric_limits<double>::infinity(), 0};
  // It is more than (1 + u)^k for all k that occur here, and than the roundings of these lines.
  constexpr double kMore = 1.001;
  const double of_ranks = ranks > 0 ? ranks + 2 : 0.0;
  const double of_sums = kMore * (4 * additions * additions + of_ranks * kUnit);
  const double share = of_sums + (twice ? 0.0 : kMore * (chunk + 2) * kUnit);
  const Interval of_squares =
      enclose_sum(squares, all.most + rows + ranks + 8, products + up(kMore * total) * all.most);
  const double length = up(std::sqrt(up(kMore * total)) * up(std::sqrt(of_squares.high)));
  const double off = up(up(share * length) + products * kTiny);

  const double alpha_depth = sum_depth(static_cast<std::size_t>(alphas)) + ranks;
  const Interval gain = enclose_gain<Loss>({more, less}, rows, alpha_depth);
  const Interval half = half_square(std::span<const double>(v).first(problem.regularised()));
  const double long_norm = up(up(up(std::sqrt(up(2 * half.high))) * (1 + 4 * kUnit)) + off);
  const double short_norm = std::max(0.0, std::sqrt(2 * half.low) * (1 - 8 * kUnit) - off);
  Interval dual = {down(gain.low - up(up(long_norm * long_norm) / 2)),
                   up(gain.high - down(down(short_norm * short_norm) / 2))};
  if (problem.free_bias) {
    // sum_i alpha_i y_i should be 0. What is left of it costs as much times |b| at the optimum.
    const auto [least, most] = bound_of_bias<Loss>(problem, primal, longest, comm);
    const double left = std::abs(v.back()),
                 doubt = up(of_sums * enclose_sum(total, alpha_depth, 0).high);
    dual.low = down(dual.low - up(up(up(left * (1 + 4 * kUnit)) + doubt) * most));
    dual.high =
        up(dual.high - std::max(0.0, (left * (1 - 4 * kUnit) - doubt) * least * (1 - 8 * kUnit)));
  }
  return dual;
}

template <class Loss, bool twice>
Proof prove(const Loss& loss, const Problem& problem, std::span<const double> w,
            std::span<const double> alpha, bool bounded, Pool& pool, Comm* comm) {
  const std::vector<std::uint64_t> cuts = cut_rows(*problem.data);
  const std::size_t blocks = cuts.size() - 1;
  std::vector<LossPart> losses(blocks);
  // v is summed in parts, each up to three vectors as long as w: few, and where rows are few
  // against columns only one.
  const std::size_t worth = problem.data->nonzeros() / (48 * problem.dimension() + 1);
  const std::size_t parts =
      !bounded ? 0 : std::clamp<std::size_t>(worth, 1, std::clamp<std::size_t>(blocks, 1, 16));
  std::vector<Combination> sums(parts);
  problem.data->visit([&](const auto& m) {
    pool.run(parts + blocks, [&](std::size_t block) {
      const PlainArithmetic plain;
      if (block < parts) {
        const std::uint64_t begin = cuts[blocks * block / parts],
                            end = cuts[blocks * (block + 1) / parts];
        sums[block] = combine<twice>(problem, m, alpha, begin, end, pool);
      } else {
        losses[block - parts] = loss_part<Loss, twice>(loss, problem, m, w, cuts[block - parts],
                                                       cuts[block - parts + 1]);
      }
    });
  });
  LossPart all;
  double depth = 0;  // of a sum over rows
  for (std::size_t b = 0; b < blocks; ++b) {
    all.loss += losses[b].loss;
    all.doubt += losses[b].doubt;
    all.underflows += losses[b].underflows;
    all.square = std::max(all.square, losses[b].square);
    all.most = std::max(all.most, losses[b].most);
    depth = std::max(depth, sum_depth(cuts[b + 1] - cuts[b]));
  }
  depth += static_cast<double>(blocks) + 3 + Loss::kRoundings;
  if (comm != nullptr) {
    double sums_of_ranks[] = {all.loss, all.doubt, all.underflows};
    comm->sum(sums_of_ranks);
    all.loss = sums_of_ranks[0];
    all.doubt = sums_of_ranks[1];
    all.underflows = sums_of_ranks[2];
    all.square = comm->max(all.square);
    all.most = comm->max(all.most);
    depth = comm->max(depth) + comm->size();
  }
  const Interval half = half_square(w.first(problem.regularised()));
  const Interval lost = enclose_sum(all.loss, depth, all.underflows);
  const double doubt = up(2 * enclose_sum(all.doubt, depth, all.underflows).high);
  const Interval primal = {std::max(0.0, down(half.low + std::max(0.0, down(lost.low - doubt)))),
                           lost.high == 0 ? half.high : up(half.high + lost.high)};
  if (!bounded) return make_proof(primal, nullptr);
  const Interval longest = enclose_sum(all.square, all.most + 1, all.most);
  const Interval dual = dual_value<Loss, twice>(loss, problem, alpha, sums, primal, longest, comm);
  return make_proof(primal, &dual);
}

}  // namespace

void set_gap(Certificate& certificate) {
  const PlainArithmetic plain;
  const double left = certificate.primal - certificate.dual;
  const double gap = left == 0 ? 0.0 : up(up(left) / certificate.primal);
  const bool unknown = certificate.bound == "none" || certificate.primal < 0 || !std::isfinite(gap);
  certificate.relative_gap = unknown                   ? 1.0
                             : certificate.primal == 0 ? 0.0
                                                       : std::clamp(gap, 0.0, 1.0);
}

bool reaches(const Certificate& certificate, const Origin& asked) {
  if (!certificate.known()) return false;
  if (asked.gap > 0 && certificate.relative_gap <= asked.gap) return true;
  if (asked.target > 0 && certificate.primal <= asked.target) return true;
  if (!certificate.bounded()) return false;
  const PlainArithmetic plain;
  const double left = certificate.primal - certificate.dual;
  const double gap = left == 0 ? 0.0 : up(left);
  if (asked.gap_absolute > 0 && gap <= asked.gap_absolute) return true;
  const double unit = down(asked.cost * static_cast<double>(asked.rows));
  return asked.gap_per_row > 0 && unit > 0 && up(gap / unit) <= asked.gap_per_row;
}

double absolute_goal(const Origin& asked) {
  return std::max(asked.gap_absolute,
                  asked.gap_per_row * asked.cost * static_cast<double>(asked.rows));
}

namespace {

double gap_asked(const Origin& asked, double primal) {
  if (!(primal > 0)) return asked.gap;
  return std::max(asked.gap, std::min(1.0, absolute_goal(asked) / primal));
}

}  // namespace

double relative_goal(const Origin& asked, double primal, double dual) {
  const double gap = gap_asked(asked, primal);
  // P is at the target where (P - D)/P is 1 - D/target, D being this bound.
  return asked.target > dual ? std::max(gap, 1 - dual / asked.target) : gap;
}

double gap_to_certify(const Origin& asked, double primal) {
  const double gap = gap_asked(asked, primal);
  return gap > 0 ? gap : 1;
}

Proof make_proof(const Interval& primal, const Interval* dual) {
  Proof proof;
  proof.primal = primal.high;
  proof.primal_low = primal.low;
  proof.bound = "none";
  if (dual != nullptr) {
    proof.bound = "witness";
    proof.dual = dual->low > 0 ? dual->low : 0.0;
    proof.dual_high = dual->high;
    if (proof.dual > proof.primal) {
      throw std::logic_error("the bound is above the primal value");
    }
  }
  set_gap(proof);
  return proof;
}

Proof certify(const Problem& problem, std::span<const double> w, std::span<const double> alpha,
              Pool& pool, Comm* comm, double gap) {
  const PlainArithmetic plain;
  // A rank without rows has no alpha, and a bound if the others have one.
  const bool bounded = comm == nullptr
                           ? !alpha.empty()
                           : comm->sum(alpha.size() == problem.y.size() ? 0.0 : 1.0) == 0;
  return visit_loss(problem.loss, [&]<class Loss>(const Loss& loss) {
    Proof proof = prove<Loss, false>(loss, problem, w, alpha, bounded, pool, comm);
    const double rounding = proof.rounding();
    const double most = problem.data->nonzeros() <= kFewValues ? kMostOfFew : most_rounding(gap);
    if (comm == nullptr && rounding > most * proof.primal) {
      proof = prove<Loss, true>(loss, problem, w, alpha, bounded, pool, nullptr);
    }
    proof.plain_rounding = rounding;
    return proof;
  });
}

}  // namespace hinge
