// What the examples share: their command line, their last line, and pictures that are made up.
#include "ddprun/run.hpp"
#include "examples/shared/command_line.hpp"
#include "examples/shared/synthetic_images.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace ddprun::examples {
namespace {

using worker::text;
using worker::test::CommandResult;
using worker::test::contains;
using worker::test::error_of;
using worker::test::run_command;
using worker::test::TemporaryFolder;

struct Read {
  JobOptions options{.epochs = 4};
  bool goes_on = false;
};

Read read(const std::vector<std::string>& words, const std::vector<std::string>& named_by_place) {
  Read result;
  CommandLine line("job EPOCHS", "Does nothing.");
  line.add(result.options);
  line.add_words(named_by_place);
  result.goes_on = line.read(words);
  return result;
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    static_cast<void>(read(words, {"epochs"}));
  } catch (const worker::UsageError& error) {
    const std::string what = error.what();
    const std::size_t usage = what.find("; usage: job EPOCHS [OPTIONS]; --help lists them");
    REQUIRE(usage != std::string::npos);
    return what.substr(0, usage);
  }
  return "";
}

TEST_CASE("examples: options have values after a blank or =, words go by their place") {
  const Read given =
      read({"7", "--lr=1e-3", "--data", "a b", "--synthetic", "--seed", "18446744073709551615"},
           {"epochs"});
  CHECK(given.goes_on);
  CHECK(given.options.epochs == 7);
  CHECK(given.options.lr == 1e-3);
  CHECK(given.options.data == "a b");
  CHECK(given.options.synthetic);
  CHECK(given.options.seed == 18446744073709551615U);
  CHECK(given.options.batch_size == 32);
  CHECK(read({}, {}).options.epochs == 4);
}

TEST_CASE("examples: what a command line may not say is refused with how to call the program") {
  CHECK(refusal({}) == "an argument is missing: epochs");
  CHECK(contains(refusal({"1", "2"}), "too many positional options"));
  CHECK(contains(refusal({"1", "--sed", "2"}), "unrecognised option '--sed'"));
  CHECK(contains(refusal({"1", "--see", "2"}), "unrecognised option '--see'"));  // no prefixes
  CHECK(contains(refusal({"1", "--lr"}), "the required argument for option '--lr' is missing"));
  CHECK(refusal({"0"}) == "--epochs is \"0\", not a number of at least 1");
  CHECK(refusal({"1", "--steps=-1"}) == "--steps is \"-1\", not a number of at least 0");
  for (const std::string number : {"nan", "inf", "-0.1", "1x", "1e999"}) {
    CHECK(refusal({"1", "--lr=" + number}) ==
          text("--lr is \"", number, "\", not a number of at least 0"));
  }
}

TEST_CASE("examples: a choice takes its words alone, and may have no default") {
  const auto choose = [](const std::vector<std::string>& arguments) {
    std::string mode;
    CommandLine line("job", "A job.");
    line.add_choice("mode", mode, {"single", "double", "ddp"}, "how it runs");
    static_cast<void>(line.read(arguments));
    return mode;
  };
  CHECK(choose({}) == "");
  CHECK(choose({"--mode=ddp"}) == "ddp");
  CHECK(contains(error_of([&] { choose({"--mode=x"}); }),
                 "--mode is \"x\"; give single, double or ddp; usage: job [OPTIONS]; --help"));
}

TEST_CASE("examples: --help tells the defaults and ends with 0, a usage error with 2") {
  const TemporaryFolder folder;
  const CommandResult help = run_command(folder, EXAMPLE_TOY " --help");
  CHECK(help.status == 0);
  CHECK(contains(help.output, "usage: toy EPOCHS SAVE_EVERY [OPTIONS]"));
  CHECK(contains(help.output, "--lr N (=0.001)"));
  CHECK(run_command(folder, EXAMPLE_TOY " 3 1 --data x").status == 2);
}

TEST_CASE("examples: the last line is that of rank 0, and losses are means of all ranks") {
  const TemporaryFolder folder;
  const auto job = [&](int ranks, const std::string& options) {
    return run_command(folder,
                       text("timeout 60 " DDPRUN_PROGRAM " --standalone --nproc-per-node ",
                            ranks,
                            " " EXAMPLE_TOY " 3 1 --batch-size 256 --seed 5 ",
                            options));
  };
  const CommandResult first = job(2, "--steps 6 --losses two.txt");
  CAPTURE(first.output);
  REQUIRE(first.status == 0);
  CHECK(contains(first.output, "[rank 1] Epoch 0"));
  const std::size_t line = first.output.find("result: epochs=1 steps=6 loss=");
  REQUIRE(line != std::string::npos);
  CHECK(first.output.find("result:", line + 1) == std::string::npos);
  CHECK(contains(first.output.substr(line), " accuracy=- images_per_s="));
  std::istringstream losses(worker::test::read_bytes(folder / "two.txt"));
  std::vector<double> values(6);
  for (double& value : values) losses >> value;
  CHECK(losses.good());
  CHECK(std::string(std::istreambuf_iterator<char>(losses), {}) == "\n");
  const auto loss_of = [&](const char* rank) {  // the mean over the four steps of the epoch
    const std::string begin =
        text("[rank ", rank, "] Epoch 0 | Batchsize: 256 | Steps: 4 | Loss: ");
    return std::stod(first.output.substr(first.output.find(begin) + begin.size()));
  };
  CHECK((values[0] + values[1] + values[2] + values[3]) / 4 ==
        doctest::Approx((loss_of("0") + loss_of("1")) / 2).epsilon(1e-4));
  const CommandResult over = job(2, "--steps 6");  // nothing is left to do
  CHECK(contains(over.output, "epochs=1 steps=6 loss=- accuracy=- images_per_s=- seconds=0.0"));
}

TEST_CASE("examples: made-up pictures are a function of seed and number, of all classes") {
  const SyntheticImages::Sizes sizes{.images_count = 20, .classes_count = 10, .side = 9};
  torch::Generator draws = at::detail::createCPUGenerator();
  const SyntheticImages images(sizes, 1);
  const worker::Sample third = images.get(13, draws);
  CHECK(third.input.sizes() == torch::IntArrayRef{3, 9, 9});
  CHECK((third.input.scalar_type() == torch::kByte));
  CHECK(third.target.item<std::int64_t>() == 3);
  CHECK(torch::equal(third.input, SyntheticImages(sizes, 1).get(13, draws).input));
  CHECK(!torch::equal(third.input, SyntheticImages(sizes, 2).get(13, draws).input));
  CHECK(!torch::equal(third.input, images.get(3, draws).input));
}

}  // namespace
}  // namespace ddprun::examples
