// Labels of all three kinds, in memory: what is taken, what is refused, and that nothing mixes them
// up.
#include "hinge/labels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/pool.h"
#include "data/columns.h"
#include "data/survey.h"
#include "hinge/check.h"
#include "hinge/stream.h"
#include "hinge/train.h"
#include "labelled_rows.h"
#include "support.h"

namespace hinge {
namespace {

using testing::labelled;
using testing::named;
using Names = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

std::string id_of(const Result<ClassNames>& names) {
  return names.ok() ? "accepted" : names.error().id;
}

Numbers numbers_of(const Dataset& data) {
  return {data.labels().begin(), data.labels().end()};
}

TEST(ClassNames, AreFoundAndSaid) {
  const ClassNames names = ClassNames::of({"dog", "cat", "a b"}).value();
  EXPECT_EQ(names.size(), 3U);
  EXPECT_EQ(names.find("dog"), 0);
  EXPECT_EQ(names.find("a b"), 2);
  EXPECT_EQ(names.find("bird"), std::nullopt);
  EXPECT_EQ(names.text(1), "cat");
  EXPECT_EQ(names.text(3), "3");
  EXPECT_EQ(names.text(-1), "-1");
  EXPECT_EQ(names, ClassNames::of({"dog", "cat", "a b"}).value());
  EXPECT_NE(names, ClassNames::of({"cat", "dog", "a b"}).value());
  EXPECT_NE(names, ClassNames());
  EXPECT_TRUE(ClassNames().empty());
  EXPECT_EQ(ClassNames().find("dog"), std::nullopt);
  EXPECT_EQ(ClassNames().text(7), "7");
}

TEST(ClassNames, WhatCannotBeOne) {
  const std::string longest(4096, 'x');
  for (const std::string& good : {std::string("none"), std::string("1"), std::string("\"quoted\""),
                                  std::string("\xc3\xa9t\xc3\xa9"), std::string("\xe2\x82\xac"),
                                  std::string("\xf0\x9f\x90\xb1"), longest}) {
    EXPECT_EQ(id_of(ClassNames::of({good, "b"})), "accepted") << escape(good);
  }
  for (const std::string& bad :
       {std::string(), longest + "x", std::string("a\nb"), std::string("a\tb"),
        std::string("\0", 1), std::string("\x7f"), std::string("\xc2\x9b"), std::string("\xff"),
        std::string("\xc3"), std::string("\xc3\x28"), std::string("\xc0\x80"),
        std::string("\xe0\x80\x80"), std::string("\xed\xa0\x80"), std::string("\xf4\x90\x80\x80"),
        std::string("\xf0\x80\x80\x80"), std::string("b")}) {
    EXPECT_EQ(id_of(ClassNames::of({bad, "b"})), "data.label.name") << escape(bad);
  }
}

TEST(Labels, OfNamesAreNumberedInTheirOrder) {
  const Labels labels = Labels::of_names(Names{"dog", "bird", "dog", "cat"}).value();
  EXPECT_EQ(labels.kind(), LabelKind::names);
  EXPECT_EQ(labels.size(), 4U);
  EXPECT_EQ(Numbers(labels.numbers().begin(), labels.numbers().end()), (Numbers{2, 0, 2, 1}));
  EXPECT_EQ(labels.names(), ClassNames::of({"bird", "cat", "dog"}).value());
  EXPECT_EQ(Labels::of_names(Names{"dog", ""}).error().id, "data.label.name");
  EXPECT_EQ(Labels::of_names({}).value().size(), 0U);
}

TEST(Labels, CountedByAnotherList) {
  const Labels labels = Labels::of_names(Names{"dog", "bird", "cat", "dog"}).value();
  const ClassNames theirs = ClassNames::of({"dog", "fish", "cat"}).value();
  const Labels counted = labels.counted_by(theirs).value();
  EXPECT_EQ(counted.names(), ClassNames::of({"dog", "fish", "cat", "bird"}).value());
  EXPECT_EQ(Numbers(counted.numbers().begin(), counted.numbers().end()), (Numbers{0, 3, 2, 0}));
  // What begins with the list already stays as it is.
  EXPECT_EQ(counted.counted_by(theirs).value().numbers().data(), counted.numbers().data());
  const Numbers numbers = {1, 2};
  const std::vector<double> targets = {1, 2};
  EXPECT_EQ(Labels(numbers).counted_by({}).value().numbers().data(), numbers.data());
  EXPECT_EQ(Labels(numbers).counted_by(theirs).error().id, "data.label.kind");
  EXPECT_EQ(labels.counted_by({}).error().id, "data.label.kind");
  EXPECT_EQ(Labels(targets).counted_by({}).error().id, "data.label.kind");
}

TEST(Labels, WrappedOfEveryKind) {
  const Dataset numbers = labelled(Numbers{5, -1, 5});
  EXPECT_EQ(numbers.label_kind(), LabelKind::numbers);
  EXPECT_TRUE(numbers.class_names().empty());
  EXPECT_EQ(numbers.classes().size(), 2U);
  const Dataset names = named({"b", "a", "b"});
  EXPECT_EQ(names.label_kind(), LabelKind::names);
  EXPECT_EQ(numbers_of(names), (Numbers{1, 0, 1}));
  ASSERT_EQ(names.classes().size(), 2U);
  EXPECT_EQ(names.class_names().text(names.classes()[1].label), "b");
  EXPECT_EQ(names.classes()[1].rows, 2U);
  const Dataset targets = labelled(std::vector<double>{0.5, -1e300, 0.5});
  EXPECT_EQ(targets.label_kind(), LabelKind::targets);
  EXPECT_EQ(targets.rows(), 3U);
  EXPECT_TRUE(targets.labels().empty());
  EXPECT_TRUE(targets.classes().empty());
  EXPECT_EQ(targets.row_labels().targets()[1], -1e300);
}

TEST(Labels, WhatCannotBeWrapped) {
  const auto id = [](const Labels& labels) {
    const testing::LabelledArrays arrays(2);
    const Result<Dataset> data = Dataset::wrap(arrays.view(), labels, {}, nullptr);
    return data.ok() ? "accepted" : data.error().id;
  };
  const ClassNames names = ClassNames::of({"a", "b"}).value();
  EXPECT_EQ(id(Labels(Numbers{0, 1}, names)), "accepted");
  EXPECT_EQ(id(Labels(Numbers{0, 2}, names)), "data.matrix");
  EXPECT_EQ(id(Labels(Numbers{-1, 1}, names)), "data.matrix");
  EXPECT_EQ(id(Labels(Numbers{std::numeric_limits<std::int64_t>::min(), 1}, names)), "data.matrix");
  EXPECT_EQ(id(Labels(Numbers{0, 1, 1}, names)), "data.matrix");
  EXPECT_EQ(id(std::vector<double>{1}), "data.matrix");
  EXPECT_EQ(id(std::vector<double>{1, 2}), "accepted");
  for (const double bad : {testing::kInfinity, -testing::kInfinity, std::nan("")}) {
    EXPECT_EQ(id(std::vector<double>{1, bad}), "data.label.nonfinite");
  }
}

// The same eight bytes a row, as labels of each kind.
TEST(Labels, FingerprintsTellTheKindsApart) {
  const Numbers numbers = {1, 0, 1, 0};
  std::vector<double> same_bytes(numbers.size());
  std::memcpy(same_bytes.data(), numbers.data(), numbers.size() * sizeof numbers[0]);
  const auto of_names = [&](const Names& names) {
    return labelled(Labels(numbers, ClassNames::of(names).value()));
  };
  const std::vector<Dataset> all = {
      labelled(numbers),    labelled(same_bytes),      of_names({"a", "b"}), of_names({"a", "c"}),
      of_names({"b", "a"}), of_names({"a", "b", "c"}), of_names({"ab", "c"})};
  for (const int threads : {1, 3}) {
    Pool pool(threads);
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t k = 0; k < all.size(); ++k) {
        EXPECT_EQ(fingerprint(all[i], pool) == fingerprint(all[k], pool), i == k) << i << " " << k;
      }
    }
  }
}

