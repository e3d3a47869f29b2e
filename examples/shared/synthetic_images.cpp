#include "examples/shared/synthetic_images.hpp"

#include "ddprun/batch_loader.hpp"

namespace ddprun::examples {
namespace {

constexpr std::int64_t pattern_side = 4;
constexpr double noise_max = 96;  // of 255

torch::Generator generator_of(std::uint64_t seed) {
  torch::Generator generator = at::detail::createCPUGenerator();
  generator.set_current_seed(seed);
  return generator;
}

}  // namespace

SyntheticImages::SyntheticImages(const Sizes& sizes, std::uint64_t seed)
    : sizes_(sizes),
      seed_(seed),
      patterns_(torch::rand({sizes.classes_count, 3, pattern_side, pattern_side},
                            generator_of(worker::draw_seed(0, sizes.classes_count))) *
                (255 - noise_max)) {}

worker::Sample SyntheticImages::get(std::int64_t index, torch::Generator& /*draws*/) const {
  const std::int64_t label = index % sizes_.classes_count;
  const std::int64_t side = sizes_.side;
  const torch::Tensor pattern = torch::upsample_nearest2d(patterns_.select(0, label).unsqueeze(0),
                                                          c10::IntArrayRef{side, side});
  const torch::Tensor noise =
      torch::rand({3, side, side}, generator_of(worker::draw_seed(seed_, index)));
  return {(pattern.squeeze(0) + noise * noise_max).to(torch::kByte),
          torch::scalar_tensor(label, torch::kLong)};
}

}  // namespace ddprun::examples
