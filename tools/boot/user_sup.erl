%% In place of OTP's module: minivm_io has the process user, and the kernel supervises the one here.
-module(user_sup).
-export([start/0]).

start() -> minivm_kernel:stand_in().
