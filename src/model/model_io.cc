// Loading and saving: which format, and which of several models.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/stop.h"
#include "files/tensor_file.h"
#include "hinge/model.h"
#include "model/liblinear_file.h"
#include "model/model_file.h"

namespace hinge {
namespace {

// "0.1, 1, 10"; of many the first and the last.
std::string cost_list(std::span<const Model> models) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t k = 0; k < models.size(); ++k) {
    if (models.size() > kShown && k == kShown - 1) text += ", ...";
    if (models.size() > kShown && k >= kShown - 1 && k + 1 < models.size()) continue;
    text += fmt::format("{}{:.6g}", k == 0 ? "" : ", ", models[k].origin.cost);
  }
  return text;
}

Model choose(std::vector<Model> models, std::optional<double> cost, const std::string& path) {
  const auto refuse = [&](std::string message) {
    Error error = make_error("model.path", std::move(message));
    error.file = path;
    if (models.size() > 1) error.help = "choose a model with --cost";
    throw Failure{std::move(error)};
  };
  if (!cost) {
    if (models.size() > 1) {
      refuse(fmt::format("holds {} models, of the costs {}", models.size(), cost_list(models)));
    }
    return std::move(models[0]);
  }
  if (models[0].origin.rows == 0) refuse("the model does not say what its cost was");
  const auto off = [&](const Model& model) { return std::abs(model.origin.cost - *cost); };
  const auto nearest = std::ranges::min_element(models, {}, off);
  if (!(off(*nearest) <= 1e-6 * nearest->origin.cost)) {
    refuse(fmt::format("there is no model of cost {:.6g}; there {}: {}", *cost,
                       models.size() == 1 ? "is" : "are", cost_list(models)));
  }
  return std::move(*nearest);
}

}  // namespace

Result<void> check_format(const Model& model, ModelFormat format) {
  return guard([&] {
    if (format == ModelFormat::liblinear) check_liblinear(model);
  });
}

Result<void> save_model(const Model& model, const std::string& path, ModelFormat format) {
  return guard([&] {
    if (format == ModelFormat::liblinear) {
      write_liblinear(model, path);
    } else {
      write_native(model, path);
    }
  });
}

Result<std::string> model_to_bytes(const Model& model) {
  return guard([&] { return native_bytes(model); });
}

Result<Model> model_from_bytes(std::string_view bytes) {
  return guard([&] {
    const auto raw = std::as_bytes(std::span(bytes.data(), bytes.size()));
    std::vector<Model> models = read_native(TensorFile::parse(FileBytes::copy(raw), "", "model"));
    if (models.size() != 1) fail("model.path", fmt::format("holds {} models", models.size()));
    return std::move(models[0]);
  });
}

Result<void> save_models(std::span<const Model> models, const std::string& path) {
  return guard([&] {
    if (models.empty()) fail("model.format", "there is no model to write");
    write_native(models, path);
  });
}

Result<std::vector<Model>> load_models(const std::string& path, const std::atomic<bool>* stop) {
  return guard([&] {
    const auto check_head = [&](std::span<const std::byte> head) {
      if (!begins_like_liblinear(as_text(head))) TensorFile::check_head(head, path, "model");
    };
    FileBytes bytes = FileBytes::read(path, check_head, StopToken(stop));
    const std::string_view text = as_text(bytes.span());
    return begins_like_liblinear(text)
               ? std::vector<Model>{read_liblinear(text, path)}
               : read_native(TensorFile::parse(std::move(bytes), path, "model"));
  });
}

Result<Model> load_model(const std::string& path, std::optional<double> cost,
                         const std::atomic<bool>* stop) {
  return guard([&] { return choose(take(load_models(path, stop)), cost, path); });
}

bool looks_like_model(const std::string& path) {
  char bytes[16];
  const Result<std::string_view> head = guard([&] { return first_bytes(path, bytes); });
  return head.ok() && (begins_like_liblinear(*head) ||
                       (looks_like_tensor_file(*head) && !looks_like_dataset(path)));
}

}  // namespace hinge
