// dlib's svm_c_linear_dcd_trainer without bias, on rows that stay in memory:
//
//   dlib_solve FILE          then lines "COST EPSILON WEIGHTS" on stdin, see libsvm_rows.h
//
// The seconds are those of train(), of all classes together where there are several. Where half of
// the values or more are there, rows are dlib's dense vectors, else its sparse ones. Its limit of
// 10,000 iterations is lifted.
#include <dlib/svm.h>

#include <limits>
#include <string>
#include <vector>

#include "libsvm_rows.h"

namespace {

struct Sparse {
  using Sample = Row;
  using Kernel = dlib::sparse_linear_kernel<Sample>;

  static Sample from(Row& row, unsigned long) { return std::move(row); }
  static void add(const Sample& from, double factor, Weights& w) {
    for (const auto& [column, value] : from) w[column] += factor * value;
  }
};

struct Dense {
  using Sample = dlib::matrix<double, 0, 1>;
  using Kernel = dlib::linear_kernel<Sample>;

  static Sample from(Row& row, unsigned long columns) {
    Sample sample = dlib::zeros_matrix<double>(static_cast<long>(columns), 1);
    for (const auto& [column, value] : row) sample(static_cast<long>(column)) = value;
    Row().swap(row);
    return sample;
  }
  static void add(const Sample& from, double factor, Weights& w) {
    for (long column = 0; column < from.size(); ++column) {
      w[static_cast<std::size_t>(column)] += factor * from(column);
    }
  }
};

template <class Form>
void run(Rows rows) {
  std::vector<typename Form::Sample> samples;
  for (Row& row : rows.x) samples.push_back(Form::from(row, rows.columns));
  std::vector<double> classes = rows.classes();
  if (classes.size() == 2) classes.erase(classes.begin());
  serve(rows.columns, [&](double cost, double epsilon) {
    dlib::svm_c_linear_dcd_trainer<typename Form::Kernel> trainer(cost);
    trainer.include_bias(false);
    trainer.set_epsilon(epsilon);
    trainer.set_max_iterations(std::numeric_limits<unsigned long>::max());
    Trained trained;
    for (const double one : classes) {
      const std::vector<double> y = rows.signs(one);
      const Stopwatch watch;
      const auto found = trainer.train(samples, y);
      trained.seconds += watch.seconds();
      Weights w(rows.columns);
      for (long k = 0; k < found.basis_vectors.size(); ++k) {
        Form::add(found.basis_vectors(k), found.alpha(k), w);
      }
      trained.w.push_back(w);
    }
    return trained;
  });
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "usage: dlib_solve FILE\n";
    return 2;
  }
  try {
    Rows rows = read(words[1]);
    std::size_t nonzeros = 0;
    for (const Row& row : rows.x) nonzeros += row.size();
    const bool dense = 2 * nonzeros >= rows.x.size() * (rows.columns - 1);
    (dense ? run<Dense> : run<Sparse>)(std::move(rows));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
