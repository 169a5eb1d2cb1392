// The text of errors is part of the interface: it is compared byte for byte.
#include "base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "support.h"

namespace hinge {
namespace {

Error located() {
  Error error;
  error.id = "data.value.nonfinite";
  error.file = "train.svm";
  error.line = 21;
  error.column = 5;
  error.offset = 204;
  error.message = "feature value is not a finite number: \"nan\"";
  error.help = "remove the row, or mend it";
  error.excerpt = "1 1:nan 2:1";
  error.caret = 4;
  error.caret_length = 3;
  return error;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

bool printable(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); });
}

// Words of lower-case letters, digits and dashes, joined by dots: "data.value.nonfinite".
bool looks_like_id(std::string_view text) {
  return text.find('.') != std::string_view::npos && !text.starts_with('.') &&
         !text.ends_with('.') && text.find("..") == std::string_view::npos &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

TEST(Error, LocatedErrorReadsLikeACompilers) {
  EXPECT_EQ(to_string(located()),
            "train.svm:21:5: error: feature value is not a finite number: \"nan\" "
            "[data.value.nonfinite]\n"
            "   21 | 1 1:nan 2:1\n"
            "      |     ^~~\n"
            "train.svm: help: remove the row, or mend it");
}

TEST(Error, WithoutAPlaceTheProgramSpeaks) {
  Error error;
  error.id = "io.write";
  error.message = "cannot write model.hinge: No space left on device";
  EXPECT_EQ(to_string(error),
            "hinge: error: cannot write model.hinge: No space left on device [io.write]");
  error.file = "model.hinge";
  EXPECT_EQ(to_string(error),
            "model.hinge: error: cannot write model.hinge: No space left on device [io.write]");
}

TEST(Error, SeverityIsAWord) {
  Error error;
  error.id = "solver.limit";
  error.message = "m";
  error.severity = Severity::warning;
  EXPECT_EQ(to_string(error), "hinge: warning: m [solver.limit]");
  error.severity = Severity::note;
  EXPECT_EQ(to_string(error), "hinge: note: m [solver.limit]");
}

TEST(Error, FurtherErrorsFollowInOrder) {
  Error second = located();
  second.line = 22;
  second.excerpt.clear();
  second.help.clear();
  Error third = second;
  third.line = 23;
  Error first = located();
  const std::string alone = to_string(first);
  first.more = {second, third};
  EXPECT_EQ(to_string(first), alone + "\n" + to_string(second) + "\n" + to_string(third));
}

TEST(Error, CaretMeetsItsByteAfterEscaping) {
  Error error = located();
  error.excerpt = std::string("1 \x01\xff:") + '\0' + "2";
  error.caret = 5;
  error.caret_length = 1;
  const auto lines = lines_of(to_string(error));
  EXPECT_EQ(lines[1], "   21 | 1 \\x01\\xff:\\x002");
  EXPECT_EQ(lines[2], "      |            ^~~~");
}

TEST(Error, CaretMayStandBehindTheLastByte) {
  Error error = located();
  error.excerpt = "1 1:0.5 2:";
  error.caret = 10;
  error.caret_length = 0;
  const auto lines = lines_of(to_string(error));
  EXPECT_EQ(lines[1], "   21 | 1 1:0.5 2:");
  EXPECT_EQ(lines[2], "      |           ^");
}

TEST(Error, LongLinesAreCutAroundTheColumn) {
  for (const std::uint32_t caret : {0U, 5U, 29U, 30U, 31U, 500U, 969U, 970U, 990U, 999U}) {
    Error error = located();
    error.excerpt.assign(1000, '.');
    error.excerpt[caret] = '!';
    error.caret = caret;
    error.caret_length = 400;
    const auto lines = lines_of(to_string(error));
    constexpr std::size_t kMargin = 8;  // "   21 | "
    EXPECT_LE(lines[1].size(), kMargin + 60) << caret;
    EXPECT_EQ(lines[1].find('!'), lines[2].find('^')) << caret;
    EXPECT_LE(lines[2].size(), lines[1].size()) << caret;
  }
}

TEST(Error, LineNumbersAre64Bit) {
  Error error = located();
  error.line = 12345678901;
  const auto lines = lines_of(to_string(error));
  EXPECT_TRUE(lines[0].starts_with("train.svm:12345678901:5: "));
  EXPECT_EQ(lines[1].find("1:nan"), lines[2].find('^') - 2);
}

TEST(Error, EscapeLeavesPrintableAsciiAlone) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::string escaped = escape(all);
  EXPECT_TRUE(printable(escaped));
  EXPECT_EQ(escaped.find('\n'), std::string::npos);
  EXPECT_EQ(escaped.size(), 95U + 4 * (256 - 95));
  EXPECT_EQ(escape("\x1b[31mred\n"), "\\x1b[31mred\\x0a");
  EXPECT_EQ(escape("plain \\ %n {} text"), "plain \\ %n {} text");
  EXPECT_EQ(escape(escaped), escaped);
}

