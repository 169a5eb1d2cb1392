// Map: names of types -> writer -> header parser (SAX, fixed schema) -> layout and checksum checks.
#include "files/tensor_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/stop.h"
#include "files/checksum.h"
#include "hinge/files.h"
#include "hinge/json.h"

namespace hinge {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are stored little-endian");

constexpr std::uint64_t kMaxHeader = std::uint64_t{16} << 20;
constexpr std::string_view kBlank = "0000000000000000";
constexpr std::string_view kHeaderSumKey = "\"checksum.header\":\"";

struct TypeName {
  DType dtype;
  std::string_view name;
  std::uint64_t width;
};
constexpr auto kTypes = std::to_array<TypeName>({{DType::u8, "U8", 1},
                                                 {DType::u32, "U32", 4},
                                                 {DType::i64, "I64", 8},
                                                 {DType::u64, "U64", 8},
                                                 {DType::f32, "F32", 4},
                                                 {DType::f64, "F64", 8}});

const TypeName& info(DType dtype) {
  return *std::ranges::find(kTypes, dtype, &TypeName::dtype);
}

// The header with the 16 digits of its own checksum as zeros, or empty if they are not there once.
std::string blanked(std::string_view header) {
  const std::size_t at = header.find(kHeaderSumKey);
  if (at == std::string_view::npos ||
      header.find(kHeaderSumKey, at + 1) != std::string_view::npos) {
    return {};
  }
  const std::size_t digits = at + kHeaderSumKey.size();
  if (digits + kBlank.size() > header.size()) return {};
  std::string copy(header);
  copy.replace(digits, kBlank.size(), kBlank);
  return copy;
}

std::uint64_t checksum_text(std::string_view text) {
  return checksum(std::as_bytes(std::span(text.data(), text.size())));
}

// What comes before the arrays, which are put into the order they have in the file.
std::string head_of(std::vector<Tensor>& tensors, Metadata metadata) {
  std::ranges::sort(tensors, [](const Tensor& a, const Tensor& b) {
    const std::uint64_t wa = info(a.dtype).width, wb = info(b.dtype).width;
    return wa != wb ? wa > wb : a.name < b.name;
  });
  for (const Tensor& t : tensors) metadata["checksum." + t.name] = to_hex(checksum(t.bytes));
  metadata["checksum.header"] = kBlank;

  Json fields = Json::object();
  for (const auto& [key, text] : metadata) fields.add(key, text);
  Json json = Json::object();
  json.add("__metadata__", std::move(fields));
  std::uint64_t offset = 0;
  for (const Tensor& t : tensors) {
    const std::uint64_t end = offset + t.bytes.size();
    json.add(t.name, {{"dtype", info(t.dtype).name},
                      {"shape", Json::list_of(t.shape)},
                      {"data_offsets", Json::list_of(std::array{offset, end})}});
    offset = end;
  }
  std::string header = json.dump();
  header.append((8 - header.size() % 8) % 8, ' ');
  // The first byte of the file is the lowest of this length. It shall not be a digit: a file cut
  // off after it would be text with one label in it.
  while (header.size() % 256 == '0' || header.size() % 256 == '8') header.append(8, ' ');
  if (header.size() > kMaxHeader) {
    fail("limit.classes", "so many classes or files do not fit the header of a file");
  }
  const std::string sum = to_hex(checksum_text(header));
  header.replace(header.find(kHeaderSumKey) + kHeaderSumKey.size(), kBlank.size(), sum);
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header;
}

}  // namespace

std::string_view name_of(DType dtype) {
  return info(dtype).name;
}
std::uint64_t width_of(DType dtype) {
  return info(dtype).width;
}
std::optional<DType> dtype_named(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &TypeName::name);
  return found == kTypes.end() ? std::nullopt : std::optional(found->dtype);
}

std::string tensor_file_bytes(std::vector<Tensor> tensors, Metadata metadata) {
  std::string bytes = head_of(tensors, std::move(metadata));
  std::size_t size = bytes.size();
  for (const Tensor& t : tensors) size += t.bytes.size();
  bytes.reserve(size);
  for (const Tensor& t : tensors) bytes += as_text(t.bytes);
  return bytes;
}

