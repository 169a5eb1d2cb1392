// Small models as hinge 0.1.0 wrote them, base64, and a binary data set: whatever comes later reads
// them and predicts the same. Each was trained on a few rows of three columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hinge::testing {

inline std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) continue;  // the = at the end
    word = word << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(word >> bits & 0xff);
  }
  return bytes;
}

// hinge train two.svm --solver dual --bias 1: two classes, a witness
constexpr std::string_view kLinearModel =
    "eAQAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJjZXJ0aWZpY2F0ZSI6Ilt7XCJjbGFzc1wiOjEsXCJwcmltYWxcIjowLjkx"
    "NjY2NjY2NjY2NjY2NzksXCJkdWFsXCI6MC45MTY2NTE0MDgwMzcxMSxcInJlbGF0aXZlX2dhcFwiOjEuNjY0NTc3NzY5"
    "OTQ5MjY1ZS0wNSxcImJvdW5kXCI6XCJ3aXRuZXNzXCIsXCJpdGVyYXRpb25zXCI6MTB9XSIsImNoZWNrc3VtLmJpYXMi"
    "OiI4YjEyNDRkZWZhMjNlMTVjIiwiY2hlY2tzdW0uaGVhZGVyIjoiOTI0YzdiNDI0ZjI3MDk3MCIsImNoZWNrc3VtLndl"
    "aWdodHMiOiI4OGU2YjBhZTFjZjJiNThhIiwiY2hlY2tzdW0ud2l0bmVzcy5mcmVlIjoiY2JkYmNhNGU2NTZmNTI2OCIs"
    "ImNoZWNrc3VtLndpdG5lc3MuZnJlZV9jb3VudHMiOiIyMDg2YzY1YzkxZWVlMjQzIiwiY2hlY2tzdW0ud2l0bmVzcy5z"
    "dGF0ZXMiOiI1ZmY0MDBkYmU1NTk4OThhIiwiZGF0YSI6IntcInJvd3NcIjo0LFwiZmVhdHVyZXNcIjozLFwibm9uemVy"
    "b3NcIjo4LFwiaW5kZXhfYmFzZVwiOjEsXCJwcmVjaXNpb25cIjpcImYzMlwiLFwiZmluZ2VycHJpbnRcIjpcIjJlNmY1"
    "OGJlOTdmZTI4MjlcIn0iLCJmb3JtYXQiOiJoaW5nZS5tb2RlbCIsImxhYmVscyI6IlsxLC0xXSIsIm9wdGlvbnMiOiJ7"
    "XCJzb2x2ZXJcIjpcImR1YWxcIixcImNvc3RcIjoxLjAsXCJnYXBcIjowLjAwMSxcImJpYXNfZmVhdHVyZVwiOjEuMCxc"
    "ImNsYXNzX3dlaWdodHNcIjpbXSxcInJvd193ZWlnaHRzXCI6ZmFsc2UsXCJzZWVkXCI6MSxcInJlamVjdFwiOmZhbHNl"
    "fSIsInN0YXR1cyI6ImNvbnZlcmdlZCIsInZlcnNpb24iOiIxIiwid3JpdHRlbl9ieSI6ImhpbmdlIDAuMS4wIn0sImJp"
    "YXMiOnsiZHR5cGUiOiJGNjQiLCJzaGFwZSI6WzFdLCJkYXRhX29mZnNldHMiOlswLDhdfSwid2VpZ2h0cyI6eyJkdHlw"
    "ZSI6IkY2NCIsInNoYXBlIjpbMSwzXSwiZGF0YV9vZmZzZXRzIjpbOCwzMl19LCJ3aXRuZXNzLmZyZWUiOnsiZHR5cGUi"
    "OiJGNjQiLCJzaGFwZSI6WzJdLCJkYXRhX29mZnNldHMiOlszMiw0OF19LCJ3aXRuZXNzLmZyZWVfY291bnRzIjp7ImR0"
    "eXBlIjoiVTY0Iiwic2hhcGUiOlsxXSwiZGF0YV9vZmZzZXRzIjpbNDgsNTZdfSwid2l0bmVzcy5zdGF0ZXMiOnsiZHR5"
    "cGUiOiJVOCIsInNoYXBlIjpbMSwxXSwiZGF0YV9vZmZzZXRzIjpbNTYsNTddfX0gVVVVVVVVxT/////////vP1VVVVVV"
    "VdW/qqqqqqqq6j+EcPmxqurvP3HToLWqiuo/AgAAAAAAAACC";