TEST(Labels, PartsOfADataSetKeepThem) {
  Pool pool(1);
  for (const Dataset& data : {labelled(Numbers{5, -1, 5, 7}), named({"b", "a", "b", "c"}),
                              labelled(std::vector<double>{0.5, 1, -2, 3})}) {
    const std::vector<std::uint64_t> rows = {3, 1};
    const Dataset some = keep_rows(data, rows);
    ASSERT_EQ(some.rows(), 2U);
    EXPECT_EQ(some.label_kind(), data.label_kind());
    EXPECT_EQ(some.class_names(), data.class_names());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(std::memcmp(some.row_labels().part(i, 1).bytes().data(),
                            data.row_labels().part(rows[i], 1).bytes().data(), 8),
                0);
    }
    const std::vector<std::uint32_t> columns = {0};
    const Dataset narrow = keep_columns(data, columns, pool);
    ASSERT_EQ(narrow.rows(), 4U);
    EXPECT_EQ(narrow.label_kind(), data.label_kind());
    EXPECT_EQ(narrow.class_names(), data.class_names());
    EXPECT_TRUE(std::ranges::equal(narrow.row_labels().bytes(), data.row_labels().bytes()));
  }
}

TEST(Labels, AnotherListOfNamesMeansTheSameClasses) {
  const Dataset data = named({"b", "a", "b"});
  const ClassNames theirs = ClassNames::of({"x", "b"}).value();
  const Dataset counted = data.with_class_names(theirs).value();
  EXPECT_EQ(numbers_of(counted), (Numbers{1, 2, 1}));
  ASSERT_EQ(counted.classes().size(), 2U);
  EXPECT_EQ(counted.classes()[0].label, 1);
  EXPECT_EQ(counted.classes()[0].rows, 2U);
  EXPECT_EQ(counted.class_names().text(2), "a");
  EXPECT_NE(testing::identity(counted), testing::identity(data));
  EXPECT_EQ(testing::identity(data.with_class_names(data.class_names()).value()),
            testing::identity(data));
}