TEST(Error, NoTerminalEscapeGetsThrough) {
  Error error = located();
  error.file = "evil\x1b[2J\n.svm";
  error.excerpt = "1 1:\x1b]0;title\a";
  EXPECT_TRUE(printable(to_string(error)));
  EXPECT_EQ(lines_of(to_string(error)).size(), 4U);
  EXPECT_TRUE(printable(to_json(error)));
}

TEST(Error, JsonHasTheDocumentedFieldsOnOneLine) {
  const std::string text = to_json(located());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto json = nlohmann::ordered_json::parse(text);
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"severity", "id", "file", "line", "column", "offset",
                                             "message", "help"}));
  EXPECT_EQ(json["severity"], "error");
  EXPECT_EQ(json["id"], "data.value.nonfinite");
  EXPECT_EQ(json["file"], "train.svm");
  EXPECT_EQ(json["line"], 21);
  EXPECT_EQ(json["column"], 5);
  EXPECT_EQ(json["offset"], 204);
  EXPECT_EQ(json["message"], located().message);
  EXPECT_EQ(json["help"], located().help);
}

TEST(Error, JsonSurvivesAnyBytes) {
  Error error = located();
  error.file = "\xff\xfe.svm";
  error.message = "bad \xc3\x28 \"quoted\"";
  const auto json = nlohmann::json::parse(to_json(error), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["file"], "\\xff\\xfe.svm");
}

TEST(Error, CatalogueIsSortedUniqueAndComplete) {
  const auto all = error_catalogue();
  ASSERT_FALSE(all.empty());
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].id, all[i].id);
  const std::set<int> codes = {0, 64, 65, 66, 69, 70, 71, 73, 74, 75, 76, 77, 80, 81, 82, 130};
  for (const ErrorInfo& info : all) {
    const std::string id(info.id);
    EXPECT_TRUE(looks_like_id(id)) << id;
    EXPECT_TRUE(codes.contains(info.exit_code)) << id;
    EXPECT_FALSE(info.meaning.empty()) << id;
    EXPECT_FALSE(info.remedy.empty()) << id;
    EXPECT_EQ(find_error(id), &info) << id;
  }
  EXPECT_EQ(find_error("data.no-such-thing"), nullptr);
}

TEST(Error, ExitCodesAreTheDocumentedOnes) {
  const std::vector<std::pair<std::string, int>> documented = {
      {"usage.value", 64},      {"usage.option", 64},   {"usage.same-file", 64},
      {"data.empty", 65},       {"data.label", 65},     {"data.value.nonfinite", 65},
      {"data.one-class", 65},   {"limit.classes", 65},  {"io.open", 66},
      {"io.not-a-file", 66},    {"system.cpu", 69},     {"run.internal", 70},
      {"system.threads", 0},    {"io.create", 73},      {"io.read", 74},
      {"io.write", 74},         {"io.changed", 74},     {"io.permission", 77},
      {"model.truncated", 80},  {"model.checksum", 80}, {"model.content", 80},
      {"model.version", 80},    {"memory.alloc", 81},   {"memory.model", 81},
      {"solver.nonfinite", 82}, {"solver.limit", 0},    {"data.index.unseen", 0}};
  for (const auto& [id, code] : documented) {
    Error error;
    error.id = id;
    EXPECT_EQ(exit_code(error), code) << id;
  }
  Error unknown;
  unknown.id = "no.such.id";
  EXPECT_EQ(exit_code(unknown), 70);
}