// hinge train three.svm --solver dual: three classes
constexpr std::string_view kClassesModel =
    "qAUAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJjZXJ0aWZpY2F0ZSI6Ilt7XCJjbGFzc1wiOjEsXCJwcmltYWxcIjoxLjUw"
    "MDAwMDAwMDAwMDAwMTgsXCJkdWFsXCI6MS40OTk5OTk5OTk5OTk5OTEsXCJyZWxhdGl2ZV9nYXBcIjo3LjI1MzQ1NzA5"
    "NDIxNzY4NGUtMTUsXCJib3VuZFwiOlwid2l0bmVzc1wiLFwiaXRlcmF0aW9uc1wiOjF9LHtcImNsYXNzXCI6MyxcInBy"
    "aW1hbFwiOjEuNTAwMDAwMDAwMDAwMDAxOCxcImR1YWxcIjoxLjQ5OTk5OTk5OTk5OTk5MSxcInJlbGF0aXZlX2dhcFwi"
    "OjcuMjUzNDU3MDk0MjE3Njg0ZS0xNSxcImJvdW5kXCI6XCJ3aXRuZXNzXCIsXCJpdGVyYXRpb25zXCI6MX0se1wiY2xh"
    "c3NcIjo3LFwicHJpbWFsXCI6MS41MDAwMDAwMDAwMDAwMDE4LFwiZHVhbFwiOjEuNDk5OTk5OTk5OTk5OTkxLFwicmVs"
    "YXRpdmVfZ2FwXCI6Ny4yNTM0NTcwOTQyMTc2ODRlLTE1LFwiYm91bmRcIjpcIndpdG5lc3NcIixcIml0ZXJhdGlvbnNc"
    "IjoxfV0iLCJjaGVja3N1bS5iaWFzIjoiNzQzZGY5NGVlNGM3OGEyYSIsImNoZWNrc3VtLmhlYWRlciI6IjI4MjFjNzY1"
    "NWFmYTBmMDQiLCJjaGVja3N1bS53ZWlnaHRzIjoiMTZiODUwNjk3YTU0NjQ4MCIsImNoZWNrc3VtLndpdG5lc3MuZnJl"
    "ZSI6IjJkMDY4MDA1MzhkMzk0YzIiLCJjaGVja3N1bS53aXRuZXNzLmZyZWVfY291bnRzIjoiNzQzZGY5NGVlNGM3OGEy"
    "YSIsImNoZWNrc3VtLndpdG5lc3Muc3RhdGVzIjoiNzVhYWQyYTU1N2Y1NWNhMyIsImRhdGEiOiJ7XCJyb3dzXCI6Nixc"
    "ImZlYXR1cmVzXCI6MyxcIm5vbnplcm9zXCI6OCxcImluZGV4X2Jhc2VcIjoxLFwicHJlY2lzaW9uXCI6XCJmMzJcIixc"
    "ImZpbmdlcnByaW50XCI6XCJlMTdkNTU5ZGU2ZDAyNzVlXCJ9IiwiZm9ybWF0IjoiaGluZ2UubW9kZWwiLCJsYWJlbHMi"
    "OiJbMSwzLDddIiwib3B0aW9ucyI6IntcInNvbHZlclwiOlwiZHVhbFwiLFwiY29zdFwiOjEuMCxcImdhcFwiOjAuMDAx"
    "LFwiYmlhc19mZWF0dXJlXCI6MC4wLFwiY2xhc3Nfd2VpZ2h0c1wiOltdLFwicm93X3dlaWdodHNcIjpmYWxzZSxcInNl"
    "ZWRcIjoxLFwicmVqZWN0XCI6ZmFsc2V9Iiwic3RhdHVzIjoiY29udmVyZ2VkIiwidmVyc2lvbiI6IjEiLCJ3cml0dGVu"
    "X2J5IjoiaGluZ2UgMC4xLjAifSwiYmlhcyI6eyJkdHlwZSI6IkY2NCIsInNoYXBlIjpbM10sImRhdGFfb2Zmc2V0cyI6"
    "WzAsMjRdfSwid2VpZ2h0cyI6eyJkdHlwZSI6IkY2NCIsInNoYXBlIjpbMywzXSwiZGF0YV9vZmZzZXRzIjpbMjQsOTZd"
    "fSwid2l0bmVzcy5mcmVlIjp7ImR0eXBlIjoiRjY0Iiwic2hhcGUiOlswXSwiZGF0YV9vZmZzZXRzIjpbOTYsOTZdfSwi"
    "d2l0bmVzcy5mcmVlX2NvdW50cyI6eyJkdHlwZSI6IlU2NCIsInNoYXBlIjpbM10sImRhdGFfb2Zmc2V0cyI6Wzk2LDEy"
    "MF19LCJ3aXRuZXNzLnN0YXRlcyI6eyJkdHlwZSI6IlU4Iiwic2hhcGUiOlszLDJdLCJkYXRhX29mZnNldHMiOlsxMjAs"
    "MTI2XX19IAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPC/AAAAAAAA8D8AAAAAAADwvwAAAAAAAPA/AAAAAAAA"
    "8L8AAAAAAADwvwAAAAAAAPC/AAAAAAAA8L8AAAAAAADwPwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABUAFQAVAA==";