void write_tensor_file(const std::string& path, std::vector<Tensor> tensors, Metadata metadata,
                       const TensorFileOptions& options) {
  const StopToken stop(options.stop);
  const std::string head = head_of(tensors, std::move(metadata));
  OutputFile out = take(OutputFile::create(path));
  if (options.only_owner_writes) out.only_owner_writes();
  take(out.write(head));
  constexpr std::size_t kWriteBytes = std::size_t{1} << 22;
  for (const Tensor& t : tensors) {
    for (std::size_t at = 0; at < t.bytes.size(); at += kWriteBytes) {
      stop.poll();
      take(out.write(as_text(t.bytes).substr(at, kWriteBytes)));
    }
  }
  stop.poll();
  if (options.before) {
    take(out.sync());
    options.before();
  }
  take(out.commit());
}

namespace {

// Receives the header's JSON events and accepts exactly:
// {"__metadata__":{string:string,...},
// name:{"dtype":string,"shape":[n,...],"data_offsets":[n,n]},...}
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  struct Entry {
    std::string name, dtype;
    std::vector<std::uint64_t> shape, offsets;
    std::set<std::string> fields;
  };
  Metadata metadata;
  std::vector<Entry> entries;
  std::string problem;

  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == 1) return true;
    if (depth_ != 2) return refuse("an object where none belongs");
    in_metadata_ = key_ == "__metadata__";
    if (!in_metadata_)
      entries.push_back({.name = key_, .dtype = {}, .shape = {}, .offsets = {}, .fields = {}});
    return true;
  }
  bool end_object() override {
    if (depth_ == 2 && !in_metadata_ && entries.back().fields.size() != 3) {
      return refuse("an array without dtype, shape or data_offsets");
    }
    --depth_;
    return true;
  }
  bool key(std::string& name) override {
    key_ = name;
    if (depth_ == 1) {
      return top_.insert(name).second || refuse("the same name twice");
    }
    if (in_metadata_) {
      return !metadata.contains(name) || refuse("the same metadata key twice");
    }
    if (name != "dtype" && name != "shape" && name != "data_offsets") {
      return refuse("an unknown field of an array");
    }
    return entries.back().fields.insert(name).second || refuse("the same field twice");
  }
  bool string(std::string& text) override {
    if (depth_ != 2 || in_array_) return refuse("text where none belongs");
    if (in_metadata_) {
      metadata[key_] = text;
      return true;
    }
    if (key_ != "dtype") return refuse("text where none belongs");
    entries.back().dtype = text;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || in_array_ || key_ == "dtype") {
      return refuse("a list where none belongs");
    }
    in_array_ = true;
    return true;
  }
  bool end_array() override {
    in_array_ = false;
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (!in_array_) return refuse("a number where none belongs");
    std::vector<std::uint64_t>& list =
        key_ == "shape" ? entries.back().shape : entries.back().offsets;
    if (list.size() == 4) return refuse("a list that is too long");
    list.push_back(value);
    return true;
  }
  bool number_integer(std::int64_t) override { return refuse("a negative number"); }
  bool number_float(double, const std::string&) override { return refuse("a broken number"); }
  bool binary(nlohmann::json::binary_t&) override { return refuse("binary data"); }
  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("true or false"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    if (problem.empty()) problem = fmt::format("broken JSON at byte {} of the header", position);
    return false;
  }

 private:
  bool refuse(std::string_view what) {
    problem = fmt::format("the header holds {}", what);
    return false;
  }
  int depth_ = 0;
  bool in_metadata_ = false;
  bool in_array_ = false;
  std::string key_;
  std::set<std::string> top_;
};

}  // namespace

void TensorFile::check_head(std::span<const std::byte> head, const std::string& path,
                            std::string_view kind) {
  if (head.size() > 8 && static_cast<char>(head[8]) != '{') {
    fail_file(fmt::format("{}.magic", kind), path, fmt::format("this is not a hinge {}", kind));
  }
}

bool looks_like_tensor_file(std::string_view head) {
  using std::string_view_literals::operator""sv;
  // A length below 256 MiB leaves zero bytes, which text does not have, and no compressed file
  // begins like that except gzip's. Also with its bytes swapped, which shall be told.
  if (head.size() < 9 || head[8] != '{' || head.starts_with("\x1f\x8b"sv)) return false;
  const auto is_length = [](char high, std::string_view zeros) {
    return static_cast<unsigned char>(high) < 0x10 && zeros == "\0\0\0\0"sv;
  };
  return is_length(head[3], head.substr(4, 4)) || is_length(head[4], head.substr(0, 4));
}

