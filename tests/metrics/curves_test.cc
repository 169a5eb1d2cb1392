// Curves of a few rows, worked out by hand, and how they are written.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "hinge/metrics.h"
#include "labelled_rows.h"
#include "metrics/ranking.h"

namespace hinge {
namespace {

// Rows 0.9+ 0.8- 0.8+ -0.5- of a model with labels 1 and -1.
struct FourRows {
  Dataset data = testing::labelled(std::vector<std::int64_t>{1, -1, 1, -1});
  Model model;
  Predictions predictions;
  FourRows() {
    model.labels = {1, -1};
    model.problems.resize(1);
    model.problems[0].label = 1;
    predictions.labels = {1, 1, 1, -1};
    predictions.scores = {0.9, 0.8, 0.8, -0.5};
  }
};

TEST(Curves, ByHand) {
  const FourRows given;
  const auto found = curves(given.model, given.data, given.predictions);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1U);
  const ClassCurves& one = found->front();
  EXPECT_EQ(one.name, "1");
  ASSERT_EQ(one.roc.size(), 4U);
  EXPECT_TRUE(std::isinf(one.roc[0].threshold));
  EXPECT_EQ(one.roc[2].threshold, 0.8);
  EXPECT_EQ(one.roc[2].x, 0.5);
  EXPECT_EQ(one.roc[2].y, 1);
  EXPECT_EQ(one.roc[2].rows, 3U);
  ASSERT_EQ(one.recall.size(), 3U);
  EXPECT_EQ(one.recall[1].x, 1);
  EXPECT_DOUBLE_EQ(one.recall[1].y, 2.0 / 3);
  EXPECT_TRUE(one.calibration.empty());
}

TEST(Curves, OneSideOnly) {
  FourRows given;
  given.data = testing::labelled(std::vector<std::int64_t>{-1, -1, -1, -1});
  const auto found = curves(given.model, given.data, given.predictions);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->front().roc.empty());
  EXPECT_TRUE(found->front().recall.empty());
  EXPECT_NE(to_svg(*found).find("n/a"), std::string::npos);
}

TEST(Curves, AsText) {
  FourRows given;
  given.model.origin.loss = LossKind::logistic;
  auto found = curves(given.model, given.data, given.predictions);
  ASSERT_TRUE(found.ok());
  (*found)[0].name = "a \"<b>\", \xc3\xa9";
  const std::string csv = to_csv(*found);
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "curve,class,threshold,x,y,rows");
  EXPECT_NE(csv.find("\nroc,\"a \"\"<b>\"\", \xc3\xa9\",0.9,0,0.5,1\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\ncalibration,"), std::string::npos);
  const std::string svg = to_svg(*found);
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_NE(svg.find("a &#34;&#60;b&#62;&#34;, &#233;"), std::string::npos);
  EXPECT_EQ(svg.find("n/a"), std::string::npos);
}

TEST(Curves, BinsOfProbabilities) {
  EXPECT_EQ(bin_of(0), 0U);
  EXPECT_EQ(bin_of(0.1), 0U);
  EXPECT_EQ(bin_of(0.100001), 1U);
  EXPECT_EQ(bin_of(1), 9U);
}

}  // namespace
}  // namespace hinge
