#include "ddprun/image.hpp"

#include "worker/images/image_error.hpp"
#include "worker/images/jpeg.hpp"
#include "worker/images/png.hpp"

namespace ddprun::worker {

torch::Tensor decode_image(std::string_view bytes,
                           const std::string& name,
                           const DecodeOptions& options) {
  if (is_jpeg(bytes)) return decode_jpeg(bytes, name, options).permute({2, 0, 1});
  if (is_png(bytes)) return decode_png(bytes, name).permute({2, 0, 1});
  fail_to_decode(name, "it is neither a JPEG nor a PNG");
}

}  // namespace ddprun::worker
