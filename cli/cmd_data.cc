// The small commands about data: generate, split, info; and explain.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <span>

#include "cli.h"

namespace hinge::cli {
namespace {

struct Info {
  Reporter reporter;
  DataArguments data;
  bool json = false;

  int run() {
    if (looks_like_checkpoint(data.name())) return checkpoint();
    return looks_like_model(data.name()) ? model() : dataset();
  }

 private:
  int checkpoint();
  int model();
  int dataset();
  int show(const Json& object) const;
  int show(Json object, const std::string& table, const std::string& name, const Json& list) const;
  int show_path(Json object, std::span<const Model> models) const;
  int show_classes(Json object, const Model& model) const;
};

// A JSON object as `name value` lines; nested objects indented.
std::string as_text(const Json& object, const std::string& indent = "") {
  std::string out;
  for (std::size_t k = 0; k < object.names().size(); ++k) {
    const std::string& name = object.names()[k];
    const Json& value = object.values()[k];
    if (value.is_object()) {
      out += fmt::format("{}{}\n{}", indent, escape(name), as_text(value, indent + "  "));
    } else {
      out += fmt::format("{}{:<{}} {}\n", indent, escape(name), 18 - indent.size(),
                         value.is_string() ? escape(value.get<std::string>()) : value.dump());
    }
  }
  return out;
}

int Info::show(const Json& object) const {
  const Result<void> printed = print(json ? object.dump() + "\n" : as_text(object));
  return printed.ok() ? 0 : reporter.fail(printed.error());
}

// Shows an object with one list besides, `name`, which people read as a table.
int Info::show(Json object, const std::string& table, const std::string& name,
               const Json& list) const {
  const std::string text = as_text(object) + table;
  object.add(name, list);
  const Result<void> printed = print(json ? object.dump() + "\n" : text);
  return printed.ok() ? 0 : reporter.fail(printed.error());
}

int Info::checkpoint() {
  std::vector<Error> warnings;
  const Result<CheckpointInfo> info = read_checkpoint(data.name(), warnings);
  if (!info.ok()) return reporter.fail(info.error());
  reporter.warn(warnings);
  Json options = Json::object();
  for (std::size_t k = 0; k < info->options.size(); ++k) {
    auto [name, text] = info->options[k];
    for (; k + 1 < info->options.size() && info->options[k + 1].first == name; ++k) {
      text += " " + info->options[k + 1].second;
    }
    options.add(name, text);
  }
  return show({{"kind", "checkpoint"},
               {"written_by", info->written_by},
               {"solver", info->solver},
               {"problems", info->problems},
               {"done", info->done},
               {"begun", info->begun},
               {"data_passes", info->passes},
               {"relative_gap", info->relative_gap},
               {"options", options},
               {"trained_on",
                {{"rows", info->rows},
                 {"features", info->features},
                 {"nonzeros", info->nonzeros},
                 {"precision", info->precision == Precision::f32 ? "f32" : "f64"},
                 {"index_base", info->index_base},
                 {"weights", info->row_weights},
                 {"fingerprint", info->fingerprint}}}});
}

// A table of certificates: its head, and one line of it. `name` and `status` stand at the ends.
std::string table_head(std::string_view name, std::string_view status) {
  return fmt::format("\n{:>11} {:>14} {:>14} {:>9}  {}\n", name, "primal", "bound", "gap", status);
}
std::string table_line(const std::string& name, const Certificate& c, std::string_view status) {
  const bool bound = c.bounded();
  return fmt::format("{:>11} {:>14} {:>14} {:>9}  {}\n", name,
                     c.known() ? fmt::format("{:.8g}", c.primal) : "-",
                     bound ? fmt::format("{:.8g}", c.dual) : "-",
                     bound ? fmt::format("{:.2g}", c.relative_gap) : "-", status);
}

void add_certificate(Json& object, const Certificate& c) {
  object.add("primal", primal_json(c));
  object.add("dual", or_null(c, c.dual));
  object.add("relative_gap", or_null(c, c.relative_gap));
}

// The models of a file with several: a table below what they have in common.
int Info::show_path(Json object, std::span<const Model> models) const {
  Json list = Json::list();
  std::string table = table_head("cost", "status");
  for (const Model& model : models) {
    const Certificate c = model.certificate();
    const std::string_view status = to_string(model.origin.status);
    Json entry = {{"cost", model.origin.cost}, {"status", status}};
    add_certificate(entry, c);
    list.push_back(std::move(entry));
    table += table_line(fmt::format("{:.6g}", model.origin.cost), c, status);
  }
  return show(std::move(object), table, "models", list);
}

// How good each hyperplane of several classes is, as a table below the rest; of very many those
// with the largest gaps.
int Info::show_classes(Json object, const Model& model) const {
  constexpr std::size_t kMostLines = 40;
  const std::vector<std::size_t> candidates = model.candidates();
  std::vector<std::size_t> order(model.problems.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Json list = Json::list();
  for (const BinaryProblem& p : model.problems) {
    Json entry = {{"class", model.class_names.text(p.label)}};
    add_certificate(entry, p.certificate);
    list.push_back(std::move(entry));
  }
  if (order.size() > kMostLines) {
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t k) {
      return model.problems[k].certificate.relative_gap;
    });
    order.resize(kMostLines);
  }
  std::string table = table_head("class", "");
  for (const std::size_t k : order) {
    const BinaryProblem& p = model.problems[k];
    const bool wins = std::ranges::binary_search(candidates, k);
    table += table_line(escape(model.class_names.text(p.label)), p.certificate,
                        wins ? "" : "nothing was learned: it is never predicted");
  }
  const std::size_t left = model.problems.size() - order.size();
  if (left > 0) table += fmt::format("and {} classes with smaller gaps\n", left);
  return show(std::move(object), table, "problems", list);
}

int Info::model() {
  const Result<std::vector<Model>> models = load_models(data.name(), &stop_flag());
  if (!models.ok()) return reporter.fail(models.error());
  const Model* model = &models->front();  // what is said of all of them, it says
  const bool several = models->size() > 1;
  const Origin& o = model->origin;
  const Certificate c = model->certificate();
  Json labels = Json::list();
  for (const std::int64_t label : model->labels) labels.push_back(model->class_names.text(label));
  const bool witness = !model->problems.front().witness.empty();
  const bool known = o.rows > 0;  // else another program trained it, and only the weights are known
  const auto or_null = [known](const auto& value) { return known ? Json(value) : Json(); };
  const bool bound = c.bounded();
  const Json trained_on = {{"rows", o.rows},
                           {"nonzeros", o.nonzeros},
                           {"precision", o.precision == Precision::f32 ? "f32" : "f64"},
                           {"fingerprint", o.fingerprint}};
  Json object = {{"kind", several ? "path" : "model"},
                 {"classes", labels},
                 {"features", model->features},
                 {"index_base", model->index_base},
                 {"bias", o.free_bias           ? Json("free")
                          : o.bias_feature == 0 ? Json("none")
                                                : Json(o.bias_feature)},
                 {"solver", o.solver},
                 {"loss", model->stream ? Json(to_string(o.loss)) : or_null(to_string(o.loss))}};
  if (model->regression()) {
    object.add("epsilon", model->stream ? Json(o.epsilon) : or_null(o.epsilon));
  }
  if (!o.because.empty()) object.add("because", o.because);
  add_goals(object, o);
  if (o.lanes > 1) object.add("lanes", o.lanes);
  if (o.update != Update::margin) object.add("update", to_string(o.update));
  if (!several) {
    object.add("status", or_null(to_string(o.status)));
    object.add("cost", or_null(o.cost));
    object.add("primal", known ? primal_json(c) : Json());
    object.add("dual", bound ? Json(c.dual) : Json());
    object.add("relative_gap", bound ? Json(c.relative_gap) : Json());
  }
  object.add("witness", witness);
  object.add("trained_on", or_null(trained_on));
  if (!model->sections.empty()) {
    Json sections = Json::list();
    for (const ModelSection& section : model->sections) sections.push_back(section.name);
    object.add("sections", sections);
  }
  if (several) return show_path(std::move(object), *models);
  if (!model->kernel.linear()) {
    const KernelFunction& kernel = model->kernel;
    object.add("kernel", {{"kind", to_string(kernel.kind)},
                          {"gamma", kernel.gamma},
                          {"degree", kernel.degree},
                          {"coef0", kernel.coef0},
                          {"support_rows", model->support.rows()}});
  }
  if (model->stream) {
    const StreamState& stream = *model->stream;
    const auto rows = static_cast<double>(stream.rows);
    object.add("stream", {{"lambda", stream.lambda},
                          {"t0", stream.t0},
                          {"rows", stream.rows},
                          {"lines", stream.lines},
                          {"labels", stream.rest ? "as they come" : "fixed"},
                          {"loss", stream.loss / rows},
                          {"error", static_cast<double>(stream.errors) / rows}});
  }
  if (known && model->problems.size() > 1) return show_classes(std::move(object), *model);
  return show(object);
}

int Info::dataset() {
  const auto start = std::chrono::steady_clock::now();
  // Looked at first: what cannot be read is told by loading it.
  const bool binary = looks_like_dataset(data.name());
  const Result<Dataset> rows = data.load(reporter);
  if (!rows.ok()) return reporter.fail(rows.error());
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Json labels = Json::object();
  constexpr std::size_t kMostLabels = 1000;
  for (std::size_t k = 0; k < std::min(kMostLabels, rows->classes().size()); ++k) {
    const LabelCount& c = rows->classes()[k];
    labels.add(rows->class_names().text(c.label), c.rows);
  }
  Json object = {{"kind", "dataset"},
                 {"format", binary ? "binary" : "text"},
                 {"precision", rows->precision() == Precision::f32 ? "f32" : "f64"},
                 {"rows", rows->rows()},
                 {"features", rows->features()},
                 {"nonzeros", rows->nonzeros()}};
  if (rows->label_kind() == LabelKind::targets) {
    const auto [least, most] = std::ranges::minmax(rows->row_labels().targets());
    object.add("targets", {{"least", least}, {"most", most}});
  } else {
    object.add("classes", rows->classes().size());
    object.add("labels", labels);
  }
  object.add("index_base", rows->index_base());
  object.add("seconds", {{"load", seconds}});
  return show(object);
}

int explain(const std::string& id) {
  const ErrorInfo* info = find_error(id);
  if (info == nullptr) {
    std::string near;
    for (const ErrorInfo& other : error_catalogue()) {
      if (other.id.find(id.substr(0, id.find('.'))) != std::string_view::npos) {
        near += fmt::format(" {}", other.id);
      }
    }
    usage(near.empty()
              ? fmt::format("there is no error id \"{}\"", escape(id))
              : fmt::format("there is no error id \"{}\"; there are:{}", escape(id), near));
  }
  const std::string code = info->exit_code == 0 ? "a warning; the run goes on"
                                                : fmt::format("exit code {}", info->exit_code);
  const Result<void> printed =
      print(fmt::format("{} ({})\n{}\n{}\n", info->id, code, info->meaning, info->remedy));
  return printed.ok() ? 0 : Reporter().fail(printed.error());
}

int list_errors() {
  std::string text;
  for (const ErrorInfo& info : error_catalogue()) {
    text += fmt::format("{:<24} {:>3}  {}\n", info.id, info.exit_code, info.meaning);
  }
  const Result<void> printed = print(text);
  return printed.ok() ? 0 : Reporter().fail(printed.error());
}

}  // namespace

