#include <fmt/core.h>

#include <cstdlib>
#include <memory>

#include "cli.h"

namespace hinge::cli {
namespace {

struct Verify {
  Reporter reporter;
  DataArguments data;
  std::string model_path;
  std::optional<double> cost;
  VerifyOptions options;
  bool json = false;

  int run();
  Error disagreement(const VerifyReport& report) const;
};

// A bound that is not there is null, not a number.
Json as_json(const Certificate& c) {
  return {{"primal", primal_json(c)},
          {"dual", or_null(c, c.dual)},
          {"relative_gap", or_null(c, c.relative_gap)}};
}

std::string line(const char* name, const Certificate& c) {
  if (!c.known()) return fmt::format("{:<11} not known: training was interrupted\n", name);
  if (c.bound == "none") return fmt::format("{:<11} primal {:.12g}, no bound\n", name, c.primal);
  return fmt::format("{:<11} primal {:.12g}, bound {:.12g}, gap {:.3g}\n", name, c.primal, c.dual,
                     c.relative_gap);
}

Error Verify::disagreement(const VerifyReport& report) const {
  Error error;
  error.id = "model.certificate";
  error.file = model_path;
  error.message = fmt::format(
      "{}: the model says primal {:.12g} and bound {:.12g}; the data says {:.12g} and {:.12g}",
      report.why, report.stored.primal, report.stored.dual, report.recomputed.primal,
      report.recomputed.dual);
  error.help = "the model was altered after training, or written by a faulty program";
  return error;
}

Json as_json(const VerifyReport& report) {
  Json object = as_json(report.recomputed);
  object.add("stored", as_json(report.stored));
  object.add("agrees", report.agrees);
  object.add("proved", report.proved);
  return object;
}

std::string as_text(const VerifyReport& report) {
  std::string text = line("recomputed", report.recomputed) + line("stored", report.stored);
  if (report.agrees && report.stored.known()) {
    text += report.proved ? "the certificate agrees with the data\n"
            : report.stored.bounded()
                ? "the primal agrees with the data; the bound is not proved: the model carries no "
                  "witness\n"
                : "the primal agrees with the data; the model claims no bound\n";
  }
  return text;
}

int Verify::run() {
  std::vector<Model> models;
  if (cost) {
    Result<Model> one = load_model(model_path, cost, &stop_flag());
    if (!one.ok()) return reporter.fail(one.error());
    models.push_back(*std::move(one));
  } else {
    Result<std::vector<Model>> loaded = load_models(model_path, &stop_flag());
    if (!loaded.ok()) return reporter.fail(loaded.error());
    models = *std::move(loaded);
  }
  data.read.precision = models[0].origin.precision;
  data.read.index_base = models[0].index_base == 0 ? IndexBase::zero : IndexBase::one;
  data.read.threads = options.threads;
  data.read.real_labels = models[0].regression();
  Result<Dataset> rows = data.load(reporter);
  if (!rows.ok()) return reporter.fail(rows.error());
  options.stop = &stop_flag();

  const bool several = models.size() > 1;
  Json list = Json::list();
  std::string text;
  std::optional<Error> wrong;  // the first
  bool proved = true;          // all
  bool unproved = false;       // a bound is claimed that nothing shows
  for (const Model& model : models) {
    Result<VerifyReport> report = verify(model, *rows, options);
    if (!report.ok()) return reporter.fail(report.error());
    Json object = as_json(*report);
    if (several) {
      text += fmt::format("cost {:.6g}\n", model.origin.cost);
      object.add("cost", model.origin.cost);
    }
    text += as_text(*report);
    list.push_back(std::move(object));
    if (!report->agrees && !wrong) wrong = disagreement(*report);
    proved = proved && report->proved;
    unproved = unproved || (report->stored.bounded() && !report->proved);
    if (stop_flag().load()) break;
  }
  const Json object =
      several ? Json({{"agrees", !wrong}, {"proved", proved}, {"models", list}}) : list.at(0);
  const Result<void> printed = print(json ? object.dump() + "\n" : text);
  if (!printed.ok()) return reporter.fail(printed.error());
  if (stop_flag().load()) return signal_exit_code();
  constexpr int kNotProved = 3;
  return wrong ? reporter.fail(*wrong) : unproved ? kNotProved : 0;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  auto verify = std::make_shared<Verify>();
  CLI::App* command = app.add_subcommand(
      "verify", "Recompute primal, bound and gap from the data and compare with the model's.");
  command->add_option("MODEL", verify->model_path, "as written by train")->required();
  verify->data.add_shards_to(*command, "the data it was trained on, in the same order");
  command->add_option("--weights", verify->data.read.weights_file, "row weights, as in training")
      ->type_name("FILE");
  add_cost(*command, verify->cost);
  command->add_flag("--prove", verify->options.prove, "find a bound if the model carries none");
  command
      ->add_option("--gap", verify->options.gap,
                   "with --prove: how tight the bound shall be (a number in (0, 1]; default 0.001)")
      ->type_name("G")
      ->check([](const std::string& text) {
        const double gap = std::strtod(text.c_str(), nullptr);
        return gap > 0 && gap <= 1 ? ""
                                   : "expected a number in (0, 1], got \"" + escape(text) + "\"";
      });
  add_threads(*command, verify->options.threads);
  verify->data.add_reading_to(*command);
  command->add_flag("--json", verify->json, "print one JSON object on stdout");
  verify->reporter.add_to(*command);
  command->footer(
      "Example: hinge verify news.model news.svm\n"
      "Ends with 80 if the certificate does not follow from the data, and with 3 if the model "
      "claims a "
      "bound and carries no witness that proves it.");
  command->callback([verify, &action] { action = [verify] { return verify->run(); }; });
}

}  // namespace hinge::cli
