// Map: solvers -> Reader (lines and located errors -> header -> weights) -> writer.
#include "model/liblinear_file.h"

#include <fast_float/fast_float.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/digits.h"
#include "base/error.h"
#include "hinge/files.h"

namespace hinge {
namespace {

constexpr std::string_view kMagic = "solver_type ";
constexpr std::string_view kOurSolver = "L2R_L1LOSS_SVC_DUAL";  // of the hinge,
constexpr std::string_view kOfSquaredHinge = "L2R_L2LOSS_SVC";  // and of the squared hinge
constexpr std::string_view kOfSquaredHingeByDual = "L2R_L2LOSS_SVC_DUAL";
constexpr std::string_view kOfLogistic = "L2R_LR";  // of the logistic loss
constexpr std::string_view kOfLogisticByDual = "L2R_LR_DUAL";
constexpr std::string_view kCrammerSinger = "MCSVM_CS";
constexpr std::string_view kOrigin = "liblinear:";  // how origin.solver begins

// LIBLINEAR counts in int, and takes one feature more for the bias.
constexpr std::uint64_t kMostCount = std::numeric_limits<std::int32_t>::max() - 1;
constexpr std::size_t kMostDigits = 100;  // bytes of a number; LIBLINEAR writes up to 24

struct Solver {
  std::string_view name;
  std::string_view instead;  // what it does if it does not classify
};
constexpr auto kSolvers = std::to_array<Solver>({{kOfLogistic, ""},
                                                 {kOfSquaredHingeByDual, ""},
                                                 {kOfSquaredHinge, ""},
                                                 {kOurSolver, ""},
                                                 {kCrammerSinger, ""},
                                                 {"L1R_L2LOSS_SVC", ""},
                                                 {"L1R_LR", ""},
                                                 {kOfLogisticByDual, ""},
                                                 {"L2R_L2LOSS_SVR", "predicts numbers"},
                                                 {"L2R_L2LOSS_SVR_DUAL", "predicts numbers"},
                                                 {"L2R_L1LOSS_SVR_DUAL", "predicts numbers"},
                                                 {"ONECLASS_SVM", "finds outliers"}});

std::string quoted(std::string_view token) {
  constexpr std::size_t kMost = 40;
  return fmt::format("\"{}{}\"", escape(token.substr(0, kMost)), token.size() > kMost ? "..." : "");
}

// Takes the next token off the front of a line. One blank ends a token; after the last it may be
// missing.
std::string_view take_token(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view token = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return token;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& path) : text_(text), path_(path) {}
  Model read();

 private:
  void next_line(std::string_view expected);
  std::string_view value_of(std::string_view key);
  std::string read_solver();
  std::uint64_t read_count(std::string_view key, std::uint64_t least);
  std::vector<std::int64_t> read_labels(std::uint64_t count);
  void check_distinct(const std::vector<std::int64_t>& labels) const;
  double read_number(std::string_view token, std::string_view what) const;
  void check_room(std::uint64_t lines, std::uint64_t width) const;
  void read_line(std::vector<double>& numbers, std::string_view what);
  void read_bias(Model& model, double feature);

  void check_length(std::string_view token) const;

  // `problem` is the id after "model."; `token` lies in the text, and may be empty.
  [[noreturn]] void reject(std::string_view problem, std::string_view token,
                           std::string message) const {
    reject_as(fmt::format("model.{}", problem), token, std::move(message));
  }
  [[noreturn]] void reject_as(std::string id, std::string_view token, std::string message) const;

