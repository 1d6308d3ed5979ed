%% In place of OTP's: the process user is minivm_io's, this is what the kernel supervises.
-module(user_sup).
-export([start/0]).

start() -> minivm_kernel:stand_in().