// hinge train wide.svm --no-witness: two of 900 columns
constexpr std::string_view kWideModel =
    "iAMAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJjZXJ0aWZpY2F0ZSI6Ilt7XCJjbGFzc1wiOjEsXCJwcmltYWxcIjowLjUy"
    "NTAwMDAwMDAwMDAzMDYsXCJkdWFsXCI6MC41MjQ5OTk5OTk5OTk5NjY4LFwicmVsYXRpdmVfZ2FwXCI6MS4yMTM4NDM4"
    "NDAyNTY3Njc2ZS0xMyxcImJvdW5kXCI6XCJ3aXRuZXNzXCIsXCJpdGVyYXRpb25zXCI6Mn1dIiwiY2hlY2tzdW0uYmlh"
    "cyI6ImM3N2IzYWJiNmY4N2FjZDkiLCJjaGVja3N1bS5jb2x1bW5zIjoiMDliMDQ0MDAyMGIxOTZmMSIsImNoZWNrc3Vt"
    "LmhlYWRlciI6IjMwNWZlZDc2NzZhMTczNGYiLCJjaGVja3N1bS53ZWlnaHRzIjoiNzcwNWIyNWZmZDZhN2Y2MiIsImRh"
    "dGEiOiJ7XCJyb3dzXCI6MixcImZlYXR1cmVzXCI6OTAwLFwibm9uemVyb3NcIjozLFwiaW5kZXhfYmFzZVwiOjEsXCJw"
    "cmVjaXNpb25cIjpcImYzMlwiLFwiZmluZ2VycHJpbnRcIjpcImQyZjA5OTk1Y2YxNDZhZGJcIn0iLCJmb3JtYXQiOiJo"
    "aW5nZS5tb2RlbCIsImxhYmVscyI6IlsxLC0xXSIsIm9wdGlvbnMiOiJ7XCJzb2x2ZXJcIjpcImR1YWxcIixcImNvc3Rc"
    "IjoxLjAsXCJnYXBcIjowLjAwMSxcImJpYXNfZmVhdHVyZVwiOjAuMCxcImNsYXNzX3dlaWdodHNcIjpbXSxcInJvd193"
    "ZWlnaHRzXCI6ZmFsc2UsXCJzZWVkXCI6MSxcInJlamVjdFwiOmZhbHNlfSIsInN0YXR1cyI6ImNvbnZlcmdlZCIsInZl"
    "cnNpb24iOiIxIiwid3JpdHRlbl9ieSI6ImhpbmdlIDAuMS4wIn0sImJpYXMiOnsiZHR5cGUiOiJGNjQiLCJzaGFwZSI6"
    "WzFdLCJkYXRhX29mZnNldHMiOlswLDhdfSwid2VpZ2h0cyI6eyJkdHlwZSI6IkY2NCIsInNoYXBlIjpbMSwzXSwiZGF0"
    "YV9vZmZzZXRzIjpbOCwzMl19LCJjb2x1bW5zIjp7ImR0eXBlIjoiVTMyIiwic2hhcGUiOlszXSwiZGF0YV9vZmZzZXRz"
    "IjpbMzIsNDRdfX0gICAgAAAAAAAAAACamZmZmZnpPwAAAAAAAOC/mpmZmZmZ2T8EAAAABgAAAIMDAAA=";