  std::string_view text_;
  const std::string& path_;
  std::string_view line_;     // without its end
  std::size_t next_ = 0;      // where the line after it begins
  std::uint64_t number_ = 0;  // of the line, from 1
};

void Reader::reject_as(std::string id, std::string_view token, std::string message) const {
  constexpr std::size_t kAround = 60;
  const auto at = static_cast<std::size_t>(token.data() - line_.data());
  const std::size_t from = at > kAround ? at - kAround : 0;
  Error error = make_error(std::move(id), std::move(message));
  error.file = path_;
  error.line = number_;
  error.column = at + 1;
  error.offset = static_cast<std::uint64_t>(token.data() - text_.data());
  error.excerpt = line_.substr(from, 2 * kAround);
  error.caret = static_cast<std::uint32_t>(at - from);
  error.caret_length = static_cast<std::uint32_t>(std::min(token.size(), kAround));
  throw Failure{std::move(error)};
}

void Reader::check_length(std::string_view token) const {
  if (token.size() <= kMostDigits) return;
  reject_as("limit.token", token,
            fmt::format("a number of {} bytes; at most {} are read", token.size(), kMostDigits));
}

void Reader::next_line(std::string_view expected) {
  ++number_;
  const std::size_t end = text_.find('\n', next_);
  line_ = text_.substr(next_, end == std::string_view::npos ? end : end - next_);
  if (end == std::string_view::npos) {
    reject("truncated", line_.substr(line_.size()),
           fmt::format("the file ends within {}", expected));
  }
  next_ = end + 1;
  if (line_.ends_with('\r')) line_.remove_suffix(1);
}

// The rest of the next line, which must begin with `key`.
std::string_view Reader::value_of(std::string_view key) {
  next_line("the header");
  std::string_view rest = line_;
  const std::string_view found = take_token(rest);
  if (found != key) {
    reject("header", found, fmt::format("expected \"{}\", found {}", key, quoted(found)));
  }
  return rest;
}

std::string Reader::read_solver() {
  const std::string_view name = value_of("solver_type");
  const auto solver = std::ranges::find(kSolvers, name, &Solver::name);
  if (solver == kSolvers.end()) {
    reject("header", name, fmt::format("unknown solver {}", quoted(name)));
  }
  if (!solver->instead.empty()) {
    reject("header", name, fmt::format("a {} model {}; hinge classifies", name, solver->instead));
  }
  return std::string(name);
}

std::uint64_t Reader::read_count(std::string_view key, std::uint64_t least) {
  const std::string_view token = value_of(key);
  check_length(token);
  const char* const end = token.data() + token.size();
  std::uint64_t count = 0;
  const auto result = std::from_chars(token.data(), end, count);
  if (result.ec != std::errc() || result.ptr != end || count < least || count > kMostCount) {
    reject("header", token,
           fmt::format("{}: expected a whole number from {} to {}, found {}", key, least,
                       kMostCount, quoted(token)));
  }
  return count;
}

std::vector<std::int64_t> Reader::read_labels(std::uint64_t count) {
  std::string_view rest = value_of("label");
  std::vector<std::int64_t> labels;
  while (!rest.empty()) {
    const std::string_view token = take_token(rest);
    if (labels.size() == count) {
      reject("content", token, fmt::format("more than {} labels", count));
    }
    check_length(token);
    const char* const end = token.data() + token.size();
    std::int32_t label = 0;
    const auto result = std::from_chars(token.data(), end, label);
    if (result.ec != std::errc() || result.ptr != end) {
      reject("content", token,
             fmt::format("expected a label, a whole number of 32 bits, found {}", quoted(token)));
    }
    labels.push_back(label);
  }
  if (labels.size() < count) {
    reject("content", rest, fmt::format("{} labels instead of {}", labels.size(), count));
  }
  check_distinct(labels);
  return labels;
}

void Reader::check_distinct(const std::vector<std::int64_t>& labels) const {
  std::vector<std::int64_t> sorted = labels;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return;
  std::string_view rest = line_, token = take_token(rest);
  int seen = 0;
  for (const std::int64_t label : labels) {
    token = take_token(rest);
    if (label == *twice && ++seen == 2) break;
  }
  reject("content", token, fmt::format("the label {} occurs twice", *twice));
}

double Reader::read_number(std::string_view token, std::string_view what) const {
  check_length(token);
  const char* const end = token.data() + token.size();
  double value = 0;
  if (token.empty() || fast_float::from_chars(token.data(), end, value).ptr != end) {
    reject("content", token, fmt::format("{} is not a number: {}", what, quoted(token)));
  }
  if (!std::isfinite(value)) {
    reject("content", token, fmt::format("{} is not a finite number: {}", what, quoted(token)));
  }
  return value;
}

// Before memory is taken: a weight is a digit and what ends it. A quotient cannot overflow.
void Reader::check_room(std::uint64_t lines, std::uint64_t width) const {
  const std::uint64_t left = text_.size() - next_;
  if (lines > left / (2 * width)) {
    reject("truncated", line_,
           fmt::format("{} lines of {} weights do not fit the {} bytes that follow", lines, width,
                       left));
  }
}

void Reader::read_line(std::vector<double>& numbers, std::string_view what) {
  next_line("the weights");
  std::string_view rest = line_;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (rest.empty()) {
      reject("content", rest, fmt::format("{} numbers instead of {}", k, numbers.size()));
    }
    numbers[k] = read_number(take_token(rest), what);
  }
  if (!rest.empty()) {
    reject("content", rest, fmt::format("more than {} numbers", numbers.size()));
  }
}

