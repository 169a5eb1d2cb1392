// Memory runs out at every single allocation of every operation, once and for good. What must
// happen: the operation fails with memory.alloc (or does without), gives everything back, leaves no
// file behind and none changed, and works the next time.
//
// For that the operators new and delete of this whole program are replaced; unarmed they are malloc
// and free. What comes straight from the kernel (base/buffer.h) is for tests/cli/faults_test.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compress.h"
#include "hinge/hinge.h"
#include "support.h"

namespace {

constinit std::atomic<long> g_live{0};    // blocks taken and not given back
constinit std::atomic<long> g_number{0};  // the allocation to fail, from 1; 0: none
constinit std::atomic<bool> g_on{false};  // and all after it
constinit std::atomic<long> g_count{0};   // allocations since armed
constinit std::atomic<long> g_denied{0};

void* allocate(std::size_t size, std::size_t alignment = 0) noexcept {
  if (const long number = g_number.load(); number != 0) {
    const long count = g_count.fetch_add(1) + 1;
    if (g_on.load() ? count >= number : count == number) {
      g_denied.fetch_add(1);
      return nullptr;
    }
  }
  size = size == 0 ? 1 : size;
  void* const data =
      alignment == 0
          ? std::malloc(size)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (data != nullptr) g_live.fetch_add(1);
  return data;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment = 0) {
  void* const data = allocate(size, alignment);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

void release(void* data) noexcept {
  if (data == nullptr) return;
  g_live.fetch_sub(1);
  std::free(data);
}

std::size_t number(std::align_val_t alignment) {
  return static_cast<std::size_t>(alignment);
}

}  // namespace

using Size = std::size_t;
using Align = std::align_val_t;
using Nothrow = std::nothrow_t;

void* operator new(Size n) {
  return allocate_or_throw(n);
}
void* operator new[](Size n) {
  return allocate_or_throw(n);
}
void* operator new(Size n, const Nothrow&) noexcept {
  return allocate(n);
}
void* operator new[](Size n, const Nothrow&) noexcept {
  return allocate(n);
}
void* operator new(Size n, Align a) {
  return allocate_or_throw(n, number(a));
}
void* operator new[](Size n, Align a) {
  return allocate_or_throw(n, number(a));
}
void* operator new(Size n, Align a, const Nothrow&) noexcept {
  return allocate(n, number(a));
}
void* operator new[](Size n, Align a, const Nothrow&) noexcept {
  return allocate(n, number(a));
}
void operator delete(void* p) noexcept {
  release(p);
}
void operator delete[](void* p) noexcept {
  release(p);
}
void operator delete(void* p, Size) noexcept {
  release(p);
}
void operator delete[](void* p, Size) noexcept {
  release(p);
}
void operator delete(void* p, const Nothrow&) noexcept {
  release(p);
}
void operator delete[](void* p, const Nothrow&) noexcept {
  release(p);
}
void operator delete(void* p, Align) noexcept {
  release(p);
}
void operator delete[](void* p, Align) noexcept {
  release(p);
}
void operator delete(void* p, Size, Align) noexcept {
  release(p);
}
void operator delete[](void* p, Size, Align) noexcept {
  release(p);
}
void operator delete(void* p, Align, const Nothrow&) noexcept {
  release(p);
}
void operator delete[](void* p, Align, const Nothrow&) noexcept {
  release(p);
}

namespace hinge {
namespace {

using testing::read_file;
using testing::TempFolder;
using testing::write_file;

// How an operation ended: an id, or nothing. It must not need memory itself.
struct Outcome {
  char id[40] = "";
  bool operator==(const Outcome& other) const { return std::strcmp(id, other.id) == 0; }
};

template <class T>
Outcome outcome(const Result<T>& result) {
  Outcome out;
  if (!result.ok()) std::snprintf(out.id, sizeof out.id, "%s", result.error().id.c_str());
  return out;
}

const char* const kText =
    "1 1:0.5 2:-1 4:0.25\n-1 1:-0.5 3:1\n1 2:0.5 3:-1 7:2\n-1 1:-1 2:1\n1 1:1 7:0.5\n-1 3:0.75\n";
const char* const kThreeClasses =
    "2 1:0.5 2:-1\n5 1:-0.5 3:1\n11 2:0.5 3:-1\n2 1:1 2:-0.5\n5 3:0.75\n11 2:1\n";
// An index so large that only the columns that occur are worked on.
const char* const kSparseRows = "1 1:0.5 4000000000:1\n-1 2:1 3000000000:-1\n1 1:1\n-1 2:0.5\n";
const char* const kOddRows = "1 qid:1 2:0.5 1:1\n-1 qid:2 3:1 2:1e-400\n1 7:1 4:1\n";
const char* const kBadRows = "1 1:0.5 2:x\n-1 3:1 3:2\n1 2:1\ncat 1:1\n1 1:nan\n";

class Allocation : public testing::Test {
 protected:
  Allocation() : folder_(testing::memory_folder()) {
    write_file(folder_ / "rows", kText);
    write_file(folder_ / "three", kThreeClasses);
    write_file(folder_ / "sparse", kSparseRows);
    write_file(folder_ / "odd", kOddRows);
    write_file(folder_ / "bad", kBadRows);
    write_file(folder_ / "weights", "1\n2\n0.5\n1\n1\n3\n");
    write_file(folder_ / "old", "what was there before");
  }

