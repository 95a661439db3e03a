// Every case of test/ops/*.test: in the evaluator, and through the op's own loops in the loop
// interpreter. See case_file.h for the format.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "case_file.h"
#include "graph/evaluator.h"
#include "run_loops.h"
#include "support/paths.h"

namespace tenfold::testing {
namespace {

std::vector<std::string> case_files() {
  std::vector<std::string> files;
  for (auto& e : std::filesystem::directory_iterator(test_dir() / "ops")) {
    if (e.path().extension() == ".test") files.push_back(e.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void expect_literal(const Case& c, const char* level, const Literal& got, const Literal& want,
                    std::optional<double> rtol) {
  if (got.type() != want.type()) {
    ADD_FAILURE() << c.where << " (" << level << "): " << c.text << "\n  got type "
                  << got.type().str() << ", wanted " << want.type().str();
    return;
  }
  const bool same = rtol ? compare(got, want, *rtol, 0).mismatches == 0 : got.same(want);
  if (!same) {
    ADD_FAILURE() << c.where << " (" << level << "): " << c.text << "\n  got    " << got.str(64)
                  << "\n  wanted " << want.str(64);
  }
}

// Elementwise arithmetic is the same operation on every level; structured float ops sum in another
// precision than the evaluator.
std::optional<double> loop_tolerance(const Case& c) {
  const OpDef& d = *c.subject->def;
  if (d.kind == OpKind::Elementwise || d.kind == OpKind::View) return c.rtol;
  if (c.rtol || !is_float(real_of(c.subject->result()->type.dtype))) return c.rtol;
  return 1e-6;
}

void check_label(const Case& c) {
  const std::string mark = "(" + c.label + ")";
  for (const Error& e : c.build_errors) {
    if (e.message.find(mark) != std::string::npos) return;
  }
  ADD_FAILURE() << c.where << ": " << c.text << "\n  wanted constraint " << c.label << ", got "
                << (c.build_errors.empty() ? "no error" : to_string(c.build_errors));
}

void check_case(const Case& c) {
  if (c.want == Case::Want::Label) return check_label(c);
  if (!c.build_errors.empty()) {
    ADD_FAILURE() << c.where << ": " << c.text << "\n  " << to_string(c.build_errors);
    return;
  }
  if (c.want == Case::Want::Types) {
    ASSERT_EQ(c.types.size(), static_cast<size_t>(c.subject->num_results())) << c.where;
    for (size_t i = 0; i < c.types.size(); ++i) {
      EXPECT_EQ(c.subject->result(static_cast<int>(i))->type, c.types[i])
          << c.where << ": got " << c.subject->result(static_cast<int>(i))->type.str();
    }
    return;
  }
  ASSERT_TRUE(c.has_values) << c.where << ": operands need values";
  auto got = evaluate(*c.module, *c.module->main(), c.args);
  if (c.want == Case::Want::EvalError) {
    ASSERT_FALSE(got.ok()) << c.where << ": wanted error " << c.label;
    EXPECT_EQ(got.errors()[0].id, c.label) << c.where << ": " << to_string(got.errors());
    return;
  }
  ASSERT_TRUE(got.ok()) << c.where << ": " << c.text << "\n  " << to_string(got.errors());
  ASSERT_EQ(got->size(), c.results.size()) << c.where;
  for (size_t i = 0; i < got->size(); ++i) {
    expect_literal(c, "evaluator", (*got)[i], c.results[i], c.rtol);
  }
  if (!runs_as_loops(*c.subject)) return;
  auto looped = run_loops(c.subject, c.args);
  ASSERT_TRUE(looped.ok()) << c.where << ": " << c.text << "\n  " << to_string(looped.errors());
  for (size_t i = 0; i < looped->size(); ++i) {
    expect_literal(c, "loops", (*looped)[i], c.results[i], loop_tolerance(c));
  }
}

class OpCases : public ::testing::TestWithParam<std::string> {};

TEST_P(OpCases, hold_in_evaluator_and_loops) {
  auto lines = case_lines(GetParam());
  ASSERT_TRUE(lines.ok()) << to_string(lines.errors());
  for (auto& [where, text] : *lines) {
    auto c = parse_case(text, where);
    if (c.ok()) {
      check_case(*c);
    } else {
      ADD_FAILURE() << to_string(c.errors());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, OpCases, ::testing::ValuesIn(case_files()), [](const auto& info) {
  return std::filesystem::path(info.param).stem().string();
});

TEST(OpTable, every_tested_op_has_three_cases_and_a_failing_one_for_each_constraint) {
  std::map<std::string, int> cases;
  std::set<std::pair<std::string, std::string>> failing;
  for (const std::string& file : case_files()) {
    auto lines = case_lines(file);
    ASSERT_TRUE(lines.ok());
    for (auto& [where, text] : *lines) {
      auto c = parse_case(text, where);
      if (!c.ok()) continue;  // reported by the test above
      ++cases[c->op];
      if (c->want == Case::Want::Label) failing.emplace(c->op, c->label);
    }
  }
  for (const OpDef* d : all_ops()) {
    const std::string op(d->name);
    if (!cases.contains(op)) continue;
    EXPECT_GE(cases[op], 3) << op << " has too few cases in test/ops/*.test";
    for (std::string_view label : d->constraints) {
      EXPECT_TRUE(failing.contains({op, std::string(label)}))
          << op << " has no failing case for " << label;
    }
  }
}

}  // namespace
}  // namespace tenfold::testing
