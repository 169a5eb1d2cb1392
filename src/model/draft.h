// A model file in the making: metadata, arrays and sections, until it is written.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "files/tensor_file.h"
#include "hinge/model.h"

namespace hinge {

constexpr int kVersion = 1;
constexpr int kSharedVersion = 2;    // of the model of a stream whose sums are SharedRows
constexpr int kSectionsVersion = 3;  // of a model with sections

constexpr const char* kSections = "sections";            // the field that lists them
constexpr std::string_view kSectionPrefix = "section.";  // of their fields and arrays

// The sections this version knows. Both sides of each: Draft::add_section() and Sections::take().
constexpr const char* kClassNames = "class_names";
constexpr const char* kLoss = "loss";        // its name, of a model of another one than the hinge
constexpr const char* kWitness = "witness";  // its arrays, where values of it are rounded

class Draft {
 public:
  Metadata metadata;

  // An array that outlives the draft, or belongs to what it holds.
  template <class T>
  void borrow(std::string name, std::vector<std::uint64_t> shape, std::span<const T> values) {
    tensors_.push_back(tensor<T>(std::move(name), std::move(shape), values));
  }
  // An array that the draft keeps.
  template <class T>
  void keep(std::string name, std::vector<std::uint64_t> shape, std::vector<T> values) {
    auto kept = std::make_shared<const std::vector<T>>(std::move(values));
    borrow<T>(std::move(name), std::move(shape), *kept);
    hold(std::move(kept));
  }

  // What borrowed arrays belong to, where nobody else keeps it.
  void hold(std::shared_ptr<const void> owner) { kept_.push_back(std::move(owner)); }

  // A section and its text; its arrays are added as section_array(section, array). Its name must
  // not have been added yet.
  void add_section(const std::string& name, bool affects_predictions, std::string content);
  static std::string section_array(const std::string& section, const std::string& array);
  // Sections that came from another file. They must outlive the draft. Fails with model.format
  // where they are not what model.h promises.
  void add_carried(std::span<const ModelSection> sections);

  // `version`: of the format, unless sections ask for a later one.
  void write(const std::string& path, int version) &&;
  std::string bytes(int version) &&;

 private:
  struct Mark {
    std::string name;
    bool affects_predictions;
  };
  void finish(int version);

  std::vector<Tensor> tensors_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::vector<Mark> marks_;
};

}  // namespace hinge
