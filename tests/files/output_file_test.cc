#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hinge/files.h"
#include "support.h"

namespace hinge {
namespace {

using testing::read_file;
using testing::write_file;
using Names = std::vector<std::string>;

class OutputFile : public testing::Test {
 protected:
  using File = ::hinge::OutputFile;

  static File open(const std::string& path) {
    Result<File> file = File::create(path);
    if (!file.ok()) throw std::runtime_error(to_string(file.error()));
    return std::move(file).value();
  }

  static void save(const std::string& path, std::string_view bytes) {
    File file = open(path);
    ASSERT_TRUE(file.write(bytes).ok());
    const Result<void> done = file.commit();
    ASSERT_TRUE(done.ok()) << to_string(done.error());
  }

  static Error create_error(const std::string& path) {
    const Result<File> file = File::create(path);
    EXPECT_FALSE(file.ok()) << path;
    return file.ok() ? Error{} : file.error();
  }

  static mode_t mode(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  testing::TempFolder folder_;
};

// Runs f as a user for whom modes count, also when the tests are run by root; true if f was.
template <class F>
bool as_plain_user(F f) {
  const pid_t child = fork();
  if (child == 0) {
    bool good = geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);
    try {
      good = good && f();
    } catch (...) {
      good = false;
    }
    _exit(good ? 0 : 1);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

TEST_F(OutputFile, AppearsWholeAtCommit) {
  File file = open(folder_ / "new");
  EXPECT_EQ(file.path(), folder_ / "new");
  ASSERT_TRUE(file.write("one ").ok());
  ASSERT_TRUE(file.write(std::string_view("t\0wo", 4)).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(read_file(folder_ / "new"), std::string("one t\0wo", 8));
  EXPECT_EQ(folder_.names(), Names{"new"});
}

TEST_F(OutputFile, OldFileStaysUntilCommit) {
  write_file(folder_ / "model", "old");
  File file = open(folder_ / "model");
  ASSERT_TRUE(file.write(std::string(3000000, 'x')).ok());
  EXPECT_EQ(read_file(folder_ / "model"), "old");
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(read_file(folder_ / "model"), std::string(3000000, 'x'));
}

TEST_F(OutputFile, WithoutCommitNothingChanges) {
  write_file(folder_ / "model", "old");
  {
    File file = open(folder_ / "model");
    ASSERT_TRUE(file.write(std::string(3000000, 'x')).ok());
  }
  { const File untouched = open(folder_ / "other"); }
  EXPECT_EQ(read_file(folder_ / "model"), "old");
  EXPECT_EQ(folder_.names(), Names{"model"});
}

TEST_F(OutputFile, AnyPiecesGiveTheSameBytes) {
  std::string expected;
  File file = open(folder_ / "pieces");
  for (std::size_t size = 0; expected.size() < 5000000; size = 3 * size + 1) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    ASSERT_TRUE(file.write(piece).ok());
    expected += piece;
  }
  ASSERT_TRUE(file.commit().ok());
  EXPECT_TRUE(read_file(folder_ / "pieces") == expected);
}

TEST_F(OutputFile, EmptyFileIsAFile) {
  save(folder_ / "empty", "");
  EXPECT_EQ(read_file(folder_ / "empty"), "");
}

TEST_F(OutputFile, MoveTakesTheFileAlong) {
  File second;
  {
    File first = open(folder_ / "moved");
    ASSERT_TRUE(first.write("moved").ok());
    second = std::move(first);
  }
  ASSERT_TRUE(second.commit().ok());
  EXPECT_EQ(read_file(folder_ / "moved"), "moved");
}

TEST_F(OutputFile, TwoWritersOfOnePathBothSucceed) {
  File first = open(folder_ / "same"), second = open(folder_ / "same");
  ASSERT_TRUE(first.write("first").ok());
  ASSERT_TRUE(second.write("second").ok());
  ASSERT_TRUE(second.commit().ok());
  ASSERT_TRUE(first.commit().ok());
  EXPECT_EQ(read_file(folder_ / "same"), "first");
  EXPECT_EQ(folder_.names(), Names{"same"});
}

TEST_F(OutputFile, LinkStaysAndItsTargetIsReplaced) {
  std::filesystem::create_directory(folder_.path() / "real");
  write_file(folder_ / "real/v1", "old");
  std::filesystem::create_symlink("real/v1", folder_ / "hop");
  std::filesystem::create_symlink("hop", folder_ / "link");
  save(folder_ / "link", "new");
  EXPECT_EQ(std::filesystem::read_symlink(folder_ / "link"), "hop");
  EXPECT_EQ(read_file(folder_ / "real/v1"), "new");
  EXPECT_FALSE(std::filesystem::is_symlink(folder_ / "real/v1"));
  EXPECT_EQ(folder_.names(), (Names{"hop", "link", "real"}));
}

TEST_F(OutputFile, LinkToNothingYetStaysALink) {
  std::filesystem::create_directory(folder_.path() / "real");
  std::filesystem::create_symlink("real/v2", folder_ / "link");
  save(folder_ / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "real/v2"));
  EXPECT_EQ(read_file(folder_ / "link"), "new");
}

TEST_F(OutputFile, LinkAtTheTemporaryNameIsNotFollowed) {
  write_file(folder_ / "victim", "precious");
  std::string temporary;
  {
    const File probe = open(folder_ / "out");
    for (const std::string& name : folder_.names()) {
      if (name != "victim") temporary = name;
    }
  }
  ASSERT_FALSE(temporary.empty());
  std::filesystem::create_symlink("victim", folder_ / temporary);
  save(folder_ / "out", "new");
  EXPECT_EQ(read_file(folder_ / "victim"), "precious");
  EXPECT_EQ(read_file(folder_ / "out"), "new");
}

TEST_F(OutputFile, ALoopOfLinksIsAnError) {
  std::filesystem::create_symlink("b", folder_ / "a");
  std::filesystem::create_symlink("a", folder_ / "b");
  const Error error = create_error(folder_ / "a");
  EXPECT_EQ(error.id, "io.create");
  EXPECT_NE(error.message.find("Too many levels of symbolic links"), std::string::npos);
  EXPECT_EQ(folder_.names(), (Names{"a", "b"}));
}

TEST_F(OutputFile, NamesMayBeAsLongAsTheyGet) {
  for (const std::size_t size : {234U, 235U, 244U, 255U}) {
    std::string name;  // letters of two bytes
    while (name.size() + 2 <= size) name += "\xc3\xa9";
    name.resize(size, 'x');
    save(folder_ / name, "long");
    EXPECT_EQ(read_file(folder_ / name), "long");
    EXPECT_EQ(folder_.names(), Names{name});
    std::filesystem::remove(folder_ / name);
  }
  EXPECT_EQ(create_error(folder_ / std::string(256, 'x')).id, "io.create");
}

// A process that is killed leaves its temporary file; one that lives has its own still.
TEST_F(OutputFile, LeftoversOfTheDeadAreRemoved) {
  for (const std::string& name : {std::string("model"), std::string(250, 'x')}) {
    const auto leave = [&] {
      const pid_t child = fork();
      if (child == 0) {
        File file = open(folder_ / name);
        static_cast<void>(file.write(std::string(3000000, 'x')).ok());
        raise(SIGKILL);
      }
      int status = 0;
      return waitpid(child, &status, 0) == child && WIFSIGNALED(status);
    };
    ASSERT_TRUE(leave());
    ASSERT_TRUE(leave());
    ASSERT_EQ(folder_.names().size(), 1U);  // of two one was removed already
    File alive = open(folder_ / name), synced = open(folder_ / name);
    ASSERT_TRUE(alive.write("alive").ok());
    ASSERT_TRUE(synced.write("synced").ok());
    ASSERT_TRUE(synced.sync().ok());
    EXPECT_EQ(folder_.names().size(), 2U);
    save(folder_ / name, "third");
    ASSERT_TRUE(synced.commit().ok());
    EXPECT_EQ(read_file(folder_ / name), "synced");
    ASSERT_TRUE(alive.commit().ok());
    EXPECT_EQ(read_file(folder_ / name), "alive");
    EXPECT_EQ(folder_.names(), Names{name});
    std::filesystem::remove(folder_ / name);
  }
}

TEST_F(OutputFile, FilesOfOthersAreNoLeftovers) {
  const Names others = {"model.tmp.0123456789abcde", "model.tmp.0123456789abcdef0",
                        "model.tmp.0123456789abcdeg", "model.tmp.1.0",
                        "other.tmp.0123456789abcdef"};
  for (const std::string& name : others) write_file(folder_ / name, "mine");
  save(folder_ / "model", "new");
  EXPECT_EQ(folder_.names().size(), others.size() + 1);
}

TEST_F(OutputFile, NewFilesFollowTheUmask) {
  const mode_t old = umask(027);
  save(folder_ / "a", "x");
  umask(077);
  save(folder_ / "b", "x");
  umask(old);
  EXPECT_EQ(mode(folder_ / "a"), 0640U);
  EXPECT_EQ(mode(folder_ / "b"), 0600U);
}

TEST_F(OutputFile, UnfinishedFilesAreNobodyElsesToRead) {
  const mode_t old = umask(0);
  const File file = open(folder_ / "secret");
  umask(old);
  ASSERT_EQ(folder_.names().size(), 1U);
  EXPECT_EQ(mode(folder_ / folder_.names()[0]), 0600U);
}

TEST_F(OutputFile, ReplacedFilesKeepTheirMode) {
  for (const mode_t wanted : {0600U, 0644U, 0664U}) {
    write_file(folder_ / "model", "old");
    ASSERT_EQ(chmod((folder_ / "model").c_str(), wanted), 0);
    save(folder_ / "model", "new");
    EXPECT_EQ(mode(folder_ / "model"), wanted);
  }
}

TEST_F(OutputFile, SpecialBitsAreNotCarriedOver) {
  write_file(folder_ / "model", "old");
  ASSERT_EQ(chmod((folder_ / "model").c_str(), 06755), 0);
  save(folder_ / "model", "new");
  EXPECT_EQ(mode(folder_ / "model"), 0755U);
}

TEST_F(OutputFile, MissingFolder) {
  const Error error = create_error(folder_ / "no/such/model");
  EXPECT_EQ(error.id, "io.create");
  EXPECT_EQ(exit_code(error), 73);
  EXPECT_NE(error.message.find("No such file or directory"), std::string::npos) << error.message;
}

TEST_F(OutputFile, FolderIsNoTarget) {
  std::filesystem::create_directory(folder_.path() / "sub");
  const Error error = create_error(folder_ / "sub");
  EXPECT_EQ(error.id, "io.create");
  EXPECT_NE(error.message.find("folder"), std::string::npos) << error.message;
  EXPECT_EQ(create_error(folder_ / "sub/").id, "io.create");
  EXPECT_EQ(folder_.names(), Names{"sub"});
}

TEST_F(OutputFile, EmptyPathIsRefusedAtOnce) {
  EXPECT_EQ(create_error("").id, "io.create");
  EXPECT_FALSE(check_output("").ok());
}

TEST_F(OutputFile, PermissionDenied) {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  std::filesystem::create_directory(folder_.path() / "closed");
  std::filesystem::permissions(folder_.path() / "closed", std::filesystem::perms(0555));
  EXPECT_TRUE(as_plain_user([&] {
    const Error error = create_error(folder_ / "closed/model");
    return error.id == "io.permission" && exit_code(error) == 77;
  }));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "closed"));
}

TEST_F(OutputFile, ReadOnlyFileIsNotReplaced) {
  write_file(folder_ / "model", "old");
  std::filesystem::permissions(folder_ / "model", std::filesystem::perms(0444));
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0777));
  EXPECT_TRUE(as_plain_user([&] { return create_error(folder_ / "model").id == "io.permission"; }));
  EXPECT_EQ(folder_.names(), Names{"model"});
}