void add_info(CLI::App& app, Action& action) {
  auto info = std::make_shared<Info>();
  CLI::App* command = app.add_subcommand("info", "Say what a data set or a model is.");
  info->data.add_source_to(*command, "FILE",
                           "a data set (text, compressed or not, or binary) or a model");
  add_threads(*command, info->data.read.threads);
  info->data.add_to(*command, true);
  command->add_flag("--json", info->json, "print one JSON object on stdout");
  info->reporter.add_to(*command);
  command->footer("Example: hinge info news.svm");
  command->callback([info, &action] { action = [info] { return info->run(); }; });
}

void add_generate(CLI::App& app, Action& action) {
  struct Generate {
    Reporter reporter;
    std::string path;
    GenerateOptions options;
    Replacing replacing;
  };
  auto generate = std::make_shared<Generate>();
  CLI::App* command =
      app.add_subcommand("generate", "Write a synthetic data set of a known shape.");
  command->add_option("OUT", generate->path, "where to write; - for standard output")->required();
  command
      ->add_option("--like", generate->options.like,
                   "ccat, cov1, real-sim, news20 or dense (default ccat)")
      ->type_name("NAME");
  const auto above_zero = [](const std::string& text) {
    const bool zero = !text.empty() && text.find_first_not_of('0') == text.npos;
    return zero ? "expected a whole number above 0, got \"" + text + "\"" : std::string();
  };
  add_count(*command, "--rows", generate->options.rows, "default: as many as the set it is like")
      ->check(above_zero);
  add_count(*command, "--features", generate->options.features, "default: likewise")
      ->check(above_zero);
  add_count(*command, "--seed", generate->options.seed, "default 1");
  add_threads(*command, generate->options.threads);
  generate->replacing.add_to(*command);
  generate->reporter.add_to(*command);
  command->footer(
      "Example: hinge generate ccat.svm --like ccat --rows 100000\n"
      "The same options give the same bytes on every machine.");
  command->callback([generate, &action] {
    action = [generate] {
      const Result<void> checked =
          generate->replacing.check({{generate->path, FileKind::rows}}, {});
      if (!checked.ok()) return generate->reporter.fail(checked.error(), "no data written");
      ProgressLine line(!generate->reporter.quiet);
      generate->options.stop = &stop_flag();
      generate->options.progress = [&](std::uint64_t rows, std::uint64_t total) {
        line.show(fmt::format("generating: {} of {} rows", rows, total));
      };
      const Result<void> done = generate_dataset(generate->path, generate->options);
      return done.ok() ? 0 : generate->reporter.fail(done.error(), "no data written");
    };
  });
}

