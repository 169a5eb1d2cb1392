// The sections of a model file that is read (docs/formats.md). Whoever knows a section takes it;
// of what is left, what changes predictions is refused by name, and all else is carried along. So a
// later version can add what it needs, and this one can tell whether it may still predict.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "files/tensor_file.h"
#include "hinge/model.h"

namespace hinge {

// Whether a section, or one of its arrays, may be called that.
bool is_section_name(std::string_view name);
bool is_section_array(std::string_view name);

class Sections {
 public:
  // Of a file without the field "sections": none. Fails with model.header where the list is not
  // what it should be, names a section twice or not in order, or where a field or an array belongs
  // to a section that is not in it.
  explicit Sections(const TensorFile& file);

  // Whether the file has this section. Fails with model.header where the file says otherwise than
  // its writer must whether it affects predictions, and where it has other arrays than these.
  bool take(std::string_view name, bool affects_predictions,
            std::initializer_list<std::string_view> arrays);

  // Those that nobody took, their arrays ascending by name. Fails with model.section.
  std::vector<ModelSection> rest() const;

 private:
  struct Entry {
    std::string name;
    bool affects_predictions;
    bool taken = false;
  };
  const TensorFile& file_;
  std::vector<Entry> entries_;  // ascending by name
};

}  // namespace hinge