void Reader::read_bias(Model& model, double feature) {
  std::vector<double> line(model.problems.size());
  read_line(line, "the weight of the bias");
  for (std::size_t k = 0; feature > 0 && k < line.size(); ++k) {
    model.problems[k].bias = line[k] * feature;
    if (!std::isfinite(model.problems[k].bias)) {
      reject("content", line_, "the bias is too large for a double");
    }
  }
}

Model Reader::read() {
  Model model;
  const std::string solver = read_solver();
  const std::uint64_t classes = read_count("nr_class", 2);
  if (solver == kCrammerSinger && classes == 2) {
    reject("header", line_,
           fmt::format(
               "a {} model of two classes has two hyperplanes; hinge reads those of three or more",
               solver));
  }
  model.labels = read_labels(classes);
  model.features = read_count("nr_feature", 1);
  const double feature = read_number(value_of("bias"), "the bias");
  if (const std::string_view rest = value_of("w"); line_ != "w") {
    reject("header", rest,
           fmt::format("nothing follows \"w\" on its line, found {}", quoted(rest)));
  }
  const std::size_t width = classes == 2 ? 1 : classes;
  check_room(model.features + (feature >= 0 ? 1 : 0), width);

  model.origin.solver = fmt::format("{}{}", kOrigin, solver);
  if (solver == kOfSquaredHinge || solver == kOfSquaredHingeByDual) {
    model.origin.loss = LossKind::squared_hinge;
  }
  if (solver == kOfLogistic || solver == kOfLogisticByDual) {
    model.origin.loss = LossKind::logistic;
  }
  model.origin.bias_feature = feature > 0 ? feature : 0.0;
  model.origin.status = StopReason::limit;  // nobody has proved that it converged
  model.problems.resize(width);
  for (std::size_t k = 0; k < width; ++k) {
    model.problems[k].label = model.labels[k];
    model.problems[k].certificate.bound = "none";
  }
  model.weights.resize(width * model.features);
  std::vector<double> line(width);
  for (std::size_t j = 0; j < model.features; ++j) {
    read_line(line, "a weight");
    for (std::size_t k = 0; k < width; ++k) model.weights[k * model.features + j] = line[k];
  }
  if (feature >= 0) read_bias(model, feature);
  if (next_ < text_.size()) {
    ++number_;
    line_ = text_.substr(next_, text_.find('\n', next_) - next_);
    reject("trailing", line_, fmt::format("{} bytes after the last weight", text_.size() - next_));
  }
  return model;
}

// A number w with w * feature == bias where there is one: division alone may miss it by a rounding,
// and then a model would change whenever it is read and written.
double bias_weight(double bias, double feature) {
  if (feature == 0) return 0;
  const double quotient = bias / feature;
  double below = quotient, above = quotient;
  for (int step = 0; step < 3; ++step) {
    if (below * feature == bias) return below;
    if (above * feature == bias) return above;
    below = std::nextafter(below, -HUGE_VAL);
    above = std::nextafter(above, HUGE_VAL);
  }
  return quotient;
}

