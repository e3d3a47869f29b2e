#include "launcher/link/member_link.hpp"

#include "launcher/system/socket_owner.hpp"
#include "rendezvous/ip_network.hpp"
#include "rendezvous/overloaded.hpp"

#include <utility>
#include <variant>

namespace ddprun {

MemberLink::MemberLink(boost::asio::io_context& context,
                       MemberOptions options,
                       const Credentials& credentials,
                       Handlers handlers)
    : context_(context),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      client_(context,
              credentials,
              {.on_up =
                   [this](ConnectionId id, const std::string& peer) {
                     handlers_.tell(ConnectionUp{id, peer});
                   },
               .on_message =
                   [this](ConnectionId id, ToAgent message) {
                     handlers_.tell(Heard{id, std::move(message)});
                   },
               .on_down =
                   [this](ConnectionId id, const ConnectionEnd& end) {
                     const bool shut_out = end.kind == ConnectionEnd::Kind::incompatible;
                     handlers_.tell(ConnectionDown{id, end.why.message(), shut_out});
                   }}),
      courier_(context, credentials) {
  const ParticipantOptions& own = options_.participant;
  if (!own.folder.empty()) {
    folder_.emplace(context_, own.folder, credentials.key, [this](const FolderAnswer& answer) {
      handlers_.tell(answer);
    });
  }
  if (own.keeps_marks) {
    marks_.emplace(context_,
                   options_.marks_folder,
                   own.host,
                   options_.mark_text,
                   [this](const std::string& why) { handlers_.tell(MarkKept{why}); });
  }
  listen(credentials);
  complete_options();
}

void MemberLink::listen(const Credentials& credentials) {
  const auto at = [&](std::uint16_t port) {
    AgentServer::Handlers handlers;
    handlers.on_message = [this](SessionId session, const ToCoordinator& message) {
      handlers_.tell(Received{session, message});
    };
    handlers.on_closed = [this](SessionId session) { handlers_.tell(SessionClosed{session}); };
    handlers.on_note = handlers_.on_note;
    return AgentServer::listen(
        context_, options_.listen_address, port, credentials, std::move(handlers));
  };
  auto server = at(options_.listen_port);
  if (!server) {
    const bool is_taken = server.error().status() == ExitStatus::rendezvous_unavailable;
    if (options_.participant.founds && !is_taken) throw Failure(server.error());
    options_.participant.port_taken =
        text_of(Endpoint{options_.listen_address, options_.listen_port});
  }
  server_ = server ? *std::move(server) : std::move(at(0)).value();
  const auto address = parse_ip_address(options_.listen_address);
  knows_users_ = address && kernel_tells_owners({*address, server_->port()});
}

/// By what is known once this process listens.
void MemberLink::complete_options() {
  ParticipantOptions& own = options_.participant;
  const Endpoint contact{options_.address, server_->port()};
  own.contact = text_of(contact);
  if (options_.endpoint.port == 0) {
    options_.endpoint = contact;
    own.other_doors.clear();
  }
  own.endpoint = text_of(options_.endpoint);
}

void MemberLink::perform(const LinkAction& action) {
  std::visit(Overloaded{[this](const Connect& what) { connect(what); },
                        [this](const Disconnect& what) { client_.disconnect(what.connection); },
                        [this](const SendUp& what) { client_.send(what.connection, what.message); },
                        [this](const SendDown& what) { server_->send(what.session, what.message); },
                        [this](const CloseSession& what) { server_->close(what.session); },
                        [this](const SendBallot& what) { courier_.send(what); },
                        [this](const FolderTask& what) { folder_->start(what); },
                        [this](const KeepMark& what) { marks_->keep(what.founding); },
                        [this](const DropMark& what) { marks_->drop(what); },
                        [this](const LookUpOwners& what) { look_up(what); }},
             action);
}

/// The store's end of a connection is its peer here.
void MemberLink::look_up(const LookUpOwners& asked) {
  if (!knows_users_ && !std::exchange(has_said_so_, true)) {
    handlers_.on_note(
        "store: all users of this machine may use the job's store, since its kernel does not tell "
        "whose a connection is (INET_DIAG)");
  }
  OwnersTold told;
  told.number = asked.question.number;
  for (const IpConnection& each : asked.question.connections) {
    told.objections.push_back(knows_users_ ? objection_to_owner(each.local, each.peer) : "");
  }
  server_->send(asked.session, told);
}

void MemberLink::connect(const Connect& connect) {
  const Endpoint& usual = options_.endpoint;
  const Endpoint to = parse_endpoint(connect.address, usual.port).value_or(usual);
  client_.connect(connect.connection, to.host, to.port);
}

}  // namespace ddprun
