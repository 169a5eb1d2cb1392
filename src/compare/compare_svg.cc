// The figure of a comparison: two panels with logarithmic axes, and a legend to their right.
//
// Drawn from back to front: grid, the gap asked for, lines (the winner last, on top), legend.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "hinge/compare.h"

namespace hinge {
namespace {

constexpr double kWidth = 960, kHeight = 440;
constexpr double kTop = 92, kBottom = 58;    // margins above and below the panels
constexpr double kLeft = 58, kBetween = 30;  // left of the first panel, between the two
constexpr double kPanel = 328;               // width of a panel
constexpr double kFloor = kHeight - kBottom;
constexpr double kLegend = kLeft + 2 * kPanel + kBetween + 24;
constexpr std::string_view kInk = "#222", kFaint = "#666", kGrid = "#e2e2e2";
constexpr std::string_view kAskedDashes = "5 4";

enum class Marker : std::uint8_t { circle, square, diamond, up, down, cross, plus, star };

struct Style {
  std::string_view colour;
  std::string_view dashes;  // empty: solid
  Marker marker;
};

// Told apart without colour, too. In the order of Solver.
constexpr Style kStyles[] = {
    {"#6a3fa0", "3 2", Marker::circle},    {"#0a5a9c", "", Marker::circle},
    {"#d04e00", "7 3", Marker::square},    {"#767676", "2 3", Marker::plus},
    {"#222222", "", Marker::up},           {"#a86a00", "9 3 2 3", Marker::down},
    {"#00805c", "", Marker::diamond},      {"#a8447f", "12 3", Marker::star},
    {"#2f87c0", "5 2 2 2", Marker::cross},
};

const Style& style_of(Solver solver) {
  return kStyles[static_cast<std::size_t>(solver) % std::size(kStyles)];
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : escape(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// 22,090
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t k = digits.size(); k > 3; k -= 3) digits.insert(k - 3, ",");
  return digits;
}

// Three digits or more, and no exponent where it can be helped.
std::string brief(double number) {
  if (number >= 100 && number < 1e7) return fmt::format("{:.0f}", number);
  return fmt::format("{:.3g}", number);
}

std::string power_of_ten(int exponent) {
  return fmt::format("10<tspan dy=\"-5\" font-size=\"10\">{}{}</tspan>",
                     exponent < 0 ? "&#8722;" : "", std::abs(exponent));
}

// Text of one line; `more` are further attributes.
std::string text(double x, double y, std::string_view colour, std::string_view more,
                 std::string_view content) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\"{}{}>{}</text>\n", x, y, colour,
                     more.empty() ? "" : " ", more, content);
}

// From `low` to `high`, both > 0, onto `begin` .. `end`.
struct LogAxis {
  double low = 0.1, high = 10;
  double begin = 0, end = 1;

  double operator()(double value) const {
    return begin + (end - begin) * std::log(value / low) / std::log(high / low);
  }
  double decades() const { return std::log10(high / low); }
};

struct Point {
  double x = 0, y = 0;  // seconds or passes, and the gap; both > 0
};

// What a logarithmic axis can show of a curve: not x = 0, nor the time before the gap leaves 1,
// which would only push everything else to the right.
std::vector<Point> visible(const std::vector<GapPoint>& curve, double GapPoint::*along) {
  constexpr double kStill = 0.999;
  constexpr double kLeast = 1e-9, kMost = 1e15;  // beyond them nothing was measured
  std::vector<Point> points;
  for (const GapPoint& p : curve) {
    if (!(p.*along > 0)) continue;
    if (points.size() == 1 && points[0].y > kStill) points.clear();
    points.push_back({std::clamp(p.*along, kLeast, kMost), p.relative_gap});
  }
  return points;
}

