// How --help looks: names at the left, descriptions wrapped at the right, nothing else.
#include <memory>
#include <sstream>

#include "cli.h"

namespace hinge::cli {
namespace {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string name = option->get_name(is_positional, true);
    // A flag with a default value shows it in braces.
    if (const std::size_t brace = name.find('{'); brace != std::string::npos) {
      name.erase(brace, name.find('}') - brace + 1);
    }
    for (std::size_t comma = name.find(','); comma != std::string::npos;
         comma = name.find(',', comma + 2)) {
      name.insert(comma + 1, " ");
    }
    // The type name is the placeholder; CLI11 appends what its validators allow, which the help
    // says.
    if (!is_positional && option->get_expected_max() > 0) {
      name += " " + option->get_type_name().substr(0, option->get_type_name().find(':'));
    }
    return row(name, option->get_description());
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return row(command->get_name(), command->get_description());
  }

 private:
  static constexpr std::size_t kNames = 26, kWidth = 96;

  static std::string row(const std::string& name, const std::string& description) {
    std::string out = "  " + name;
    std::size_t at = out.size();
    const auto new_line = [&] {
      out += "\n" + std::string(kNames, ' ');
      at = kNames;
    };
    if (at + 2 > kNames) {
      new_line();
    } else {
      out.append(kNames - at, ' ');
      at = kNames;
    }
    std::istringstream words(description);
    for (std::string word; words >> word;) {
      if (at > kNames && at + 1 + word.size() > kWidth) new_line();
      if (at > kNames) {
        out += ' ';
        ++at;
      }
      out += word;
      at += word.size();
    }
    return out + "\n";
  }
};

}  // namespace

void set_help_format(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
}

}  // namespace hinge::cli
