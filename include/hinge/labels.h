// What rows are labelled with. All labels of a data set are of one kind:
//
//   numbers   classes that are whole numbers of 64 bits, as in libsvm text
//   names     classes that have names; each row has the place of its name in a list of names
//   targets   real numbers that are to be predicted; they are no classes
//
// Solvers, models and predictions know a class by a whole number, its label: of numbers the number
// itself, of names the place in the list. Only where classes are shown or written down is there a
// difference, and ClassNames makes it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hinge/result.h"

namespace hinge {

enum class LabelKind : std::uint8_t { numbers, names, targets };
std::string_view to_string(LabelKind kind);  // "whole numbers", "names", "real targets"

// What classes are called: the class with label k has the name list()[k]. A cheap handle on an
// immutable list. Where it is empty, classes are whole numbers.
class ClassNames {
 public:
  ClassNames() = default;

  // A name is 1 to 4,096 bytes of UTF-8 without control characters, and no two are the same. Fails
  // with data.label.name.
  static Result<ClassNames> of(std::vector<std::string> names);

  bool empty() const { return list().empty(); }
  std::size_t size() const { return list().size(); }
  std::span<const std::string> list() const;
  std::optional<std::int64_t> find(std::string_view name) const;  // the label of that name

  // What people call the class with this label: its name, or the number where it has none.
  std::string text(std::int64_t label) const;

  friend bool operator==(const ClassNames& a, const ClassNames& b);

 private:
  struct List;
  std::shared_ptr<const List> list_;
};

// The labels of rows, in their order; a cheap handle. What it borrows must outlive it, which is the
// matter of whoever owns the data set.
class Labels {
 public:
  Labels() = default;  // of no rows

  // Borrows whole numbers: a span, a vector or an array of std::int64_t.
  template <class Range>
  requires(!std::same_as<std::remove_cvref_t<Range>, Labels> &&
           std::convertible_to<Range, std::span<const std::int64_t>>) Labels(Range&& numbers)
      : numbers_(numbers) {}

  // Borrows real targets: a span, a vector or an array of double.
  template <class Range>
  requires(!std::same_as<std::remove_cvref_t<Range>, Labels> &&
           std::convertible_to<Range, std::span<const double>>) Labels(Range&& targets)
      : kind_(LabelKind::targets), targets_(targets) {}

  // Borrows places in the list of names; these are whole numbers where the list is empty.
  Labels(std::span<const std::int64_t> places, ClassNames names)
      : kind_(names.empty() ? LabelKind::numbers : LabelKind::names),
        numbers_(places),
        names_(std::move(names)) {}

  // Keeps the names of the rows as places in the list of those that occur, which ascends by bytes.
  // Fails with data.label.name.
  static Result<Labels> of_names(std::span<const std::string> rows);

  LabelKind kind() const { return kind_; }
  std::size_t size() const {
    return kind_ == LabelKind::targets ? targets_.size() : numbers_.size();
  }
  std::span<const std::int64_t> numbers() const { return numbers_; }  // of targets: none
  std::span<const double> targets() const { return targets_; }        // of classes: none
  const ClassNames& names() const { return names_; }

  // Those of `count` rows from row `first` on.
  Labels part(std::size_t first, std::size_t count) const;
  // The same rows with classes counted by another list: first `names`, then, in their order, those
  // of ours that `names` does not have. Whole numbers stay as they are where `names` is empty.
  // Fails with data.label.kind where one side has names and the other has not.
  Result<Labels> counted_by(const ClassNames& names) const;
  // Eight bytes a row, as they are in memory.
  std::span<const std::byte> bytes() const;

 private:
  LabelKind kind_ = LabelKind::numbers;
  std::span<const std::int64_t> numbers_;
  std::span<const double> targets_;
  ClassNames names_;
  std::shared_ptr<const void> owner_;  // of numbers that were made here
};

}  // namespace hinge
