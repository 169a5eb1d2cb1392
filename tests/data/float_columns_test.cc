#include "data/columns.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "data/survey.h"
#include "support.h"

namespace hinge {
namespace {

using testing::TempFolder;

// The warnings of data.value.f32 that reading a file of these rows gives.
std::vector<std::string> warnings_of(const std::string& text, const ReadOptions& options = {}) {
  const TempFolder folder;
  std::ofstream(folder / "d.svm") << text;
  std::vector<Error> warnings;
  EXPECT_TRUE(read_dataset(folder / "d.svm", options, warnings).ok());
  std::vector<std::string> found;
  for (const Error& warning : warnings) {
    if (warning.id == "data.value.f32") found.push_back(warning.message);
  }
  return found;
}

TEST(FloatColumns, WholeNumbersThatAFloatDoesNotHold) {
  EXPECT_TRUE(warnings_of("1 1:16777216\n-1 1:3\n").empty());      // 2^24
  EXPECT_TRUE(warnings_of("1 1:33554436\n-1 1:3\n").empty());      // a float
  EXPECT_TRUE(warnings_of("1 1:16777216.5\n-1 1:3\n").empty());    // not whole
  EXPECT_TRUE(warnings_of("1 1:1.7e15 2:9e8\n-1 1:3\n").empty());  // nobody wrote all digits
  EXPECT_TRUE(warnings_of("1 1:16777217\n-1 1:3\n", {.precision = Precision::f64}).empty());
  for (const char* number :
       {"16777217", "-16777217", "1700000000000001", "123456789", "99999999"}) {
    const std::vector<std::string> found =
        warnings_of("1 2:0.5\n-1 1:0.25 2:" + std::string(number) + "\n1 2:" + number + "\n");
    ASSERT_EQ(found.size(), 1U) << number;
    EXPECT_NE(found[0].find("2 rows"), std::string::npos) << found[0];
    EXPECT_NE(found[0].find("d.svm:2:13"), std::string::npos) << found[0];
    EXPECT_NE(found[0].find("--precision f64"), std::string::npos) << found[0];
  }
}

TEST(FloatColumns, LargeAndNearlyTheSame) {
  const auto rows = [](double offset, double spread, bool gaps) {
    std::string text;
    Random random(3);
    for (int i = 0; i < 300; ++i) {
      text += std::to_string(i % 2) + " 1:" + std::to_string(random.uniform());
      if (!gaps || i % 7 != 0) {
        text += " 3:" + std::to_string(offset + spread * random.uniform());
      }
      text += "\n";
    }
    return text;
  };
  EXPECT_TRUE(warnings_of(rows(0, 1, false)).empty());
  EXPECT_TRUE(warnings_of(rows(1000, 1, false)).empty());
  const std::vector<std::string> found = warnings_of(rows(1e5, 0.5, false));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].find("feature 3 "), std::string::npos) << found[0];
  EXPECT_TRUE(warnings_of(rows(1e5, 0.5, true)).empty());  // where it lacks it is 0, and far away
  EXPECT_TRUE(warnings_of(rows(1e5, 0.5, false), {.precision = Precision::f64}).empty());
  EXPECT_TRUE(warnings_of(rows(1e5, 0, false)).empty());    // constant
  EXPECT_EQ(warnings_of(rows(3e9, 10, false)).size(), 1U);  // all the same float
}

}  // namespace
}  // namespace hinge
