#include "launcher/node/coordinator_link.hpp"

#include "launcher/link/local_link.hpp"
#include "launcher/link/member_link.hpp"
#include "launcher/node/machine_options.hpp"
#include "launcher/options/coordinator_options.hpp"

#include <utility>

namespace ddprun {

CoordinatorLink link_to_coordinator(boost::asio::io_context& context,
                                    const Job& job,
                                    JobLink::Handlers handlers) {
  if (!job.options.rendezvous.has_many_nodes()) {
    CoordinatorOptions options = coordinator_options(job.options);
    return {std::make_unique<LocalLink>(context, std::move(options), std::move(handlers)), {}};
  }
  auto member = std::make_unique<MemberLink>(
      context, member_options(job), job.meeting.credentials, std::move(handlers));
  const Endpoint endpoint = member->endpoint();
  return {std::move(member), endpoint};
}

}  // namespace ddprun
