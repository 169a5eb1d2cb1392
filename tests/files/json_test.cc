#include "hinge/json.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace hinge {
namespace {

TEST(Json, WritesWhatItIsGivenInOrder) {
  const Json value = {{"z", 1},
                      {"a", -0.5},
                      {"text", "x\"\n"},
                      {"yes", true},
                      {"nothing", Json()},
                      {"inner", {{"k", std::uint64_t{1} << 63}}},
                      {"list", Json::list_of(std::array{1, 2})},
                      {"empty", Json::list()},
                      {"none", Json::object()}};
  EXPECT_EQ(value.dump(),
            R"({"z":1,"a":-0.5,"text":"x\"\n","yes":true,"nothing":null,)"
            R"("inner":{"k":9223372036854775808},"list":[1,2],"empty":[],"none":{}})");
}

TEST(Json, NumbersComeBackAsTheyWere) {
  for (const double x : {0.0, -0.0, 0.1, 1e-310, 1.7976931348623157e308, 1.0 / 3}) {
    const Json again = Json::parse(Json(x).dump()).value();
    EXPECT_EQ(again.get<double>(), x);
  }
  EXPECT_EQ(Json::parse("18446744073709551615").value().get<std::uint64_t>(), UINT64_MAX);
  EXPECT_EQ(Json::parse("-9223372036854775808").value().get<std::int64_t>(), INT64_MIN);
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
}

TEST(Json, ReadsWhatItWrites) {
  const std::string text = R"({"a":[{"b":[1,[]],"c":{}},null,"\u00e9"],"d":false})";
  const Json value = Json::parse(text).value();
  EXPECT_EQ(value.dump(), text);
  EXPECT_EQ(value.at("a").at(0).at("b").at(0).get<std::uint64_t>(), 1U);
  EXPECT_EQ(value.at("a").at(2).get<std::string>(), "\xc3\xa9");
  EXPECT_FALSE(value.at("d").get<bool>());
  EXPECT_EQ(value.names()[1], "d");
}

TEST(Json, WhatIsNotThereThrows) {
  const Json value = {{"a", 1}, {"l", Json::list_of(std::array{1})}};
  EXPECT_THROW(static_cast<void>(value.at("b")), std::out_of_range);
  EXPECT_THROW(static_cast<void>(value.at(0)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(value.at("l").at(1)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(value.at("l").at("a")), std::out_of_range);
  EXPECT_THROW(static_cast<void>(value.at("a").get<std::string>()), std::out_of_range);
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,", "{\"a\"}", "nul", "1 2", "{\"a\":1,}", "'a'"}) {
    EXPECT_FALSE(Json::parse(text).has_value()) << text;
  }
}

TEST(Json, RefusesToGoDeep) {  // a value is taken down by recursion
  EXPECT_TRUE(Json::parse(std::string(16, '[') + std::string(16, ']')).has_value());
  EXPECT_FALSE(Json::parse(std::string(17, '[') + std::string(17, ']')).has_value());
  EXPECT_FALSE(Json::parse(std::string(1000000, '[')).has_value());
}

TEST(Json, BytesThatAreNoTextDoNotStopAReport) {
  EXPECT_EQ(Json("a\xff"
                 "b")
                .dump(),
            R"("a\ufffdb")");
}

}  // namespace
}  // namespace hinge
