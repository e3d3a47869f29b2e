#include "launcher/system/explain.hpp"

#include "launcher/system/complain.hpp"
#include "rendezvous/result.hpp"

#include <boost/system/system_error.hpp>

#include <system_error>

namespace ddprun {

int explain(const std::exception& error) {
  if (const auto* failure = dynamic_cast<const Failure*>(&error)) {
    complain("ddprun: {}\n", failure->what());
    return static_cast<int>(failure->error().status());
  }
  if (dynamic_cast<const std::system_error*>(&error) != nullptr ||
      dynamic_cast<const boost::system::system_error*>(&error) != nullptr) {
    complain("ddprun: the system refused: {}; see ulimit -n and ulimit -u\n", error.what());
    return static_cast<int>(ExitStatus::system_refused);
  }
  complain("ddprun: bug: {}; please report it\n", error.what());
  return static_cast<int>(ExitStatus::internal_error);
}

}  // namespace ddprun
