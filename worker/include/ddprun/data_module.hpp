// The data of a training as one class, for Trainer::fit(): how a node gets them, how a rank opens
// them, and which are for what.
//
//     struct Pictures {
//       void prepare_data() { /* unpack them to the disk of this node */ }
//       void setup(const worker::Session&) { training.emplace("/local/train"); ... }
//       const worker::ImageFolder& training_data() const { return *training; }
//       const worker::ImageFolder& validation_data() const { return *validation; }
//       std::optional<worker::ImageFolder> training, validation;
//     };
#pragma once

#include "ddprun/collectives.hpp"
#include "ddprun/data_set.hpp"
#include "ddprun/session.hpp"

namespace ddprun::worker {

/// prepare_data() is called once on each node, by its local rank 0, in each start of the job: leave
/// alone what is there already. After it has ended on all nodes setup(session) is called on each
/// rank. Then training_data() and validation_data() return data sets, or references to those of the
/// data module. Neither of the first two may wait for other ranks.
template <typename Type>
concept DataModule = requires(Type& data, Session& session) {
  data.prepare_data();
  data.setup(session);
  { data.training_data() } -> DataSet;
  { data.validation_data() } -> DataSet;
};

/// Calls the first two. Collective. Throws Error on all ranks, with the same words, if one of them
/// throws on any rank.
template <DataModule Data>
void set_up(Data& data, Session& session) {
  once_per_node(session.context(), session.group(), [&] { data.prepare_data(); });
  on_all_ranks(session.group(), [&] { data.setup(session); });
}

}  // namespace ddprun::worker
