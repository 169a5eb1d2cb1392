#include <fmt/core.h>

#include <charconv>
#include <memory>
#include <utility>

#include "cli.h"

namespace hinge::cli {
namespace {

// Returns a field of CSV: the text, in quotes where a comma, a quote or a line end is in it.
std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

// Rows as a table: what stands before a number in each, and what a whole row begins with.
class Table {
 public:
  Table(const Model& model, const Predictions& predictions, const std::vector<double>& likely)
      : model_(model), predictions_(predictions), likely_(likely) {}

  std::string csv();
  std::string json();

 private:
  std::string name(std::int64_t label) const { return model_.class_names.text(label); }
  bool rejected(std::size_t row) const {
    return !predictions_.rejected.empty() && predictions_.rejected[row] != 0;
  }
  void append(double number) {
    char digits[32];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }

  const Model& model_;
  const Predictions& predictions_;
  const std::vector<double>& likely_;
  std::string text_;
};

// A line of names, then a line a row: label, scores, probabilities. Who was given no class has no
// label.
std::string Table::csv() {
  const std::size_t problems = model_.problems.size(), labels = model_.labels.size();
  if (model_.regression()) {
    text_ = "prediction\n";
  } else {
    text_ = "label";
    for (std::size_t k = 0; k < problems; ++k) {
      text_ += problems == 1 ? ",score" : "," + csv_text("score_" + name(model_.labels[k]));
    }
    for (std::size_t k = 0; k < labels && !likely_.empty(); ++k) {
      text_ += "," + csv_text("probability_" + name(model_.labels[k]));
    }
    text_ += '\n';
  }
  const std::size_t rows = problems > 0 ? predictions_.scores.size() / problems : 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (!model_.regression()) {
      if (!rejected(i)) text_ += csv_text(name(predictions_.labels[i]));
      text_ += ',';
    }
    for (std::size_t k = 0; k < problems; ++k) {
      if (k > 0) text_ += ',';
      append(predictions_.scores[i * problems + k]);
    }
    for (std::size_t k = 0; k < labels && !likely_.empty(); ++k) {
      text_ += ',';
      append(likely_[i * labels + k]);
    }
    text_ += '\n';
  }
  return std::move(text_);
}

// A JSON object a line.
std::string Table::json() {
  const std::size_t problems = model_.problems.size(), labels = model_.labels.size();
  const auto as_json = [&](std::int64_t label) { return Json(name(label)).dump(); };
  std::vector<std::string> names;
  for (const std::int64_t label : model_.labels) names.push_back(as_json(label));
  const auto add_all = [&](const char* key, const double* numbers, std::size_t count) {
    text_ += fmt::format(",\"{}\":{{", key);
    for (std::size_t k = 0; k < count; ++k) {
      if (k > 0) text_ += ',';
      text_ += names[k] + ':';
      append(numbers[k]);
    }
    text_ += '}';
  };
  const std::size_t rows = problems > 0 ? predictions_.scores.size() / problems : 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const double* const scores = predictions_.scores.data() + i * problems;
    if (model_.regression()) {
      text_ += "{\"prediction\":";
      append(scores[0]);
    } else {
      text_ += "{\"label\":" + (rejected(i) ? "null" : as_json(predictions_.labels[i]));
      if (problems == 1) {
        text_ += ",\"score\":";
        append(scores[0]);
      } else {
        add_all("scores", scores, problems);
      }
      if (!likely_.empty()) add_all("probabilities", likely_.data() + i * labels, labels);
    }
    text_ += "}\n";
  }
  return std::move(text_);
}

struct Predict {
  Reporter reporter;
  DataArguments data;
  Replacing replacing;
  std::string model_path;
  std::string output = "-";
  std::optional<double> cost;
  bool scores = false;
  int probabilities = 0;
  bool no_labels = false;
  bool csv = false;
  bool json = false;
  int threads = 0;

  int run();
  std::string format(const Model& model, const Predictions& predictions,
                     const std::vector<double>& likely) const;
  void say_accuracy(const Model& model, const Dataset& rows, const Predictions& predictions) const;
};