// hinge train two.svm --cost 0.1,1,10 --no-witness
constexpr std::string_view kPathModel =
    "CAUAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJjZXJ0aWZpY2F0ZSI6Ilt7XCJjbGFzc1wiOjEsXCJwcmltYWxcIjowLjI2"
    "ODc1MDAwMDAwMDAwMDQzLFwiZHVhbFwiOjAuMjY4NzQ5OTk5OTk5OTk4OTMsXCJyZWxhdGl2ZV9nYXBcIjo1LjU3Njkz"
    "NDI2MzIzMzMzN2UtMTUsXCJib3VuZFwiOlwid2l0bmVzc1wiLFwiaXRlcmF0aW9uc1wiOjF9LHtcImNsYXNzXCI6MSxc"
    "InByaW1hbFwiOjAuOTM3NTAwMDAwMDAwMDAxMixcImR1YWxcIjowLjkzNzQ5OTk5OTk5OTk5NDksXCJyZWxhdGl2ZV9n"
    "YXBcIjo2Ljc1MDE1NTk4OTcyMDk0NGUtMTUsXCJib3VuZFwiOlwid2l0bmVzc1wiLFwiaXRlcmF0aW9uc1wiOjR9LHtc"
    "ImNsYXNzXCI6MSxcInByaW1hbFwiOjAuOTQ0OTA1NTU2MjUwMDAyMixcImR1YWxcIjowLjk0NDQ0NDQ0Mzc0OTk5NDUs"
    "XCJyZWxhdGl2ZV9nYXBcIjowLjAwMDQ4Nzk5ODUwNjI2MDk2NTUsXCJib3VuZFwiOlwid2l0bmVzc1wiLFwiaXRlcmF0"
    "aW9uc1wiOjh9XSIsImNoZWNrc3VtLmJpYXMiOiI3NDNkZjk0ZWU0Yzc4YTJhIiwiY2hlY2tzdW0uaGVhZGVyIjoiYzVj"
    "NjUwNjY0ZWU5NGI3YiIsImNoZWNrc3VtLndlaWdodHMiOiJhNWI5NjQ2Y2RmMGVkZjcyIiwiZGF0YSI6IntcInJvd3Nc"
    "Ijo0LFwiZmVhdHVyZXNcIjozLFwibm9uemVyb3NcIjo4LFwiaW5kZXhfYmFzZVwiOjEsXCJwcmVjaXNpb25cIjpcImYz"
    "MlwiLFwiZmluZ2VycHJpbnRcIjpcIjJlNmY1OGJlOTdmZTI4MjlcIn0iLCJmb3JtYXQiOiJoaW5nZS5tb2RlbCIsImxh"
    "YmVscyI6IlsxLC0xXSIsIm9wdGlvbnMiOiJ7XCJzb2x2ZXJcIjpcImF1dG86ZHVhbFwiLFwiY29zdFwiOjAuMSxcImdh"
    "cFwiOjAuMDAxLFwiYmlhc19mZWF0dXJlXCI6MC4wLFwiY2xhc3Nfd2VpZ2h0c1wiOltdLFwicm93X3dlaWdodHNcIjpm"
    "YWxzZSxcInNlZWRcIjoxLFwicmVqZWN0XCI6ZmFsc2UsXCJiZWNhdXNlXCI6XCJ0aGVyZSBhcmUgb25seSAxLjMgcm93"
    "cyBhIGNvbHVtblwifSIsInBhdGgiOiJbe1wiY29zdFwiOjAuMSxcInN0YXR1c1wiOlwiY29udmVyZ2VkXCJ9LHtcImNv"
    "c3RcIjoxLjAsXCJzdGF0dXNcIjpcImNvbnZlcmdlZFwifSx7XCJjb3N0XCI6MTAuMCxcInN0YXR1c1wiOlwiY29udmVy"
    "Z2VkXCJ9XSIsInN0YXR1cyI6ImNvbnZlcmdlZCIsInZlcnNpb24iOiIxIiwid3JpdHRlbl9ieSI6ImhpbmdlIDAuMS4w"
    "In0sImJpYXMiOnsiZHR5cGUiOiJGNjQiLCJzaGFwZSI6WzNdLCJkYXRhX29mZnNldHMiOlswLDI0XX0sIndlaWdodHMi"
    "OnsiZHR5cGUiOiJGNjQiLCJzaGFwZSI6WzMsM10sImRhdGFfb2Zmc2V0cyI6WzI0LDk2XX19AAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAmpmZmZmZ2T8AAAAAAADQv5qZmZmZmck//v//////7z8AAAAAAADQvwAAAAAAAOg/nl4pyxDH8T/g6ZWy"
    "DHHMvxbZzvdT4+g/";

