// Rows of libsvm text with 1-based columns, for the small programs beside this file that call
// another library; and the protocol by which bench/matrix_peers.py drives some of them.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using Row = std::vector<std::pair<unsigned long, double>>;

struct Rows {
  std::vector<Row> x;
  std::vector<double> label;
  unsigned long columns = 0;  // one more than the largest

  // Ascending.
  std::vector<double> classes() const {
    std::vector<double> all = label;
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
  }
  // 1 for the rows of the class, -1 for all others.
  std::vector<double> signs(double of_class) const {
    std::vector<double> y = label;
    for (double& one : y) one = one == of_class ? 1 : -1;
    return y;
  }
};

template <class Number>
Number parse(std::string_view& text) {
  Number number{};
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  if (end == text.data()) throw std::runtime_error("not a number: " + std::string(text));
  text.remove_prefix(end - text.data());
  return number;
}

inline Rows read(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  Rows rows;
  for (std::string line; std::getline(in, line);) {
    std::string_view text = line;
    if (text.starts_with('+')) text.remove_prefix(1);
    rows.label.push_back(parse<double>(text));
    Row row;
    while (text.size() > 1 && text[0] == ' ' && text[1] != ' ') {
      text.remove_prefix(1);
      const auto column = parse<unsigned long>(text);
      text.remove_prefix(1);  // ':'
      row.emplace_back(column, parse<double>(text));
      rows.columns = std::max(rows.columns, column + 1);
    }
    rows.x.emplace_back(row.begin(), row.end());  // no larger than need be
  }
  if (rows.label.empty()) throw std::runtime_error("no rows in " + path);
  return rows;
}

using Weights = std::vector<double>;  // by column; that of column 0 is not used

// What a training gave: one hyperplane for the larger of two labels, or one for each of several,
// in ascending order; and the seconds of the library call alone.
struct Trained {
  std::vector<Weights> w;
  double seconds = 0;
};

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Says "ready"; then answers every line "COST KNOB FILE" with a line of seconds, once the weights
// of columns 1 and up lie in FILE as doubles, hyperplane after hyperplane.
template <class Train>
void serve(unsigned long columns, Train train) {
  std::cout << "ready" << std::endl;
  double cost = 0, knob = 0;
  for (std::string path; std::cin >> cost >> knob >> path;) {
    Trained trained = train(cost, knob);
    std::ofstream out(path, std::ios::binary);
    for (Weights& w : trained.w) {
      w.resize(columns);
      out.write(reinterpret_cast<const char*>(w.data() + 1),
                static_cast<std::streamsize>((columns - 1) * sizeof(double)));
    }
    if (!out.flush()) throw std::runtime_error("cannot write " + path);
    std::cout << trained.seconds << std::endl;
  }
}
