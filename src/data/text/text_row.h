// One row of libsvm text:  label [qid:n] index:value index:value ... [# comment]
//
// Two parsers of one grammar. parse_fast() takes ordinary rows at memory speed and gives up on
// anything unusual; parse_careful() takes every row, says exactly what is wrong with a bad one, and
// is what "correct" means. A row that parse_fast() accepts gets the same numbers from both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "hinge/result.h"

namespace hinge {

// Bytes that must be readable after the '\n' that ends the last line given to a parser.
constexpr std::size_t kTextPadding = 32;

// A counted oddity with the first place it was met, by line of the chunk and column.
struct Oddity {
  std::uint64_t count = 0;
  std::uint64_t line = 0;
  std::uint64_t column = 0;
};

// Rows parsed from one chunk of text. Columns are stored as index - base, modulo 2^32: index 0
// wraps around when the base is 1, until the reader knows that the data counts from 0.
template <class Value>
struct RowBatch {
  std::vector<std::int64_t> labels;  // of real ones the bits of a double
  std::vector<std::uint64_t> ends;   // number of nonzeros up to and including each row
  Buffer<std::uint32_t> columns;     // sized beforehand; `nonzeros` are in use
  Buffer<Value> values;
  std::uint64_t nonzeros = 0;
  std::uint64_t lines = 0;
  std::uint32_t max_index = 0;  // largest index stored, as written in the text
  bool keep_lines = false;
  std::vector<std::uint64_t> row_lines;  // if keep_lines: on which line of the chunk each row is

  Oddity index_zero, unsorted, underflow, qid;
  Oddity rounded;             // rows with whole numbers that a float does not hold
  std::vector<Error> errors;  // line = line of the chunk, file not set

  bool odd() const { return unsorted.count + underflow.count + qid.count + rounded.count > 0; }

  // Makes room for the rows of `bytes` bytes of text and forgets the rows there are.
  void reset(std::size_t bytes);
};

struct RowRules {
  bool labels = true;
  bool real_labels = false;
  bool strict = false;
  std::uint32_t base = 1;      // subtracted from every index
  bool base_is_fixed = false;  // index 0 is an error when base is 1
};

// Both parse one line that begins at `line` and ends with '\n', and append at most one row.

// Returns the byte after the '\n', or nullptr (and appends nothing) if the row is not ordinary.
template <class Value>
const char* parse_fast(const char* line, const RowRules& rules, RowBatch<Value>& batch);

// `end` is the '\n'. `unterminated`: it is not in the file, which ends here. Comment lines and
// blank lines append nothing; a bad row appends an error.
template <class Value>
void parse_careful(const char* line, const char* end, bool unterminated, const RowRules& rules,
                   RowBatch<Value>& batch);

// The class a label denotes: `+1`, `1` and `1.0` are one. Throws Failure (data.label.*) without a
// place.
std::int64_t read_label(std::string_view token);

}  // namespace hinge