// hinge train two.svm --kernel rbf --gamma 0.5
constexpr std::string_view kKernelModel =
    "GAYAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJjZXJ0aWZpY2F0ZSI6Ilt7XCJjbGFzc1wiOjEsXCJwcmltYWxcIjoxLjkw"
    "NTQxNTMxNTg3NjM2MzEsXCJkdWFsXCI6MS44ODE0ODI2MjYwNDEzNjAyLFwicmVsYXRpdmVfZ2FwXCI6MC4wMTI1NjAz"
    "NTM0NDkyNDAyOTgsXCJib3VuZFwiOlwid2l0bmVzc1wiLFwiaXRlcmF0aW9uc1wiOjIwfV0iLCJjaGVja3N1bS5iaWFz"
    "IjoiODI4ZjI0NzY3ODlhMGU1ZiIsImNoZWNrc3VtLmhlYWRlciI6IjAwM2EwNGRjNzU1MjJhMjUiLCJjaGVja3N1bS5z"
    "dXBwb3J0LmNvbHVtbnMiOiIzMzlhOTIyN2ZkZmUxODRiIiwiY2hlY2tzdW0uc3VwcG9ydC5vZmZzZXRzIjoiYWY3ZGY5"
    "OGU0YTUzZmRkNSIsImNoZWNrc3VtLnN1cHBvcnQudmFsdWVzIjoiODZmMDFhMDMyYmVmNTIxYyIsImNoZWNrc3VtLndl"
    "aWdodHMiOiJkNDJkZGM3NTgyMTc3YTc5IiwiY2hlY2tzdW0ud2l0bmVzcy5mcmVlIjoiOWM2ZWIyOGY1NTMxZjBkNSIs"
    "ImNoZWNrc3VtLndpdG5lc3MuZnJlZV9jb3VudHMiOiIyZmJjNTkzNTY0ZGI3OTJlIiwiY2hlY2tzdW0ud2l0bmVzcy5z"
    "dGF0ZXMiOiJlNWU3MmU1ZTNiZWM0YTc4IiwiZGF0YSI6IntcInJvd3NcIjo0LFwiZmVhdHVyZXNcIjozLFwibm9uemVy"
    "b3NcIjo4LFwiaW5kZXhfYmFzZVwiOjEsXCJwcmVjaXNpb25cIjpcImYzMlwiLFwiZmluZ2VycHJpbnRcIjpcIjJlNmY1"
    "OGJlOTdmZTI4MjlcIn0iLCJmb3JtYXQiOiJoaW5nZS5tb2RlbCIsImtlcm5lbCI6IntcImtpbmRcIjpcInJiZlwiLFwi"
    "Z2FtbWFcIjowLjUsXCJkZWdyZWVcIjozLFwiY29lZjBcIjowLjB9IiwibGFiZWxzIjoiWzEsLTFdIiwib3B0aW9ucyI6"
    "IntcInNvbHZlclwiOlwicGVnYXNvc1wiLFwiY29zdFwiOjEuMCxcImdhcFwiOjAuMCxcImJpYXNfZmVhdHVyZVwiOjAu"
    "MCxcImNsYXNzX3dlaWdodHNcIjpbXSxcInJvd193ZWlnaHRzXCI6ZmFsc2UsXCJzZWVkXCI6MSxcInJlamVjdFwiOmZh"
    "bHNlfSIsInN0YXR1cyI6ImxpbWl0IiwidmVyc2lvbiI6IjEiLCJ3cml0dGVuX2J5IjoiaGluZ2UgMC4xLjAifSwiYmlh"
    "cyI6eyJkdHlwZSI6IkY2NCIsInNoYXBlIjpbMV0sImRhdGFfb2Zmc2V0cyI6WzAsOF19LCJzdXBwb3J0Lm9mZnNldHMi"
    "OnsiZHR5cGUiOiJVNjQiLCJzaGFwZSI6WzVdLCJkYXRhX29mZnNldHMiOls4LDQ4XX0sIndlaWdodHMiOnsiZHR5cGUi"
    "OiJGNjQiLCJzaGFwZSI6WzEsNF0sImRhdGFfb2Zmc2V0cyI6WzQ4LDgwXX0sIndpdG5lc3MuZnJlZSI6eyJkdHlwZSI6"
    "IkY2NCIsInNoYXBlIjpbMV0sImRhdGFfb2Zmc2V0cyI6WzgwLDg4XX0sIndpdG5lc3MuZnJlZV9jb3VudHMiOnsiZHR5"
    "cGUiOiJVNjQiLCJzaGFwZSI6WzFdLCJkYXRhX29mZnNldHMiOls4OCw5Nl19LCJzdXBwb3J0LmNvbHVtbnMiOnsiZHR5"
    "cGUiOiJVMzIiLCJzaGFwZSI6WzhdLCJkYXRhX29mZnNldHMiOls5NiwxMjhdfSwic3VwcG9ydC52YWx1ZXMiOnsiZHR5"
    "cGUiOiJGMzIiLCJzaGFwZSI6WzhdLCJkYXRhX29mZnNldHMiOlsxMjgsMTYwXX0sIndpdG5lc3Muc3RhdGVzIjp7ImR0"
    "eXBlIjoiVTgiLCJzaGFwZSI6WzEsMV0sImRhdGFfb2Zmc2V0cyI6WzE2MCwxNjFdfX0AAAAAAAAAgAAAAAAAAAAAAgAA"
    "AAAAAAAEAAAAAAAAAAYAAAAAAAAACAAAAAAAAABs3yCboPDvP1LfV8tlKOm/jg0wOVYM5j8SDyoXC8Pxv1VVVVVVVeU/"
    "AQAAAAAAAAAAAAAAAQAAAAAAAAABAAAAAAAAAAIAAAABAAAAAgAAAAAAgD8AAAA/AACAvwAAAEAAAABAAACAPwAAgD8A"
    "AIC/ZQ==";

