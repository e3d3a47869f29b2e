#include "rendezvous/store/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ddprun {

Admission::Admission(const std::vector<IpAddress>& own,
                     const std::vector<IpAddress>& others,
                     std::vector<IpNetwork> networks,
                     Objection objection)
    : own_(own.begin(), own.end()),
      others_(others.begin(), others.end()),
      networks_(std::move(networks)),
      objection_(std::move(objection)) {}

Admission Admission::without_job(std::vector<IpNetwork> networks, Objection objection) {
  Admission admission({}, {}, std::move(networks), std::move(objection));
  admission.is_without_job_ = true;
  return admission;
}

bool Admission::is_allowed(const IpAddress& peer) const {
  return std::ranges::any_of(networks_,
                             [&](const IpNetwork& network) { return network.contains(peer); });
}

bool Admission::is_here(const IpAddress& peer) const {
  return is_loopback(peer) || own_.contains(peer);
}

bool Admission::is_another_nodes(const IpAddress& peer) const {
  return others_.contains(peer) && !is_here(peer) && !is_allowed(peer);
}

bool Admission::goes_by_user(const IpAddress& peer) const {
  return !is_allowed(peer) && (objection_ || is_another_nodes(peer));
}

std::string Admission::objection(const IpEndpoint& local, const IpEndpoint& peer) const {
  if (is_allowed(peer.address) || is_another_nodes(peer.address)) return {};
  if (!is_without_job_ && !is_here(peer.address)) {
    return "which is no address of this generation's nodes";
  }
  return objection_ ? objection_(local, peer) : std::string();
}

std::optional<std::string> Admission::refuse(const IpEndpoint& local,
                                             const IpEndpoint& peer,
                                             const std::string& why) {
  if (named_.size() >= named_max || !named_.insert(peer.address).second) return std::nullopt;
  return fmt::format("store: refused {}, {}; {}{}",
                     text_of(peer.address),
                     why,
                     advice(local.address, peer.address),
                     named_.size() == named_max ? "; further addresses are not reported" : "");
}

/// This machine connects to itself from the address that it connects to.
std::string Admission::advice(const IpAddress& local, const IpAddress& peer) const {
  const std::string text = text_of(peer);
  const std::string option =
      is_without_job_ ? "--allow " + text : "--store-allow " + text + " on all nodes";
  if (is_here(peer) || peer == local) {
    return "to admit all users of this machine, add " + option;
  }
  if (is_another_nodes(peer)) return "to admit all users of that node, add " + option;
  if (is_without_job_) return "to admit it, add " + option;
  return "to admit it, for example behind NAT, add " + option;
}

}  // namespace ddprun