TEST_F(OutputFile, FullDeviceIsAWriteError) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{3000000}}) {
    File file = open("/dev/full");
    const Result<void> written = file.write(std::string(size, 'x'));
    const Result<void> done = written.ok() ? file.commit() : written;
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().id, "io.write");
    EXPECT_NE(done.error().message.find("No space left on device"), std::string::npos);
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

// A file size limit stands in for a full disk: the temporary file can be created but not filled.
TEST_F(OutputFile, DiskFullKeepsTheOldFile) {
  write_file(folder_ / "model", "old");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Error error;
  {
    File file = open(folder_ / "model");
    const Result<void> written = file.write(std::string(200000, 'x'));
    const Result<void> done = written.ok() ? file.commit() : written;
    EXPECT_FALSE(done.ok());
    if (!done.ok()) error = done.error();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  static_cast<void>(signal(SIGXFSZ, handler));
  EXPECT_EQ(error.id, "io.write");
  EXPECT_NE(error.message.find("100000"), std::string::npos) << error.message;
  EXPECT_EQ(read_file(folder_ / "model"), "old");
  EXPECT_EQ(folder_.names(), Names{"model"});
}

TEST_F(OutputFile, DashIsStandardOutput) {
  static_cast<void>(std::fflush(stdout));
  const int saved = dup(STDOUT_FILENO);
  const int target = ::open((folder_ / "stdout").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(saved, 0);
  ASSERT_GE(target, 0);
  ASSERT_EQ(dup2(target, STDOUT_FILENO), STDOUT_FILENO);
  bool good = true;
  for (const char* text : {"one ", "two"}) {  // standard output stays open after the first
    Result<File> file = File::create("-");
    good = good && file.ok() && file->write(text).ok() && file->commit().ok();
  }
  good = good && check_output("-").ok();
  ASSERT_EQ(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
  close(saved);
  close(target);
  EXPECT_TRUE(good);
  EXPECT_EQ(read_file(folder_ / "stdout"), "one two");
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(OutputFile, PipesAreWrittenAsStreams) {
  const std::string path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  save(path, "through");
  char bytes[16] = {};
  EXPECT_EQ(::read(reader, bytes, sizeof bytes), 7);
  EXPECT_STREQ(bytes, "through");
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST_F(OutputFile, CheckLeavesNothingBehind) {
  write_file(folder_ / "old", "old");
  EXPECT_TRUE(check_output(folder_ / "new").ok());
  EXPECT_TRUE(check_output(folder_ / "old").ok());
  EXPECT_EQ(read_file(folder_ / "old"), "old");
  EXPECT_EQ(folder_.names(), Names{"old"});
  const Result<void> bad = check_output(folder_ / "no/such");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().id, "io.create");
}

TEST_F(OutputFile, MessagesEscapeThePath) {
  const Error error = create_error(folder_ / "no\x1b[31m/model");
  EXPECT_EQ(to_string(error).find('\x1b'), std::string::npos);
  EXPECT_NE(error.message.find("no\\x1b[31m/model"), std::string::npos);
}

TEST_F(OutputFile, SameFileSeesThroughLinks) {
  write_file(folder_ / "a", "x");
  write_file(folder_ / "b", "x");
  std::filesystem::create_symlink("a", folder_ / "soft");
  std::filesystem::create_hard_link(folder_ / "a", folder_ / "hard");
  EXPECT_TRUE(same_file(folder_ / "a", folder_ / "a"));
  EXPECT_TRUE(same_file(folder_ / "a", folder_ / "soft"));
  EXPECT_TRUE(same_file(folder_ / "a", folder_ / "hard"));
  EXPECT_TRUE(same_file(folder_ / "a", folder_ / "./a"));
  EXPECT_FALSE(same_file(folder_ / "a", folder_ / "b"));
  EXPECT_FALSE(same_file(folder_ / "a", folder_ / "none"));
  EXPECT_TRUE(same_file(folder_ / "none", folder_ / "./none"));  // once it is there
  EXPECT_TRUE(same_file("-", "-"));
}

}  // namespace
}  // namespace hinge
