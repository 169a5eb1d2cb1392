// The classes of a stream, and which hyperplane is whose.
//
// The hyperplanes: first, if there is one, the rest, that of the class nobody has; then that of two
// classes, the positive side being the larger label; or one a class, in the order in which they
// came. Of a single class the rest is all there is, and its negative is the class's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hinge {

struct StreamClass {
  std::int64_t label;
  std::size_t hyperplane;  // of three classes or more
};

class StreamClasses {
 public:
  explicit StreamClasses(bool rest) : rest_(rest) {}

  // The classes that there are from the start, ascending by label.
  void set(std::span<const std::int64_t> labels);

  std::size_t size() const { return classes_.size(); }
  std::span<const StreamClass> all() const { return classes_; }  // ascending by label
  bool has(std::int64_t label) const;
  std::vector<std::int64_t> labels() const;

  // Of two classes.
  std::size_t only_hyperplane() const { return rest_ ? 1 : 0; }
  // Of hyperplane k of a model: there the classes ascend, and the rest, if it has it, comes last.
  std::size_t hyperplane_of(std::size_t k) const;

  // What a new class brings.
  struct Addition {
    struct Hyperplane {
      double sign;       // it begins as so many times
      std::size_t like;  // that one
    };
    std::vector<StreamClass> classes;     // with the new one
    std::vector<Hyperplane> hyperplanes;  // to be added, in this order, to `before` that there are
    std::size_t before = 0;
  };
  // A class begins as if it had been there from the start: all rows so far were others. So its
  // hyperplane is the rest's; of the first two classes one hyperplane is the negative of the other.
  Addition addition_of(std::int64_t label, std::size_t hyperplanes) const;
  void add(Addition made) noexcept { classes_ = std::move(made.classes); }

 private:
  bool rest_;
  std::vector<StreamClass> classes_;
};

}  // namespace hinge
