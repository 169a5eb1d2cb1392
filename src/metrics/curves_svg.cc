// The figure of curves: three square panels with axes from 0 to 1, and a legend below them.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "hinge/metrics.h"

namespace hinge {
namespace {

constexpr double kSide = 280, kMargin = 60, kHead = 46, kFoot = 62, kLegendLine = 18;
constexpr std::string_view kCurveInk = "#222", kCurveGrid = "#e2e2e2", kManyInk = "#9a9a9a";

// Told apart by dashes, too. Classes beyond these share one grey.
struct CurveStyle {
  std::string_view colour, dashes;
};
constexpr std::array<CurveStyle, 8> kCurveStyles = {{{"#0a5a9c", "none"},
                                                     {"#d04e00", "7 3"},
                                                     {"#1a7f37", "2 3"},
                                                     {"#6a3fa0", "9 3 2 3"},
                                                     {"#b3005e", "4 2"},
                                                     {"#7a5c00", "1 2"},
                                                     {"#00808a", "12 4"},
                                                     {"#767676", "5 5"}}};

CurveStyle curve_style(std::size_t place) {
  return place < kCurveStyles.size() ? kCurveStyles[place] : CurveStyle{kManyInk, "none"};
}

// Names are text of others: what XML takes for its own, and what is no ASCII, becomes a number.
std::string xml_text(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    constexpr unsigned kAscii = 0x80;
    if (byte >= kAscii) {  // the names of classes are UTF-8
      const int more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
      unsigned code = byte & (0x3fU >> static_cast<unsigned>(more));
      for (int k = 0; k < more && at + 1 < text.size(); ++k) {
        code = code << 6U | (static_cast<unsigned char>(text[++at]) & 0x3fU);
      }
      out += fmt::format("&#{};", code);
    } else if (std::string_view("<>&\"'").find(text[at]) != std::string_view::npos) {
      out += fmt::format("&#{};", byte);
    } else {
      out += text[at];
    }
  }
  return out;
}

class CurvesFigure {
 public:
  explicit CurvesFigure(const std::vector<ClassCurves>& all) : all_(all) {}

  std::string draw() {
    const std::size_t shown = std::min(all_.size(), kCurveStyles.size() + 1);
    const double width = kMargin + 3 * (kSide + kMargin);
    const double height = kHead + kSide + kFoot + kLegendLine * static_cast<double>(shown);
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" font-family=\"sans-serif\" "
        "font-size=\"13\">\n<title>ROC, precision over recall, calibration</title>\n"
        "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#fff\"/>\n",
        width, height);
    panel("roc", "ROC", "others taken for the class", "found of the class", &ClassCurves::roc,
          true);
    panel("precision_recall", "precision over recall", "recall", "precision", &ClassCurves::recall,
          false);
    panel("calibration", "calibration", "mean probability", "part that has the class",
          &ClassCurves::calibration, true);
    legend(shown);
    return out_ + "</svg>\n";
  }

 private:
  void label(double x, double y, std::string_view how, std::string_view text) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\" {}>{}</text>\n", x, y,
                        kCurveInk, how, text);
  }

  void panel(std::string_view id, std::string_view title, std::string_view along,
             std::string_view up, std::vector<CurvePoint> ClassCurves::*points, bool diagonal) {
    const double floor = kHead + kSide;
    out_ += fmt::format("<g id=\"{}\">\n", id);
    label(left_, kHead - 16, "font-weight=\"bold\"", title);
    for (const double at : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}) {
      const double x = left_ + at * kSide, y = floor - at * kSide;
      out_ +=
          fmt::format("<path d=\"M{:.1f} {:.1f}v{:.1f}M{:.1f} {:.1f}h{:.1f}\" stroke=\"{}\"/>\n", x,
                      kHead, kSide, left_, y, kSide, kCurveGrid);
      label(x, floor + 18, "text-anchor=\"middle\" font-size=\"11\"", fmt::format("{:.1f}", at));
      label(left_ - 6, y + 4, "text-anchor=\"end\" font-size=\"11\"", fmt::format("{:.1f}", at));
    }
    label(left_ + kSide / 2, floor + 36, "text-anchor=\"middle\"", along);
    const double middle = kHead + kSide / 2;
    label(left_ - 34, middle,
          fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 {:.1f} {:.1f})\"", left_ - 34,
                      middle),
          up);
    if (diagonal) {
      out_ += fmt::format(
          "<path d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}\" stroke=\"{}\" "
          "stroke-dasharray=\"2 4\"/>\n",
          left_, floor, kSide, -kSide, kManyInk);
    }
    bool any = false;
    for (std::size_t k = all_.size(); k-- > 0;) any |= line(k, all_[k].*points);
    if (!any) label(left_ + kSide / 2, middle, "text-anchor=\"middle\"", "n/a");
    out_ += "</g>\n";
    left_ += kSide + kMargin;
  }

  bool line(std::size_t place, const std::vector<CurvePoint>& points) {
    if (points.empty()) return false;
    std::string path;
    for (const CurvePoint& p : points) {
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", left_ + p.x * kSide,
                          kHead + (1 - p.y) * kSide);
    }
    const CurveStyle style = curve_style(place);
    out_ += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" "
        "stroke-dasharray=\"{}\" stroke-linejoin=\"round\"><title>{}</title></polyline>\n",
        path, style.colour, style.dashes, xml_text(all_[place].name));
    return true;
  }

  void legend(std::size_t shown) {
    double y = kHead + kSide + kFoot;
    out_ += "<g id=\"legend\">\n";
    for (std::size_t k = 0; k < shown; ++k, y += kLegendLine) {
      const CurveStyle style = curve_style(k);
      out_ += fmt::format(
          "<path d=\"M{:.1f} {:.1f}h32\" stroke=\"{}\" stroke-width=\"2\" "
          "stroke-dasharray=\"{}\"/>",
          kMargin, y - 4, style.colour, style.dashes);
      label(kMargin + 40, y, "",
            k < kCurveStyles.size() ? "class " + xml_text(all_[k].name)
                                    : fmt::format("{} more classes", all_.size() - k));
    }
    out_ += "</g>\n";
  }

  const std::vector<ClassCurves>& all_;
  double left_ = kMargin;
  std::string out_;
};

}  // namespace

std::string to_svg(const std::vector<ClassCurves>& all) {
  return CurvesFigure(all).draw();
}

}  // namespace hinge
