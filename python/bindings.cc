// The module hinge._core: the library as it is, for the Python files beside it, which make of it
// what users see. Names and checks of parameters, and conversions, are theirs.
//
// Map: small conversions -> Dataset -> Model -> train, predict, verify -> Stream -> the module.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "choosing.h"
#include "hinge/hinge.h"
#include "rows.h"
#include "run.h"

namespace hinge::python {
namespace {

// ---- Small conversions.

std::string path_of(const nb::bytes& path) {  // of os.fsencode()
  return {path.c_str(), path.size()};
}

nb::list to_list(const std::vector<Error>& warnings) {
  nb::list list;
  for (const Error& warning : warnings) {
    list.append(nb::make_tuple(warning.id, to_string(warning)));
  }
  return list;
}

nb::tuple to_tuple(const Certificate& c) {
  return nb::make_tuple(c.primal, c.dual, c.relative_gap, c.bound);
}

// ---- Dataset.

std::pair<Dataset, nb::list> read_data(const nb::bytes& path, bool f64, int index_base, bool strict,
                                       bool labels, bool real_labels, bool cache, int threads) {
  ReadOptions options;
  options.precision = f64 ? Precision::f64 : Precision::f32;
  options.index_base = static_cast<IndexBase>(index_base);
  options.strict = strict;
  options.labels = labels;
  options.real_labels = real_labels;
  options.cache = cache ? Cache::on : Cache::off;
  options.threads = threads;
  std::vector<Error> warnings;
  const std::string source = path_of(path);
  Dataset data = run([&](const std::atomic<bool>& stop) {
    options.stop = &stop;
    return read_dataset(source, options, warnings);
  });
  return {std::move(data), to_list(warnings)};
}

void save_data(const Dataset& data, const nb::bytes& path, bool text, int threads) {
  const std::string name = path_of(path);
  run([&](const std::atomic<bool>& stop) {
    return save_dataset(data, name,
                        {.format = text ? DataFormat::text : DataFormat::binary,
                         .threads = threads,
                         .stop = &stop});
  });
}

// Arrays of the data set itself, for as long as any of them lives.
template <class To, class From>
nb::object view_of(nb::handle self, const From* data, std::uint64_t size) {
  static_assert(sizeof(To) == sizeof(From));
  const std::size_t shape[] = {static_cast<std::size_t>(size)};
  auto* const from = reinterpret_cast<To*>(const_cast<From*>(data));
  return nb::cast(Array<To>(from, 1, shape, self));
}

// data, indices, indptr as scipy has them; of full rows the indices of one.
nb::tuple csr_of(nb::handle self) {
  const auto& data = nb::cast<const Dataset&>(self);
  return data.visit([&]<class Value>(const CsrView<Value>& m) {
    return nb::make_tuple(
        view_of<Value>(self, m.values, m.nonzeros()),
        view_of<std::int32_t>(self, m.columns, m.full ? m.features : m.nonzeros()),
        view_of<std::int64_t>(self, m.offsets, m.rows + 1));
  });
}

bool is_full(const Dataset& data) {
  return data.visit([](const auto& m) { return m.full; });
}

nb::object labels_of(nb::handle self) {
  const auto labels = nb::cast<const Dataset&>(self).labels();
  return view_of<std::int64_t>(self, labels.data(), labels.size());
}

nb::object targets_of(nb::handle self) {
  const auto targets = nb::cast<const Dataset&>(self).row_labels().targets();
  if (targets.empty()) return nb::none();
  return view_of<double>(self, targets.data(), targets.size());
}

std::vector<std::string> list_of(const ClassNames& names) {
  return {names.list().begin(), names.list().end()};
}

nb::object weights_of(nb::handle self) {
  const auto weights = nb::cast<const Dataset&>(self).weights();
  if (weights.empty()) return nb::none();
  return view_of<double>(self, weights.data(), weights.size());
}

// ---- Model.

Model model_from(const nb::bytes& bytes) {
  const std::string_view view(bytes.c_str(), bytes.size());
  return run([&](const std::atomic<bool>&) { return model_from_bytes(view); });
}

nb::bytes bytes_of(const Model& model) {
  const std::string bytes = run([&](const std::atomic<bool>&) { return model_to_bytes(model); });
  return nb::bytes(bytes.data(), bytes.size());
}

std::vector<Model> read_models(const nb::bytes& path) {
  const std::string name = path_of(path);
  return run([&](const std::atomic<bool>& stop) { return load_models(name, &stop); });
}

void write_model(const Model& model, const nb::bytes& path, bool liblinear, int index_base) {
  const std::string name = path_of(path);
  Model copy = model;
  copy.index_base = index_base;
  const ModelFormat format = liblinear ? ModelFormat::liblinear : ModelFormat::native;
  run([&](const std::atomic<bool>&) { return save_model(copy, name, format); });
}

// One row a hyperplane, `features` wide: columns the model does not know have weight 0. With a
// kernel: one weight a support row.
Array<double> coefficients(const Model& model, std::uint64_t features) {
  if (model.shared()) {
    return coefficients(run([&](const std::atomic<bool>&) { return write_out(model); }), features);
  }
  const std::size_t problems = model.problems.size();
  const std::size_t width = model.kernel.linear() ? features : model.width();
  std::vector<double> all(problems * width);
  for (std::size_t k = 0; k < problems; ++k) {
    const auto weights = model.weights_of(k);
    double* const to = all.data() + k * width;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const std::size_t column = model.columns.empty() ? j : model.columns[j];
      if (column < width) to[column] = weights[j];
    }
  }
  return to_array(std::move(all), {problems, width});
}

template <class Get>
auto of_problems(const Model& model, Get get) {
  std::vector<std::decay_t<decltype(get(model.problems[0]))>> all;
  for (const BinaryProblem& problem : model.problems) all.push_back(get(problem));
  return all;
}

nb::dict origin_of(const Model& model) {
  const Origin& o = model.origin;
  nb::dict d;
  d["solver"] = o.solver;
  d["because"] = o.because;
  d["loss"] = std::string(to_string(o.loss));
  if (model.regression()) d["epsilon"] = o.epsilon;
  d["cost"] = o.cost;
  d["gap"] = o.gap;
  d["gap_absolute"] = o.gap_absolute;
  d["gap_per_row"] = o.gap_per_row;
  d["target"] = o.target;
  d["bias_feature"] = o.bias_feature;
  d["free_bias"] = o.free_bias;
  d["row_weights"] = o.row_weights;
  d["update"] = std::string(to_string(o.update));
  d["seed"] = o.seed;
  d["rows"] = o.rows;
  d["nonzeros"] = o.nonzeros;
  d["precision"] = o.precision == Precision::f32 ? "float32" : "float64";
  d["fingerprint"] = o.fingerprint;
  d["status"] = std::string(to_string(o.status));
  d["class_weights"] = [&] {
    nb::dict weights;
    for (const ClassWeight& w : o.class_weights) weights[nb::int_(w.label)] = w.factor;
    return weights;
  }();
  return d;
}

nb::object kernel_of(const Model& model) {
  const KernelFunction& k = model.kernel;
  return nb::make_tuple(std::string(to_string(k.kind)), k.gamma, k.degree, k.coef0);
}

// ---- Training, predicting, verifying.

// What the observer saw; it is called from threads of the library.
class Trace {
 public:
  void add(const Progress& p) {
    const std::lock_guard lock(mutex_);
    all_.push_back(p);
  }

