// Uses hinge the way another project would: the installed headers and library, nothing else.
#include <hinge/hinge.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace {

struct Rows {
  std::vector<std::uint64_t> offsets{0, 2, 4, 5, 7};
  std::vector<std::uint32_t> columns{0, 1, 0, 2, 1, 0, 1};
  std::vector<double> values{1.0, 0.5, 2.0, 1.0, -1.0, -1.5, -0.5};
  std::vector<std::int64_t> labels{1, 1, -1, -1};
};

int fail(const hinge::Error& error) {
  std::fprintf(stderr, "%s\n", hinge::to_string(error).c_str());
  return 1;
}

}  // namespace

int main() {
  auto rows = std::make_shared<Rows>();
  const hinge::CsrView<double> view{.rows = 4,
                                    .features = 3,
                                    .offsets = rows->offsets.data(),
                                    .columns = rows->columns.data(),
                                    .values = rows->values.data()};
  const auto data = hinge::Dataset::wrap(view, rows->labels, {}, rows);
  if (!data) return fail(data.error());

  const auto run = hinge::train(*data, {.cost = 1, .gap = 1e-3});
  if (!run) return fail(run.error());

  const double gap = run->model.certificate().relative_gap;
  std::printf("hinge %s: gap %g\n", hinge::version(), gap);
  return gap <= 1e-3 ? 0 : 1;
}