bool looks_like_tensor_file(std::string_view head, std::string_view format) {
  if (!looks_like_tensor_file(head)) return false;
  // Quotes within a text of JSON have a backslash before them: a name or a label that says the same
  // is not taken for the member.
  static constexpr std::string_view kSpace = " \t\r\n", kName = R"("format")";
  const auto value = fmt::format(R"("{}")", format);
  std::string_view rest = head.substr(0, 4096);
  const auto take = [&rest](std::string_view text) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kSpace), rest.size()));
    if (!rest.starts_with(text)) return false;
    rest.remove_prefix(text.size());
    return true;
  };
  for (auto at = rest.find(kName); at != std::string_view::npos; at = rest.find(kName)) {
    rest.remove_prefix(at);
    if (take(kName) && take(":") && take(value)) return true;
  }
  return false;
}

TensorFile TensorFile::read(const std::string& path, std::string_view kind) {
  const auto check = [&](std::span<const std::byte> head) { check_head(head, path, kind); };
  return parse(FileBytes::read(path, check), path, kind);
}

TensorFile TensorFile::parse(FileBytes bytes, const std::string& path, std::string_view kind) {
  TensorFile file;
  file.path_ = path;
  file.kind_ = kind;
  file.bytes_ = std::move(bytes);
  file.open();
  for (const Tensor& t : file.tensors_) {
    if (file.field("checksum." + t.name) != to_hex(checksum(t.bytes))) file.bad_checksum(t);
  }
  return file;
}

TensorFile TensorFile::map(const std::string& path, std::string_view kind) {
  return map(FileBytes::map(path), path, kind);
}

TensorFile TensorFile::map(FileBytes bytes, const std::string& path, std::string_view kind) {
  TensorFile file;
  file.path_ = path;
  file.kind_ = kind;
  file.bytes_ = std::move(bytes);
  file.open();
  return file;
}

void TensorFile::open() {
  const std::span<const std::byte> bytes = bytes_.span();
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length + 2) {
    reject(bytes.empty() ? "truncated" : "magic",
           fmt::format("{} bytes are no hinge {}", bytes.size(), kind_));
  }
  std::memcpy(&length, bytes.data(), sizeof length);
  if (__builtin_bswap64(length) <= kMaxHeader && static_cast<char>(bytes[8]) == '{') {
    reject("endian", "its header length is big-endian; hinge reads little-endian files");
  }
  if (length > kMaxHeader && length <= bytes.size() - sizeof length && length % 8 == 0) {
    fail_file("limit.header", path_,
              fmt::format("a header of {} bytes; at most {} are read", length, kMaxHeader));
  }
  if (length > kMaxHeader || length % 8 != 0 || static_cast<char>(bytes[8]) != '{') {
    reject("magic", fmt::format("this is not a hinge {}", kind_));
  }
  if (length > bytes.size() - sizeof length) {
    reject("truncated",
           fmt::format("the header needs {} bytes, the file has {}", length + 8, bytes.size()));
  }
  const std::string_view header =
      as_text(bytes).substr(sizeof length, static_cast<std::size_t>(length));
  parse_header(header, bytes.size() - sizeof length - length);
  check_header_sum(header);
}