// A marker of the size of a disc of radius r.
std::string marker_at(const Style& style, double x, double y, double r, bool hollow) {
  const auto polygon = [&](std::initializer_list<std::pair<double, double>> corners) {
    std::string path;
    for (const auto& [dx, dy] : corners) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x + r * dx, y + r * dy);
    }
    return path + "Z";
  };
  const std::string paint =
      hollow ? fmt::format("fill=\"#fff\" stroke=\"{}\" stroke-width=\"1.8\"", style.colour)
             : fmt::format("fill=\"{}\" stroke=\"#fff\" stroke-width=\"0.8\"", style.colour);
  std::string path;
  switch (style.marker) {
    case Marker::circle:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" {}/>", x, y, r, paint);
    case Marker::square:
      path = polygon({{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}});
      break;
    case Marker::diamond:
      path = polygon({{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}});
      break;
    case Marker::up:
      path = polygon({{0, -1.3}, {1.2, 0.9}, {-1.2, 0.9}});
      break;
    case Marker::down:
      path = polygon({{0, 1.3}, {1.2, -0.9}, {-1.2, -0.9}});
      break;
    case Marker::cross:
      path = polygon({{0, -0.5},
                      {0.8, -1.3},
                      {1.3, -0.8},
                      {0.5, 0},
                      {1.3, 0.8},
                      {0.8, 1.3},
                      {0, 0.5},
                      {-0.8, 1.3},
                      {-1.3, 0.8},
                      {-0.5, 0},
                      {-1.3, -0.8},
                      {-0.8, -1.3}});
      break;
    case Marker::plus:
      path = polygon({{-0.4, -1.3},
                      {0.4, -1.3},
                      {0.4, -0.4},
                      {1.3, -0.4},
                      {1.3, 0.4},
                      {0.4, 0.4},
                      {0.4, 1.3},
                      {-0.4, 1.3},
                      {-0.4, 0.4},
                      {-1.3, 0.4},
                      {-1.3, -0.4},
                      {-0.4, -0.4}});
      break;
    case Marker::star:
      path = polygon({{0, -1.5},
                      {0.45, -0.55},
                      {1.45, -0.45},
                      {0.7, 0.2},
                      {0.9, 1.25},
                      {0, 0.7},
                      {-0.9, 1.25},
                      {-0.7, 0.2},
                      {-1.45, -0.45},
                      {-0.45, -0.55}});
      break;
  }
  return fmt::format("<path d=\"{}\" {}/>", path, paint);
}

