#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace hinge::fuzz {

void require(bool condition, std::string_view what) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

void require_error(const Error& error, std::initializer_list<int> exit_codes) {
  const std::string text = to_string(error);
  require(find_error(error.id) != nullptr, "an id outside the catalogue: " + text);
  const int code = exit_code(error);
  require(std::ranges::find(exit_codes, code) != exit_codes.end(),
          "exit code " + std::to_string(code) + ": " + text);
  require(error.message.find('\n') == std::string::npos, "a message of several lines: " + text);
  for (const std::string& said : {text, to_json(error)}) {
    require(std::ranges::all_of(said, [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n'; }),
            "bytes that are not escaped: " + said);
  }
}

void require_dataset(const Dataset& data) {
  const Result<Dataset> wrapped = Dataset::wrap(data.view(), data.row_labels(), data.weights(), {});
  require(wrapped.ok(), wrapped.ok() ? "" : to_string(wrapped.error()));
  require(data.rows() > 0, "a data set without rows");
  std::uint64_t rows = 0;
  for (const LabelCount& c : data.classes()) rows += c.rows;
  const bool classes = data.label_kind() != LabelKind::targets;
  require(rows == (classes ? data.rows() : 0), "the classes do not have all rows");
  for (const std::string& name : data.class_names().list()) {
    require(data.class_names().text(*data.class_names().find(name)) == name, "a name is not found");
  }
  require(wrapped->classes().size() == data.classes().size(), "classes were counted wrongly");
  require(data.index_base() == 0 || data.index_base() == 1, "the index base is not 0 or 1");
}

void require_dataset_of_text(const Dataset& data) {
  require_dataset(data);
  data.visit([&](const auto& m) {
    std::uint64_t features = 0;
    for (std::uint64_t k = 0; k < m.nonzeros(); ++k) {
      features = std::max(features, std::uint64_t{m.column(k)} + 1);
      require(m.values[k] != 0, "a zero is stored");
    }
    require(data.features() == features, "features are not the largest column + 1");
  });
}

namespace {

template <class T>
bool same_bytes(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

template <class Value>
bool same_matrix(const CsrView<Value>& a, const CsrView<Value>& b) {
  const std::size_t count = a.nonzeros();
  const std::size_t columns = a.full ? a.features : count;
  return a.rows == b.rows && a.features == b.features && count == b.nonzeros() &&
         a.full == b.full &&
         same_bytes(std::span(a.offsets, a.rows + 1), std::span(b.offsets, b.rows + 1)) &&
         same_bytes(std::span(a.columns, columns), std::span(b.columns, columns)) &&
         same_bytes(std::span(a.values, count), std::span(b.values, count));
}

}  // namespace

void require_same(const Dataset& a, const Dataset& b) {
  require(a.precision() == b.precision(), "different precisions");
  require(a.index_base() == b.index_base(), "different index bases");
  require(a.label_kind() == b.label_kind(), "labels of different kinds");
  require(same_bytes(a.row_labels().bytes(), b.row_labels().bytes()), "different labels");
  require(a.class_names() == b.class_names(), "different names of classes");
  require(same_bytes(a.weights(), b.weights()), "different weights");
  const bool same = a.precision() == Precision::f32
                        ? same_matrix(std::get<0>(a.view()), std::get<0>(b.view()))
                        : same_matrix(std::get<1>(a.view()), std::get<1>(b.view()));
  require(same, "different rows");
}

MemoryFile::MemoryFile(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
  require(fd_ >= 0, "no file in memory");
  while (!bytes.empty()) {
    const ssize_t count = write(fd_, bytes.data(), bytes.size());
    require(count > 0, "writing to memory");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  path_ = "/proc/self/fd/" + std::to_string(fd_);
}

MemoryFile::~MemoryFile() {
  close(fd_);
}

std::string written(const std::function<void(const std::string& path)>& write) {
  const char* const memory = "/dev/shm";
  const std::filesystem::path parent =
      access(memory, W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
  std::string folder = (parent / "hinge_fuzz_XXXXXX").string();
  require(mkdtemp(folder.data()) != nullptr, "no temporary folder");
  const std::string path = folder + "/file";
  write(path);
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return bytes;
}

void mutate(std::string& text, std::size_t max_size) {
  std::string room(std::max(max_size, text.size()), '\0');
  std::ranges::copy(text, room.begin());
  room.resize(
      LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(room.data()), text.size(), room.size()));
  text = std::move(room);
}

std::size_t give(std::string_view bytes, std::uint8_t* data, std::size_t max_size) {
  const std::size_t size = std::min(bytes.size(), max_size);
  std::memcpy(data, bytes.data(), size);
  return size;
}

}  // namespace hinge::fuzz
