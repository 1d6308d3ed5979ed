// The waits of a purge. What the steps between them do to tables and processes is a parameter, so that
// tests/vm/code/purge_model_test.cpp runs this very code on a model of weak memory, in all schedules.
#pragma once

#include <cstdint>

namespace minivm::code_change {

// Of thread progress.
enum class PurgeWait : uint8_t { before_closing, after_closing, before_removing, before_freeing };

// Self is the class that inherits from this one. It has
//   void later(PurgeWait, void (*f)(void*), void* data)     thread_progress::later()
//   void commit_closed()      commits the table in which the funs of the module are closed
//   void closed()             no process can enter the code any more: whoever is in it may be asked
//   void commit_removed()     commits the tables without the module, of which no process runs any code; gone() has to follow
//   void free()               no thread finds the module any more
template <class Self>
class PurgeSteps {
public:
    // The closed funs are staged.
    void close() {
        self().later(PurgeWait::before_closing, [](void* data) {
            of(data).commit_closed();
            // A scheduler that read the index before the commit may use it until all have made progress once more: only then
            // can no process enter the code.
            of(data).later(PurgeWait::after_closing, [](void* d) { of(d).closed(); }, data);
        }, this);
    }
    // The tables without the module are staged.
    void remove() {
        self().later(PurgeWait::before_removing, [](void* data) { of(data).commit_removed(); }, this);
    }
    // Readers of the former generation may use the module until every scheduler has made progress once more.
    void gone() {
        self().later(PurgeWait::before_freeing, [](void* data) { of(data).free(); }, this);
    }

private:
    Self& self() { return static_cast<Self&>(*this); }
    static Self& of(void* data) { return static_cast<PurgeSteps*>(data)->self(); }
};

}  // namespace minivm::code_change