void TensorFile::parse_header(std::string_view header, std::uint64_t data_bytes) {
  // The JSON parser takes a zero byte for the end; our writer escapes all control characters.
  if (std::ranges::any_of(header, [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    reject("header", "the header holds control characters");
  }
  HeaderReader reader;
  if (!nlohmann::json::sax_parse(header, &reader)) reject("header", reader.problem);
  metadata_ = std::move(reader.metadata);
  std::uint64_t expected = 0;
  std::vector<std::uint64_t> ends;
  for (HeaderReader::Entry& entry : reader.entries) {
    const auto type = std::ranges::find(kTypes, entry.dtype, &TypeName::name);
    const std::string name = escape(entry.name);
    if (type == kTypes.end()) reject("header", fmt::format("array {} has an unknown type", name));
    std::uint64_t bytes = type->width;
    for (const std::uint64_t extent : entry.shape) {
      if (__builtin_mul_overflow(bytes, extent, &bytes)) {
        reject("header", fmt::format("the shape of array {} overflows", name));
      }
    }
    if (entry.offsets.size() != 2 || entry.offsets[0] != expected || entry.offsets[1] < expected ||
        entry.offsets[1] - expected != bytes) {
      reject("header", fmt::format("array {} is not where it should be", name));
    }
    expected = entry.offsets[1];
    if (entry.offsets[0] % type->width != 0) {
      reject("header", fmt::format("array {} is not aligned", name));
    }
    tensors_.push_back({std::move(entry.name), type->dtype, std::move(entry.shape), {}});
    ends.push_back(expected);
  }
  if (expected > data_bytes) {
    reject("truncated", fmt::format("expected {} bytes of arrays, found {}", expected, data_bytes));
  }
  if (expected < data_bytes) {
    reject("trailing", fmt::format("{} bytes after the last array", data_bytes - expected));
  }
  const std::span<const std::byte> data = bytes_.span().last(data_bytes);
  for (std::size_t i = 0, begin = 0; i < tensors_.size(); begin = ends[i++]) {
    tensors_[i].bytes = data.subspan(begin, ends[i] - begin);
  }
}

void TensorFile::check_header_sum(std::string_view header) const {
  // What other programs write is sound, but not ours.
  if (!has_field("checksum.header")) reject("magic", fmt::format("this is not a hinge {}", kind_));
  const std::string blank = blanked(header);
  if (blank.empty() || field("checksum.header") != to_hex(checksum_text(blank))) {
    reject("checksum", "checksum of the header does not match");
  }
}

void TensorFile::check(std::string_view name,
                       const std::function<void(std::uint64_t end)>& inspect) const {
  constexpr std::size_t kStep = std::size_t{1} << 18;
  const Tensor& t = named(name);
  Checksum sum;
  for (std::size_t at = 0; at < t.bytes.size(); at += kStep) {
    const std::size_t count = std::min(kStep, t.bytes.size() - at);
    sum.add(t.bytes.subspan(at, count));
    inspect(at + count);
  }
  if (field("checksum." + t.name) != to_hex(sum.value())) bad_checksum(t);
}

void TensorFile::bad_checksum(const Tensor& tensor) const {
  reject("checksum", fmt::format("checksum of section \"{}\" (offset {}, {} bytes) does not match",
                                 escape(tensor.name), tensor.bytes.data() - bytes_.span().data(),
                                 tensor.bytes.size()));
}

const std::string& TensorFile::field(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) {
    reject("header", fmt::format("the field \"{}\" is missing", escape(key)));
  }
  return found->second;
}

bool TensorFile::has(std::string_view name) const {
  return std::ranges::find(tensors_, name, &Tensor::name) != tensors_.end();
}

const Tensor& TensorFile::named(std::string_view name) const {
  const auto found = std::ranges::find(tensors_, name, &Tensor::name);
  if (found == tensors_.end()) reject("header", fmt::format("array \"{}\" is missing", name));
  return *found;
}

std::span<const std::uint64_t> TensorFile::shape(std::string_view name) const {
  return named(name).shape;
}

DType TensorFile::dtype(std::string_view name) const {
  return named(name).dtype;
}

std::span<const std::byte> TensorFile::find(std::string_view name, DType dtype,
                                            std::span<const std::uint64_t> wanted) const {
  const auto found = std::ranges::find(tensors_, name, &Tensor::name);
  if (found == tensors_.end() || found->dtype != dtype ||
      !std::ranges::equal(found->shape, wanted)) {
    reject("header", fmt::format("array \"{}\" is missing or has another shape", name));
  }
  return found->bytes;
}

void TensorFile::allow_only(std::initializer_list<std::string_view> names,
                            std::string_view prefix) const {
  for (const Tensor& t : tensors_) {
    if (!prefix.empty() && t.name.starts_with(prefix)) continue;
    if (std::ranges::find(names, t.name) == names.end()) {
      reject("header", fmt::format("array \"{}\" does not belong here", escape(t.name)));
    }
  }
}

void TensorFile::reject(std::string_view problem, std::string message) const {
  fail_file(fmt::format("{}.{}", kind_, problem), path_, std::move(message));
}

}  // namespace hinge
