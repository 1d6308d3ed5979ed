// The beginning of a catch or a try.
#include "interp/handlers.hpp"

namespace minivm::interp {

// The slot operand is the y register; install() writes the catch mark into the word after the fixed ones.
HANDLER(catch_) {
    *dst_at<kOp, 0>(pc, E, s) = Term{pc[fixed_words(kOp)]};
    NEXT(fixed_words(kOp) + 1);
}
HANDLER(try_) {
    *dst_at<kOp, 0>(pc, E, s) = Term{pc[fixed_words(kOp)]};
    NEXT(fixed_words(kOp) + 1);
}

}  // namespace minivm::interp
