// Labels of all three kinds in binary data sets, caches and shares, and what is refused of them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/data_file.h"
#include "files/tensor_file.h"
#include "hinge/dataset.h"
#include "labelled_rows.h"
#include "released_files.h"
#include "support.h"
#include "thread_transport.h"

namespace hinge {
namespace {

using testing::identity;
using testing::labelled;
using testing::named;
using testing::read_file;
using testing::write_file;

Result<Dataset> map(const std::string& path, ReadOptions options = {}) {
  std::vector<Error> warnings;
  options.threads = 1;
  return read_dataset(path, options, warnings);
}

class LabelsFile : public testing::Test {
 protected:
  std::string save(const Dataset& data, const std::string& name = "d.hinge") const {
    const Result<void> saved = save_dataset(data, folder_ / name, {});
    EXPECT_TRUE(saved.ok()) << to_string(saved.error());
    return folder_ / name;
  }
  std::string version_of(const std::string& path) const {
    return TensorFile::map(path, "cache").field("version");
  }
  const testing::TempFolder folder_{testing::memory_folder()};
  const Dataset numbers_ = labelled(std::vector<std::int64_t>{5, -1, 5, 7});
  const Dataset names_ = named({"b", "a c", "b", "\xc3\xa9"});
  const Dataset targets_ = labelled(std::vector<double>{0.1, -0.0, 5e-324, 1e300});
};

TEST_F(LabelsFile, RoundTripOfEveryKind) {
  for (const Dataset& data : {numbers_, names_, targets_}) {
    for (const Dataset& rows : {data, data.with_weights({1, 2, 0.5, 3}).value()}) {
      const std::string path = save(rows);
      const Dataset back = map(path).value();
      EXPECT_EQ(identity(back), identity(rows));
      EXPECT_EQ(back.label_kind(), data.label_kind());
      EXPECT_EQ(back.class_names(), data.class_names());
      EXPECT_EQ(back.classes().size(), data.classes().size());
      EXPECT_TRUE(std::ranges::equal(back.row_labels().bytes(), data.row_labels().bytes()));
      const std::string bytes = read_file(path);
      save(back, "again");
      EXPECT_EQ(read_file(folder_ / "again"), bytes);
      // Counting from 0 changes columns and nothing else.
      const Dataset zero = map(path, {.index_base = IndexBase::zero}).value();
      EXPECT_EQ(zero.class_names(), data.class_names());
    }
  }
  EXPECT_EQ(version_of(save(numbers_)), "1");
  EXPECT_EQ(version_of(save(names_)), "3");
  EXPECT_EQ(version_of(save(targets_)), "3");
}

TEST_F(LabelsFile, NamesThatNoRowHasAreKept) {
  const std::vector<std::int64_t> places = {2, 0, 2};
  const Dataset data = labelled(Labels(places, ClassNames::of({"a", "b", "c"}).value()));
  const Dataset back = map(save(data)).value();
  EXPECT_EQ(identity(back), identity(data));
  EXPECT_EQ(back.class_names().size(), 3U);
  EXPECT_EQ(back.classes().size(), 2U);
}

TEST_F(LabelsFile, Text) {
  const SaveOptions text = {.format = DataFormat::text};
  EXPECT_EQ(save_dataset(names_, folder_ / "d.svm", text).error().id, "usage.value");
  EXPECT_TRUE(folder_.names().empty());
  ASSERT_TRUE(save_dataset(targets_, folder_ / "d.svm", text).ok());
  EXPECT_EQ(read_file(folder_ / "d.svm"),
            "0.1 0:1 3:1\n-0 1:2 3:1\n5e-324 2:3 3:1\n1e+300 0:4 3:1\n");
  EXPECT_EQ(map(folder_ / "d.svm").error().id, "data.label.not-integer");
}

// A file that was written before there were names and targets.
TEST_F(LabelsFile, OldFilesAreReadAndWrittenAsTheyWere) {
  const std::string old = testing::from_base64(testing::kDataSet);
  write_file(folder_ / "old.hinge", old);
  const Dataset data = map(folder_ / "old.hinge").value();
  EXPECT_EQ(identity(data), identity(testing::dataset_from_text(
                                "3 1:1\n1 2:1\n7 3:1\n3 1:2 2:0.5\n1 2:2\n7 3:2 1:0.1\n")));
  save(data);
  const auto said_by = [&](const char* name) {
    Metadata all = TensorFile::map(folder_ / name, "cache").metadata();
    all.erase("written_by");
    all.erase("checksum.header");  // which is of that, too
    return all;
  };
  EXPECT_EQ(said_by("d.hinge"), said_by("old.hinge"));
}

TEST_F(LabelsFile, ACacheServesEveryKind) {
  write_file(folder_ / "d.svm", "1 1:1 4:1\n2 2:2 4:1\n3 3:3 4:1\n4 1:4 4:1\n");
  const ReadOptions options = {.precision = Precision::f64, .cache = Cache::strict};
  ASSERT_TRUE(map(folder_ / "d.svm", {.precision = Precision::f64, .cache = Cache::on}).ok());
  const std::string cache = folder_ / "d.svm.cache";
  const Metadata text = TensorFile::map(cache, "cache").metadata();
  for (const Dataset& data : {numbers_, names_, targets_}) {
    // As a reader of tables would leave one beside its text.
    DataFileOptions how = {.only_owner_writes = true};
    for (const char* key :
         {"source", "changed", "content", "options", "warnings", "warnings.f32"}) {
      how.more[key] = text.at(key);
    }
    write_dataset(data, cache, how);
    const Result<Dataset> back = map(folder_ / "d.svm", options);
    ASSERT_TRUE(back.ok()) << to_string(back.error());
    EXPECT_EQ(identity(*back), identity(data));
    EXPECT_EQ(back->class_names(), data.class_names());
  }
}

TEST_F(LabelsFile, SharesHaveTheirLabels) {
  for (const Dataset& data : {numbers_, names_, targets_}) {
    const std::string path = save(data);
    std::vector<std::byte> all;
    std::uint64_t rows = 0;
    std::mutex mutex;
    std::vector<std::vector<std::byte>> parts(3);
    testing::ThreadGroup(3).run([&](Transport& transport) {
      std::vector<Error> warnings;
      const Result<Dataset> part = read_share(path, {.threads = 1}, transport, warnings);
      ASSERT_TRUE(part.ok()) << to_string(part.error());
      EXPECT_EQ(part->label_kind(), data.label_kind());
      EXPECT_EQ(part->class_names(), data.class_names());
      const auto bytes = part->row_labels().bytes();
      const std::lock_guard lock(mutex);
      parts[static_cast<std::size_t>(transport.rank())].assign(bytes.begin(), bytes.end());
      rows += part->rows();
    });
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    EXPECT_EQ(rows, data.rows());
    EXPECT_TRUE(std::ranges::equal(all, data.row_labels().bytes()));
  }
}

// A file of version 3, to be changed; its checksums are right whatever it holds.
class HostileLabels : public LabelsFile {
 protected:
  std::string verdict(const std::function<void()>& change) {
    const auto before = *this_file_;
    change();
    std::vector<Tensor> tensors;
    const auto add = [&](const auto& arrays) {
      for (const auto& [name, values] : arrays) {
        using Value = typename std::decay_t<decltype(values)>::value_type;
        tensors.push_back(tensor<Value>(name, {values.size()}, values));
      }
    };
    File& file = *this_file_;
    add(file.u64);
    add(file.u32);
    add(file.i64);
    add(file.f64);
    add(file.u8);
    write_tensor_file(folder_ / "d.hinge", tensors, file.metadata);
    *this_file_ = before;
    std::string id = "accepted";
    for (const int share : {-1, 0}) {  // of a share the checksums are not compared
      const Result<Dataset> data = share < 0 ? map(folder_ / "d.hinge") : guard([&] {
        return map_share(TensorFile::map(folder_ / "d.hinge", "cache"), {.threads = 1}, 0, 1);
      });
      if (data.ok()) continue;
      EXPECT_EQ(exit_code(data.error()), 80) << to_string(data.error());
      id = data.error().id;
    }
    return id;
  }

