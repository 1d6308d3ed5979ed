// Which engine a module gets that is prepared to be moved (minivm:set_engine/2).
#pragma once

#include "vm/code/engine.hpp"

namespace minivm {

// While it lives, engine_for() answers `engine` on this thread, whatever the module says.
class EngineChoice {
  public:
    explicit EngineChoice(Engine& engine);
    ~EngineChoice();
    EngineChoice(const EngineChoice&) = delete;
    EngineChoice& operator=(const EngineChoice&) = delete;
};

}  // namespace minivm
