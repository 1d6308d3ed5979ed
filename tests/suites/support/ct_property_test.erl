%% What OTP's suites ask of common_test's module ct_property_test: no tool for properties is here, as
%% where none is installed.
-module(ct_property_test).
-export([init_per_suite/1, quickcheck/2]).

init_per_suite(_) -> {skip, "no property testing tool"}.
quickcheck(_, _) -> {skip, "no property testing tool"}.
