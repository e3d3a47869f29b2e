#include "ddprun/vgg.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/models/torchvision.hpp"

#include <cmath>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;

TEST_CASE("vgg: names, shapes and the logits of one seed are torchvision's") {
  torch::manual_seed(0);
  VGG net = vgg16();
  test::check_beside_stored(
      net, {"vgg16", 32, 138357544, 0x8777d5c9, {-0.0198164, 0.0230487, -0.012211, 0.0094364}});

  const test::TemporaryFolder folder;
  const auto output = test::run_torchvision(folder, R"(
torch.manual_seed(0)
net = torchvision.models.vgg16().eval()
print(bits(net))
logits(net)
)");
  if (!output) return;
  std::istringstream printed(*output);
  std::uint32_t weights = 0;
  printed >> weights;
  CHECK(weights == test::bits(state_dict(*net)));
  CHECK(test::are_close(test::first_logits(net), test::read_logits(printed)));
}

TEST_CASE("vgg: the features alone have the layers of vgg16's, in any width") {
  auto features = vgg16_features(16);
  CHECK(features->size() == 31);
  const StateDict state = state_dict(*features);
  CHECK(state.size() == 26);
  CHECK(state["28.weight"].sizes() == torch::IntArrayRef{128, 128, 3, 3});
  const double expected = std::sqrt(2.0 / (128 * 9));  // of the outputs and the kernel's area
  CHECK(state["28.weight"].std().item<double>() == doctest::Approx(expected).epsilon(0.01));
  const torch::NoGradGuard no_grad;
  const auto output = features->forward(torch::zeros({2, 3, 70, 33}));
  CHECK(output.sizes() == torch::IntArrayRef{2, 128, 2, 1});
}

TEST_CASE("vgg: options out of range are refused") {
  CHECK(contains(error_of([] { static_cast<void>(vgg16({.classes_count = 0})); }),
                 "classes_count is 0; give at least 1"));
  CHECK(contains(error_of([] { static_cast<void>(vgg16({.dropout = 1.5})); }),
                 "dropout is 1.5; give 0 to 1"));
  CHECK(contains(error_of([] { static_cast<void>(vgg16_features(0)); }),
                 "width is 0; give at least 1"));
}

}  // namespace
}  // namespace ddprun::worker
