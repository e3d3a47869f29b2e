// Stands in for Gloo's headers, which no LibTorch package ships although c10d/ProcessGroupGloo.hpp
// includes them. It is searched last (-idirafter). That header handles these classes through
// pointers only, apart from deriving from rendezvous::Store, and this project makes none of them:
// LibTorch's own factory functions do.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  virtual ~Context();
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace transport {

class Device {
 public:
  virtual ~Device();
};

class UnboundBuffer {
 public:
  virtual ~UnboundBuffer();
};

}  // namespace transport

namespace rendezvous {

class Store {
 public:
  static constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::seconds(30);
  virtual ~Store() = default;
  virtual void set(const std::string& key, const std::vector<char>& data) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) = 0;
};

}  // namespace rendezvous
}  // namespace gloo
