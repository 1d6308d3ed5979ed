# Servers, supervisors, tasks, agents and registries of Elixir's own library.
defmodule ElixirProcesses.Counter do
  use GenServer

  def start_link({name, n}), do: GenServer.start_link(__MODULE__, n, name: name)
  @impl true
  def init(n), do: {:ok, n, {:continue, :begin}}
  @impl true
  def handle_continue(:begin, n), do: {:noreply, n}
  @impl true
  def handle_call(:next, _from, n), do: {:reply, n, n + 1}
  def handle_call(:crash, _from, _), do: raise("crash")
  @impl true
  def handle_cast({:add, k}, n), do: {:noreply, n + k}
  @impl true
  def handle_info({:ask, from}, n) do
    send(from, {:told, n})
    {:noreply, n}
  end
end

defmodule ElixirProcesses.Stack do
  use Agent
  def start_link(items), do: Agent.start_link(fn -> items end, name: __MODULE__)
  def push(item), do: Agent.update(__MODULE__, &[item | &1])
  def pop, do: Agent.get_and_update(__MODULE__, fn [top | rest] -> {top, rest} end)
end

defmodule :elixir_processes do
  alias ElixirProcesses.{Counter, Stack}

  def main(_) do
    Process.flag(:trap_exit, true)
    children = [{Counter, {:counter, 5}}, {Stack, [1, 2]}, {Registry, keys: :unique, name: Names},
                {DynamicSupervisor, name: Dynamic}, {Task.Supervisor, name: Tasks}]
    {:ok, supervisor} = Supervisor.start_link(children, strategy: :one_for_one)
    IO.inspect(Supervisor.count_children(supervisor))
    IO.inspect(GenServer.call(:counter, :next))
    GenServer.cast(:counter, {:add, 10})
    IO.inspect(GenServer.call(:counter, :next))
    send(:counter, {:ask, self()})
    receive do {:told, n} -> IO.inspect({:told, n}) end
    Stack.push(:top)
    IO.inspect({Stack.pop(), Stack.pop()})

    before = Process.whereis(:counter)
    ref = Process.monitor(before)
    try do
      GenServer.call(:counter, :crash)
    catch
      :exit, {{%RuntimeError{message: message}, [_ | _]}, {GenServer, :call, _}} -> IO.inspect({:crashed, message})
    end
    receive do {:DOWN, ^ref, :process, ^before, {%RuntimeError{}, _}} -> IO.puts("down") end
    wait_for(fn -> is_pid(Process.whereis(:counter)) end)
    IO.inspect({Process.whereis(:counter) != before, GenServer.call(:counter, :next)})

    {:ok, _} = Registry.register(Names, "key", :value)
    IO.inspect(Registry.lookup(Names, "key") |> Enum.map(&elem(&1, 1)))
    via = {:via, Registry, {Names, "server"}}
    {:ok, _} = DynamicSupervisor.start_child(Dynamic, %{id: 1, start: {GenServer, :start_link, [Counter, 100, [name: via]]}})
    IO.inspect(GenServer.call(via, :next))
    IO.inspect(DynamicSupervisor.count_children(Dynamic))

    tasks = for n <- 1..20, do: Task.async(fn -> Enum.reduce(1..(n * 100), 0, &+/2) end)
    IO.inspect(Task.await_many(tasks))
    IO.inspect(Task.async_stream(1..8, &(&1 * &1), max_concurrency: 3) |> Enum.map(fn {:ok, v} -> v end))
    slow = Task.Supervisor.async_nolink(Tasks, fn -> Process.sleep(:infinity) end)
    IO.inspect({Task.yield(slow, 10), Task.shutdown(slow, :brutal_kill)})
    failing = Task.Supervisor.async_nolink(Tasks, fn -> exit(:on_purpose) end)
    IO.inspect(Task.yield(failing))

    timer = Process.send_after(self(), :late, 60_000)
    IO.inspect(is_integer(Process.cancel_timer(timer)))
    :ok = Supervisor.stop(supervisor)
    receive do {:EXIT, ^supervisor, reason} -> IO.inspect({:stopped, reason}) end
    IO.inspect(Process.whereis(:counter))
  end

  defp wait_for(fun) do
    unless fun.() do
      Process.sleep(5)
      wait_for(fun)
    end
  end
end
