// The one table of training options. Each row knows how to read its value from text; ranges are
// checked here and nowhere else.
#include "hinge/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>

#include "base/error.h"

namespace hinge {
namespace {

constexpr int kMaxThreads = 4096;
constexpr double kMaxCost = 1e300;  // beyond it the objective overflows

[[noreturn]] void bad_value(const OptionInfo& info, std::string_view text) {
  fail("usage.value",
       fmt::format("--{}: expected {}, got \"{}\"", info.name, info.range, escape(text)));
}

// Complaints show `shown`, the whole value, where `text` is a part of it.
double number(const OptionInfo& info, std::string_view text, std::string_view shown) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() ||
      !std::isfinite(value)) {
    bad_value(info, shown);
  }
  return value;
}

double number(const OptionInfo& info, std::string_view text) {
  return number(info, text, text);
}

template <class Integer>
Integer whole(const OptionInfo& info, std::string_view text, std::string_view shown) {
  Integer value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) bad_value(info, shown);
  return value;
}
template <class Integer>
Integer whole(const OptionInfo& info, std::string_view text) {
  return whole<Integer>(info, text, text);
}

using Setter = void (*)(TrainOptions&, const OptionInfo&, std::string_view);

struct Row {
  OptionInfo info;
  Setter set;
};

void set_solver(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  static constexpr std::string_view kLiblinear[] = {"L2-regularised logistic regression (primal)",
                                                    "L2-loss SVM (dual)",
                                                    "L2-loss SVM (primal)",
                                                    "",
                                                    "multi-class SVM by Crammer and Singer",
                                                    "L1-regularised L2-loss SVM",
                                                    "L1-regularised logistic regression",
                                                    "L2-regularised logistic regression (dual)"};
  if (text == "auto" || text == "3") {
    o.solver = Solver::automatic;
  } else if (text == "dual") {
    o.solver = Solver::dual;
  } else if (text.size() == 1 && text[0] >= '0' && text[0] <= '7') {
    fail("usage.value", fmt::format("--solver: LIBLINEAR's -s {} is {}; hinge minimises the hinge "
                                    "loss, LIBLINEAR's -s 3",
                                    text, kLiblinear[text[0] - '0']));
  } else {
    bad_value(info, text);
  }
}

void set_bias(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  o.bias =
      text == "none" ? 0.0 : std::max(0.0, number(info, text));  // negative = none, as LIBLINEAR
}

void set_class_weight(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  if (text == "balanced") {
    o.balanced = true;
    return;
  }
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) bad_value(info, text);
  std::string_view label_text = text.substr(0, equals);
  if (label_text.starts_with('+')) label_text.remove_prefix(1);
  const auto label = whole<std::int64_t>(info, label_text, text);
  const double factor = number(info, text.substr(equals + 1), text);
  if (!(factor > 0)) bad_value(info, text);
  o.class_weights.push_back({label, factor});
}

void set_cpu(TrainOptions& o, const OptionInfo& info, std::string_view text) {
  static constexpr std::string_view kNames[] = {"auto", "scalar", "avx2", "avx512"};
  const auto found = std::ranges::find(kNames, text);
  if (found == std::end(kNames)) bad_value(info, text);
  o.instruction_set = static_cast<InstructionSet>(found - std::begin(kNames));
}

double positive(const OptionInfo& info, std::string_view text) {
  const double value = number(info, text);
  if (!(value > 0) || value > kMaxCost) bad_value(info, text);
  return value;
}