  struct File {
    std::map<std::string, std::vector<std::uint64_t>> u64 = {{"offsets", {0, 1, 2, 2}},
                                                             {"names.ends", {1, 3}}};
    std::map<std::string, std::vector<std::uint32_t>> u32 = {{"columns", {0, 1}}};
    std::map<std::string, std::vector<std::int64_t>> i64 = {{"labels", {1, 0, 1}}};
    std::map<std::string, std::vector<double>> f64 = {{"values", {1, 2}}};
    std::map<std::string, std::vector<std::uint8_t>> u8 = {{"names", {'a', 'b', 'c'}}};
    Metadata metadata = {{"format", "hinge.dataset"},
                         {"version", "3"},
                         {"written_by", "hinge 9.9"},
                         {"features", "5"},
                         {"index_base", "1"}};
  };
  std::unique_ptr<File> this_file_ = std::make_unique<File>();
  File& f_ = *this_file_;

  void make_targets() {
    f_.u64.erase("names.ends");
    f_.u8.clear();
    f_.i64.clear();
    f_.f64["targets"] = {1, 2, 3};
  }
};

TEST_F(HostileLabels, AreGoodToBeginWith) {
  EXPECT_EQ(verdict([] {}), "accepted");
  EXPECT_EQ(verdict([&] { make_targets(); }), "accepted");
}

TEST_F(HostileLabels, Places) {
  for (const std::int64_t bad :
       {std::int64_t{2}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(verdict([&] { f_.i64["labels"][2] = bad; }), "cache.content") << bad;
  }
}

TEST_F(HostileLabels, Names) {
  using Ends = std::vector<std::uint64_t>;
  for (const Ends& bad : {Ends{1, 2}, Ends{1, 4}, Ends{3, 3}, Ends{0, 3}, Ends{3, 1},
                          Ends{UINT64_MAX, 3}, Ends{1, UINT64_MAX}, Ends{}}) {
    EXPECT_EQ(verdict([&] { f_.u64["names.ends"] = bad; }), "cache.content");
  }
  EXPECT_EQ(verdict([&] { f_.u64["names.ends"] = {3}; }), "cache.content");  // class 1 has no name
  EXPECT_EQ(verdict([&] {
              f_.u8["names"] = {'a', 'a'};
              f_.u64["names.ends"] = {1, 2};
            }),
            "cache.content");
  EXPECT_EQ(verdict([&] { f_.u8["names"][1] = '\n'; }), "cache.content");
  EXPECT_EQ(verdict([&] { f_.u8["names"][2] = 0xff; }), "cache.content");
}

TEST_F(HostileLabels, Targets) {
  for (const double bad : {std::nan(""), testing::kInfinity, -testing::kInfinity}) {
    EXPECT_EQ(verdict([&] {
                make_targets();
                f_.f64["targets"][2] = bad;
              }),
              "cache.content");
  }
}

TEST_F(HostileLabels, ArraysThatDoNotBelongOrAreMissing) {
  EXPECT_EQ(verdict([&] { f_.f64["targets"] = {1, 2, 3}; }), "cache.header");
  EXPECT_EQ(verdict([&] { f_.u8.clear(); }), "cache.header");
  EXPECT_EQ(verdict([&] { f_.u64.erase("names.ends"); }), "cache.header");
  EXPECT_EQ(verdict([&] { f_.i64.clear(); }), "cache.header");
  EXPECT_EQ(verdict([&] {
              f_.u64.erase("names.ends");
              f_.u8.clear();
            }),
            "cache.header");  // whole numbers are written as version 1
  EXPECT_EQ(verdict([&] {
              make_targets();
              f_.f64["targets"].pop_back();
            }),
            "cache.header");
  for (const char* version : {"1", "2"}) {
    EXPECT_EQ(verdict([&] { f_.metadata["version"] = version; }), "cache.header");
  }
  EXPECT_EQ(verdict([&] { f_.metadata["version"] = "4"; }), "cache.version");
}

// Damage of any kind to files of the new kinds.
TEST_F(LabelsFile, EveryPrefixAndFlippedBitIsRefused) {
  for (const Dataset& data : {names_, targets_}) {
    const std::string good = read_file(save(data));
    for (std::size_t size = 9; size < good.size(); ++size) {
      write_file(folder_ / "bad", good.substr(0, size));
      EXPECT_FALSE(map(folder_ / "bad").ok()) << size;
    }
    for (std::size_t bit = 72; bit < 8 * good.size(); bit += testing::at_length() ? 1U : 9U) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      write_file(folder_ / "bad", bad);
      EXPECT_FALSE(map(folder_ / "bad").ok()) << bit;
    }
  }
}

}  // namespace
}  // namespace hinge