// hinge stream --lambda 0.1
constexpr std::string_view kStreamModel =
    "+AIAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJjaGVja3N1bS5oZWFkZXIiOiI2YjkwOTg4OGE2ZjM5NGM3IiwiY2hlY2tz"
    "dW0uc3RyZWFtLmJpYXMiOiJhMDU3MjcxYzkwNzFjOTlkIiwiY2hlY2tzdW0uc3RyZWFtLnN1bXMiOiI2ZDQ1ZGVkZjE2"
    "Yjk0MDNiIiwiZGF0YSI6IntcInJvd3NcIjowLFwiZmVhdHVyZXNcIjozLFwibm9uemVyb3NcIjowLFwiaW5kZXhfYmFz"
    "ZVwiOjEsXCJwcmVjaXNpb25cIjpcImYzMlwiLFwiZmluZ2VycHJpbnRcIjpcIlwifSIsImZvcm1hdCI6ImhpbmdlLm1v"
    "ZGVsIiwibGFiZWxzIjoiWzEsMyw3XSIsIm9wdGlvbnMiOiJ7XCJzb2x2ZXJcIjpcInN0cmVhbVwiLFwiY29zdFwiOjEu"
    "MCxcImdhcFwiOjAuMCxcImJpYXNfZmVhdHVyZVwiOjAuMCxcImNsYXNzX3dlaWdodHNcIjpbXSxcInJvd193ZWlnaHRz"
    "XCI6ZmFsc2UsXCJzZWVkXCI6MSxcInJlamVjdFwiOmZhbHNlfSIsInN0YXR1cyI6ImxpbWl0Iiwic3RyZWFtIjoie1wi"
    "bGFtYmRhXCI6MC4xLFwidDBcIjowLFwicm93c1wiOjYsXCJsaW5lc1wiOjYsXCJsb3NzXCI6NS4wLFwiZXJyb3JzXCI6"
    "MyxcInJlc3RcIjp0cnVlLFwiaW5kZXhfYmFzZVwiOlwiYXV0b1wifSIsInZlcnNpb24iOiIxIiwid3JpdHRlbl9ieSI6"
    "ImhpbmdlIDAuMS4wIn0sInN0cmVhbS5iaWFzIjp7ImR0eXBlIjoiRjY0Iiwic2hhcGUiOls0XSwiZGF0YV9vZmZzZXRz"
    "IjpbMCwzMl19LCJzdHJlYW0uc3VtcyI6eyJkdHlwZSI6IkY2NCIsInNoYXBlIjpbNCwzXSwiZGF0YV9vZmZzZXRzIjpb"
    "MzIsMTI4XX19AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADwvwAAAAAAAPA/AAAAAAAA8L8AAAAA"
    "AADwPwAAAAAAAPC/AAAAAAAA8L8AAAAAAADwvwAAAAAAAPC/AAAAAAAA8D8AAAAAAADwvwAAAAAAAPC/AAAAAAAA8L8=";