  // Hands those not told of yet to `listener`.
  void tell(const nb::object& listener) {
    for (std::vector<Progress> fresh = take_new(); const Progress& p : fresh) {
      listener(p.seconds, p.data_passes, p.primal, p.relative_gap);
    }
  }

  nb::dict arrays() const {
    nb::dict d;
    const auto add = [&](const char* name, auto get) {
      std::vector<std::decay_t<decltype(get(all_[0]))>> column;
      for (const Progress& p : all_) {
        if (p.primal > 0) column.push_back(get(p));  // else only a sign of life
      }
      d[name] = to_array(std::move(column));
    };
    add("seconds", [](const Progress& p) { return p.seconds; });
    add("passes", [](const Progress& p) { return p.data_passes; });
    add("iteration", [](const Progress& p) { return p.iteration; });
    add("problem", [](const Progress& p) { return std::uint64_t{p.problem}; });
    add("primal", [](const Progress& p) { return p.primal; });
    add("dual", [](const Progress& p) { return p.dual; });
    add("relative_gap", [](const Progress& p) { return p.relative_gap; });
    add("active_rows", [](const Progress& p) { return p.active_rows; });
    add("planes", [](const Progress& p) { return p.planes; });
    add("step", [](const Progress& p) { return p.step; });
    add("objective_rows", [](const Progress& p) { return p.objective_rows; });
    add("search_rows", [](const Progress& p) { return p.search_rows; });
    add("objective_seconds", [](const Progress& p) { return p.objective_seconds; });
    add("search_seconds", [](const Progress& p) { return p.search_seconds; });
    return d;
  }