// A model that came from LIBLINEAR keeps the name of its solver: only that says whether its scores
// are probabilities.
std::string_view solver_name(const Model& model) {
  std::string_view name = model.origin.solver;
  const std::string_view ours = model.origin.loss == LossKind::squared_hinge ? kOfSquaredHinge
                                : model.origin.loss == LossKind::logistic    ? kOfLogistic
                                                                             : kOurSolver;
  if (!name.starts_with(kOrigin)) return ours;
  name.remove_prefix(kOrigin.size());
  const auto solver = std::ranges::find(kSolvers, name, &Solver::name);
  const bool fits = solver != kSolvers.end() && solver->instead.empty() &&
                    !(name == kCrammerSinger && model.binary());
  return fits ? name : ours;
}

std::string header_text(const Model& model) {
  std::string text =
      fmt::format("{}{}\nnr_class {}\nlabel", kMagic, solver_name(model), model.labels.size());
  for (const std::int64_t label : model.labels) {
    text += ' ';
    append_number(text, label);
  }
  text += fmt::format("\nnr_feature {}\nbias ", model.features);
  append_number(text, model.origin.bias_feature > 0 ? model.origin.bias_feature : -1.0);
  return text + "\nw\n";
}

}  // namespace

bool begins_like_liblinear(std::string_view head) {
  const std::size_t size = std::min(head.size(), kMagic.size());
  return size > 0 && head.substr(0, size) == kMagic.substr(0, size);
}

Model read_liblinear(std::string_view text, const std::string& path) {
  return Reader(text, path).read();
}

void check_liblinear(const Model& model) {
  const auto refuse = [](std::string why) {
    fail("model.format", fmt::format("LIBLINEAR's format cannot hold this model: {}", why),
         "write the native format");
  };
  const double feature = model.origin.bias_feature;
  if (!model.kernel.linear()) refuse("LIBLINEAR has no kernels");
  if (model.index_base != 1) refuse("LIBLINEAR counts features from 1, the model from 0");
  if (model.stream && model.labels.size() == 1) refuse("it has one label, LIBLINEAR takes two");
  if (model.reject) refuse("LIBLINEAR always chooses a class, the model rejects rows");
  if (model.features == 0 || model.features > kMostCount) {
    refuse(fmt::format("it has {} features, LIBLINEAR takes 1 to {}", model.features, kMostCount));
  }
  if (!model.class_names.empty()) refuse("its classes have names, LIBLINEAR's are whole numbers");
  for (const std::int64_t label : model.labels) {
    if (label != static_cast<std::int32_t>(label)) {
      refuse(fmt::format("the label {} does not fit 32 bits", label));
    }
  }
  for (const BinaryProblem& problem : model.problems) {
    if (problem.bias != 0 && feature == 0) refuse("it has a bias but no constant feature");
    if (!std::isfinite(bias_weight(problem.bias, feature))) refuse("the bias is too large");
  }
}

void write_liblinear(const Model& model, const std::string& path) {
  check_liblinear(model);
  if (model.shared()) return write_liblinear(take(write_out(model)), path);
  const std::size_t width = model.problems.size();
  OutputFile out = take(OutputFile::create(path));
  take(out.write(header_text(model)));
  std::string line;
  for (std::size_t j = 0, next = 0; j < model.features; ++j) {
    const bool present =
        model.columns.empty() || (next < model.columns.size() && model.columns[next] == j);
    line.clear();
    for (std::size_t k = 0; k < width; ++k) {
      append_number(line, present ? model.weights_of(k)[next] : 0.0);
      line += ' ';
    }
    next += present;
    take(out.write(line += '\n'));
  }
  if (model.origin.bias_feature > 0) {
    line.clear();
    for (const BinaryProblem& problem : model.problems) {
      append_number(line, bias_weight(problem.bias, model.origin.bias_feature));
      line += ' ';
    }
    take(out.write(line += '\n'));
  }
  take(out.commit());
}

}  // namespace hinge
