// The witnesses of a model file: as they are, in arrays of their own, or rounded, in a section.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"
#include "model/native_parts.h"
#include "proof/share_code.h"

namespace hinge {
namespace {

constexpr std::string_view kWitnessStates = "section.witness.states",
                           kWitnessValues = "section.witness.values";

bool has_witness(const BinaryProblem& problem) {
  return !problem.witness.empty();
}
bool is_rounded(const BinaryProblem& problem) {
  return problem.witness.bits != 64;
}

std::vector<std::uint8_t> states_of(std::span<const BinaryProblem> problems) {
  std::vector<std::uint8_t> states;
  for (const BinaryProblem& p : problems) {
    states.insert(states.end(), p.witness.states.begin(), p.witness.states.end());
  }
  return states;
}

void add_exact_witnesses(Draft& draft, std::span<const BinaryProblem> problems) {
  std::vector<double> values;
  std::vector<std::uint64_t> counts;
  for (const BinaryProblem& p : problems) {
    counts.push_back(p.witness.free.size());
    values.insert(values.end(), p.witness.free.begin(), p.witness.free.end());
  }
  std::vector<std::uint8_t> states = states_of(problems);
  const std::size_t frees = values.size(), width = states.size() / problems.size();
  draft.keep("witness.free_counts", {problems.size()}, std::move(counts));
  draft.keep("witness.free", {frees}, std::move(values));
  draft.keep("witness.states", {problems.size(), width}, std::move(states));
}

// Where values are rounded: each problem has its own form of them.
void add_rounded_witnesses(Draft& draft, std::span<const BinaryProblem> problems) {
  std::vector<std::uint8_t> values;
  Json forms = Json::list();
  for (const BinaryProblem& p : problems) {
    if (p.witness.bits != 16 && p.witness.bits != 32 && p.witness.bits != 64) {
      fail("model.format", fmt::format("a witness of {} bits a value", p.witness.bits));
    }
    const auto exact = std::as_bytes(std::span(p.witness.free));
    const auto all = is_rounded(p) ? std::as_bytes(std::span(p.witness.packed)) : exact;
    for (const std::byte byte : all) values.push_back(static_cast<std::uint8_t>(byte));
    forms.push_back({{"bits", p.witness.bits},
                     {"exponent", p.witness.exponent},
                     {"values", all.size() * 8 / static_cast<std::size_t>(p.witness.bits)}});
  }
  std::vector<std::uint8_t> states = states_of(problems);
  const std::size_t bytes = values.size(), width = states.size() / problems.size();
  draft.add_section(kWitness, false, forms.dump());
  draft.keep(std::string(kWitnessStates), {problems.size(), width}, std::move(states));
  draft.keep(std::string(kWitnessValues), {bytes}, std::move(values));
}

}  // namespace

void add_witnesses(Draft& draft, std::span<const BinaryProblem> problems) {
  if (!std::ranges::all_of(problems, has_witness)) return;
  const bool rounded = std::ranges::any_of(problems, is_rounded);
  (rounded ? add_rounded_witnesses : add_exact_witnesses)(draft, problems);
}

namespace {

void read_states(const TensorFile& file, std::string_view name, Model& model) {
  if (model.origin.rows == 0) file.reject("content", "a witness without rows");
  const std::uint64_t problems = model.problems.size();
  const std::uint64_t rows = model.origin.rows, width = rows / 4 + (rows % 4 != 0 ? 1 : 0);
  const auto states = file.get<std::uint8_t>(name, std::array{problems, width});
  for (std::size_t k = 0; k < problems; ++k) {
    const auto part = states.subspan(k * width, width);
    model.problems[k].witness.states.assign(part.begin(), part.end());
  }
}

void read_exact_witnesses(const TensorFile& file, Model& model) {
  const std::uint64_t problems = model.problems.size();
  const auto counts = file.get<std::uint64_t>("witness.free_counts", std::array{problems});
  std::uint64_t total = 0;
  for (const std::uint64_t count : counts) {
    if (__builtin_add_overflow(total, count, &total)) file.reject("content", "counts overflow");
  }
  const auto values = file.get<double>("witness.free", std::array{total});
  check_finite(file, values, "dual variables");
  std::size_t next = 0;
  for (std::size_t k = 0; k < problems; ++k) {
    const auto free = values.subspan(next, counts[k]);
    model.problems[k].witness.free.assign(free.begin(), free.end());
    next += counts[k];
  }
}

void read_rounded_witnesses(const TensorFile& file, Model& model) {
  const Json content = parse_field(file, "section.witness");
  const std::span<const Json> forms = list(file, content);
  if (forms.size() != model.problems.size()) {
    file.reject("content", "a witness of other problems than the model has");
  }
  const std::uint64_t size = first_extent(file, kWitnessValues);
  const auto bytes = file.get<std::uint8_t>(kWitnessValues, std::array{size});
  std::uint64_t next = 0;
  for (std::size_t k = 0; k < forms.size(); ++k) {
    Witness& witness = model.problems[k].witness;
    witness.bits = whole<int>(file, forms[k].at("bits"));
    witness.exponent = whole<int>(file, forms[k].at("exponent"));
    const auto count = whole<std::uint64_t>(file, forms[k].at("values"));
    if (witness.bits != 16 && witness.bits != 32 && witness.bits != 64) {
      file.reject("content", "a witness of an unknown number of bits");
    }
    if (witness.exponent < ShareCode::kLeastExponent ||
        witness.exponent > ShareCode::kMostExponent) {
      file.reject("content", "a witness of shares that no code can hold");
    }
    const auto width = static_cast<std::uint64_t>(witness.bits) / 8;
    if (count > (size - next) / width) file.reject("content", "a witness with too few values");
    const auto part = bytes.subspan(next, count * width);
    next += part.size();
    if (is_rounded(model.problems[k])) {
      witness.packed.assign(part.begin(), part.end());
    } else if (count > 0) {
      witness.free.resize(count);
      std::memcpy(witness.free.data(), part.data(), part.size());
      check_finite(file, witness.free, "dual variables");
    }
  }
  if (next != size) file.reject("content", "a witness with values left over");
}

}  // namespace

void read_witness(const TensorFile& file, Model& model) {
  const bool rounded = file.has(kWitnessStates), exact = file.has("witness.states");
  if (rounded && exact) file.reject("content", "two witnesses");
  if (exact) {
    read_states(file, "witness.states", model);
    read_exact_witnesses(file, model);
  } else if (rounded || file.has_field("section.witness")) {
    read_states(file, kWitnessStates, model);
    read_rounded_witnesses(file, model);
  }
}

}  // namespace hinge