 private:
  std::vector<Progress> take_new() {
    const std::lock_guard lock(mutex_);
    const auto from = all_.begin() + static_cast<std::ptrdiff_t>(told_);
    told_ = all_.size();
    return {from, all_.end()};
  }

  std::mutex mutex_;
  std::vector<Progress> all_;
  std::size_t told_ = 0;
};

std::pair<Model, nb::dict> train_model(const Dataset& data, const Options& given,
                                       const Model* start, const nb::object& listener) {
  const TrainOptions options = options_of(given);
  Trace trace;
  TrainControl control;
  control.start = start;
  control.observer = [&](const Progress& p) { trace.add(p); };
  std::function<void()> meanwhile;
  if (!listener.is_none()) meanwhile = [&] { trace.tell(listener); };
  TrainReport report = run(
      [&](const std::atomic<bool>& stop) {
        control.stop = &stop;
        return train(data, options, control);
      },
      meanwhile);
  nb::dict d;
  d["status"] = std::string(to_string(report.status));
  d["warnings"] = to_list(report.warnings);
  d["passes"] = report.data_passes;
  d["lambda"] = report.lambda;
  d["threads"] = report.threads;
  d["seconds"] = report.prepare_seconds + report.solve_seconds + report.certify_seconds;
  d["trace"] = trace.arrays();
  return {std::move(report.model), d};
}

Array<double> scores_to_array(Predictions predictions, std::size_t rows, std::size_t problems) {
  return to_array(std::move(predictions.scores), {rows, problems});
}

// Predictions of less than so many products are made in a fraction of a tenth of a second.
Length length_of(const Model& model, std::uint64_t nonzeros) {
  constexpr std::uint64_t kProducts = std::uint64_t{1} << 24;
  if (!model.kernel.linear()) return Length::open;
  return nonzeros * model.problems.size() <= kProducts ? Length::brief : Length::open;
}

// Rows x hyperplanes.
Array<double> scores_of_rows(const Model& model, const Rows& rows, int threads) {
  Predictions all = run(
      [&](const std::atomic<bool>& stop) -> Result<Predictions> {
        Result<Predictions> found = predict(model, rows.view, threads, &stop);
        if (found.ok()) return found;
        const std::string& id = found.error().id;
        if (id != "data.matrix" && id != "solver.nonfinite") return found;
        const Result<Rows> again = mend(rows);
        if (!again.ok()) return again.error();
        return predict(model, again->view, threads, &stop);
      },
      {}, length_of(model, rows.nonzeros()));
  return scores_to_array(std::move(all), rows.rows(), model.problems.size());
}

Array<double> scores_of_data(const Model& model, const Dataset& data, int threads) {
  Predictions found =
      run([&](const std::atomic<bool>& stop) { return predict(model, data, threads, &stop); }, {},
          length_of(model, data.nonzeros()));
  return scores_to_array(std::move(found), data.rows(), model.problems.size());
}

using Verified = std::tuple<bool, nb::tuple, nb::tuple, bool, std::string>;
Verified verify_model(const Model& model, const Dataset& data, bool prove, double gap,
                      int threads) {
  const VerifyReport report = run([&](const std::atomic<bool>& stop) {
    return verify(model, data, {.prove = prove, .gap = gap, .threads = threads, .stop = &stop});
  });
  return {report.agrees, to_tuple(report.recomputed), to_tuple(report.stored), report.proved,
          report.why};
}

// ---- Streams.

// Calls wait for each other: the lock of the interpreter is not held while rows are learned.
class Learner {
 public:
  Learner(double lambda, double bias, std::vector<std::int64_t> labels, const nb::dict& weights,
          bool mistakes, const std::string& loss) {
    StreamOptions options;
    options.lambda = lambda;
    options.loss = loss_of(loss);
    options.update = update_of(mistakes);
    options.bias = bias;
    options.labels = std::move(labels);
    options.index_base = IndexBase::one;
    for (const auto& [label, factor] : weights) {
      options.class_weights.push_back({nb::cast<std::int64_t>(label), nb::cast<double>(factor)});
    }
    Result<Stream> made = Stream::create(options);
    if (!made.ok()) raise(made.error());
    stream_.emplace(std::move(*made));
  }
  // Goes on from a stream, or from any other linear model as if `steps` had led to it: a stream
  // keeps sums v, of which w is v / (lambda steps).
  Learner(const Model& given, double lambda, std::uint64_t steps, bool mistakes,
          const std::string& loss) {
    Model model = given;
    if (!model.stream) {
      model.origin.update = update_of(mistakes);
      model.origin.loss = loss_of(loss);
      const double scale = lambda * static_cast<double>(steps);
      StreamState& s = model.stream.emplace();
      s.lambda = lambda;
      s.rows = steps;
      s.rest = false;
      for (const double w : model.weights) s.sums.push_back(w * scale);
      for (const BinaryProblem& p : model.problems) s.bias_sums.push_back(p.bias * scale);
    }
    Result<Stream> made = Stream::resume(model);
    if (!made.ok()) raise(made.error());
    stream_.emplace(std::move(*made));
  }

