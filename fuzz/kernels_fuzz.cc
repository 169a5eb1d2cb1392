// The inner loops: a sparse row, a dense vector and a factor out of the input's bytes. Every
// instruction set gives the bits of the scalar loop.
#include <bit>
#include <cmath>
#include <vector>

#include "fuzz.h"
#include "kernels/kernels.h"

namespace hinge::fuzz {
namespace {

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// Any finite number, subnormals and both zeros too: what data sets and models may hold.
template <class Value>
Value finite(Bytes& bytes) {
  const Value value = bytes.take<Value>();
  return std::isfinite(value) ? value : Value{1};
}

template <class Value>
void compare(Bytes bytes) {
  std::vector<double> w(1 + bytes.take<std::uint8_t>() % 64U);
  for (double& x : w) x = finite<double>(bytes);
  const double factor = finite<double>(bytes);
  std::vector<std::uint32_t> columns;
  std::vector<Value> values;
  for (std::uint32_t j = 0; j < w.size() && !bytes.empty(); ++j) {
    j += bytes.take<std::uint8_t>() % 4U;
    if (j >= w.size()) break;
    columns.push_back(j);
    values.push_back(finite<Value>(bytes));
  }
  // Exactly as long as the row, so that AddressSanitizer sees any byte read beyond it.
  columns.shrink_to_fit();
  values.shrink_to_fit();
  const SparseRow<Value> row = {columns.data(), values.data(), columns.size()};

  const Kernels& scalar = *available_kernels().front();
  const double dot = scalar.dot(row, w.data());
  std::vector<double> sum = w;
  scalar.add(row, factor, sum.data());
  for (const Kernels* kernels : available_kernels().subspan(1)) {
    require(same_bits(kernels->dot(row, w.data()), dot), std::string(kernels->name) + ": dot");
    std::vector<double> other = w;
    kernels->add(row, factor, other.data());
    for (std::size_t j = 0; j < w.size(); ++j) {
      require(same_bits(other[j], sum[j]), std::string(kernels->name) + ": add");
    }
  }
}

}  // namespace
}  // namespace hinge::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hinge::fuzz;
  compare<float>({data, size});
  compare<double>({data, size});
  return 0;
}
