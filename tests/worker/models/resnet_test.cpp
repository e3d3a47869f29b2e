#include "ddprun/resnet.hpp"

#include "ddprun/error.hpp"
#include "ddprun/weights.hpp"
#include "tests/worker/models/torchvision.hpp"

#include <functional>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using torch::Tensor;

struct Variant {
  test::TorchvisionNetwork theirs;
  std::function<ResNet(const ResNetOptions&)> make;
};

const std::vector<Variant> variants = {
    {{"resnet18", 122, 11689512, 0xb5560289, {0.170355, 0.154545, -0.141584, 0.120364}}, resnet18},
    {{"resnet34", 218, 21797672, 0x14915a6b, {1.28974, -1.41428, -7.0214, -2.91996}}, resnet34},
    {{"resnet50", 320, 25557032, 0xcaf9d490, {-0.293786, -1.61994, 0.791877, -4.16967}}, resnet50},
    {{"resnet101", 626, 44549160, 0xd33d2783, {-607.021, -316.617, -517.175, 1015.39}}, resnet101},
    {{"resnet152", 932, 60192808, 0x27d36167, {-277070.0, 120619.0, -407158.0, 488954.0}},
     resnet152},
};

ResNet make_seeded(const Variant& variant) {
  torch::manual_seed(0);
  return variant.make({});
}

TEST_CASE("resnet: names, shapes and the logits of one seed are torchvision's") {
  for (const Variant& variant : variants) {
    ResNet net = make_seeded(variant);
    test::check_beside_stored(net, variant.theirs);
  }
}

TEST_CASE("resnet: where torchvision is, weights are its own bit by bit, and logits equal") {
  const test::TemporaryFolder folder;
  std::string script;
  for (const Variant& variant : variants) {
    script += "torch.manual_seed(0)\nnet = torchvision.models." + variant.theirs.name +
              "()\nprint(bits(net))\nlogits(net.double())\nlogits(net.eval())\n";
  }
  const auto output = test::run_torchvision(folder, script);
  if (!output) return;
  CAPTURE(*output);
  std::istringstream printed(*output);
  for (const Variant& variant : variants) {
    CAPTURE(variant.theirs.name);
    ResNet net = make_seeded(variant);
    std::uint32_t weights = 0;
    printed >> weights;
    CHECK(weights == test::bits(state_dict(*net)));
    net->to(torch::kDouble);  // the statistics of one image make much of the rounding of floats
    CHECK(test::are_close(test::first_logits(net), test::read_logits(printed), 1e-9));
    net->eval();  // with the statistics of the pass before
    CHECK(test::are_close(test::first_logits(net), test::read_logits(printed), 1e-9));
  }
}

TEST_CASE("resnet: a state dict of torchvision loads here, and one of a small network there") {
  const test::TemporaryFolder folder;
  torch::manual_seed(1);
  ResNet small = resnet18({.classes_count = 10, .small_images = true});
  small->eval();
  write_pt_file(folder / "small.pt", to_value(state_dict(*small)));
  const auto output = test::run_torchvision(folder, R"(
net = torchvision.models.resnet18(num_classes=10).eval()
torch.save(net.state_dict(), "theirs.pt")
logits(net)
net.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
net.maxpool = torch.nn.Identity()
net.load_state_dict(torch.load("small.pt"))
logits(net)
)");
  if (!output) return;
  CAPTURE(*output);
  std::istringstream printed(*output);
  const StateDict theirs = read_weights(folder / "theirs.pt");
  ResNet loaded = resnet18({.classes_count = 10});
  load_state_dict(*loaded, theirs);
  loaded->eval();
  CHECK(test::are_close(test::first_logits(loaded), test::read_logits(printed)));
  CHECK(test::are_close(test::first_logits(small), test::read_logits(printed)));
}

TEST_CASE("resnet: every parameter gets a gradient") {
  for (const auto& make : {resnet18, resnet50}) {
    ResNet net = make({.classes_count = 7, .small_images = true});
    const Tensor logits = net->forward(torch::rand({2, 3, 32, 32}));
    CHECK(logits.sizes() == torch::IntArrayRef({2, 7}));
    logits.square().sum().backward();
    for (const auto& parameter : net->named_parameters()) {
      CAPTURE(parameter.key());
      CHECK(parameter.value().grad().defined());
    }
  }
}

TEST_CASE("resnet: counts that are not positive are refused") {
  CHECK(contains(error_of([] { static_cast<void>(resnet18({.classes_count = -1})); }),
                 "classes_count is -1; give at least 1"));
  const std::array<std::int64_t, 4> none{2, 2, 0, 2};
  CHECK(contains(error_of([&] { ResNetImpl(ResNetBlock::basic, none); }),
                 "a count of blocks is 0; give at least 1"));
}

}  // namespace
}  // namespace ddprun::worker
