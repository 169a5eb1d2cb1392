// What bindings.cc has of how models are judged and chosen, and what both need of conversions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hinge/options.h"
#include "run.h"

namespace hinge::python {

using Options = std::vector<std::pair<std::string, std::string>>;

template <class T>
using Array = nb::ndarray<nb::numpy, T>;

// An array that keeps the vector.
template <class T>
Array<T> to_array(std::vector<T> values, std::vector<std::size_t> shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = owned->data();
  const nb::capsule owner(owned.get(),
                          [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  static_cast<void>(owned.release());
  return Array<T>(data, shape.size(), shape.data(), owner);
}
template <class T>
Array<T> to_array(std::vector<T> values) {
  const std::size_t size = values.size();
  return to_array(std::move(values), {size});
}

// Raises where one is refused.
TrainOptions options_of(const Options& given);

// evaluate, curves, tune
void add_choosing(nb::module_& m);

}  // namespace hinge::python
