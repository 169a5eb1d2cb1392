#include <fmt/core.h>

#include <memory>

#include "cli.h"

namespace hinge::cli {
namespace {

struct Check {
  Reporter reporter;
  DataArguments data;
  bool json = false;

  int run();

 private:
  std::string line(const Error& finding) const {
    return (json ? to_json(finding) : to_string(finding)) + "\n";
  }
  std::string summary(const CheckReport& report) const;
};

std::string Check::summary(const CheckReport& report) const {
  if (json) {
    Json labels = Json::object();
    for (const LabelCount& c : report.classes) {
      labels.add(report.class_names.text(c.label), c.rows);
    }
    return Json({{"kind", "check"},
                 {"bad_rows", report.bad_rows},
                 {"findings", report.findings.size()},
                 {"rows", report.rows},
                 {"features", report.features},
                 {"nonzeros", report.nonzeros},
                 {"classes", report.classes.size()},
                 {"labels", labels},
                 {"data_bytes", report.data_bytes},
                 {"train_bytes", report.train_bytes},
                 {"seconds",
                  {{"load", report.load_seconds},
                   {"train_from", report.train_seconds_from},
                   {"train_to", report.train_seconds_to}}}})
               .dump() +
           "\n";
  }
  return fmt::format(
      "{} bad rows, {} findings\n"
      "{} good rows, {} features, {} nonzeros, {} classes\n"
      "memory: {:.3g} MB for the rows, {:.3g} MB to train\n"
      "time: {:.2g} s to read, about {:.1g} to {:.1g} s to train\n",
      report.bad_rows, report.findings.size(), report.rows, report.features, report.nonzeros,
      report.classes.size(), static_cast<double>(report.data_bytes) / 1e6,
      static_cast<double>(report.train_bytes) / 1e6, report.load_seconds, report.train_seconds_from,
      report.train_seconds_to);
}

int Check::run() {
  // What was found is the result, so it goes to stdout; there may be millions of lines.
  Result<OutputFile> out = OutputFile::create("-");
  if (!out.ok()) return reporter.fail(out.error());
  Result<void> written;
  std::uint64_t bad_rows = 0;
  const auto print = [&](const std::string& text) {
    if (written.ok()) written = out->write(text);
  };
  const Result<CheckReport> report = [&] {
    ProgressLine progress(!reporter.quiet);
    data.watch(progress);
    return check_dataset(data.sources, data.read, [&](const Error& error) {
      ++bad_rows;
      print(line(error));
    });
  }();
  if (report.ok()) {
    for (const Error& finding : report->findings) print(line(finding));
    print(summary(*report));
  } else if (bad_rows > 0 && !json) {
    print(fmt::format("{} bad rows\n", bad_rows));
  }
  if (written.ok()) written = out->commit();
  if (!written.ok()) return reporter.fail(written.error());
  if (!report.ok()) return reporter.fail(report.error());
  constexpr int kData = 65;
  return report->bad_rows > 0 ? kData : 0;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto check = std::make_shared<Check>();
  CLI::App* command =
      app.add_subcommand("check", "List every bad row of a data set, and what may spoil a model.");
  check->data.add_shards_to(*command, kShardsHelp);
  add_threads(*command, check->data.read.threads);
  check->data.add_to(*command, true);
  command->add_flag("--json", check->json, "one JSON object a finding, and one for the whole");
  check->reporter.add_to(*command);
  command->footer(
      "Example: hinge check news.svm\n"
      "Ends with 65 if a row is bad. Also: constant and wildly scaled columns, rare classes,\n"
      "duplicate and contradicting rows, memory and time that training will take.");
  command->callback([check, &action] { action = [check] { return check->run(); }; });
}

}  // namespace hinge::cli
