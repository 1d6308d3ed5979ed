#include "jit/emitter.hpp"
namespace minivm::jit {
bool Emitter::data() {
    return false;
}
bool Emitter::tests() {
    return false;
}
bool Emitter::arithmetic() {
    return false;
}
bool Emitter::floats() {
    return false;
}
bool Emitter::binaries() {
    return false;
}
bool Emitter::maps() {
    return false;
}
}  // namespace minivm::jit