std::string stroke(const Style& style) {
  return fmt::format(
      "stroke=\"{}\" stroke-width=\"2\"{}", style.colour,
      style.dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", style.dashes));
}

class Figure {
 public:
  explicit Figure(const Comparison& comparison) : all_(comparison), order_(ranking(comparison)) {
    for (const SolverRun& run : all_.runs) curves_.push_back(gap_curve(run));
    scale_gaps();
  }

  std::string draw() {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" font-family=\"sans-serif\" "
        "font-size=\"13\">\n<title>{2}</title>\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "fill=\"#fff\"/>\n",
        kWidth, kHeight, xml("Solvers compared on " + name()));
    heading();
    panel(kLeft, "seconds", "seconds of training", &GapPoint::seconds);
    panel(kLeft + kPanel + kBetween, "passes", "passes over the data", &GapPoint::data_passes);
    legend();
    return out_ + "</svg>\n";
  }

 private:
  // Without the folder.
  std::string name() const {
    const std::string& path = all_.data;
    return path.empty() ? "the data" : path.substr(path.rfind('/') + 1);
  }

  // One scale for both panels: from a little below the lowest gap worth showing to the decade above
  // the highest.
  void scale_gaps() {
    const double asked = all_.gap > 0 ? std::clamp(all_.gap, 1e-15, 1.0) : 1e-3;
    double low = asked, high = 0;
    for (const std::vector<GapPoint>& curve : curves_) {
      for (const Point& p : visible(curve, &GapPoint::seconds)) {
        low = std::min(low, p.y);
        high = std::max(high, p.y);
      }
    }
    low = std::max(low, asked / 100) / 1.6;  // a last step may go far beyond what was asked
    // Without a curve, or if it has come to 0 at once: all there is.
    high = high > 0 ? std::min(1.0, std::pow(10, std::ceil(std::log10(high) - 1e-9))) : 1.0;
    gaps_ = {.low = low, .high = std::max(high, 5 * low), .begin = kFloor, .end = kTop};
  }

  void heading() {
    std::string title = name();
    constexpr std::size_t kLongest = 70;
    if (title.size() > kLongest) title = "..." + title.substr(title.size() - kLongest);
    out_ += text(kLeft, 28, kInk, "font-size=\"16\" font-weight=\"bold\"", xml(title));
    std::string about =
        fmt::format("{} rows, {} features", grouped(all_.rows), grouped(all_.features));
    if (all_.classes > 2) about += fmt::format(", {} classes", all_.classes);
    about += fmt::format(", C = {:.4g}, {} thread{}", all_.cost, all_.threads,
                         all_.threads == 1 ? "" : "s");
    if (all_.any_other())
      about += fmt::format("; to {}", to_string(static_cast<const Goals&>(all_)));
    out_ += text(kLeft, 49, kFaint, "", about);
  }

  LogAxis axis(double left, double GapPoint::*along) const {
    double low = INFINITY, high = 0;
    for (const std::vector<GapPoint>& curve : curves_) {
      for (const Point& p : visible(curve, along)) {
        low = std::min(low, p.x);
        high = std::max(high, p.x);
      }
    }
    if (high == 0) low = high = 1;
    // At least a decade, so that there are numbers to read.
    const double room = std::max(1.15, std::sqrt(10 / (high / low)));
    return {.low = low / room, .high = high * room, .begin = left, .end = left + kPanel};
  }

  void panel(double left, std::string_view id, std::string_view label, double GapPoint::*along) {
    const LogAxis x = axis(left, along);
    out_ += fmt::format("<g id=\"{}\">\n", id);
    grid(x, left == kLeft);
    out_ += text(left + kPanel / 2, kFloor + 42, kInk, "text-anchor=\"middle\"", label);
    out_ += text(left, kTop - 14, kInk, "font-weight=\"bold\"",
                 left == kLeft ? "relative gap over time" : "relative gap over passes");
    asked_line(left);
    for (std::size_t k = order_.size(); k-- > 0;) line(order_[k], x, along);
    out_ += "</g>\n";
  }

  void grid(const LogAxis& x, bool numbers) {
    const auto first = static_cast<int>(std::ceil(std::log10(gaps_.low)));
    const auto last = static_cast<int>(std::floor(std::log10(gaps_.high) + 1e-9));
    const int every = last - first > 9 ? 2 : 1;
    for (int e = last; e >= first; e -= every) {
      const double y = gaps_(std::pow(10, e));
      out_ += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\"/>\n", x.begin, y, x.end,
                          kGrid);
      if (numbers) out_ += text(x.begin - 8, y + 5, kInk, "text-anchor=\"end\"", power_of_ten(e));
    }
    columns(x);
    if (x.decades() < 7) ticks(x);
    out_ += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\"/>\n", x.begin, kFloor,
                        x.end, kInk);
  }

  // Small ticks at 1, 2, ..., 9, 10, 20, ..., which show that the axis is logarithmic.
  void ticks(const LogAxis& x) {
    std::string path;
    for (int e = static_cast<int>(std::floor(std::log10(x.low))); e <= std::log10(x.high); ++e) {
      for (int digit = 1; digit <= 9; ++digit) {
        const double value = digit * std::pow(10, e);
        if (value < x.low || value > x.high) continue;
        path += fmt::format("M{:.1f} {:.1f}v4", x(value), kFloor);
      }
    }
    out_ += fmt::format("<path d=\"{}\" stroke=\"{}\"/>\n", path, kInk);
  }

  // Lines and numbers at 1, 2, 5, 10, ...; only at powers of ten where these would be many.
  void columns(const LogAxis& x) {
    const bool wide = x.decades() > 2.4;
    const int every = 1 + static_cast<int>(x.decades() / 7);
    const auto first = static_cast<int>(std::floor(std::log10(x.low)));
    for (int e = first; e <= std::log10(x.high); e += every) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        if (wide && digit > 1) continue;
        const double value = digit * std::pow(10, e);
        if (value < x.low || value > x.high) continue;
        const bool plain = e >= -4 && e <= 4;
        out_ += fmt::format("<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"{3}\"/>\n", x(value),
                            kTop, kFloor, kGrid);
        out_ +=
            text(x(value), kFloor + 19, kInk, "text-anchor=\"middle\"",
                 plain ? fmt::format("{:.{}f}", value, std::max(0, -e))
                       : (digit > 1 ? fmt::format("{:.0f}&#183;", digit) : "") + power_of_ten(e));
      }
    }
  }

  void asked_line(double left) {
    if (!(all_.gap >= gaps_.low && all_.gap <= gaps_.high)) return;
    const double y = gaps_(all_.gap);
    out_ +=
        fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\" stroke-dasharray=\"{}\"/>\n",
                    left, y, left + kPanel, kInk, kAskedDashes);
  }

  // The points of a line in the picture, each at a place of its own, down to the lower edge.
  std::vector<Point> placed(const std::vector<Point>& points, const LogAxis& x) const {
    std::vector<Point> out;
    for (std::size_t k = 0; k < points.size(); ++k) {
      Point p = points[k];
      const bool below = p.y < gaps_.low;
      if (below && k > 0 && p.y > 0) {  // where the line crosses the edge
        const Point& before = points[k - 1];
        const double share = std::log(before.y / gaps_.low) / std::log(before.y / p.y);
        p.x = before.x * std::pow(p.x / before.x, share);
      }
      const Point at = {x(p.x), below ? gaps_.begin : gaps_(p.y)};
      if (out.empty() || std::hypot(at.x - out.back().x, at.y - out.back().y) > 0.3 ||
          k + 1 == points.size()) {
        out.push_back(at);
      }
      if (below) break;
    }
    return out;
  }

  void line(std::size_t run, const LogAxis& x, double GapPoint::*along) {
    const std::vector<Point> points = placed(visible(curves_[run], along), x);
    if (points.empty()) return;
    const Style& style = style_of(all_.runs[run].solver);
    std::string path;
    for (const Point& p : points) {
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", p.x, p.y);
    }
    out_ += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" {} stroke-linejoin=\"round\"><title>{}</title>"
        "</polyline>\n",
        path, stroke(style), xml(all_.runs[run].name));
    // Markers at records, but no closer than can be told apart; the end has a larger one.
    constexpr double kApart = 30;
    Point last = {-kWidth, 0};
    const Point& end = points.back();
    for (const Point& p : points) {
      if (std::hypot(p.x - last.x, p.y - last.y) < kApart) continue;
      if (std::hypot(p.x - end.x, p.y - end.y) < kApart / 2) break;
      out_ += marker_at(style, p.x, p.y, 3.2, false);
      last = p;
    }
    const bool reached = all_.runs[run].status == StopReason::converged;
    out_ += marker_at(style, end.x, end.y, 4.6, !reached) + "\n";
  }

  // In the order of the ranking, with what each took.
  void legend() {
    const double step =
        std::min(42.0, (kFloor - kTop - 12) / static_cast<double>(order_.size() + 1));
    double y = kTop + 8;
    out_ += "<g id=\"legend\">\n";
    for (const std::size_t k : order_) {
      const SolverRun& run = all_.runs[k];
      const Style& style = style_of(run.solver);
      const bool reached = run.status == StopReason::converged;
      out_ += fmt::format("<path d=\"M{:.1f} {:.1f}h32\" {}/>", kLegend, y - 4, stroke(style));
      out_ += marker_at(style, kLegend + 16, y - 4, 4.2, !reached) + "\n";
      out_ += text(kLegend + 40, y, style.colour, "font-weight=\"bold\"", xml(run.name));
      const std::string note =
          reached
              ? fmt::format("{} s, {} passes", brief(run.seconds), brief(run.data_passes))
              : fmt::format("gap {:.1e} in {} s", run.certificate.relative_gap, brief(run.seconds));
      out_ += text(kLegend + 40, y + 15, kFaint, "font-size=\"12\"", note);
      y += step;
    }
    if (all_.gap > 0) {
      out_ += fmt::format("<path d=\"M{:.1f} {:.1f}h32\" stroke=\"{}\" stroke-dasharray=\"{}\"/>",
                          kLegend, y - 4, kInk, kAskedDashes);
      out_ += text(kLegend + 40, y, kInk, "", fmt::format("gap asked for: {:g}", all_.gap));
    }
    out_ += "</g>\n";
  }

  const Comparison& all_;
  std::vector<std::size_t> order_;
  std::vector<std::vector<GapPoint>> curves_;
  LogAxis gaps_;
  std::string out_;
};

}  // namespace

std::string to_svg(const Comparison& comparison) {
  return Figure(comparison).draw();
}

}  // namespace hinge