  // Runs the operation with every allocation failing in turn. It ends as `usual` when none does.
  // What it does to files it does wholly or, when memory runs out, not at all. One that keeps a
  // cache may also succeed without it ("cache.write"), or run out of memory when the cache is there
  // already.
  void exhaust(const std::function<Outcome()>& operation, std::string_view usual = "",
               bool caches = false) {
    const Files before = files();
    Outcome expected;
    std::snprintf(expected.id, sizeof expected.id, "%s", std::string(usual).c_str());
    ASSERT_EQ(std::string(operation().id), usual);
    const Files after = files();
    for (const bool on : {false, true}) {
      // What fails for good begins at any point; a few will do where time is short.
      for (long n = 1;; n += on && !testing::at_length() ? 4 : 1) {
        restore(before);
        const long live = g_live.load();
        g_count = 0;
        g_denied = 0;
        g_on = on;
        g_number = n;
        const Outcome found = operation();
        g_number = 0;
        ASSERT_EQ(g_live.load(), live) << "leaks at allocation " << n << (on ? " and on" : "");
        const std::string_view id = found.id;
        const bool short_of_memory = id == "memory.alloc", uncached = caches && id == "cache.write";
        ASSERT_TRUE(found == expected || ((short_of_memory || uncached) && g_denied.load() > 0))
            << found.id << " at allocation " << n << (on ? " and on" : "");
        const Files now = files();
        ASSERT_TRUE(now == (short_of_memory || uncached ? before : after) ||
                    (caches && short_of_memory && now == after))
            << "other files at allocation " << n << (on ? " and on" : "");
        if (g_denied.load() == 0) break;
        ++points_;
      }
      restore(before);
      EXPECT_TRUE(operation() == expected);
      restore(before);
    }
  }

  void TearDown() override { std::fprintf(stderr, "faults: %ld allocation points\n", points_); }

  Dataset read(const std::string& name, const ReadOptions& options = {}) const {
    std::vector<Error> warnings;
    return read_dataset(folder_ / name, options, warnings).value();
  }

  // A cache that was not written counts, other warnings do not.
  Outcome read_outcome(const std::string& path, const ReadOptions& options) const {
    std::vector<Error> warnings;
    Outcome out = outcome(read_dataset(path, options, warnings));
    for (const Error& warning : warnings) {
      if (out.id[0] == '\0' && warning.id == "cache.write") {
        std::snprintf(out.id, sizeof out.id, "cache.write");
      }
    }
    return out;
  }

  void save(const Dataset& data, const std::string& name) const {
    ASSERT_TRUE(save_dataset(data, folder_ / name, {}).ok());
  }

  TempFolder folder_;
  long points_ = 0;

 private:
  using Files = std::vector<std::pair<std::string, std::string>>;

  Files files() const {
    Files all;
    for (const std::string& name : folder_.names())
      all.emplace_back(name, read_file(folder_ / name));
    return all;
  }