constexpr auto kRows = std::to_array<Row>({
    {{"cost", "c", "C", "a finite number > 0", "1",
      "cost of a row inside the margin: minimise 1/2|w|^2 + C sum hinge"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) { o.cost = positive(i, t); }},
    {{"lambda", "", "L", "a finite number > 0", "",
      "the same as --cost 1/(L * rows); give one of the two"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) { o.lambda = positive(i, t); }},
    {{"gap", "", "G", "a number in (0, 1]", "0.001",
      "stop when (primal - bound)/primal <= G, which is proved, not guessed"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.gap = number(i, t);
       if (!(o.gap > 0 && o.gap <= 1)) bad_value(i, t);
     }},
    {{"tolerance", "e", "E", "a number in (0, 100]", "",
      "LIBLINEAR's tolerance, read as --gap E/100"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.gap = number(i, t) / 100;
       if (!(o.gap > 0 && o.gap <= 1)) bad_value(i, t);
     }},
    {{"solver", "s", "NAME", "one of auto, dual", "auto",
      "auto picks by the shape of the data; LIBLINEAR's -s 3 means auto"},
     set_solver},
    {{"bias", "B", "S", "none or a finite number", "none",
      "append the constant feature S to every row, regularised; negative = none"},
     set_bias},
    {{"class-weight", "", "L=W", "balanced, or LABEL=FACTOR with a factor > 0", "",
      "multiply the cost of rows of class L by W (also: -wL W); may be repeated"},
     set_class_weight},
    {{"threads", "n", "N", "a whole number from 0 to 4096", "0",
      "0 = all cores; the model is the same for any number"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.threads = whole<int>(i, t);
       if (o.threads < 0 || o.threads > kMaxThreads) bad_value(i, t);
     }},
    {{"time-limit", "", "S", "a number of seconds >= 0", "",
      "stop after S seconds of training and keep the best model so far"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.time_limit = number(i, t);
       if (!(o.time_limit >= 0)) bad_value(i, t);
     }},
    {{"max-passes", "", "N", "a whole number > 0", "",
      "stop after N passes over the data and keep the best model so far"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.max_passes = whole<std::uint64_t>(i, t);
       if (o.max_passes == 0) bad_value(i, t);
     }},
    {{"reject", "", "", "", "", "several classes: rows without a positive score get no class"},
     [](TrainOptions& o, const OptionInfo&, std::string_view) { o.reject = true; }},
    {{"no-witness", "", "", "", "", "do not keep the proof in the model"},
     [](TrainOptions& o, const OptionInfo&, std::string_view) { o.witness = false; }},
    {{"seed", "", "N", "a whole number from 0 to 2^64 - 1", "1",
      "of the order rows are visited in"},
     [](TrainOptions& o, const OptionInfo& i, std::string_view t) {
       o.seed = whole<std::uint64_t>(i, t);
     }},
    {{"cpu", "", "NAME", "one of auto, scalar, avx2, avx512", "auto",
      "instruction set of the inner loops; the model is the same for any"},
     set_cpu},
});

constexpr auto kInfos = [] {
  std::array<OptionInfo, kRows.size()> infos{};
  for (std::size_t i = 0; i < kRows.size(); ++i) infos[i] = kRows[i].info;
  return infos;
}();

}  // namespace

std::span<const OptionInfo> train_option_table() {
  return kInfos;
}

Result<void> set_option(TrainOptions& options, std::string_view name, std::string_view text) {
  return guard([&] {
    const auto row = std::ranges::find(kRows, name, [](const Row& r) { return r.info.name; });
    if (row == kRows.end()) {
      fail("usage.option", fmt::format("there is no option --{}", escape(name)));
    }
    row->set(options, row->info, text);
  });
}

Result<void> validate(const TrainOptions& o) {
  return guard([&] {
    const auto check = [](bool good, std::string_view message) {
      if (!good) fail("usage.value", std::string(message));
    };
    check(o.cost > 0 && o.cost <= kMaxCost, "cost: expected a finite number > 0");
    check(o.lambda >= 0 && o.lambda <= kMaxCost, "lambda: expected a finite number > 0");
    check(o.gap > 0 && o.gap <= 1, "gap: expected a number in (0, 1]");
    check(std::isfinite(o.bias), "bias: expected a finite number");
    check(o.threads >= 0 && o.threads <= kMaxThreads, "threads: expected 0 to 4096");
    check(o.time_limit >= 0, "time_limit: expected seconds >= 0");
    for (const ClassWeight& w : o.class_weights) {
      check(std::isfinite(w.factor) && w.factor > 0, "class weight: expected a factor > 0");
    }
  });
}

}  // namespace hinge
