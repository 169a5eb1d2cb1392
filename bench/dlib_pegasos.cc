// dlib's svm_pegasos on libsvm text, for bench/pegasos.py:
//
//   dlib_pegasos sparse|dense FILE SEED FOLDER EPOCHS...
//
// Trains on the rows in random order, anew for every epoch, with lambda = 1/rows (C = 1). After
// each of the EPOCHS (ascending) it writes the weights to FOLDER/EPOCHS, the bias first and then a
// line "column weight" each, and prints "EPOCHS SECONDS": of the training up to there, without
// reading and writing.
//
// What differs from Pegasos without bias:
// - dlib appends the constant feature 0.1 (offset_kernel, tau = 0.01) to every row and cannot be
// told
//   not to. Its weight is regularised. The bias that comes of it is written, for others to judge.
// - Its result is the last point, and it keeps |w| <= 1/sqrt(lambda).
// - With a linear kernel there is no expansion: tolerance and max_num_sv have no effect.
// - `sparse` keeps w in a std::map. Every step walks through it for one product (dlib merges row
// and
//   w), every update once more for its length. `dense` has w in an array, of which each step reads
//   all as well, but faster: on ccat by a factor of ten and more. The rows are kept sparse and
//   expanded one at a time, which saves dlib the memory of all of them, and the time to read it.
#include <dlib/svm.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "libsvm_rows.h"

namespace {

struct Sparse {
  using Sample = Row;
  using Kernel = dlib::sparse_linear_kernel<Sample>;

  explicit Sparse(const Rows&) {}
  static const Sample& expand(const Row& row) { return row; }
  static void clear(const Row&) {}
  static void add(const Sample& from, double factor, std::map<unsigned long, double>& w) {
    for (const auto& [column, value] : from) w[column] += factor * value;
  }
};

class Dense {
 public:
  using Sample = dlib::matrix<double, 0, 1>;
  using Kernel = dlib::linear_kernel<Sample>;

  explicit Dense(const Rows& rows) : row_(dlib::zeros_matrix<double>(rows.columns, 1)) {}
  const Sample& expand(const Row& row) {
    for (const auto& [column, value] : row) row_(column) = value;
    return row_;
  }
  void clear(const Row& row) {
    for (const auto& [column, value] : row) row_(column) = 0;
  }
  static void add(const Sample& from, double factor, std::map<unsigned long, double>& w) {
    for (long column = 0; column < from.size(); ++column) w[column] += factor * from(column);
  }

 private:
  Sample row_;
};

template <class Form>
void write(const dlib::svm_pegasos<typename Form::Kernel>& trainer, const std::string& path) {
  const auto function = trainer.get_decision_function();
  std::map<unsigned long, double> w;
  for (long k = 0; k < function.basis_vectors.size(); ++k) {
    Form::add(function.basis_vectors(k), function.alpha(k), w);
  }
  std::ofstream out(path);
  out.precision(17);
  out << -function.b << '\n';
  for (const auto& [column, weight] : w) {
    if (weight != 0) out << column << ' ' << weight << '\n';
  }
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

template <class Form>
void train(const Rows& rows, unsigned seed, const std::string& folder,
           const std::vector<std::string>& epochs) {
  dlib::svm_pegasos<typename Form::Kernel> trainer;
  trainer.set_lambda(1.0 / static_cast<double>(rows.x.size()));
  Form form(rows);
  const std::vector<double> y = rows.signs(rows.classes().back());
  std::mt19937_64 random(seed);
  std::vector<std::size_t> order(rows.x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::chrono::duration<double> spent{};
  int done = 0;
  for (const std::string& until : epochs) {
    const auto start = std::chrono::steady_clock::now();
    for (; done < std::stoi(until); ++done) {
      std::ranges::shuffle(order, random);
      for (const std::size_t i : order) {
        trainer.train(form.expand(rows.x[i]), y[i]);
        form.clear(rows.x[i]);
      }
    }
    spent += std::chrono::steady_clock::now() - start;
    write<Form>(trainer, folder + '/' + until);
    std::cout << until << ' ' << spent.count() << std::endl;
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 6) {
    std::cerr << "usage: dlib_pegasos sparse|dense FILE SEED FOLDER EPOCHS...\n";
    return 2;
  }
  try {
    const Rows rows = read(words[2]);
    const auto train_form = words[1] == std::string("dense") ? train<Dense> : train<Sparse>;
    train_form(rows, std::stoul(words[3]), words[4], {words + 5, words + count});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
