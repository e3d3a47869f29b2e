// The link of a job of one node: its coordinator is in this process. It decides nothing.
#pragma once

#include "launcher/link/job_link.hpp"
#include "launcher/system/machine_loop.hpp"
#include "rendezvous/generations/coordinator.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>

namespace ddprun {

class LocalLink final : public JobLink {
 public:
  LocalLink(boost::asio::io_context& context, CoordinatorOptions options, Handlers handlers);

  void tell(const News& news) override;
  [[nodiscard]] Wait waits() const override { return coordinator_.machine().waits(); }
  [[nodiscard]] std::string waits_for() const override {
    return coordinator_.machine().waits_for();
  }
  [[nodiscard]] bool coordinates() const override { return true; }
  [[nodiscard]] const Generation* newest() const override {
    return &coordinator_.machine().newest();
  }
  void when_told(const Outcome& outcome, std::function<void()> done) override;

 private:
  void perform(const CoordinatorAction& action);

  boost::asio::io_context& context_;
  Handlers handlers_;
  MachineLoop<Coordinator, CoordinatorEvent, CoordinatorAction> coordinator_;
};

}  // namespace ddprun
