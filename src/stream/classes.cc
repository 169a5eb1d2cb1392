#include "stream/classes.h"

#include <algorithm>

namespace hinge {

void StreamClasses::set(std::span<const std::int64_t> labels) {
  classes_.clear();
  for (const std::int64_t label : labels) {
    classes_.push_back({label, classes_.size() + (rest_ ? 1 : 0)});
  }
}

bool StreamClasses::has(std::int64_t label) const {
  const auto found = std::ranges::lower_bound(classes_, label, {}, &StreamClass::label);
  return found != classes_.end() && found->label == label;
}

std::vector<std::int64_t> StreamClasses::labels() const {
  std::vector<std::int64_t> all;
  for (const StreamClass& each : classes_) all.push_back(each.label);
  return all;
}

std::size_t StreamClasses::hyperplane_of(std::size_t k) const {
  if (!rest_) return k;
  if (classes_.size() < 3) return k + 1 == classes_.size() ? 0 : k + 1;
  return k == classes_.size() ? 0 : classes_[k].hyperplane;
}

StreamClasses::Addition StreamClasses::addition_of(std::int64_t label,
                                                   std::size_t hyperplanes) const {
  const std::size_t count = classes_.size();  // so far
  Addition made = {classes_, {}, hyperplanes};
  const auto derive = [&](double sign, std::size_t like) {
    made.hyperplanes.push_back({sign, like});
    return hyperplanes + made.hyperplanes.size() - 1;
  };
  StreamClass added = {label, 0};
  if (count == 1) added.hyperplane = derive(label > classes_[0].label ? 1 : -1, 0);
  if (count == 2) {
    made.classes[1].hyperplane = 1;
    made.classes[0].hyperplane = derive(-1, 1);
  }
  if (count > 1) added.hyperplane = derive(1, 0);
  made.classes.insert(std::ranges::lower_bound(made.classes, label, {}, &StreamClass::label),
                      added);
  return made;
}

}  // namespace hinge