  // Files that did not change are left alone: a cache knows the time of its text.
  void restore(const Files& wanted) const {
    for (const auto& [name, bytes] : files()) {
      const auto same_name = [&present = name](const auto& file) { return file.first == present; };
      if (std::ranges::none_of(wanted, same_name)) std::filesystem::remove(folder_ / name);
    }
    const Files left = files();
    for (const auto& file : wanted) {
      if (std::ranges::find(left, file) == left.end())
        write_file(folder_ / file.first, file.second);
    }
  }
};

TEST_F(Allocation, ReadText) {
  const std::string path = folder_ / "rows";
  for (const int threads : {1, 2}) {
    for (const Precision precision : {Precision::f32, Precision::f64}) {
      const ReadOptions options = {.precision = precision, .threads = threads};
      exhaust([&] { return read_outcome(path, options); });
    }
  }
}

TEST_F(Allocation, ReadTextWithErrors) {
  const std::string path = folder_ / "bad";
  for (const int threads : {1, 2}) {
    const ReadOptions options = {.threads = threads};
    exhaust([&] { return read_outcome(path, options); }, "data.value");
  }
}

TEST_F(Allocation, ReadTextWithWarnings) {
  const std::string path = folder_ / "odd";
  const ReadOptions options = {.threads = 1};
  exhaust([&] { return read_outcome(path, options); });
}

TEST_F(Allocation, ReadWeights) {
  const std::string path = folder_ / "rows";
  const ReadOptions options = {.threads = 1, .weights_file = folder_ / "weights"};
  exhaust([&] { return read_outcome(path, options); });
}

TEST_F(Allocation, ReadWhatIsNotThere) {
  const std::string path = folder_ / "none";
  const ReadOptions options = {.threads = 1};
  exhaust([&] { return read_outcome(path, options); }, "io.open");
  exhaust([&] { return outcome(load_model(path)); }, "io.open");
}

TEST_F(Allocation, ReadCompressed) {
  write_file(folder_ / "gz", testing::gzip(kText) + testing::gzip(kText));
  write_file(folder_ / "bz2", testing::bzip2(kText) + testing::bzip2(kText));
  write_file(folder_ / "xz", testing::xz(kText) + testing::xz(kText));
  write_file(folder_ / "zst", testing::zstd(kText) + testing::zstd(kText));
  write_file(folder_ / "cut", testing::xz(kText).substr(0, 60));
  for (const char* name : {"gz", "bz2", "xz", "zst"}) {
    const std::string path = folder_ / name;
    for (const int threads : {1, 2}) {
      const ReadOptions options = {.threads = threads};
      exhaust([&] { return read_outcome(path, options); });
    }
  }
  const std::string path = folder_ / "cut";
  exhaust([&] { return read_outcome(path, {}); }, "data.xz");
}

TEST_F(Allocation, ReadPattern) {
  for (const char* name : {"part-1", "part-2", "part-3"}) write_file(folder_ / name, kText);
  const std::string path = folder_ / "part-*", none = folder_ / "no-*";
  for (const int threads : {1, 2}) {
    const ReadOptions options = {.threads = threads};
    exhaust([&] { return read_outcome(path, options); });
  }
  exhaust([&] { return read_outcome(none, {}); }, "io.open");
  exhaust([&] { return outcome(source_files(path)); });
}

TEST_F(Allocation, ReadBinary) {
  save(read("rows"), "binary");
  save(read("rows", {.precision = Precision::f64, .weights_file = folder_ / "weights"}),
       "weighted");
  for (const char* name : {"binary", "weighted"}) {
    const std::string path = folder_ / name;
    for (const int threads : {1, 2}) {
      for (const IndexBase base : {IndexBase::automatic, IndexBase::zero}) {
        const ReadOptions options = {.index_base = base, .threads = threads};
        exhaust([&] { return read_outcome(path, options); });
      }
    }
  }
}

TEST_F(Allocation, ReadDamagedBinary) {
  save(read("rows"), "binary");
  const std::string path = folder_ / "binary", bytes = read_file(path);
  std::string changed = bytes;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  for (const int threads : {1, 2}) {
    const ReadOptions options = {.threads = threads};
    write_file(path, changed);
    exhaust([&] { return read_outcome(path, options); }, "cache.checksum");
    write_file(path, bytes.substr(0, bytes.size() - 1));
    exhaust([&] { return read_outcome(path, options); }, "cache.truncated");
  }
}

TEST_F(Allocation, Cache) {
  for (const char* name : {"rows", "odd"}) {
    const std::string path = folder_ / name, cache = path + ".cache";
    for (const int threads : {1, 2}) {
      if (threads == 2 && name == std::string_view("odd"))
        continue;  // its warnings are what counts
      const ReadOptions options = {.threads = threads, .cache = Cache::on},
                        strict = {.threads = threads, .cache = Cache::strict};
      std::filesystem::remove(cache);
      exhaust([&] { return read_outcome(path, options); }, "", true);  // none is there
      const std::string text = read_file(path);
      write_file(path, text + "# another text\n");
      ASSERT_STREQ(read_outcome(path, options).id, "");
      write_file(path, text);
      exhaust([&] { return read_outcome(path, options); }, "", true);  // a stale one
      exhaust([&] { return read_outcome(path, strict); }, "cache.stale");
      ASSERT_STREQ(read_outcome(path, options).id, "");
      const std::string fresh = read_file(cache);
      exhaust([&] { return read_outcome(path, options); });
      EXPECT_EQ(read_file(cache), fresh);
    }
  }
}

TEST_F(Allocation, SaveData) {
  for (const char* name : {"rows", "sparse"}) {
    const Dataset data = read(name);
    const Dataset weighted = data.with_weights(std::vector<double>(data.rows(), 0.5)).value();
    for (const char* output : {"old", "new"}) {
      const std::string path = folder_ / output;
      exhaust([&] { return outcome(save_dataset(data, path, {})); });
      exhaust([&] { return outcome(save_dataset(weighted, path, {})); });
      for (const int threads : {1, 2}) {
        const SaveOptions options = {.format = DataFormat::text, .threads = threads};
        exhaust([&] { return outcome(save_dataset(data, path, options)); });
        exhaust([&] { return outcome(save_dataset(weighted, path, options)); }, "usage.value");
      }
    }
  }
}

TEST_F(Allocation, Check) {
  save(read("rows"), "binary");
  std::uint64_t bad = 0;
  const std::function<void(const Error&)> on_bad_row = [&](const Error&) { ++bad; };
  for (const char* name : {"rows", "three", "odd", "sparse", "bad", "binary"}) {
    const std::string path = folder_ / name;
    for (const int threads : {1, 2}) {
      const ReadOptions options = {.threads = threads};
      exhaust([&] { return outcome(check_dataset(path, options, on_bad_row)); });
    }
  }
  EXPECT_GT(bad, 0U);
}

// Whether a file is a model must not depend on memory: there is no way to say "perhaps".
TEST_F(Allocation, Recognise) {
  const std::string data = folder_ / "binary", native = folder_ / "native",
                    liblinear = folder_ / "liblinear", rows = folder_ / "rows";
  save(read("rows"), "binary");
  const Model model = train(read("rows")).value().model;
  ASSERT_TRUE(save_model(model, native).ok());
  ASSERT_TRUE(save_model(model, liblinear, ModelFormat::liblinear).ok());
  exhaust([&] {
    Outcome out;
    if (!looks_like_model(native) || !looks_like_model(liblinear)) out.id[0] = 'm';
    if (looks_like_model(data) || looks_like_model(rows)) out.id[0] = 'M';
    if (!looks_like_dataset(data)) out.id[0] = 'd';
    if (looks_like_dataset(native) || looks_like_dataset(rows)) out.id[0] = 'D';
    return out;
  });
}

TEST_F(Allocation, Train) {
  for (const char* name : {"rows", "three", "sparse"}) {
    const Dataset data = read(name);
    for (const int threads : {1, 2}) {
      TrainOptions options = {.bias = 1, .threads = threads};
      exhaust([&] { return outcome(train(data, options)); });
    }
  }
}

TEST_F(Allocation, TrainWithWeights) {
  const Dataset data = read("rows", {.weights_file = folder_ / "weights"});
  const TrainOptions options = {
      .class_weights = {{1, 2.0}, {77, 3.0}}, .threads = 1, .max_passes = 1};
  std::uint64_t records = 0;
  const TrainControl control = {.observer = [&](const Progress&) { ++records; }};
  exhaust([&] { return outcome(train(data, options, control)); });
  EXPECT_GT(records, 0U);
}

TEST_F(Allocation, TrainOnBadOptions) {
  const Dataset data = read("rows");
  const TrainOptions options = {.cost = -1};
  exhaust([&] { return outcome(train(data, options)); }, "usage.value");
}

TEST_F(Allocation, CrossValidate) {
  const Dataset data = read("rows");
  const TrainOptions options = {.threads = 1};
  exhaust([&] { return outcome(cross_validate(data, 2, options)); });
}

TEST_F(Allocation, SaveModel) {
  for (const char* name : {"rows", "three", "sparse"}) {
    const Model model = train(read(name), {.class_weights = {{1, 2.0}}}).value().model;
    for (const char* output : {"old", "new"}) {
      const std::string path = folder_ / output;
      exhaust([&] { return outcome(save_model(model, path)); });
    }
  }
}

TEST_F(Allocation, SaveLiblinearModel) {
  for (const char* name : {"rows", "three"}) {
    const Model model = train(read(name), {.bias = 1}).value().model;
    for (const char* output : {"old", "new"}) {
      const std::string path = folder_ / output;
      exhaust([&] { return outcome(save_model(model, path, ModelFormat::liblinear)); });
    }
  }
  const std::string path = folder_ / "new";
  const Model large = train(read("sparse")).value().model;
  exhaust([&] { return outcome(save_model(large, path, ModelFormat::liblinear)); }, "model.format");
}

TEST_F(Allocation, LoadModel) {
  for (const char* name : {"rows", "three", "sparse"}) {
    const std::string path = folder_ / "model";
    const Model model = train(read(name), {.class_weights = {{1, 2.0}}}).value().model;
    ASSERT_TRUE(save_model(model, path).ok());
    exhaust([&] { return outcome(load_model(path)); });
  }
}

TEST_F(Allocation, LoadLiblinearModel) {
  const std::string path = folder_ / "model";
  for (const char* name : {"rows", "three"}) {
    const Model model = train(read(name), {.bias = 1}).value().model;
    ASSERT_TRUE(save_model(model, path, ModelFormat::liblinear).ok());
    exhaust([&] { return outcome(load_model(path)); });
  }
  const std::string bytes = read_file(path);
  write_file(path, bytes + "1\n");
  exhaust([&] { return outcome(load_model(path)); }, "model.trailing");
  write_file(path, bytes.substr(0, bytes.size() - 3));
  exhaust([&] { return outcome(load_model(path)); }, "model.truncated");
}

TEST_F(Allocation, LoadDamagedModel) {
  const std::string path = folder_ / "model";
  ASSERT_TRUE(save_model(train(read("rows")).value().model, path).ok());
  std::string bytes = read_file(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file(path, bytes);
  exhaust([&] { return outcome(load_model(path)); }, "model.checksum");
}

TEST_F(Allocation, PredictEvaluateVerify) {
  for (const char* name : {"rows", "three", "sparse"}) {
    const Dataset data = read(name);
    const Model model = train(data).value().model;
    const Model bare = train(data, {.witness = false}).value().model;
    const Predictions predictions = predict(model, data).value();
    for (const int threads : {1, 2}) {
      const VerifyOptions proving = {.prove = true, .threads = threads};
      exhaust([&] { return outcome(predict(model, data, threads)); });
      exhaust([&] { return outcome(verify(model, data, proving)); });
      exhaust([&] { return outcome(verify(bare, data, proving)); });
    }
    exhaust([&] { return outcome(evaluate(model, data, predictions)); });
  }
}

// A stream from text to model and on from there.
Outcome stream_file(const std::string& text, const std::string& path) {
  static const StreamOptions options = {.lambda = 0.1, .bias = 1, .class_weights = {{1, 2.0}}};
  Result<Stream> stream = Stream::create(options);
  if (!stream.ok()) return outcome(stream);
  Result<RowReader> reader = RowReader::open(text);
  if (!reader.ok()) return outcome(reader);
  while (true) {
    RowBlock block;
    const Result<bool> more = reader->next(block);
    if (!more.ok()) return outcome(more);
    if (!*more) break;
    std::vector<StreamPrediction> said;
    if (const Result<void> r = stream->learn_batch(block.rows, said); !r.ok()) return outcome(r);
    if (const auto r = stream->predict(block.rows); !r.ok()) return outcome(r);
  }
  const Result<Model> model = stream->snapshot();
  if (!model.ok()) return outcome(model);
  if (const Result<void> saved = save_model(*model, path); !saved.ok()) return outcome(saved);
  return outcome(Stream::resume(*model));
}

TEST_F(Allocation, StreamText) {
  const std::string nowhere = "/dev/null";
  for (const char* name : {"three", "sparse"}) {
    const std::string text = folder_ / name;
    exhaust([&] { return stream_file(text, nowhere); });
  }
  const std::string text = folder_ / "bad";
  exhaust([&] { return stream_file(text, nowhere); }, "data.value");
}

TEST_F(Allocation, LoadStreamModel) {
  for (const char* name : {"rows", "three", "sparse"}) {
    const std::string path = folder_ / "model";
    ASSERT_EQ(std::string(stream_file(folder_ / name, path).id), "");
    exhaust([&] { return outcome(load_model(path)); });
  }
}

// A row is learned wholly or not at all, and then it can be learned later.
TEST_F(Allocation, LearnARow) {
  const std::vector<std::uint32_t> columns = {1, 2'000'000, 3'000'000'000};
  const std::vector<double> values = {1, 0.5, -1};
  const auto bytes = [&](const Stream& stream) {
    EXPECT_TRUE(save_model(stream.snapshot().value(), folder_ / "bytes").ok());
    return read_file(folder_ / "bytes");
  };
  for (const char* name : {"rows", "three"}) {
    Stream begun = Stream::create({.lambda = 0.1}).value();
    std::vector<StreamPrediction> said;
    ASSERT_TRUE(begun.learn_batch(read(name), said).ok());
    const Model model = begun.snapshot().value();
    const std::string before = bytes(begun);
    ASSERT_TRUE(begun.learn_one(columns, values, 77).ok());  // a new class and new columns
    const std::string after = bytes(begun);
    for (long n = 1, denied = 1; denied > 0; ++n, ++points_) {
      Stream stream = Stream::resume(model).value();
      g_count = 0;
      g_denied = 0;
      g_on = false;
      g_number = n;
      const Outcome found = outcome(stream.learn_one(columns, values, 77));
      g_number = 0;
      denied = g_denied.load();
      ASSERT_EQ(std::string(found.id), denied > 0 ? "memory.alloc" : "") << n;
      ASSERT_EQ(bytes(stream), denied > 0 ? before : after) << n;
      if (denied > 0) {
        ASSERT_TRUE(stream.learn_one(columns, values, 77).ok());
      }
      ASSERT_EQ(bytes(stream), after) << n;
    }
  }
}

TEST_F(Allocation, Generate) {
  for (const char* like : {"cov1", "dense"}) {
    for (const int threads : {1, 2}) {
      const GenerateOptions options = {
          .like = like, .rows = 20, .features = 20, .threads = threads};
      for (const char* output : {"old", "new"}) {
        const std::string path = folder_ / output;
        exhaust([&] { return outcome(generate_dataset(path, options)); });
      }
    }
  }
}

TEST_F(Allocation, Split) {
  const std::string source = folder_ / "rows", train = folder_ / "old", test = folder_ / "new";
  const SplitOptions options = {.test = 0.4};
  exhaust([&] { return outcome(split_dataset(source, train, test, options)); });
}

TEST_F(Allocation, Options) {
  const std::string number = "cost", factors = "class-weight", wrong = "no-such-option";
  TrainOptions options;
  options.class_weights.reserve(1000000);  // repeated below; not what is tried here
  exhaust([&] { return outcome(set_option(options, number, "0.5")); });
  exhaust([&] { return outcome(set_option(options, number, "half of it")); }, "usage.value");
  exhaust([&] { return outcome(set_option(options, factors, "-1=2.5")); });
  exhaust([&] { return outcome(set_option(options, wrong, "1")); }, "usage.option");
  exhaust([&] { return outcome(validate(options)); });
  options.gap = 2;
  exhaust([&] { return outcome(validate(options)); }, "usage.value");
}

TEST_F(Allocation, Outputs) {
  const std::string path = folder_ / "new", bad = folder_ / "no/such", text(3000000, 'x');
  exhaust([&] { return outcome(check_output(bad)); }, "io.create");
  exhaust([&] { return outcome(check_output(path)); });
  exhaust([&] {
    Result<OutputFile> file = OutputFile::create(path);
    if (!file.ok()) return outcome(file);
    for (const std::string_view part : {std::string_view(text), std::string_view("the end")}) {
      if (Result<void> r = file->write(part); !r.ok()) return outcome(r);
    }
    return outcome(file->commit());
  });
}

TEST_F(Allocation, Errors) {
  const Error error = make_error("run.internal", std::string(100, 'x'), "a help that is not short");
  long& denied = points_;
  for (long n = 1; denied == n - 1; ++n) {  // text is not a Result: it throws
    g_count = 0;
    g_denied = 0;
    g_number = n;
    try {
      static_cast<void>(to_string(error));
      static_cast<void>(to_json(error));
    } catch (const std::bad_alloc&) {
      ++denied;
    }
    g_number = 0;
  }
  EXPECT_GT(denied, 10);
}

}  // namespace
}  // namespace hinge
