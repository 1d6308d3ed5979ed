// The sequence of a change of breakpoints: its steps, and the waits between them (docs/protocols/tracing.md, "The sequence").
// What the steps do to code, entries and halves is a parameter, so that tests/trace/breakpoint_model_test.cpp runs this very
// code on a model of weak memory, in all schedules.
#pragma once

#include <cstdint>

namespace minivm::trace {

// Of thread progress. One more follows the change: that of what is freed.
enum class ChangeWait : uint8_t { before_arming, before_switching, before_disarming, before_withdrawing, before_removing };

// Self is the class that inherits from this one. By the holder of the code modification permission. It has
//   void later(ChangeWait, void (*f)(void*), void* data)   thread_progress::later()
//   bool arm(bool on)            arms code and BIFs for which the staged halves have something to do, or disarms those for
//                                which the active halves have not; false: there are none
//   bool stage_entries(bool on)  the same of export entries, for the next commit of code
//   void commit_entries()
//   void switch_halves()
//   void finish()                makes both halves alike and gives the permission back; what is disarmed leaves the table, which is
//                                replaced, and is freed after thread progress
template <class Self>
class ChangeSteps {
public:
    // The halves that are not active are staged, and the table that finds all breakpoints has been published.
    void begin() {
        self().later(ChangeWait::before_arming, [](void* data) { of(data).arm_new(); }, this);
    }

private:
    // All threads see the table and the staged halves now.
    void arm_new() {
        const bool armed = self().arm(true);
        staged_entries_ = self().stage_entries(true);
        if (armed || staged_entries_) {
            self().later(ChangeWait::before_switching, [](void* data) { of(data).make_switch(); }, this);
        } else {
            make_switch();
        }
    }
    // All threads hit what is armed, and act by the half that was active: new breakpoints do nothing yet.
    void make_switch() {
        if (staged_entries_) {
            self().commit_entries();
        }
        self().switch_halves();
        self().later(ChangeWait::before_disarming, [](void* data) { of(data).disarm_gone(); }, this);
    }
    // No thread acts by the former halves any more.
    void disarm_gone() {
        const bool disarmed = self().arm(false);
        staged_entries_ = self().stage_entries(false);
        if (disarmed || staged_entries_) {
            self().later(ChangeWait::before_withdrawing, [](void* data) { of(data).withdraw(); }, this);
        } else {
            self().finish();
        }
    }
    // No thread hits code that is disarmed any more.
    void withdraw() {
        if (staged_entries_) {
            self().commit_entries();
            self().later(ChangeWait::before_removing, [](void* data) { of(data).self().finish(); }, this);
        } else {
            self().finish();
        }
    }

    Self& self() { return static_cast<Self&>(*this); }
    static ChangeSteps& of(void* data) { return *static_cast<ChangeSteps*>(data); }

    bool staged_entries_ = false;
};

}  // namespace minivm::trace
