#include "ddprun/vgg.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/models/torchvision.hpp"

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

TEST_CASE("vgg: options out of range are refused") {
  CHECK(contains(error_of([] { static_cast<void>(vgg16({.classes_count = 0})); }),
                 "classes_count is 0; give at least 1"));
  CHECK(contains(error_of([] { static_cast<void>(vgg16({.dropout = 1.5})); }),
                 "dropout is 1.5; give 0 to 1"));
}

}  // namespace
}  // namespace ddprun::worker
