// What snapshot_test.cpp has not: values that no file can hold.
#include "worker/pt/pickle_writer.hpp"

#include "ddprun/pt_file.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::TemporaryFolder;

c10::IValue both(const torch::Tensor& one, const torch::Tensor& other) {
  c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
  dict.insert("one", one);
  dict.insert("lists", c10::impl::GenericList(c10::AnyType::get()));
  dict.at("lists").toList().push_back(c10::ivalue::Tuple::create({other}));
  return dict;
}

TEST_CASE("pickle writer: memory that two tensors share has one type, or nothing is written") {
  const TemporaryFolder folder;
  const torch::Tensor floats = torch::ones({4});
  write_pt_file(folder / "x.pt", both(floats, floats.slice(0, 1)));
  const std::string error =
      error_of([&] { write_pt_file(folder / "y.pt", both(floats, floats.view(torch::kInt))); });
  CHECK(contains(error,
                 "cannot write " + (folder / "y.pt").string() +
                     ": it would hold tensors of Float and of Int in the same memory; clone one "
                     "of them before"));
  CHECK(folder.names() == std::vector<std::string>{"x.pt"});
}

}  // namespace
}  // namespace ddprun::worker