  void learn(const Dataset& rows) {
    run([&](const std::atomic<bool>& stop) {
      const std::lock_guard lock(mutex_);
      std::vector<StreamPrediction> predictions;
      return stream_->learn_batch(rows, predictions, {.stop = &stop});
    });
  }

  Model snapshot() {
    return run([&](const std::atomic<bool>&) {
      const std::lock_guard lock(mutex_);
      return stream_->snapshot();
    });
  }

 private:
  static Update update_of(bool mistakes) { return mistakes ? Update::mistake : Update::margin; }
  static LossKind loss_of(const std::string& name) {
    for (const LossKind kind : {LossKind::hinge, LossKind::squared_hinge, LossKind::logistic}) {
      if (name == to_string(kind)) return kind;
    }
    throw nb::value_error("loss: expected one of hinge, squared_hinge, logistic");
  }
  std::mutex mutex_;
  std::optional<Stream> stream_;
};

}  // namespace
}  // namespace hinge::python

NB_MODULE(_core, m) {
  using namespace hinge;
  using namespace hinge::python;
  using nb::arg;

  m.doc() = "The library, for the Python files of the package; users import hinge.";
  m.attr("__version__") = version();

  nb::class_<Rows>(m, "Rows", "Arrays that the library has not looked at yet.")
      .def_prop_ro("rows", &Rows::rows)
      .def_prop_ro("features", &Rows::features);
  m.def("csr_rows", &csr_rows, arg("data").noconvert(), arg("indices").noconvert(),
        arg("indptr").noconvert(), arg("features"));
  m.def("dense_rows", &dense_rows, arg("values").noconvert());
  m.def(
      "wrap",
      [](const Rows& rows, std::optional<Vector<std::int64_t>> labels,
         std::optional<Vector<double>> weights, int threads, std::vector<std::string> names,
         std::optional<Vector<double>> targets) {
        return wrap(rows,
                    {std::move(labels), std::move(weights), std::move(names), std::move(targets)},
                    threads);
      },
      arg("rows"), arg("labels").noconvert().none(), arg("weights").noconvert().none(),
      arg("threads"), arg("names") = std::vector<std::string>(),
      arg("targets").noconvert() = nb::none());

  nb::class_<Dataset>(m, "Dataset", "Rows, labels and weights that have been checked.")
      .def_prop_ro("rows", &Dataset::rows)
      .def_prop_ro("features", &Dataset::features)
      .def_prop_ro("nonzeros", &Dataset::nonzeros)
      .def_prop_ro("index_base", &Dataset::index_base)
      .def_prop_ro("f64", [](const Dataset& d) { return d.precision() == Precision::f64; })
      .def_prop_ro("labels", [](nb::handle self) { return labels_of(self); })
      .def_prop_ro("targets", [](nb::handle self) { return targets_of(self); })
      .def_prop_ro("class_names", [](const Dataset& d) { return list_of(d.class_names()); })
      .def("check_classes",
           [](const Dataset& d) {
             run([&](const std::atomic<bool>&) { return d.check_classes(); });
           })
      .def_prop_ro("weights", [](nb::handle self) { return weights_of(self); })
      .def_prop_ro(
          "classes",
          [](const Dataset& d) {
            std::vector<std::int64_t> labels;
            for (const LabelCount& c : d.classes()) labels.push_back(c.label);
            return to_array(std::move(labels));
          },
          nb::rv_policy::automatic)
      .def_prop_ro("full", &is_full)
      .def("csr", [](nb::handle self) { return csr_of(self); })
      .def("as_rows",
           [](const Dataset& d) {
             return Rows{d.view(), std::make_shared<Dataset>(d)};
           })
      .def("save", &save_data, arg("path"), arg("text"), arg("threads"));
  m.def("read", &read_data, arg("path"), arg("f64"), arg("index_base"), arg("strict"),
        arg("labels"), arg("real_labels"), arg("cache"), arg("threads"));
  m.def("is_binary", [](const nb::bytes& path) { return looks_like_dataset(path_of(path)); });

  nb::class_<Model>(m, "Model", "Hyperplanes, the labels they stand for, and the proof.")
      .def_ro("labels", &Model::labels)
      .def_prop_ro("class_names", [](const Model& model) { return list_of(model.class_names); })
      .def_prop_ro("sections",
                   [](const Model& model) {
                     std::vector<std::string> names;
                     for (const ModelSection& s : model.sections) names.push_back(s.name);
                     return names;
                   })
      .def_ro("features", &Model::features)
      .def_ro("index_base", &Model::index_base)
      .def_ro("reject", &Model::reject)
      .def_prop_ro("stream", [](const Model& model) { return model.stream.has_value(); })
      .def_prop_ro("origin", &origin_of)
      .def_prop_ro("kernel", &kernel_of)
      .def_prop_ro("support", [](const Model& model) { return model.support; })
      .def("coefficients", &coefficients, arg("features"))
      .def_prop_ro("candidates", &Model::candidates)
      .def_prop_ro(
          "intercepts",
          [](const Model& model) {
            return to_array(of_problems(model, [](const auto& p) { return p.bias; }));
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "iterations",
          [](const Model& model) {
            return to_array(of_problems(model, [](const auto& p) { return p.iterations; }));
          },
          nb::rv_policy::automatic)
      .def_prop_ro("certificate", [](const Model& model) { return to_tuple(model.certificate()); })
      .def_prop_ro("certificates",
                   [](const Model& model) {
                     nb::list all;
                     for (const BinaryProblem& p : model.problems)
                       all.append(to_tuple(p.certificate));
                     return all;
                   })
      .def("to_bytes", &bytes_of)
      .def("save", &write_model, arg("path"), arg("liblinear"), arg("index_base"));
  m.def("model_from_bytes", &model_from, arg("bytes"));
  m.def("read_models", &read_models, arg("path"));

  m.def("train", &train_model, arg("data"), arg("options"), arg("start").none(),
        arg("listener").none());
  m.def("scores", &scores_of_rows, arg("model"), arg("rows"), arg("threads"));
  m.def("scores", &scores_of_data, arg("model"), arg("rows"), arg("threads"));
  m.def("verify", &verify_model, arg("model"), arg("data"), arg("prove"), arg("gap"),
        arg("threads"));

  add_choosing(m);

  nb::class_<Learner>(m, "Learner", "Learns rows as they come.")
      .def(nb::init<double, double, std::vector<std::int64_t>, const nb::dict&, bool,
                    const std::string&>(),
           arg("lambda_"), arg("bias"), arg("labels"), arg("weights"), arg("mistakes"), arg("loss"))
      .def(nb::init<const Model&, double, std::uint64_t, bool, const std::string&>(), arg("model"),
           arg("lambda_"), arg("steps"), arg("mistakes"), arg("loss"))
      .def("learn", &Learner::learn, arg("rows"))
      .def("snapshot", &Learner::snapshot);
}
