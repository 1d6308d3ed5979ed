# ExUnit, with a formatter of its own whose output has no times in it.
defmodule ElixirTests.Formatter do
  use GenServer
  def init(_), do: {:ok, []}
  def handle_cast({:test_finished, %{name: name, state: state}}, done) do
    {:noreply, [{name, shown(state)} | done]}
  end
  def handle_cast({:suite_finished, _}, done) do
    for {name, state} <- Enum.sort(done), do: IO.inspect({name, state})
    {:noreply, done}
  end
  def handle_cast(_, done), do: {:noreply, done}
  defp shown({:failed, failures}), do: for({kind, error, _} <- failures, do: {kind, Exception.format_banner(kind, error)})
  defp shown(other), do: other
end

defmodule :elixir_tests do
  def main(_) do
    {:ok, _} = Application.ensure_all_started(:ex_unit)
    ExUnit.configure(autorun: false, formatters: [ElixirTests.Formatter], seed: 0, max_cases: 2)
    Code.eval_string("""
    defmodule ElixirTests.Cases do
      use ExUnit.Case, async: true
      setup do
        {:ok, number: 41}
      end
      test "passes", %{number: n}, do: assert n + 1 == 42
      test "fails", do: assert 1 + 1 == 3
      test "raises", do: assert_raise(ArgumentError, fn -> raise ArgumentError, "x" end)
      test "receives" do
        send(self(), {:hello, 1})
        assert_receive {:hello, n}
        assert n == 1
        refute_received :nothing
      end
      @tag :skip
      test "is skipped", do: flunk("no")
      describe "a group" do
        test "captures" do
          assert ExUnit.CaptureIO.capture_io(fn -> IO.puts("hi") end) == "hi\n"
        end
      end
    end
    """)
    IO.inspect(ExUnit.run() |> Map.take([:failures, :skipped, :total]))
  end
end