TEST(Labels, RealTargetsAreNotTrainedOn) {
  const Dataset targets = labelled(std::vector<double>{0.25, 1, -2, 3});
  const Error error = train(targets, {}).error();
  EXPECT_EQ(error.id, "data.label.kind");
  EXPECT_NE(error.message.find("row 1: 0.25"), std::string::npos) << error.message;
  EXPECT_EQ(exit_code(error), 65);
  EXPECT_EQ(targets.check_classes().error().id, "data.label.kind");
  EXPECT_TRUE(named({"b", "a"}).check_classes().ok());
  for (const Solver solver : {Solver::dual, Solver::newton, Solver::pegasos, Solver::focus}) {
    TrainOptions options;
    options.solver = solver;
    EXPECT_EQ(train(targets, options).error().id, "data.label.kind");
    EXPECT_EQ(cross_validate(targets, 2, options).error().id, "data.label.kind");
  }
}

TEST(Labels, StreamsLearnWholeNumbers) {
  Stream stream = Stream::create({.lambda = 0.1}).value();
  std::vector<StreamPrediction> said;
  for (const Dataset& data : {named({"b", "a"}), labelled(std::vector<double>{0.25, 1})}) {
    EXPECT_EQ(stream.learn_batch(data, said).error().id, "data.label.kind");
  }
  EXPECT_TRUE(said.empty());
  EXPECT_TRUE(stream.learn_batch(labelled(Numbers{1, 2}), said).ok());
}

}  // namespace
}  // namespace hinge
