// What LeakSanitizer is to overlook: Gloo forgets its list of interfaces when none has the name
// that it was given.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __lsan_default_suppressions() {
  return "leak:gloo::transport::tcp::CreateDeviceAttr\n";
}
