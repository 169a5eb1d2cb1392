// Documents: see TextShape. From the seed come the columns of the words and the words of each
// topic; from (seed, row) the topics, the length and the words of a document. Its values are
// tf-idf: (1 + log count) log(1 + 1 / expected count), scaled to unit norm.
#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "data/generate/generate_rows.h"

namespace hinge {
namespace {

// Words beyond these would hardly ever be drawn; the columns are spread over all features anyway.
constexpr std::uint64_t kMaxWords = std::uint64_t{1} << 21;

// Draws 0 .. n-1 in proportion to weights, with one random number (Walker's alias method).
class AliasTable {
 public:
  explicit AliasTable(const std::vector<double>& weights) : slots_(weights.size()) {
    const double mean =
        std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
    std::vector<double> filled(weights.size());  // of a slot: 1 is full
    std::vector<std::uint32_t> small, large;
    for (std::uint32_t i = 0; i < filled.size(); ++i) {
      filled[i] = weights[i] / mean;
      slots_[i] = {~std::uint32_t{0}, i};
      (filled[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
      const std::uint32_t poor = small.back(), rich = large.back();
      small.pop_back();
      slots_[poor] = {static_cast<std::uint32_t>(filled[poor] * 0x1p32), rich};
      filled[rich] -= 1 - filled[poor];
      if (filled[rich] < 1) {
        large.pop_back();
        small.push_back(rich);
      }
    }
  }

  std::uint32_t draw(Random& random) const {
    const std::uint64_t bits = random.next();
    const std::uint64_t i = ((bits >> 32) * slots_.size()) >> 32;
    return static_cast<std::uint32_t>(bits) < slots_[i].keep ? static_cast<std::uint32_t>(i)
                                                             : slots_[i].other;
  }

 private:
  struct Slot {
    std::uint32_t keep;  // of 2^32
    std::uint32_t other;
  };
  std::vector<Slot> slots_;
};

// The distinct words of a document and how often each was drawn.
class WordBag {
 public:
  struct Word {
    std::uint32_t rank;
    std::uint32_t count;
  };

  void reset(std::size_t capacity) {
    const std::size_t size = std::bit_ceil(2 * capacity);
    shift_ = 32 - std::countr_zero(size);
    slots_.assign(size, 0);
    words_.clear();
  }

  void add(std::uint32_t rank) {
    std::size_t i = shift_ == 32 ? 0 : (rank * 0x9e3779b1U) >> shift_;
    while (slots_[i] != 0 && words_[slots_[i] - 1].rank != rank) i = (i + 1) & (slots_.size() - 1);
    if (slots_[i] == 0) {
      words_.push_back({rank, 0});
      slots_[i] = static_cast<std::uint32_t>(words_.size());
    }
    ++words_[slots_[i] - 1].count;
  }

  std::span<const Word> words() const { return words_; }

 private:
  int shift_ = 32;
  std::vector<std::uint32_t> slots_;  // 0 = free, else 1 + place in words_
  std::vector<Word> words_;
};

std::vector<double> zipf_weights(std::size_t words, double shift, double knee) {
  std::vector<double> weights(words);
  for (std::size_t r = 0; r < words; ++r) {
    const auto rank = static_cast<double>(r);
    weights[r] = 1 / ((rank + shift) * (1 + rank / knee));
  }
  return weights;
}

class TextRows {
 public:
  TextRows(const TextShape& shape, std::uint64_t features, std::uint64_t seed)
      : TextRows(shape, features, seed,
                 zipf_weights(std::min(features, kMaxWords), shape.zipf_shift, shape.zipf_knee)) {}

  void append(RowRange rows, std::string& out) const {
    Scratch scratch;
    for (std::uint64_t row = rows.begin; row < rows.end; ++row) append_row(row, scratch, out);
  }

 private:
  struct Term {
    std::uint32_t column;
    float idf;
  };
  struct Entry {
    std::uint32_t column;
    float value;
  };
  struct Scratch {
    WordBag bag;
    std::vector<Entry> entries;
  };

  TextRows(const TextShape& shape, std::uint64_t features, std::uint64_t seed,
           const std::vector<double>& weights)
      : shape_(shape),
        seed_(seed),
        chatter_(weights),
        topic_word_(zipf_weights(shape.topic_words, 10, 1e9)) {
    place_words(weights, features);
    choose_topic_words();
    for (std::size_t count = 1; count < count_factor_.size(); ++count) {
      count_factor_[count] = 1 + rough_log(static_cast<double>(count));
    }
  }

  // Word r stands in column (a r + b) mod features with a prime to features: scattered, as in a
  // dictionary sorted by name.
  void place_words(const std::vector<double>& weights, std::uint64_t features) {
    Random random(seed_, kColumnStream);
    std::uint64_t a = features / 4 + random.below(features / 2);
    while (std::gcd(a, features) != 1) ++a;
    const std::uint64_t b = random.below(features);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    terms_.resize(weights.size());
    for (std::size_t r = 0; r < weights.size(); ++r) {
      const double expected = shape_.median_length * weights[r] / total;
      terms_[r] = {static_cast<std::uint32_t>((a * r + b) % features),
                   static_cast<float>(rough_log(1 + 1 / expected))};
    }
  }

  // Topic words are neither the commonest nor the rarest.
  void choose_topic_words() {
    Random random(seed_, kRuleStream);
    const std::uint64_t first = terms_.size() / 200, last = terms_.size() / 4;
    topic_ranks_.resize(std::size_t{shape_.topics} * shape_.topic_words);
    for (std::uint32_t& rank : topic_ranks_) {
      rank = static_cast<std::uint32_t>(first + random.below(last - first));
    }
  }

  std::size_t draw_length(Random& random) const {
    const double length = shape_.median_length * rough_exp(shape_.length_spread * bell(random));
    return std::clamp<std::size_t>(static_cast<std::size_t>(length + 0.5), 1, terms_.size() / 2);
  }

  // Fills the bag and returns the main topic.
  std::uint64_t draw_words(Random& random, WordBag& bag) const {
    const std::uint64_t topic = random.below(shape_.topics);
    const std::uint64_t side_topic = random.below(shape_.topics);
    const double side = random.uniform() * shape_.max_side;
    const double share =
        shape_.min_share + random.uniform() * (shape_.max_share - shape_.min_share);
    const std::size_t length = draw_length(random);
    bag.reset(length);
    while (bag.words().size() < length) {
      const double kind = random.uniform();
      if (kind < share) {
        const std::uint64_t from = kind < share * side ? side_topic : topic;
        bag.add(topic_ranks_[from * shape_.topic_words + topic_word_.draw(random)]);
      } else {
        bag.add(chatter_.draw(random));
      }
    }
    return topic;
  }

  void append_row(std::uint64_t row, Scratch& scratch, std::string& out) const {
    Random random(seed_, kRowStream, row);
    const bool positive = draw_words(random, scratch.bag) < shape_.positive_topics;
    append_label(positive != (random.uniform() < shape_.flips), out);

    double squares = 0;
    scratch.entries.clear();
    for (const auto& [rank, count] : scratch.bag.words()) {
      const Term& term = terms_[rank];
      const double factor = count_factor_[std::min<std::size_t>(count, count_factor_.size() - 1)];
      const auto value = static_cast<float>(factor * term.idf);
      squares += double{value} * value;
      scratch.entries.push_back({term.column, value});
    }
    std::ranges::sort(scratch.entries, {}, &Entry::column);
    double units = 1;
    for (int i = 0; i < shape_.decimals; ++i) units *= 10;
    const double scale = units / std::sqrt(squares);
    for (const auto& [column, value] : scratch.entries) {
      append_feature(std::uint64_t{column} + 1, to_units(value, scale), shape_.decimals, out);
    }
    out.push_back('\n');
  }

  TextShape shape_;
  std::uint64_t seed_;
  AliasTable chatter_;                      // draws the rank of a word
  AliasTable topic_word_;                   // draws which word of a topic
  std::vector<Term> terms_;                 // by rank
  std::vector<std::uint32_t> topic_ranks_;  // topics x topic_words
  std::array<double, 64> count_factor_{};   // 1 + log(count)
};

}  // namespace

RowMaker make_text_rows(const TextShape& shape, std::uint64_t features, std::uint64_t seed) {
  return [rows = std::make_shared<const TextRows>(shape, features, seed)](
             RowRange range, std::string& out) { rows->append(range, out); };
}

}  // namespace hinge
