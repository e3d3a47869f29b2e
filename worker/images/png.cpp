#include "worker/images/png.hpp"

#include "worker/images/image_error.hpp"

#ifdef DDPRUN_PNG
#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <png.h>
#include <vector>
#endif

namespace ddprun::worker {

bool is_png(std::string_view bytes) {
  return bytes.substr(0, 8) == "\x89PNG\r\n\x1a\n";
}

#ifdef DDPRUN_PNG
namespace {

/// libpng's state. libpng leaves its functions by longjmp() at an error: so those that call it have
/// nothing to destroy, and throw only once setjmp() has returned.
class PngDecoder {
 public:
  PngDecoder(std::string_view bytes, const std::string& name)
      : name_(name),
        rest_(bytes),
        state_(png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &leave, &ignore)),
        info_(state_ == nullptr ? nullptr : png_create_info_struct(state_)) {
    if (info_ == nullptr) fail_to_begin();
    if (setjmp(on_error_) != 0) fail_to_begin();
    png_set_read_fn(state_, this, &read);
    png_read_info(state_, info_);
  }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  ~PngDecoder() { png_destroy_read_struct(&state_, &info_, nullptr); }

  [[nodiscard]] std::int64_t height() const { return png_get_image_height(state_, info_); }
  [[nodiscard]] std::int64_t width() const { return png_get_image_width(state_, info_); }
  [[nodiscard]] bool is_grey_of_16_bits() const {
    return png_get_color_type(state_, info_) == PNG_COLOR_TYPE_GRAY &&
           png_get_bit_depth(state_, info_) == 16;
  }

  /// Into the rows, each of width() pixels of 3 bytes.
  void decode(std::vector<unsigned char*>& rows) {
    if (setjmp(on_error_) != 0) fail();
    png_set_strip_16(state_);
    png_set_palette_to_rgb(state_);
    png_set_expand_gray_1_2_4_to_8(state_);
    png_set_gray_to_rgb(state_);
    png_set_strip_alpha(state_);
    png_set_interlace_handling(state_);
    png_read_update_info(state_, info_);
    if (png_get_rowbytes(state_, info_) != 3 * static_cast<std::size_t>(width())) {
      png_error(state_, "its rows have another length than its header says");
    }
    png_read_image(state_, rows.data());
    png_read_end(state_, nullptr);
  }

 private:
  [[noreturn]] static void leave(png_structp state, png_const_charp message) {
    auto* self = static_cast<PngDecoder*>(png_get_error_ptr(state));
    self->message_[std::string_view(message).copy(self->message_, sizeof self->message_ - 1)] = 0;
    std::longjmp(self->on_error_, 1);
  }

  static void ignore(png_structp /*state*/, png_const_charp /*warning*/) {}

  static void read(png_structp state, png_bytep destination, std::size_t count) {
    auto* self = static_cast<PngDecoder*>(png_get_io_ptr(state));
    if (self->rest_.size() < count) png_error(state, "it is cut off");
    std::copy_n(self->rest_.data(), count, reinterpret_cast<char*>(destination));
    self->rest_.remove_prefix(count);
  }

  [[noreturn]] void fail_to_begin() {
    png_destroy_read_struct(&state_, &info_, nullptr);
    fail();
  }
  [[noreturn]] void fail() const { fail_to_decode(name_, message_); }

  const std::string& name_;
  std::string_view rest_;
  std::jmp_buf on_error_{};
  char message_[128] = "no memory for libpng";
  png_structp state_;
  png_infop info_;
};

}  // namespace

torch::Tensor decode_png(std::string_view bytes, const std::string& name) {
  PngDecoder decoder(bytes, name);
  const std::int64_t height = decoder.height();
  const std::int64_t width = decoder.width();
  check_image_size(name, height, width);
  if (decoder.is_grey_of_16_bits()) {
    fail_to_decode(name, "it has 16 bits of grey; only 8 are supported");
  }
  torch::Tensor pixels = torch::empty({height, width, 3}, torch::kByte);
  std::vector<unsigned char*> rows;
  for (std::int64_t y = 0; y < height; ++y) {
    rows.push_back(pixels.data_ptr<std::uint8_t>() + 3 * width * y);
  }
  decoder.decode(rows);
  return pixels;
}
#else
torch::Tensor decode_png(std::string_view /*bytes*/, const std::string& name) {
  fail_without_library(name, "libpng", "libpng-dev");
}
#endif

}  // namespace ddprun::worker
