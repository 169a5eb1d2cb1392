// Training and reading on several ranks, which are threads here: what they agree on must be what
// one process finds in all rows.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "data/columns.h"
#include "data/survey.h"
#include "hinge/train.h"
#include "hinge/verify.h"
#include "objective/problem.h"
#include "support.h"
#include "thread_transport.h"
#include "train/ranked.h"

namespace hinge {
namespace {

using testing::random_dataset;
using testing::TempFolder;
using testing::ThreadGroup;
using testing::write_file;

Dataset rows_between(const Dataset& data, std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i = first; i < last; ++i) rows.push_back(i);
  return keep_rows(data, rows);
}

// Trains with rank k on rows cuts[k] .. cuts[k + 1] - 1; the reports of all ranks.
std::vector<TrainReport> train_parts(const Dataset& data, const std::vector<std::uint64_t>& cuts,
                                     const TrainOptions& options) {
  std::vector<TrainReport> reports(cuts.size() - 1);
  ThreadGroup(static_cast<int>(reports.size())).run([&](Transport& transport) {
    const auto k = static_cast<std::size_t>(transport.rank());
    const Dataset part = rows_between(data, cuts[k], cuts[k + 1]);
    TrainControl control;
    control.ranks = &transport;
    Result<TrainReport> report = train(part, options, control);
    ASSERT_TRUE(report.ok()) << to_string(report.error());
    reports[k] = std::move(report).value();
  });
  return reports;
}

void expect_proved(const std::vector<TrainReport>& reports, const Dataset& data, double gap) {
  for (const TrainReport& report : reports) {
    EXPECT_EQ(report.status, StopReason::converged);
    EXPECT_EQ(report.model.weights, reports[0].model.weights) << "the same bits on every rank";
    EXPECT_EQ(report.model.certificate().primal, reports[0].model.certificate().primal);
    EXPECT_EQ(report.model.certificate().dual, reports[0].model.certificate().dual);
    EXPECT_EQ(report.ranks, static_cast<int>(reports.size()));
    EXPECT_GT(report.messages, 0U);
  }
  const Result<VerifyReport> verified = verify(reports[0].model, data);
  ASSERT_TRUE(verified.ok()) << to_string(verified.error());
  EXPECT_TRUE(verified->agrees);
  EXPECT_TRUE(verified->recomputed.bounded());
  EXPECT_LE(verified->recomputed.relative_gap, gap);
}

class TrainOnRanks : public ::testing::TestWithParam<Solver> {
 protected:
  TrainOptions options(double gap = 1e-4) const {
    TrainOptions o;
    o.solver = GetParam();
    o.gap = gap;
    o.threads = 1;
    return o;
  }
};

TEST_P(TrainOnRanks, ProvesTheSameOptimumAsOneProcess) {
  const Dataset data = random_dataset({.rows = 400, .features = 30, .nonzeros = 6, .noise = 0.2});
  const Result<TrainReport> alone = train(data, options(1e-6));
  ASSERT_TRUE(alone.ok());
  const Certificate best = alone->model.certificate();
  for (const std::vector<std::uint64_t>& cuts :
       {std::vector<std::uint64_t>{0, 200, 400}, {0, 1, 399, 400}, {0, 0, 150, 150, 400}}) {
    const std::vector<TrainReport> reports = train_parts(data, cuts, options());
    expect_proved(reports, data, 1e-4);
    EXPECT_GE(reports[0].model.certificate().primal, best.dual);
    EXPECT_LE(reports[0].model.certificate().dual, best.primal);
  }
}

// Each rank rounds the dual variables of its rows, all to the same form.
TEST(TrainOnRanksRounded, KeepsWhatIsCertified) {
  const Dataset data = random_dataset({.rows = 400, .features = 30, .nonzeros = 6, .noise = 0.2});
  for (const LossKind loss : {LossKind::squared_hinge, LossKind::logistic}) {
    for (const double gap : {1e-3, 1e-11}) {
      TrainOptions options;
      options.solver = Solver::dual;
      options.loss = loss;
      options.gap = gap;
      options.threads = 1;
      const std::vector<TrainReport> reports = train_parts(data, {0, 1, 150, 150, 400}, options);
      expect_proved(reports, data, gap);
      EXPECT_EQ(reports[0].model.problems[0].witness.bits, gap > 1e-10 ? 16 : 32);
      const VerifyReport found = verify(reports[0].model, data).value();
      EXPECT_LE(std::abs(found.recomputed.dual - found.stored.dual), 1e-12 * found.stored.dual);
    }
  }
}

// Targets of rows are their rank's own; so is whether a rank has any that is no whole number.
TEST(TrainOnRanksRegression, ProvesTheSameOptimumAsOneProcess) {
  const Dataset classes = random_dataset({.rows = 400, .features = 30, .nonzeros = 6});
  Random random(3);
  std::vector<double> targets;
  for (const std::int64_t label : classes.labels()) {
    targets.push_back(static_cast<double>(label) + random.uniform());
  }
  const Dataset data =
      classes.visit([&](const auto& m) { return Dataset::wrap(m, targets, {}, nullptr).value(); });
  for (const LossKind loss : {LossKind::epsilon_insensitive, LossKind::squared_epsilon}) {
    for (const Solver solver : {Solver::automatic, Solver::pegasos}) {
      const double gap = solver == Solver::pegasos ? 0.05 : 1e-4;
      TrainOptions options;
      options.solver = solver;
      options.loss = loss;
      options.gap = gap;
      options.threads = 1;
      if (solver == Solver::pegasos) options.pegasos.batch = 40;
      const Certificate best = train(data, options).value().model.certificate();
      for (const std::vector<std::uint64_t>& cuts :
           {std::vector<std::uint64_t>{0, 200, 400}, {0, 0, 150, 150, 400}}) {
        const std::vector<TrainReport> reports = train_parts(data, cuts, options);
        expect_proved(reports, data, gap);
        EXPECT_GE(reports[0].model.certificate().primal, best.dual);
        EXPECT_LE(reports[0].model.certificate().dual, best.primal);
      }
    }
  }
}

TEST_P(TrainOnRanks, StopAtTheSameGoal) {
  const Dataset data = random_dataset({.rows = 300, .features = 25, .nonzeros = 6, .noise = 0.2});
  const std::vector<std::uint64_t> cuts = {0, 100, 220, 300};
  const Certificate best = train(data, options(1e-6)).value().model.certificate();
  TrainOptions per_row = options();
  per_row.gap.reset();
  per_row.gap_per_row = 0.01 * best.primal / 300;
  expect_proved(train_parts(data, cuts, per_row), data, 0.01);
  TrainOptions target = options();
  target.gap.reset();
  target.target = 1.05 * best.primal;
  const std::vector<TrainReport> reports = train_parts(data, cuts, target);
  expect_proved(reports, data, 1);
  EXPECT_LE(reports[0].model.certificate().primal, target.target);
  target.target = 0.9 * best.primal;
  for (const TrainReport& report : train_parts(data, cuts, target)) {
    EXPECT_EQ(report.status, StopReason::limit);
    EXPECT_TRUE(report.why.starts_with("no point has a primal of")) << report.why;
  }
}

TEST_P(TrainOnRanks, WeightsClassesAndBias) {
  Dataset data = random_dataset(
      {.rows = 240, .features = 15, .nonzeros = 5, .precision = Precision::f64, .classes = 3});
  std::vector<double> weights;
  for (std::uint64_t i = 0; i < data.rows(); ++i)
    weights.push_back(i % 5 == 0 ? 0.0 : 0.5 + 0.1 * static_cast<double>(i % 7));
  data = data.with_weights(weights).value();
  TrainOptions o = options(1e-3);
  o.bias = 0.7;
  o.balanced = true;
  expect_proved(train_parts(data, {0, 100, 101, 240}, o), data, 1e-3);
}

TEST_P(TrainOnRanks, OneClassARankAndMoreRanksThanRows) {
  const Dataset mixed = random_dataset({.rows = 60, .features = 8, .nonzeros = 4});
  const Dataset sorted = testing::sorted_by_label(mixed);
  const std::uint64_t half = sorted.classes()[0].rows;
  expect_proved(train_parts(sorted, {0, half, 60}, options()), sorted, 1e-4);
  const Dataset few = random_dataset({.rows = 3, .features = 4, .nonzeros = 2});
  expect_proved(train_parts(few, {0, 0, 1, 1, 2, 3, 3}, options()), few, 1e-4);
}

// Few columns among very many: all ranks must number them alike.
TEST_P(TrainOnRanks, ColumnsThatOccurSomewhere) {
  std::string text;
  Random random(4);
  for (int i = 0; i < 80; ++i) {
    text += i % 2 == 0 ? "1" : "-1";
    const std::uint64_t from = 1 + 1'000'000'000 / 80 * static_cast<std::uint64_t>(i % 40);
    text += " " + std::to_string(from) + ":1 " + std::to_string(from + 1 + random.below(9)) +
            ":0.5 4000000000:" + (i % 2 == 0 ? "1" : "-0.9") + "\n";
  }
  const Dataset data = testing::dataset_from_text(text);
  expect_proved(train_parts(data, {0, 30, 80}, options()), data, 1e-4);
}

TEST_P(TrainOnRanks, AFlagOnOneRankStopsAll) {
  const Dataset data = random_dataset({.rows = 300, .features = 30, .nonzeros = 8, .noise = 0.4});
  std::vector<StopReason> ended(3);
  const std::atomic<bool> up{true};
  ThreadGroup(3).run([&](Transport& transport) {
    const auto k = static_cast<std::size_t>(transport.rank());
    TrainOptions o = options(1e-12);
    o.max_passes = 100000;
    TrainControl control;
    control.ranks = &transport;
    if (k == 2) control.stop = &up;
    const Result<TrainReport> report =
        train(rows_between(data, 100 * k, 100 * k + 100), o, control);
    ASSERT_TRUE(report.ok()) << to_string(report.error());
    ended[k] = report->status;
  });
  EXPECT_EQ(ended, std::vector<StopReason>(3, StopReason::interrupted));
}

INSTANTIATE_TEST_SUITE_P(Solvers, TrainOnRanks,
                         ::testing::Values(Solver::automatic, Solver::dual, Solver::cpa,
                                           Solver::ocas, Solver::ocas3, Solver::active,
                                           Solver::focus),
                         [](const auto& one) { return std::string(to_string(one.param)); });

// Pegasos asks for no gap of its own: its proof is that of wherever it came.
TEST(TrainOnRanksPegasos, HasAProofThatHoldsInAllRows) {
  const Dataset data =
      random_dataset({.rows = 500, .features = 20, .nonzeros = 6, .noise = 0.2, .classes = 3});
  TrainOptions o;
  o.solver = Solver::pegasos;
  o.pegasos.epochs = 40;
  o.cost = 0.1;
  o.bias = 0.5;
  o.threads = 1;
  for (const std::uint64_t batch : {std::uint64_t{4}, std::uint64_t{50}, std::uint64_t{0}}) {
    for (const Iterate iterate : {Iterate::suffix, Iterate::last, Iterate::average}) {
      if (!testing::at_length() && iterate != Iterate::suffix) continue;
      o.pegasos.batch = batch;
      o.pegasos.iterate = iterate;
      const std::vector<TrainReport> reports = train_parts(data, {0, 100, 100, 350, 500}, o);
      for (const TrainReport& report : reports) {
        EXPECT_EQ(report.model.weights, reports[0].model.weights);
      }
      const Result<VerifyReport> verified = verify(reports[0].model, data);
      ASSERT_TRUE(verified.ok()) << to_string(verified.error());
      EXPECT_TRUE(verified->agrees);
      EXPECT_LT(verified->recomputed.relative_gap, batch == 4 ? 0.05 : 0.9);
    }
  }
  o.gap = 0.05;
  o.pegasos = {.batch = 4};
  expect_proved(train_parts(data, {0, 200, 500}, o), data, 0.05);
}

TEST(Ranks, RefuseWhatTheyCannotDo) {
  const Dataset data = random_dataset({.rows = 40});
  const auto id = [&](const TrainOptions& first, const TrainOptions& second) {
    std::vector<std::string> ids(2);
    ThreadGroup(2).run([&](Transport& transport) {
      TrainControl control;
      control.ranks = &transport;
      const auto k = static_cast<std::size_t>(transport.rank());
      const Result<TrainReport> report =
          train(rows_between(data, 20 * k, 20 * k + 20), k == 0 ? first : second, control);
      ids[k] = report.ok() ? "" : report.error().id;
    });
    EXPECT_EQ(ids[0], ids[1]);
    return ids[0];
  };
  EXPECT_EQ(id({}, {}), "");
  EXPECT_EQ(id({.cost = 1}, {.cost = 2}), "mpi.inconsistent");
  EXPECT_EQ(id({.time_limit = 5}, {}), "mpi.inconsistent");
  EXPECT_EQ(id({.solver = Solver::newton}, {.solver = Solver::newton}), "mpi.unsupported");
  const TrainOptions one_row = {.solver = Solver::pegasos};  // a step
  EXPECT_EQ(id(one_row, one_row), "mpi.unsupported");
  EXPECT_EQ(id({.free_bias = true}, {.free_bias = true}), "mpi.unsupported");
  EXPECT_EQ(id({.memory = 10}, {}), "memory.limit");  // one lacks it, all stop
}

// Fingerprint, values and classes of parts are those of the whole, wherever it is cut.
TEST(Ranks, SurveyIsThatOfAllRows) {
  for (const std::uint64_t rows : {std::uint64_t{5}, std::uint64_t{50'000}}) {
    Dataset data = random_dataset({.rows = rows, .features = 40, .nonzeros = 12});
    if (rows == 5) data = data.with_weights({1, 2, 0, 4, 5}).value();
    Pool pool(2);
    const Survey expected = survey(data, pool);
    for (const std::vector<std::uint64_t>& cuts : {std::vector<std::uint64_t>{0, rows},
                                                   {0, 0, rows},
                                                   {0, rows / 3, rows / 3, rows, rows},
                                                   {0, 1, 2, 4, rows / 2 + 3, rows}}) {
      ThreadGroup(static_cast<int>(cuts.size()) - 1).run([&](Transport& transport) {
        Comm comm(transport);
        const auto k = static_cast<std::size_t>(transport.rank());
        const Dataset part = rows_between(data, cuts[k], cuts[k + 1]);
        const GlobalShape whole = global_shape(part, comm);
        EXPECT_EQ(whole.rows, rows);
        EXPECT_EQ(whole.first_row, cuts[k]);
        EXPECT_EQ(whole.nonzeros, data.nonzeros());
        ASSERT_EQ(whole.classes.size(), data.classes().size());
        for (std::size_t c = 0; c < whole.classes.size(); ++c) {
          EXPECT_EQ(whole.classes[c].rows, data.classes()[c].rows);
        }
        Pool own(1);
        const Survey found = survey(part, whole, own, comm);
        EXPECT_EQ(found.fingerprint, expected.fingerprint);
        EXPECT_EQ(found.smallest, expected.smallest);
        EXPECT_EQ(found.largest, expected.largest);
      });
    }
  }
}

// Labels are of one kind on all ranks, whatever each finds in its own lines, and in the end of the
// kind that one process finds.
TEST(ReadShare, TargetsAreTargetsOnAllRanks) {
  const TempFolder folder;
  const std::string whole = "1 1:2\n-3 2:1\n", real = "0.5 1:1\n2 1:3\n";
  for (const std::string& text : {whole + real + whole, real + whole, whole + whole, real}) {
    const std::string path = folder / "d.svm";
    write_file(path, text);
    std::vector<Error> odd;
    const ReadOptions options = {.real_labels = true};
    const Dataset all = read_dataset(path, options, odd).value();
    for (const int ranks : {2, 3, 7}) {
      std::vector<std::vector<double>> parts(static_cast<std::size_t>(ranks));
      std::vector<std::string> fingerprints(parts.size());
      ThreadGroup(ranks).run([&](Transport& transport) {
        const auto rank = static_cast<std::size_t>(transport.rank());
        std::vector<Error> warnings;
        const Dataset part = read_share(path, options, transport, warnings).value();
        EXPECT_EQ(part.label_kind(), all.label_kind());
        parts[rank] = targets_of(part);
        Comm comm(transport);
        Pool own(1);
        fingerprints[rank] = survey(part, global_shape(part, comm), own, comm).fingerprint;
      });
      std::vector<double> targets;
      for (const auto& part : parts) targets.insert(targets.end(), part.begin(), part.end());
      EXPECT_EQ(targets, targets_of(all));
      Pool one(1);
      EXPECT_EQ(fingerprints, std::vector<std::string>(parts.size(), fingerprint(all, one)));
    }
  }
}

// The rows of all shares in rank order, as text, or the error.
std::string read_all(const std::string& source, int ranks, const ReadOptions& options = {},
                     std::vector<Error>* warnings = nullptr) {
  std::vector<std::string> parts(static_cast<std::size_t>(ranks));
  std::string error;
  std::mutex mutex;
  ThreadGroup(ranks).run([&](Transport& transport) {
    std::vector<Error> odd;
    const Result<Dataset> data = read_share(source, options, transport, odd);
    const std::lock_guard lock(mutex);
    if (transport.rank() == 0 && warnings != nullptr) *warnings = odd;
    if (!data.ok()) {
      const std::string before = std::exchange(error, to_string(data.error()));
      EXPECT_TRUE(before.empty() || before == error) << "ranks disagree";
      return;
    }
    std::string& text = parts[static_cast<std::size_t>(transport.rank())];
    data->visit([&](const auto& m) {
      EXPECT_TRUE(m.rows == 0 || m.offsets[0] == 0);
      for (std::uint64_t i = 0; i < m.rows; ++i) {
        text += std::to_string(data->labels()[i]) + "/" + std::to_string(m.features);
        if (!data->weights().empty()) text += " w" + std::to_string(data->weights()[i]);
        for (std::uint64_t k = m.offsets[i]; k < m.offsets[i + 1]; ++k) {
          text += " " + std::to_string(m.columns[k]) + ":" + std::to_string(m.values[k]);
        }
        text += "\n";
      }
    });
  });
  if (!error.empty()) return error;
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

std::string some_rows(int count, int first = 0) {
  std::string text;
  for (int i = first; i < first + count; ++i) {
    text += i % 3 == 0 ? "1" : "-1";
    for (int k = 1; k <= i % 5; ++k) {
      text += " " + std::to_string(k * 7 + i % 11) + ":" + std::to_string(0.5 * k + i);
    }
    text += i % 4 == 0 ? " # comment\n" : "\n";
  }
  return text;
}

TEST(ReadShare, LinesOfAFileHoweverManyRanks) {
  const TempFolder folder;
  for (const int rows : {1, 2, 7, 500}) {
    std::string text = some_rows(rows);
    if (rows == 7) text.pop_back();  // the last line has no end
    write_file(folder / "d.svm", text);
    const std::string expected = read_all(folder / "d.svm", 1);
    for (const int ranks : {2, 3, 5, 16}) EXPECT_EQ(read_all(folder / "d.svm", ranks), expected);
  }
}

TEST(ReadShare, FilesOfAPatternAndRowsOfABinarySet) {
  const TempFolder folder;
  write_file(folder / "part-1.svm", some_rows(300));
  write_file(folder / "part-2.svm", "# nothing\n\n");
  write_file(folder / "part-3.svm", some_rows(20, 300));
  write_file(folder / "part-4.svm", some_rows(200, 320));
  const std::string expected = read_all(folder / "part-*.svm", 1);
  for (const int ranks : {2, 3, 9}) EXPECT_EQ(read_all(folder / "part-*.svm", ranks), expected);
  std::vector<Error> warnings;
  Dataset data = read_dataset(folder / "part-*.svm", {}, warnings).value();
  ASSERT_TRUE(save_dataset(data, folder / "d.hinge", {}).ok());
  for (const int ranks : {1, 2, 3, 9}) EXPECT_EQ(read_all(folder / "d.hinge", ranks), expected);
  std::string weights;
  for (int i = 0; i < 520; ++i) weights += std::to_string(i % 13) + "\n";
  write_file(folder / "weights", weights);
  const ReadOptions weighted = {.weights_file = folder / "weights"};
  EXPECT_EQ(read_all(folder / "part-*.svm", 4, weighted),
            read_all(folder / "part-*.svm", 1, weighted));
}

// The same bytes twice are refused; the same size, or the same beginning, is not.
TEST(ReadShare, RefusesTheSameFileTwice) {
  const TempFolder folder;
  const std::string rows = some_rows(4000);  // more than the beginning that is compared first
  std::string other = rows;
  other[other.size() - 2] = other[other.size() - 2] == '1' ? '2' : '1';
  write_file(folder / "part-1.svm", rows);
  write_file(folder / "part-2.svm", other);
  write_file(folder / "part-3.svm", "");
  write_file(folder / "part-4.svm", "");
  EXPECT_EQ(read_all(folder / "part-*.svm", 3), read_all(folder / "part-*.svm", 1));
  write_file(folder / "part-5.svm", rows);
  const std::string error = read_all(folder / "part-*.svm", 3);
  EXPECT_NE(error.find("part-5.svm: error: rank 0: the same bytes as"), std::string::npos) << error;
  EXPECT_NE(error.find("part-1.svm"), std::string::npos) << error;
  EXPECT_NE(error.find("[mpi.duplicate-shard]"), std::string::npos) << error;
  EXPECT_EQ(error, read_all(folder / "part-*.svm", 2));
}

// Each rank in a folder of its own, with a copy of the file.
TEST(ReadShare, NoticesCopiesThatDiffer) {
  const TempFolder folder;
  const std::string rows = some_rows(300);
  const auto read_copies = [&](int changed, std::size_t at) {
    std::string error;
    std::mutex mutex;
    ThreadGroup(3).run([&](Transport& transport) {
      const std::string own = folder / std::to_string(transport.rank());
      std::filesystem::create_directories(own);
      std::string text = rows;
      if (transport.rank() == changed) text[text.find(':', at) + 1] ^= 1;  // another digit
      write_file(own + "/d.svm", text);
      ASSERT_EQ(unshare(CLONE_FS), 0);  // a working folder for this thread alone
      ASSERT_EQ(chdir(own.c_str()), 0);
      std::vector<Error> warnings;
      const Result<Dataset> data = read_share(std::string("d.svm"), {}, transport, warnings);
      const std::lock_guard lock(mutex);
      if (!data.ok()) error = to_string(data.error());
    });
    return error;
  };
  EXPECT_EQ(read_copies(-1, 0), "");
  // The share of each rank, changed where it is read, or in the copy that it is compared with.
  for (const int share : {0, 1, 2}) {
    const std::size_t at = rows.size() * static_cast<std::size_t>(2 * share + 1) / 6;
    const std::string error = read_copies(share, at);
    EXPECT_NE(error.find("d.svm: error: rank "), std::string::npos) << error;
    EXPECT_NE(error.find(fmt::format("differs from what rank {} reads", share)), std::string::npos);
    EXPECT_NE(error.find("[mpi.inconsistent]"), std::string::npos) << error;
  }
}

// An index 0 on any rank makes all of them count from 0.
TEST(ReadShare, AgreesOnTheIndexBase) {
  const TempFolder folder;
  write_file(folder / "d.svm", some_rows(50) + "1 0:3 4:5\n" + some_rows(50));
  EXPECT_EQ(read_all(folder / "d.svm", 3), read_all(folder / "d.svm", 1));
  EXPECT_NE(read_all(folder / "d.svm", 3, {.index_base = IndexBase::one}).find("data.index.zero"),
            std::string::npos);
}

TEST(ReadShare, ErrorsAndWarningsNameTheLineOfTheFile) {
  const TempFolder folder;
  write_file(folder / "d.svm", some_rows(400) + "1 3:x\n" + some_rows(5));
  const std::string error = read_all(folder / "d.svm", 4);
  std::string alone_error = read_all(folder / "d.svm", 1);
  const std::size_t message = alone_error.find("d.svm:401:5: error: ");
  ASSERT_NE(message, std::string::npos) << alone_error;
  EXPECT_EQ(error, alone_error.insert(alone_error.find("error: ") + 7, "rank 3: "));
  write_file(folder / "odd.svm", some_rows(400) + "1 3:1 2:1\n");
  std::vector<Error> alone, together;
  read_all(folder / "odd.svm", 1, {}, &alone);
  read_all(folder / "odd.svm", 4, {}, &together);
  ASSERT_EQ(together.size(), 1U);
  EXPECT_EQ(to_string(together[0]), to_string(alone.at(0)));
  EXPECT_NE(read_all(folder / "none.svm", 2).find("io.open"), std::string::npos);
  write_file(folder / "empty.svm", "# only this\n");
  EXPECT_NE(read_all(folder / "empty.svm", 2).find("data.empty"), std::string::npos);
  EXPECT_NE(read_all("-", 2).find("mpi.unsupported"), std::string::npos);
}

}  // namespace
}  // namespace hinge