// Numbers are printed so that reading them back gives the same double. With probabilities a first
// line has the labels, as LIBLINEAR's program prints them.
std::string Predict::format(const Model& model, const Predictions& predictions,
                            const std::vector<double>& likely) const {
  if (csv) return Table(model, predictions, likely).csv();
  if (json) return Table(model, predictions, likely).json();
  const std::size_t problems = model.problems.size(), labels = model.labels.size();
  std::string text;
  if (probabilities != 0) {
    text = "labels";
    for (const std::int64_t label : model.labels) {
      text += ' ' + prediction_text(model.class_names, label);
    }
    text += '\n';
  }
  const auto append = [&](auto number) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  };
  for (std::size_t i = 0; model.regression() && i < predictions.scores.size(); ++i) {
    append(predictions.scores[i]);
    text += '\n';
  }
  for (std::size_t i = 0; i < predictions.labels.size(); ++i) {
    if (!predictions.rejected.empty() && predictions.rejected[i] != 0) {
      text += "none";
    } else if (model.class_names.empty()) {
      append(predictions.labels[i]);
    } else {
      text += prediction_text(model.class_names, predictions.labels[i]);
    }
    for (std::size_t k = 0; scores && k < problems; ++k) {
      text += ' ';
      append(predictions.scores[i * problems + k]);
    }
    for (std::size_t k = 0; probabilities != 0 && k < labels; ++k) {
      text += ' ';
      append(likely[i * labels + k]);
    }
    text += '\n';
  }
  return text;
}

// Says how many are right; nothing where labels cannot be the model's and may stand for none.
void Predict::say_accuracy(const Model& model, const Dataset& rows,
                           const Predictions& predictions) const {
  if (Result<void> same = check_same_labels(model, rows); !same.ok()) {
    reporter.warn({make_warning("data.label.mismatch",
                                same.error().message + "; how many are right is not known")});
    return;
  }
  std::size_t right = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const bool rejected = !predictions.rejected.empty() && predictions.rejected[i] != 0;
    right += !rejected && predictions.labels[i] == rows.labels()[i];
  }
  reporter.log(fmt::format("accuracy {:.4f} % ({} of {})",
                           100 * static_cast<double>(right) / static_cast<double>(rows.rows()),
                           right, rows.rows()));
}

int Predict::run() {
  std::vector<std::string> inputs = data.inputs();
  inputs.push_back(model_path);
  Result<void> checked = replacing.check({{output, FileKind::predictions}}, inputs);
  const bool of_other_kind = !checked.ok() && checked.error().id == "io.replace";
  if (!checked.ok() && !of_other_kind) return reporter.fail(checked.error(), "nothing predicted");
  Result<Model> model = load_model(model_path, cost, &stop_flag());
  if (of_other_kind && model.ok() && !model->class_names.empty()) {
    // Only who knows the names of classes can tell a list of them from other text.
    const Output named = {output, FileKind::predictions, false, model->class_names};
    checked = replacing.check({named}, inputs);
  }
  if (!checked.ok()) return reporter.fail(checked.error(), "nothing predicted");
  if (!model.ok()) return reporter.fail(model.error(), "nothing predicted");
  if (probabilities != 0) {  // better known before rows are read
    const Result<std::vector<double>> none = hinge::probabilities(*model, {});
    if (!none.ok()) return reporter.fail(none.error(), "nothing predicted");
  }
  Result<Dataset> rows = load_for(*model, data, !no_labels, threads, reporter);
  if (!rows.ok()) return reporter.fail(rows.error(), "nothing predicted");
  Result<Predictions> predictions = predict(*model, *rows, threads, &stop_flag());
  if (!predictions.ok()) return reporter.fail(predictions.error());
  if (stop_flag().load()) return signal_exit_code();  // nothing is written
  Result<OutputFile> out = OutputFile::create(output);
  if (!out.ok()) return reporter.fail(out.error(), "nothing predicted");
  std::vector<double> likely;
  if (probabilities != 0 || ((csv || json) && has_probabilities(*model))) {
    Result<std::vector<double>> found = hinge::probabilities(*model, *predictions);
    if (!found.ok()) return reporter.fail(found.error(), "nothing predicted");
    likely = std::move(*found);
  }
  if (Result<void> r = out->write(format(*model, *predictions, likely)); !r.ok()) {
    return reporter.fail(r.error());
  }
  if (Result<void> r = out->commit(); !r.ok()) return reporter.fail(r.error());
  if (!no_labels && model->regression()) {
    const Result<Metrics> metrics = evaluate(*model, *rows, *predictions, &stop_flag());
    if (!metrics.ok()) return reporter.fail(metrics.error());
    reporter.log(regression_text(*metrics->regression));
  } else if (!no_labels) {
    say_accuracy(*model, *rows, *predictions);
  }
  return 0;
}

