#include "hinge/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "support.h"

namespace hinge {
namespace {

using testing::TempFolder;
using testing::write_file;
using Ids = std::vector<std::string>;

class Check : public testing::Test {
 protected:
  CheckReport check(const std::string& text, int threads = 1) {
    write_file(folder_ / "d.svm", text);
    bad_.clear();
    const Result<CheckReport> report = check_dataset(folder_ / "d.svm", {.threads = threads},
                                                     [&](const Error& e) { bad_.push_back(e); });
    if (!report.ok()) throw std::runtime_error(to_string(report.error()));
    return *report;
  }
  static Ids ids(const CheckReport& report) {
    Ids all;
    for (const Error& finding : report.findings) {
      EXPECT_EQ(finding.severity, Severity::warning);
      all.push_back(finding.id);
    }
    return all;
  }
  std::vector<Error> bad_;
  const TempFolder folder_;
};

TEST_F(Check, GoodDataHasNoFindings) {
  const CheckReport report = check("1 1:1 2:0.5\n-1 1:-1 2:2\n1 1:0.3\n-1 2:1.5\n");
  EXPECT_EQ(ids(report), Ids{});
  EXPECT_EQ(report.bad_rows, 0U);
  EXPECT_EQ(report.rows, 4U);
  EXPECT_EQ(report.features, 2U);
  EXPECT_EQ(report.nonzeros, 6U);
  EXPECT_EQ(report.classes.size(), 2U);
  EXPECT_GE(report.train_bytes, report.data_bytes);
}

TEST_F(Check, EveryBadRowIsListedInOrder) {
  std::string text;
  std::vector<std::uint64_t> lines;
  for (std::uint64_t i = 1; i <= 100'000; ++i) {
    if (i % 700 == 0) {
      lines.push_back(i);
      text += "1 1:x\n";
    } else {
      text += i % 2 == 0 ? "1 1:0.25 2:7\n" : "-1 1:1 3:1\n";
    }
  }
  for (const int threads : {1, 2}) {
    const CheckReport report = check(text, threads);
    EXPECT_EQ(report.bad_rows, lines.size());
    EXPECT_EQ(report.rows, 100'000 - lines.size());
    ASSERT_EQ(bad_.size(), lines.size());
    for (std::size_t k = 0; k < lines.size(); ++k) {
      EXPECT_EQ(bad_[k].line, lines[k]);
      EXPECT_EQ(bad_[k].column, 5U);
      EXPECT_EQ(bad_[k].id, "data.value");
    }
  }
}

TEST_F(Check, ConstantColumns) {
  const CheckReport report =
      check("1 1:1 2:3 3:1\n-1 1:2 2:3 3:1\n-1 1:3 2:3 3:1\n1 1:4 2:3 3:1\n");
  ASSERT_EQ(ids(report), Ids{"check.constant"});
  EXPECT_NE(report.findings[0].message.find("2 columns"), std::string::npos);
  EXPECT_NE(report.findings[0].message.find("first: 2"), std::string::npos);
  EXPECT_EQ(ids(check("1 1:1 2:1\n-1 1:2 2:1\n1 1:3\n-1 1:4\n")), Ids{});  // not in every row
}

TEST_F(Check, WildScale) {
  const CheckReport report = check("1 1:1e-3 2:100\n-1 1:2e-3 2:50\n");
  ASSERT_EQ(ids(report), Ids{"check.scale"});
  EXPECT_NE(report.findings[0].message.find("column 2 reaches 100"), std::string::npos);
}

TEST_F(Check, ClassesAndDuplicates) {
  EXPECT_EQ(ids(check("1 1:1\n1 1:2\n")), Ids{"check.one-class"});
  std::string text = "-1 1:5\n";
  for (int i = 1; i <= 500; ++i) text += "1 1:" + std::to_string(1 + i * 0.001) + "\n";
  EXPECT_EQ(ids(check(text)), Ids{"check.imbalance"});
  const CheckReport report = check("1 1:1\n-1 1:2\n1 1:1\n1 1:2\n1 1:1\n");
  ASSERT_EQ(ids(report), (Ids{"check.duplicates", "check.contradictions"}));
  EXPECT_NE(report.findings[0].message.find("2 rows repeat another"), std::string::npos);
  EXPECT_NE(report.findings[0].message.find("first: row 3"), std::string::npos);
}

TEST_F(Check, OdditiesOfTheTextAreFindingsToo) {
  EXPECT_EQ(ids(check("1 2:1 1:1\n-1 qid:3 1:2\n")),
            (Ids{"data.index.unsorted", "data.qid.ignored"}));
}

TEST_F(Check, NothingGoodIsAnError) {
  write_file(folder_ / "d.svm", "x\ny\n");
  int bad = 0;
  const Result<CheckReport> report =
      check_dataset(folder_ / "d.svm", {.threads = 1}, [&](const Error&) { ++bad; });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().id, "data.empty");
  EXPECT_EQ(bad, 2);
}

TEST_F(Check, ColumnsOfAnyNumber) {
  const CheckReport report = check("1 1:1 4294967000:1e6\n-1 1:2\n");
  ASSERT_EQ(ids(report), Ids{"check.scale"});
  EXPECT_NE(report.findings[0].message.find("column 4294967000"), std::string::npos);
}

// Column 1 goes up to 4, column 2 to 600, as many rows have a third, which is tiny.
std::string two_scales(int rows, int with_third) {
  std::string text;
  for (int i = 0; i < rows; ++i) {
    text += (i % 2 == 0 ? "1 1:" : "-1 1:") + std::to_string(1 + i % 4) +
            " 2:" + std::to_string(100 * (1 + i % 6));
    if (i < with_third) text += " 3:0." + std::to_string(1000 + i);
    text += "\n";
  }
  return text;
}

TEST_F(Check, ColumnsOfDifferentScale) {
  const CheckReport report = check(two_scales(120, 0));
  ASSERT_EQ(ids(report), (Ids{"data.scale", "check.duplicates"}));
  EXPECT_NE(report.findings[0].message.find("column 2 reaches 600, column 1 only 4"),
            std::string::npos);
  const auto of = [](const std::string& text) {
    return check_scale(testing::dataset_from_text(text));
  };
  EXPECT_FALSE(of("1 1:1 2:100\n-1 1:-0.5 2:-99\n").has_value());  // no more than 100 times
  EXPECT_TRUE(of("1 1:1 2:-101\n-1 1:-0.5 2:9\n").has_value());
  EXPECT_FALSE(of("1 1:1 2:50\n-1 1:1 2:50\n1 1:1\n-1 1:1\n1 1:1\n-1 1:1 3:1e5\n").has_value());
  EXPECT_FALSE(of("1\n-1\n").has_value());
  const std::optional<Error> tiny = of(two_scales(120, 60));  // 60 rows are half of them
  ASSERT_TRUE(tiny.has_value());
  EXPECT_NE(tiny->message.find("column 3 only 0.1"), std::string::npos) << tiny->message;
}

}  // namespace
}  // namespace hinge
