#include "ddprun/image.hpp"

#include "tests/worker/images/pictures.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cstddef>
#include <string>

namespace ddprun::worker {
namespace {

using test::contains;
using test::encoded_picture;
using test::error_of;

std::string decode_error(const std::string& bytes) {
  return error_of([&] { static_cast<void>(decode_image(bytes, "the.file")); });
}

TEST_CASE("image: every kind of JPEG and PNG has the values that Pillow gives it") {
  for (const test::EncodedPicture& each : test::encoded_pictures) {
    CAPTURE(each.name);
    const torch::Tensor image = decode_image(test::from_base64(each.base64), each.name);
    REQUIRE(image.sizes() == torch::IntArrayRef{3, 13, 19});
    REQUIRE((image.scalar_type() == torch::kByte));
    CHECK(test::crc_of_picture(image) == each.crc);
  }
}

TEST_CASE("image: a file that is cut off anywhere is an error that names it") {
  for (const char* name : {"jpeg 4:2:0", "jpeg progressive", "png rgb", "png palette"}) {
    const std::string whole = encoded_picture(name);
    CAPTURE(name);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      CAPTURE(length);
      CHECK(contains(decode_error(whole.substr(0, length)), "cannot decode the.file: "));
    }
  }
}

TEST_CASE("image: no damaged byte does more than change pixels or be an error") {
  for (const test::EncodedPicture& each : test::encoded_pictures) {
    std::string bytes = test::from_base64(each.base64);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const char before = bytes[i];
      bytes[i] = static_cast<char>(before ^ 0x5a);
      const std::string error = decode_error(bytes);  // must return, a sanitizer says the rest
      CHECK((error.empty() || contains(error, "cannot decode the.file: ")));
      bytes[i] = before;
    }
  }
}

TEST_CASE("image: damaged data of a PNG is an error") {
  std::string bytes = encoded_picture("png rgb");
  bytes[bytes.size() - 14] ^= 1;  // in the checksum of the data
  CHECK(contains(decode_error(bytes), "CRC error"));
}

TEST_CASE("image: bytes after the end of a JPEG are ignored") {
  const std::string bytes = encoded_picture("jpeg 4:4:4");
  CHECK(torch::equal(decode_image(bytes + "tail", "x"), decode_image(bytes, "x")));
}

TEST_CASE("image: a header that says too many pixels is refused before memory is taken") {
  std::string jpeg = encoded_picture("jpeg 4:4:4");
  const std::size_t frame = jpeg.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  jpeg.replace(frame + 5, 4, "\xf0\xf0\xf0\xf0");
  CHECK(contains(decode_error(jpeg), "it has 61680x61680 pixels, more than 178956970"));
}

TEST_CASE("image: other formats are refused") {
  CHECK(contains(decode_error("GIF89a"), "neither a JPEG nor a PNG"));
  CHECK(contains(decode_error(""), "neither a JPEG nor a PNG"));
}

TEST_CASE("image: a PNG with 16 bits of grey is refused, for its range is not known") {
  CHECK(contains(decode_error(test::from_base64(test::png_grey_of_16_bits)), "16 bits of grey"));
}

TEST_CASE("image: a JPEG is decoded at a smaller scale only as far as was allowed") {
  const std::string bytes = encoded_picture("jpeg 4:2:0");
  const auto height = [&](int side_min) {
    return decode_image(bytes, "x", {.side_min = side_min}).size(1);
  };
  CHECK(height(7) == 13);
  CHECK(height(6) == 7);  // 13 / 2, rounded up
  CHECK(height(3) == 4);
  CHECK(height(1) == 2);
}

}  // namespace
}  // namespace ddprun::worker
