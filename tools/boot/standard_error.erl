%% In place of OTP's: the process standard_error is minivm_io's, this is what the kernel supervises.
-module(standard_error).
-export([start_link/0]).

start_link() -> minivm_kernel:stand_in(standard_error_sup).
