// This process's link to its coordinator, made as its job needs it.
#pragma once

#include "launcher/link/job_link.hpp"
#include "launcher/node/job.hpp"
#include "launcher/text/endpoint.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <optional>

namespace ddprun {

struct CoordinatorLink {
  std::unique_ptr<JobLink> link;
  std::optional<Endpoint> endpoint;  ///< Where others look for a job of many nodes.
};

/// The coordinator of a job of one node is in this process. Throws as MemberLink does.
[[nodiscard]] CoordinatorLink link_to_coordinator(boost::asio::io_context& context,
                                                  const Job& job,
                                                  JobLink::Handlers handlers);

}  // namespace ddprun