// hinge convert three.svm three.hinge
constexpr std::string_view kDataSet =
    "KAIAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJjaGVja3N1bS5jb2x1bW5zIjoiZTc2NTJjNmJlOTgxNDRmOCIsImNoZWNr"
    "c3VtLmhlYWRlciI6IjY4YjVlN2YwNDU1Yjg4M2YiLCJjaGVja3N1bS5sYWJlbHMiOiI4Mjg5NmM2MDM3MTQzOGY3Iiwi"
    "Y2hlY2tzdW0ub2Zmc2V0cyI6IjA3ZGUzZTM2Yjc4ODE3NTQiLCJjaGVja3N1bS52YWx1ZXMiOiI0NTE4MTc5NWZhM2Rl"
    "Mzg3IiwiZmVhdHVyZXMiOiIzIiwiZm9ybWF0IjoiaGluZ2UuZGF0YXNldCIsImluZGV4X2Jhc2UiOiIxIiwidmVyc2lv"
    "biI6IjEiLCJ3cml0dGVuX2J5IjoiaGluZ2UgMC4xLjAifSwibGFiZWxzIjp7ImR0eXBlIjoiSTY0Iiwic2hhcGUiOls2"
    "XSwiZGF0YV9vZmZzZXRzIjpbMCw0OF19LCJvZmZzZXRzIjp7ImR0eXBlIjoiVTY0Iiwic2hhcGUiOls3XSwiZGF0YV9v"
    "ZmZzZXRzIjpbNDgsMTA0XX0sImNvbHVtbnMiOnsiZHR5cGUiOiJVMzIiLCJzaGFwZSI6WzhdLCJkYXRhX29mZnNldHMi"
    "OlsxMDQsMTM2XX0sInZhbHVlcyI6eyJkdHlwZSI6IkYzMiIsInNoYXBlIjpbOF0sImRhdGFfb2Zmc2V0cyI6WzEzNiwx"
    "NjhdfX0gICADAAAAAAAAAAEAAAAAAAAABwAAAAAAAAADAAAAAAAAAAEAAAAAAAAABwAAAAAAAAAAAAAAAAAAAAEAAAAA"
    "AAAAAgAAAAAAAAADAAAAAAAAAAUAAAAAAAAABgAAAAAAAAAIAAAAAAAAAAAAAAABAAAAAgAAAAAAAAABAAAAAQAAAAAA"
    "AAACAAAAAACAPwAAgD8AAIA/AAAAQAAAAD8AAABAzczMPQAAAEA=";

}  // namespace hinge::testing
