#include "launcher/system/temporary_folder.hpp"

#include <filesystem>
#include <system_error>

namespace ddprun {

void remove_folder(const std::string& path) {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove_all(path, ignored);
}

}  // namespace ddprun
