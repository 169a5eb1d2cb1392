// Reading on several ranks: who reads what, and what all must know of it.
//
// The files are taken for one run of bytes, as they are stored, and that is cut into as many parts
// of the same size. A cut goes to the next beginning of a line, or, in a compressed file, which can
// only be read from its beginning, to the nearer end of the file. So parts are in row order, and
// every rank finds its two cuts by itself.
//
// Machines may have copies that differ. No rank reads what another reads, so that nobody would
// notice: each share is therefore gone through once more in another copy (check_copies).
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "data/data_file.h"
#include "data/dataset_builder.h"
#include "files/checksum.h"
#include "files/decoder.h"
#include "files/source.h"
#include "files/tensor_file.h"
#include "hinge/dataset.h"
#include "objective/problem.h"
#include "ranks/comm.h"
#include "rows/check_copies.h"

namespace hinge {
namespace {

struct Listed {
  std::string path;
  std::uint64_t bytes = 0;
};

std::vector<Listed> list_files(const DataSource& source) {
  std::vector<Listed> files;
  for (const std::string& path : expand_source(source)) {
    const bool standard = path == "-";
    const std::uint64_t bytes = standard ? 0 : ByteSource(path).size();  // or it cannot be opened
    if (standard || !is_regular(path)) {
      fail("mpi.unsupported", fmt::format("{}: several ranks read files, no streams",
                                          standard ? "standard input" : escape(path)));
    }
    files.push_back({path, bytes});
  }
  return files;
}

// In few words, for comparing: names and sizes.
std::string describe(const std::vector<Listed>& files) {
  std::string all;
  std::uint64_t bytes = 0;
  for (const Listed& file : files) {
    all += fmt::format("{} {}\n", file.path, file.bytes);
    bytes += file.bytes;
  }
  return fmt::format("{} files, {} bytes, checksum {}", files.size(), bytes,
                     to_hex(checksum(std::as_bytes(std::span(all)))));
}

std::uint64_t checksum_of(const Listed& file, ByteRange range, const std::atomic<bool>* stop) {
  const StopToken token(stop);
  std::vector<char> piece(std::size_t{1} << 18);  // stays in the cache
  range.end = std::min(range.end, file.bytes);    // a part, and so as stored
  ByteSource bytes(file.path, nullptr, range);
  Checksum sum;
  while (const std::size_t count = bytes.read(piece)) {
    sum.add(std::as_bytes(std::span(piece).first(count)));
    token.poll();
  }
  return sum.value();
}

// Checksums of the first `most` bytes of some of the files, each rank working out its share.
std::vector<std::uint64_t> checksums(const std::vector<Listed>& files,
                                     const std::vector<std::size_t>& some, std::uint64_t most,
                                     const std::atomic<bool>* stop, Comm& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<std::uint64_t> mine;
  comm.together([&] {
    for (auto k = static_cast<std::size_t>(comm.rank()); k < some.size(); k += ranks) {
      mine.push_back(checksum_of(files[some[k]], {0, most}, stop));
    }
  });
  const std::vector<std::vector<std::byte>> parts = comm.gather_all(std::as_bytes(std::span(mine)));
  std::vector<std::uint64_t> all(some.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::memcpy(&all[k], parts[k % ranks].data() + k / ranks * sizeof all[k], sizeof all[k]);
  }
  return all;
}

// The same bytes under two names would count twice. Only files of the same size can be that, and of
// those most differ in how they begin.
void refuse_twins(const std::vector<Listed>& files, const std::atomic<bool>* stop, Comm& comm) {
  constexpr std::uint64_t kBeginning = std::uint64_t{1} << 16;
  using Mark = std::pair<std::uint64_t, std::uint64_t>;  // size and checksum
  std::map<Mark, std::vector<std::size_t>> alike;
  for (std::size_t k = 0; k < files.size(); ++k) {
    if (files[k].bytes > 0) alike[{files[k].bytes, 0}].push_back(k);
  }
  for (const std::uint64_t most : {kBeginning, UINT64_MAX}) {
    std::vector<std::size_t> some;
    for (const auto& [mark, group] : alike) {
      if (group.size() > 1) some.insert(some.end(), group.begin(), group.end());
    }
    if (some.empty()) return;
    const std::vector<std::uint64_t> sums = checksums(files, some, most, stop, comm);
    alike.clear();
    for (std::size_t k = 0; k < some.size(); ++k) {
      alike[{files[some[k]].bytes, sums[k]}].push_back(some[k]);
    }
  }
  comm.together([&] {
    for (const auto& [mark, group] : alike) {
      if (group.size() < 2) continue;
      fail_file("mpi.duplicate-shard", files[group[1]].path,
                fmt::format("the same bytes as {}", escape(files[group[0]].path)));
    }
  });
}

bool is_compressed(const std::string& path) {
  std::array<char, kDecoderHead> head;
  return make_decoder(first_bytes(path, head)) != nullptr;
}

// Where the first line begins at or after `from` > 0.
std::uint64_t next_line(const Listed& file, std::uint64_t from) {
  ByteSource bytes(file.path, nullptr, {from - 1, UINT64_MAX});
  std::vector<char> piece(std::size_t{1} << 16);
  for (std::uint64_t at = from - 1;;) {
    const std::size_t count = bytes.read(piece);
    if (count == 0) return file.bytes;
    if (const void* found = std::memchr(piece.data(), '\n', count)) {
      return at + static_cast<std::uint64_t>(static_cast<const char*>(found) - piece.data()) + 1;
    }
    at += count;
  }
}

struct Cut {
  std::size_t file = 0;
  std::uint64_t offset = 0;
};

// The beginning of part `part` of `parts`; of one more, the end of all.
Cut cut_at(const std::vector<Listed>& files, int part, int parts) {
  std::uint64_t total = 0;
  for (const Listed& file : files) total += file.bytes;
  if (part == parts) return {files.size(), 0};
  auto left = static_cast<std::uint64_t>(static_cast<double>(total) * part / parts);
  for (std::size_t k = 0; k < files.size(); ++k) {
    if (left >= files[k].bytes) {
      left -= files[k].bytes;
      continue;
    }
    if (left == 0) return {k, 0};
    if (is_compressed(files[k].path)) return {2 * left < files[k].bytes ? k : k + 1, 0};
    const std::uint64_t line = next_line(files[k], left);
    if (line >= files[k].bytes) return {k + 1, 0};
    return {k, line};
  }
  return {files.size(), 0};
}

Dataset no_rows(Precision precision, int base) {
  if (precision == Precision::f32) {
    DatasetArrays<float> arrays;
    arrays.offsets.resize(1);
    return DatasetBuilder::build(std::move(arrays), 0, base);
  }
  DatasetArrays<double> arrays;
  arrays.offsets.resize(1);
  return DatasetBuilder::build(std::move(arrays), 0, base);
}

// Of a file, what one part has.
struct Piece {
  std::size_t file = 0;
  ByteRange range;
};

std::vector<Piece> pieces_of(const std::vector<Listed>& files, int part, int parts) {
  const Cut begin = cut_at(files, part, parts), end = cut_at(files, part + 1, parts);
  std::vector<Piece> pieces;
  for (std::size_t k = begin.file; k < files.size() && k <= end.file; ++k) {
    ByteRange range;
    if (k == begin.file) range.begin = begin.offset;
    if (k == end.file) range.end = end.offset;
    if (range.begin < std::min(range.end, files[k].bytes)) pieces.push_back({k, range});
  }
  return pieces;
}

Dataset read_lines(const std::vector<Listed>& files, int part, int parts,
                   const ReadOptions& options, std::vector<Error>& warnings) {
  std::vector<std::string> paths;
  std::vector<ByteRange> ranges;
  for (const Piece& piece : pieces_of(files, part, parts)) {
    paths.push_back(files[piece.file].path);
    ranges.push_back(piece.range);
  }
  const int base = options.index_base == IndexBase::zero ? 0 : 1;
  if (paths.empty()) return no_rows(options.precision, base);
  try {
    return read_text(paths, options, warnings, std::move(ranges));
  } catch (Failure& failure) {
    if (failure.error.id != "data.empty") throw;  // others may have rows
    return no_rows(options.precision, base);
  }
}

std::vector<Mark> marks_of_lines(const std::vector<Listed>& files, int part, int parts,
                                 const std::atomic<bool>* stop) {
  std::vector<Mark> marks;
  std::uint64_t before = 0;  // bytes of the files before this one
  std::size_t file = 0;
  for (const Piece& piece : pieces_of(files, part, parts)) {
    for (; file < piece.file; ++file) before += files[file].bytes;
    marks.push_back({file, before + piece.range.begin,
                     before + std::min(piece.range.end, files[file].bytes),
                     checksum_of(files[file], piece.range, stop)});
  }
  return marks;
}

// Of the arrays what its rows have, and the header, where the number of rows is, and checksums.
std::vector<Mark> marks_of_rows(const std::string& path, const ReadOptions& options, int part,
                                int parts) {
  TensorFile file = TensorFile::map(path, "cache");
  Checksum sum;
  for (const auto& [name, value] : file.metadata()) {
    sum.add(std::as_bytes(std::span(name)));
    sum.add(std::as_bytes(std::span(value)));
  }
  const Dataset data = map_share(std::move(file), options, part, parts);
  data.visit([&](const auto& m) {
    sum.add(std::as_bytes(std::span(m.offsets, m.rows + 1)));
    sum.add(std::as_bytes(std::span(m.columns, m.full ? m.features : m.nonzeros())));
    sum.add(std::as_bytes(std::span(m.values, m.nonzeros())));
  });
  sum.add(data.row_labels().bytes());
  sum.add(std::as_bytes(data.weights()));
  return {{.sum = sum.value()}};
}

// The same rows with the features of all ranks, and counted from where all of them count.
Dataset renumber(const Dataset& data, std::uint64_t features, int base) {
  return data.visit([&]<class Value>(CsrView<Value> m) {
    struct Owner {
      Dataset data;
      Buffer<std::uint32_t> columns;
    };
    auto owner = std::make_shared<Owner>();
    owner->data = data;
    const bool shift = data.index_base() != base;  // from 1 to 0: nothing here is feature 0
    if (shift || (m.full && m.features != features)) {
      owner->columns.resize(m.nonzeros());
      for (std::uint64_t k = 0; k < m.nonzeros(); ++k) owner->columns[k] = m.column(k) + shift;
      m.columns = owner->columns.data();
      m.full = false;
    }
    m.features = features;
    return DatasetBuilder::wrap(m, data.row_labels(), data.weights(), base, owner);
  });
}

// The same rows with labels that are targets. Of text each rank sees its own labels alone, and
// takes whole numbers for such.
Dataset with_targets(const Dataset& data) {
  struct Owner {
    Dataset data;
    std::vector<double> targets;
  };
  auto owner = std::make_shared<Owner>(Owner{data, targets_of(data)});
  return data.visit([&]<class Value>(const CsrView<Value>& m) {
    return DatasetBuilder::wrap(m, Labels(owner->targets), data.weights(), data.index_base(),
                                owner);
  });
}

// What was odd on any rank, one entry a kind, for rank 0 to tell.
void join_warnings(std::vector<Error>& warnings, std::size_t before, Comm& comm) {
  std::vector<std::byte> mine;
  for (std::size_t k = before; k < warnings.size(); ++k) {
    const std::vector<std::byte> words = pack(warnings[k]);
    const std::uint64_t size = words.size();
    const auto bytes = std::as_bytes(std::span(&size, 1));
    mine.insert(mine.end(), bytes.begin(), bytes.end());
    mine.insert(mine.end(), words.begin(), words.end());
  }
  std::vector<Error> all;
  comm.gather(mine, [&](int, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      std::uint64_t size = 0;
      std::memcpy(&size, bytes.data(), sizeof size);
      Error warning = unpack_error(bytes.subspan(sizeof size, size));
      bytes = bytes.subspan(sizeof size + size);
      if (std::ranges::find(all, warning.id, &Error::id) == all.end()) all.push_back(warning);
    }
  });
  warnings.resize(before);
  warnings.insert(warnings.end(), all.begin(), all.end());
}

Dataset read(const DataSource& source, const ReadOptions& options, Comm& comm,
             std::vector<Error>& warnings) {
  const std::size_t before = warnings.size();
  std::vector<Listed> files;
  bool binary = false;
  Dataset data;
  comm.together([&] {
    if (options.cache != Cache::off) {
      fail("mpi.unsupported", "--cache: several ranks read no cache",
           "`hinge convert DATA DATA.hinge` makes a data set that each of them maps a part of");
    }
    files = list_files(source);
    binary = files.size() == 1 && is_data_file(files[0].path);
  });
  comm.agree("the data as this rank sees it", describe(files));
  refuse_twins(files, options.stop, comm);
  std::vector<std::string> paths;
  for (const Listed& file : files) paths.push_back(file.path);
  check_copies(
      paths,
      [&](int share) {
        return binary ? marks_of_rows(files[0].path, options, share, comm.size())
                      : marks_of_lines(files, share, comm.size(), options.stop);
      },
      comm);
  comm.together([&] {
    if (binary) {
      data = map_share(TensorFile::map(files[0].path, "cache"), options, comm.rank(), comm.size());
      return;
    }
    const auto other = std::ranges::find_if(files, is_data_file, &Listed::path);
    if (other != files.end()) {
      fail_file("data.encoding", other->path, "a binary data set cannot be one of several files",
                "convert the text of all of them into one data set");
    }
    data = read_lines(files, comm.rank(), comm.size(), options, warnings);
  });
  comm.agree("precision", data.precision() == Precision::f32 ? "f32" : "f64");
  const std::uint64_t rows = comm.sum(data.rows());
  if (rows == 0) {
    comm.together([&] {
      fail_file("data.empty", files.size() == 1 ? files[0].path : std::string{}, "no rows");
    });
  }
  const bool from_zero = comm.max(data.index_base() == 0 && data.rows() > 0 ? 1.0 : 0.0) > 0;
  const int base = from_zero || options.index_base == IndexBase::zero ? 0 : 1;
  comm.together([&] {
    if (binary && base == 0 && options.index_base == IndexBase::one) {
      fail("data.index.zero", "this data set counts its features from 0",
           "give --index-base 0 for training and prediction alike");
    }
  });
  const std::uint64_t own =
      data.features() + (data.features() > 0 && data.index_base() != base ? 1 : 0);
  const auto features = static_cast<std::uint64_t>(comm.max(static_cast<double>(own)));
  data = renumber(data, features, base);
  const bool real = data.label_kind() == LabelKind::targets;
  if (comm.max(real ? 1.0 : 0.0) > 0 && !real) data = with_targets(data);
  if (!options.weights_file.empty()) {
    std::uint64_t first = 0;
    const std::uint64_t mine = data.rows();
    const auto all = comm.gather_all(std::as_bytes(std::span(&mine, 1)));
    for (int k = 0; k < comm.rank(); ++k) {
      std::uint64_t count = 0;
      std::memcpy(&count, all[static_cast<std::size_t>(k)].data(), sizeof count);
      first += count;
    }
    std::string known;
    comm.together([&] {
      const std::vector<double> weights = read_weights(options.weights_file, rows, options.stop);
      if (weights.size() != rows) {
        fail("data.weights.count", fmt::format("{} weights for {} rows", weights.size(), rows));
      }
      known = to_hex(checksum(std::as_bytes(std::span(weights))));
      const auto from = weights.begin() + static_cast<std::ptrdiff_t>(first);
      data = take(data.with_weights({from, from + static_cast<std::ptrdiff_t>(mine)}));
    });
    comm.agree("checksum of the weights", known);
  }
  join_warnings(warnings, before, comm);
  return data;
}

}  // namespace

Result<Dataset> read_share(const DataSource& source, const ReadOptions& options,
                           Transport& transport, std::vector<Error>& warnings) {
  return guard([&] {
    Comm comm(transport);
    return comm.telling([&] { return read(source, options, comm, warnings); });
  });
}

}  // namespace hinge