// Rows ascend by column, so what a model does not know is the tail of a row.
std::uint64_t values_beyond(const Dataset& data, std::uint64_t features) {
  if (data.features() <= features) return 0;
  return data.visit([&](const auto& m) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < m.rows; ++i) {
      std::size_t known = m.size_of(i);
      while (known > 0 && m.columns_of(i)[known - 1] >= features) --known;
      count += m.size_of(i) - known;
    }
    return count;
  });
}

}  // namespace

Result<Dataset> load_for(const Model& model, DataArguments& data, bool labels, int threads,
                         const Reporter& reporter) {
  // The model says how its features are numbered; values are read as double.
  if (data.read.index_base == IndexBase::automatic) {
    data.read.index_base = model.index_base == 0 ? IndexBase::zero : IndexBase::one;
  }
  data.read.precision = Precision::f64;
  data.read.labels = labels;
  data.read.real_labels = model.regression();
  data.read.threads = threads;
  Result<Dataset> rows = data.load(reporter);
  if (!rows.ok()) return rows;
  if (labels && model.regression()) {
    if (Result<void> r = data.check_targets(*rows); !r.ok()) return r.error();
  } else if (labels) {  // a class shall have the same label in both
    rows = rows->with_class_names(model.class_names);
    if (!rows.ok()) {
      Error error = rows.error();
      error.file = data.name();
      return error;
    }
  }
  std::vector<Error> warnings;
  const auto warn = [&](const char* id, std::string message) {
    warnings.push_back(make_warning(id, std::move(message)));
  };
  const bool any_counts = model.kernel.kind == KernelKind::rbf;  // in the length of its row
  const std::uint64_t ignored = any_counts ? 0 : values_beyond(*rows, model.features);
  if (ignored > 0) {
    warn("data.index.unseen",
         fmt::format("{} values were ignored: the data has features up to {}, the model up to {}",
                     ignored, rows->features(), model.features));
  }
  std::string unseen;
  std::uint64_t count = 0;
  for (const LabelCount& c : rows->classes()) {
    if (!labels || model.regression() || !check_same_labels(model, *rows).ok() ||
        std::ranges::find(model.labels, c.label) != model.labels.end())
      continue;
    count += c.rows;
    if (unseen.size() < 60) {
      unseen += fmt::format(" {}", escape(rows->class_names().text(c.label)));
    }
  }
  if (count > 0) {
    warn("data.label.unseen",
         fmt::format("{} rows have labels the model does not know:{}", count, unseen));
  }
  reporter.warn(warnings);
  return rows;
}

void add_predict(CLI::App& app, Action& action) {
  auto predict = std::make_shared<Predict>();
  CLI::App* command =
      app.add_subcommand("predict", "Print one label a row; of a model of regression one number.");
  predict->data.add_source_to(*command, "DATA", kDataHelp);
  command->add_option("MODEL", predict->model_path, "as written by train, or by LIBLINEAR")
      ->required();
  command->add_option("OUT", predict->output, "where to write; default: standard output");
  command->add_flag(
      "--scores", predict->scores,
      "add the decision values: one, or one a class in the order of the model's labels");
  command
      ->add_option("-b,--probabilities", predict->probabilities,
                   "1: add how likely each label is, after a line that names them, as LIBLINEAR "
                   "does; of a model of the logistic loss")
      ->type_name("0|1")
      ->check(CLI::Range(0, 1))
      ->excludes("--scores");
  CLI::Option* csv = command->add_flag(
      "--csv", predict->csv,
      "a line of names, then one a row: label, scores, and probabilities if the model has them");
  csv->excludes("--scores")->excludes("--probabilities");
  command->add_flag("--json", predict->json, "the same as a JSON object a row")
      ->excludes("--scores")
      ->excludes("--probabilities")
      ->excludes(csv);
  command->add_flag("--no-labels", predict->no_labels, "rows of DATA have no label");
  add_cost(*command, predict->cost);
  add_threads(*command, predict->threads);
  predict->data.add_to(*command, false);
  predict->replacing.add_to(*command);
  predict->reporter.add_to(*command);
  command->footer(
      "Example: hinge predict new.svm news.model labels.txt\n"
      "         hinge predict new.svm news.model labels.csv --csv");
  command->callback([predict, &action] { action = [predict] { return predict->run(); }; });
}

}  // namespace hinge::cli
