#include <fmt/core.h>

#include <memory>

#include "cli.h"

namespace hinge::cli {
namespace {

struct Convert {
  Reporter reporter;
  DataArguments data;  // IN
  Replacing replacing;
  std::string output;
  std::string to;
  std::optional<double> cost;

  int run();

 private:
  int convert_model();
  int convert_data();
  Result<void> check_data_output(bool binary) const;
};

int Convert::convert_model() {
  if (!data.read.weights_file.empty() || data.precision_given) {
    usage(
        fmt::format("{} is a model: --weights and --precision are for data", escape(data.name())));
  }
  if (to == "binary" || to == "text") {
    usage_value(fmt::format("--to: {} is a model: expected native or liblinear, got {}",
                            escape(data.name()), to));
  }
  if (Result<void> r = replacing.check({{output, FileKind::model}}, data.inputs()); !r.ok()) {
    return reporter.fail(r.error(), "nothing written");
  }
  const ModelFormat format = model_format(to, output);
  Result<void> saved;
  if (!cost && format == ModelFormat::native) {
    const Result<std::vector<Model>> models = load_models(data.name(), &stop_flag());
    if (!models.ok()) return reporter.fail(models.error(), "nothing written");
    saved = save_models(*models, output);
  } else {
    const Result<Model> model = load_model(data.name(), cost, &stop_flag());
    if (!model.ok()) return reporter.fail(model.error(), "nothing written");
    saved = save_model(*model, output, format);
  }
  return saved.ok() ? 0 : reporter.fail(saved.error(), "nothing written");
}

int Convert::convert_data() {
  if (cost) usage(fmt::format("{} is data: --cost chooses among models", escape(data.name())));
  if (to == "native" || to == "liblinear") {
    usage_value(
        fmt::format("--to: {} is data: expected binary or text, got {}", escape(data.name()), to));
  }
  for (const char* suffix : {".gz", ".bz2", ".xz", ".zst"}) {
    if (!output.ends_with(suffix)) continue;
    usage(fmt::format("convert writes plain files: give OUT without {} and compress it then",
                      suffix));
  }
  const bool binary = to.empty() ? output.ends_with(".hinge") : to == "binary";
  if (Result<void> r = check_data_output(binary); !r.ok()) {
    return reporter.fail(r.error(), "nothing written");
  }
  // Text keeps what it says; what is to be mapped is what training would read.
  if (!binary && !data.precision_given) data.read.precision = Precision::f64;
  const Result<Dataset> rows = data.load(reporter);
  if (!rows.ok()) return reporter.fail(rows.error(), "nothing written");
  if (to.empty() && output.ends_with(".liblinear")) {
    usage(
        fmt::format("{} is data: only a model can become {}", escape(data.name()), escape(output)));
  }
  const Result<void> saved = save_dataset(*rows, output,
                                          {.format = binary ? DataFormat::binary : DataFormat::text,
                                           .threads = data.read.threads,
                                           .stop = &stop_flag()});
  if (!saved.ok()) return reporter.fail(saved.error(), "nothing written");
  reporter.log(fmt::format("{} rows, {} features, {} nonzeros", rows->rows(), rows->features(),
                           rows->nonzeros()));
  return 0;
}

// Text that is there may be what somebody began with, and a binary data set what another one was
// made of: where a shell's pattern names two files, OUT is one of them.
Result<void> Convert::check_data_output(bool binary) const {
  const Result<FileKind> in = file_kind(data.name());
  if (!in.ok()) return in.error();
  const Result<std::vector<std::string>> files = source_files(data.sources);
  if (!files.ok()) return files.error();
  const bool pattern = files->front() != data.name();
  if (*in == FileKind::absent && !pattern) return {};  // reading it tells
  const FileKind kind = binary ? FileKind::binary_rows : FileKind::rows;
  return replacing.check({{output, kind, !binary || *in == kind}}, data.inputs());
}

int Convert::run() {
  return looks_like_model(data.name()) ? convert_model() : convert_data();
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  auto convert = std::make_shared<Convert>();
  CLI::App* command = app.add_subcommand(
      "convert", "Turn text into a binary data set and back, models into LIBLINEAR's and back.");
  convert->data.add_source_to(
      *command, "IN",
      "a data set (text, compressed or not, or binary) or a model; told by content");
  command->add_option("OUT", convert->output, "where to write")->required();
  command
      ->add_option("--to", convert->to,
                   "binary or text for data, native or liblinear for models; default by OUT's "
                   "suffix: .hinge is binary, other data text; .liblinear is LIBLINEAR's, other "
                   "models native")
      ->type_name("FORM")
      ->check(CLI::IsMember({"binary", "text", "native", "liblinear"}));
  command
      ->add_option("--weights", convert->data.read.weights_file,
                   "one cost factor a row, a line each, kept in a binary data set")
      ->type_name("FILE");
  add_cost(*command, convert->cost);
  convert->replacing.add_to(*command);
  add_threads(*command, convert->data.read.threads);
  convert->data.add_to(*command, true);
  convert->reporter.add_to(*command);
  command->footer(
      "Example: hinge convert news.svm.xz news.hinge\n"
      "A binary data set keeps its precision; it is mapped, not read.");
  command->callback([convert, &action] { action = [convert] { return convert->run(); }; });
}

}  // namespace hinge::cli
