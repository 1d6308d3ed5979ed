#include "vm/util/result.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <string>

namespace minivm {
namespace {

Result<int, std::string> parse_digit(char c) {
    if (c < '0' || c > '9') {
        return Failure(std::string("not a digit: ") + c);
    }
    return c - '0';
}

Result<int, std::string> sum_of_digits(const char* text) {
    int sum = 0;
    for (; *text != '\0'; ++text) {
        MINIVM_TRY(int digit, parse_digit(*text));
        sum += digit;
    }
    return sum;
}

Result<void, std::string> require_digits(const char* text) {
    MINIVM_TRY_VOID(sum_of_digits(text));
    return {};
}

Result<std::unique_ptr<int>, std::string> boxed_digit(char c) {
    MINIVM_TRY(const int digit, parse_digit(c));
    return std::make_unique<int>(digit);
}

TEST_CASE("a result holds the value or the error, never both") {
    const auto good = parse_digit('7');
    REQUIRE(good.ok());
    REQUIRE(*good == 7);
    const auto bad = parse_digit('x');
    REQUIRE_FALSE(bad.ok());
    REQUIRE(bad.error() == "not a digit: x");
}

TEST_CASE("MINIVM_TRY returns the first error to the caller and goes on with values") {
    REQUIRE(sum_of_digits("1234").value() == 10);
    REQUIRE(sum_of_digits("12a4b").error() == "not a digit: a");
    REQUIRE(require_digits("12").ok());
    REQUIRE(require_digits("-2").error() == "not a digit: -");
}

TEST_CASE("a result carries types that only move") {
    MINIVM_CHECK(boxed_digit('3').ok());
    std::unique_ptr<int> box = boxed_digit('3').value();
    REQUIRE(*box == 3);
    REQUIRE(boxed_digit('y').error() == "not a digit: y");
}

TEST_CASE("value and error may have the same type") {
    const Result<std::string, std::string> value = std::string("a");
    const Result<std::string, std::string> error = Failure(std::string("a"));
    REQUIRE(value.ok());
    REQUIRE_FALSE(error.ok());
    REQUIRE(parse_digit('z').ok() == false);
    REQUIRE(parse_digit('z').value_or(42) == 42);
}

}  // namespace
}  // namespace minivm
