%% In place of OTP's module: minivm_io has the process standard_error, and the kernel supervises the one here.
-module(standard_error).
-export([start_link/0]).

start_link() -> minivm_kernel:stand_in(standard_error_sup).