// The folder that holds src/ and cli/, looked for upwards from the program and from where it runs.
std::filesystem::path source_tree() {
  std::error_code ignored;
  for (std::filesystem::path start : {std::filesystem::read_symlink("/proc/self/exe", ignored),
                                      std::filesystem::current_path(ignored)}) {
    for (; start.has_relative_path(); start = start.parent_path()) {
      if (std::filesystem::exists(start / "src/base/error.cc", ignored)) return start;
    }
  }
  return {};
}

TEST(Error, EveryIdInTheSourcesIsInTheCatalogue) {
  const std::filesystem::path root = source_tree();
  if (root.empty()) GTEST_SKIP() << "the sources are not near the tests";
  std::set<std::string> families;
  for (const ErrorInfo& info : error_catalogue()) {
    families.emplace(info.id.substr(0, info.id.find('.')));
  }
  const std::set<std::string> arrays = {"witness.free", "witness.states"};  // of a model file
  std::size_t seen = 0;
  for (const char* folder : {"src", "cli"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path().string();
      if (!path.ends_with(".cc") && !path.ends_with(".h")) continue;
      const std::string text = testing::read_file(path);
      const auto check = [&](const std::string& id) {
        ++seen;
        EXPECT_NE(find_error(id), nullptr) << id << " in " << path;
      };
      for (std::size_t open = text.find('"'); open != std::string::npos;) {
        const std::size_t close = std::min(text.find('"', open + 1), text.size());
        const std::string literal = text.substr(open + 1, close - open - 1);
        const std::string family = literal.substr(0, literal.find('.'));
        if (looks_like_id(literal) && families.contains(family) && !arrays.contains(literal)) {
          check(literal);
        }
        if (std::string_view(text).substr(0, open).ends_with("reject(")) {
          // The container is read for models and for data sets.
          const bool data = path.find("/data/") != std::string::npos;
          if (!data) check("model." + literal);
          if (data || path.find("/base/") != std::string::npos) check("cache." + literal);
        }
        open = text.find('"', open + 1);
      }
    }
  }
  EXPECT_GT(seen, error_catalogue().size());  // the search itself works
}

TEST(Error, GuardReturnsWhatWasThrown) {
  const Result<int> value = guard([] { return 7; });
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 7);
  EXPECT_TRUE(guard([] {}).ok());

  const Result<int> failure = guard([]() -> int { fail("data.empty", "no rows", "look again"); });
  ASSERT_FALSE(failure.ok());
  EXPECT_EQ(to_string(failure.error()),
            "hinge: error: no rows [data.empty]\nhinge: help: look again");

  const Result<void> memory = guard([] { throw std::bad_alloc(); });
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().id, "memory.alloc");
  EXPECT_EQ(exit_code(memory.error()), 81);

  const Result<void> bug = guard([] { throw std::logic_error("the cat sat on it"); });
  ASSERT_FALSE(bug.ok());
  EXPECT_EQ(bug.error().id, "run.internal");
  EXPECT_NE(bug.error().message.find("the cat sat on it"), std::string::npos);
  EXPECT_NE(bug.error().help.find("report"), std::string::npos);
}

TEST(Error, TakeThrowsOnWhatAResultHolds) {
  EXPECT_EQ(take(Result<int>(3)), 3);
  const Result<int> chained = guard([] { return take(Result<int>(located())); });
  ASSERT_FALSE(chained.ok());
  EXPECT_EQ(to_string(chained.error()), to_string(located()));
  const Result<void> nothing = guard([] { take(Result<void>(located())); });
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().line, 21U);
}

TEST(Error, SystemCallsNameFileAndReason) {
  const auto failing = [](int number) {
    return guard([number] { fail_errno("io.open", "a\nb", "open", number); });
  };
  EXPECT_EQ(to_string(failing(ENOENT).error()),
            "hinge: error: cannot open a\\x0ab: No such file or directory [io.open]");
  EXPECT_EQ(failing(EACCES).error().id, "io.permission");
  EXPECT_EQ(failing(EPERM).error().id, "io.permission");
}

}  // namespace
}  // namespace hinge