void add_split(CLI::App& app, Action& action) {
  struct Split {
    Reporter reporter;
    std::string source, train, test;
    SplitOptions options;
    Replacing replacing;
  };
  auto split = std::make_shared<Split>();
  CLI::App* command =
      app.add_subcommand("split", "Stratified random split of a data set into two files.");
  command->add_option("DATA", split->source, "libsvm text: a file or a 'pattern*'")->required();
  command->add_option("TRAIN", split->train, "where the larger part goes")->required();
  command->add_option("TEST", split->test, "where the test part goes")->required();
  command
      ->add_option("--test", split->options.test,
                   "share of every class for TEST (a number in (0, 1); default 0.1)")
      ->type_name("S");
  add_count(*command, "--seed", split->options.seed, "default 1");
  split->replacing.add_to(*command);
  split->reporter.add_to(*command);
  command->footer("Example: hinge split news.svm train.svm test.svm --test 0.2");
  command->callback([split, &action] {
    action = [split] {
      const Result<void> checked = split->replacing.check(
          {{split->train, FileKind::rows, true}, {split->test, FileKind::rows, true}},
          {split->source});
      if (!checked.ok()) return split->reporter.fail(checked.error(), "no complete split written");
      split->options.stop = &stop_flag();
      const Result<SplitCounts> counts =
          split_dataset(split->source, split->train, split->test, split->options);
      if (!counts.ok()) return split->reporter.fail(counts.error(), "no complete split written");
      split->reporter.log(fmt::format("{} rows to {}, {} to {}", counts->train,
                                      escape(split->train), counts->test, escape(split->test)));
      return 0;
    };
  });
}

void add_explain(CLI::App& app, Action& action) {
  auto id = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("explain", "What an error or warning id means and what to do.");
  command->add_option("ID", *id, "the word in brackets at the end of a message; none: list all");
  command->footer("Example: hinge explain data.value.nonfinite");
  command->callback(
      [id, &action] { action = [id] { return id->empty() ? list_errors() : explain(*id); }; });
}

}  // namespace hinge::cli
