// What the decoders of pictures say of a file that they cannot use.
#pragma once

#include "ddprun/error.hpp"
#include "ddprun/image.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace ddprun::worker {

[[noreturn]] inline void fail_to_decode(const std::string& name, std::string_view why) {
  throw Error(text("cannot decode ", name, ": ", why, "; replace the file or leave it out"));
}

[[noreturn]] inline void fail_without_library(const std::string& name,
                                              std::string_view library,
                                              std::string_view package) {
  throw Error(text("cannot decode ",
                   name,
                   ": this program was built without ",
                   library,
                   "; install ",
                   package,
                   " and run CMake again"));
}

inline void check_image_size(const std::string& name, std::int64_t height, std::int64_t width) {
  if (height * width > image_pixels_max) {
    fail_to_decode(name,
                   text("it has ", width, "x", height, " pixels, more than ", image_pixels_max));
  }
}

}  // namespace ddprun::worker
