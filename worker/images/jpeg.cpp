#include "worker/images/jpeg.hpp"

#include "worker/images/image_error.hpp"

#ifdef DDPRUN_JPEG
#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs it before
#include <jpeglib.h>
// After jpeglib.h.
#include <jerror.h>
#endif

namespace ddprun::worker {

bool is_jpeg(std::string_view bytes) {
  return bytes.substr(0, 3) == "\xff\xd8\xff";
}

#ifdef DDPRUN_JPEG
namespace {

constexpr std::int64_t cmyk_channels = 4;
/// Each scan of a progressive file costs the time of all its pixels; those of real files have 10 or
/// so. The limit is that of TurboJPEG's TJFLAG_LIMITSCANS.
constexpr int jpeg_scans_max = 500;

/// libjpeg's state. libjpeg leaves its functions by longjmp() at an error: so those that call it
/// have nothing to destroy, and throw only once setjmp() has returned.
class JpegDecoder {
 public:
  JpegDecoder(std::string_view bytes, const std::string& name) : name_(name) {
    state_.err = jpeg_std_error(&errors_);
    errors_.error_exit = &leave;
    errors_.emit_message = &hear;
    state_.client_data = this;
    progress_.progress_monitor = &check_scans;
    if (setjmp(on_error_) != 0) {
      jpeg_destroy_decompress(&state_);
      fail_to_decode(name_, message_);
    }
    jpeg_create_decompress(&state_);
    state_.progress = &progress_;
    jpeg_mem_src(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&state_, TRUE);
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { jpeg_destroy_decompress(&state_); }

  [[nodiscard]] std::int64_t height() const { return state_.output_height; }
  [[nodiscard]] std::int64_t width() const { return state_.output_width; }
  [[nodiscard]] bool is_cmyk() const { return state_.out_color_space == JCS_CMYK; }

  /// Chooses the size and the colours of what decode() gives. Throws Error if the whole picture is
  /// too large, since libjpeg may keep all of it.
  void choose(int side_min) {
    check_image_size(name_, state_.image_height, state_.image_width);
    const unsigned side = std::min(state_.image_height, state_.image_width);
    state_.scale_num = 1;
    state_.scale_denom = 1;
    while (side_min > 0 && state_.scale_denom < 8 &&
           side / (2 * state_.scale_denom) >= static_cast<unsigned>(side_min)) {
      state_.scale_denom *= 2;
    }
    const bool has_cmyk =
        state_.jpeg_color_space == JCS_CMYK || state_.jpeg_color_space == JCS_YCCK;
    state_.out_color_space = has_cmyk ? JCS_CMYK : JCS_RGB;
    if (setjmp(on_error_) != 0) fail_to_decode(name_, message_);
    jpeg_calc_output_dimensions(&state_);
  }

  /// Into height() rows of width() pixels of 3 bytes, or 4 of CMYK.
  void decode(unsigned char* pixels) {
    if (setjmp(on_error_) != 0) fail_to_decode(name_, message_);
    jpeg_start_decompress(&state_);
    const std::size_t row_bytes =
        std::size_t{state_.output_width} * static_cast<std::size_t>(state_.output_components);
    while (state_.output_scanline < state_.output_height) {
      JSAMPROW row = pixels + state_.output_scanline * row_bytes;
      jpeg_read_scanlines(&state_, &row, 1);
    }
  }

 private:
  [[noreturn]] static void leave(j_common_ptr state) {
    auto* self = static_cast<JpegDecoder*>(state->client_data);
    (*state->err->format_message)(state, self->message_);
    std::longjmp(self->on_error_, 1);
  }

  /// Of all that libjpeg warns of, only the end of the bytes is an error, as for Pillow.
  static void hear(j_common_ptr state, int level) {
    if (level < 0 && state->err->msg_code == JWRN_JPEG_EOF) leave(state);
  }

  static void check_scans(j_common_ptr state) {
    if (reinterpret_cast<j_decompress_ptr>(state)->input_scan_number <= jpeg_scans_max) return;
    auto* self = static_cast<JpegDecoder*>(state->client_data);
    static_cast<void>(
        std::snprintf(self->message_, sizeof self->message_, "more than %d scans", jpeg_scans_max));
    std::longjmp(self->on_error_, 1);
  }

  const std::string& name_;
  jpeg_decompress_struct state_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf on_error_{};
  char message_[JMSG_LENGTH_MAX] = "";
};

/// Colours of inks as programs of Adobe write them into JPEG files, inverted; by Pillow's formula.
torch::Tensor rgb_of_inverted_cmyk(const torch::Tensor& cmyk) {
  const torch::Tensor values = cmyk.to(torch::kInt);
  const torch::Tensor black = values.slice(2, 3);
  const torch::Tensor product = (255 - values.slice(2, 0, 3)) * black + 128;
  return (black - ((product.bitwise_right_shift(8) + product).bitwise_right_shift(8)))
      .clamp(0, 255)
      .to(torch::kByte);
}

}  // namespace

torch::Tensor decode_jpeg(std::string_view bytes,
                          const std::string& name,
                          const DecodeOptions& options) {
  JpegDecoder decoder(bytes, name);
  decoder.choose(options.side_min);
  const torch::Tensor pixels = torch::empty(
      {decoder.height(), decoder.width(), decoder.is_cmyk() ? cmyk_channels : 3}, torch::kByte);
  decoder.decode(pixels.data_ptr<std::uint8_t>());
  return decoder.is_cmyk() ? rgb_of_inverted_cmyk(pixels) : pixels;
}
#else
torch::Tensor decode_jpeg(std::string_view /*bytes*/,
                          const std::string& name,
                          const DecodeOptions& /*options*/) {
  fail_without_library(name, "libjpeg-turbo", "libjpeg-dev");
}
#endif

}  // namespace ddprun::worker
