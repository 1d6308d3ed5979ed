# Collections, comprehensions, protocols and structures of Elixir's own library.
defmodule ElixirData.Shape do
  @enforce_keys [:name]
  defstruct [:name, area: 0]
end

defprotocol ElixirData.Describe do
  @fallback_to_any true
  def describe(x)
end

defimpl ElixirData.Describe, for: ElixirData.Shape do
  def describe(%{name: name, area: area}), do: "shape #{name} of #{area}"
end

defimpl ElixirData.Describe, for: [Integer, Float] do
  def describe(number), do: "number #{number}"
end

defimpl ElixirData.Describe, for: Any do
  def describe(_), do: "something"
end

defimpl Enumerable, for: ElixirData.Shape do
  def count(_), do: {:error, __MODULE__}
  def member?(_, _), do: {:error, __MODULE__}
  def slice(_), do: {:error, __MODULE__}
  def reduce(shape, acc, fun), do: Enumerable.List.reduce(Map.to_list(Map.from_struct(shape)), acc, fun)
end

defimpl Collectable, for: ElixirData.Shape do
  def into(shape) do
    {shape,
     fn
       acc, {:cont, {key, value}} -> Map.put(acc, key, value)
       acc, :done -> acc
       _, :halt -> :ok
     end}
  end
end

defmodule :elixir_data do
  alias ElixirData.{Describe, Shape}
  require Integer

  def main(_) do
    square = %Shape{name: "square", area: 4}
    for x <- [square, 1, 2.5, :atom, "text"], do: IO.puts(Describe.describe(x))
    IO.inspect(Enum.sort(square))
    IO.inspect(Enum.into([area: 9], square))
    IO.inspect(%{square | area: 5})
    IO.inspect(struct(Shape, name: "other"))
    lists()
    maps()
    streams()
    comprehensions()
    numbers()
  end

  defp lists do
    IO.inspect(Enum.map(1..10, &(&1 * &1)))
    IO.inspect(Enum.chunk_every(1..7, 3, 2, [:pad]))
    IO.inspect(Enum.chunk_by([1, 1, 2, 2, 3], &Integer.is_odd/1))
    IO.inspect(Enum.zip([1, 2, 3], [:a, :b, :c]))
    IO.inspect(Enum.unzip([{1, :a}, {2, :b}]))
    IO.inspect(Enum.group_by(~w(apple bob cat apricot), &String.first/1))
    IO.inspect(Enum.frequencies(~w(a b a c b a)))
    IO.inspect(Enum.reduce_while(1..100, 0, fn x, acc -> if acc > 50, do: {:halt, acc}, else: {:cont, acc + x} end))
    IO.inspect(Enum.split_with(1..10, &Integer.is_even/1))
    IO.inspect(Enum.sort_by(~w(ccc a bb), &byte_size/1, :desc))
    IO.inspect(Enum.min_max([3, 1, 2]))
    IO.inspect(Enum.dedup([1, 1, 2, 3, 3]))
    IO.inspect(Enum.uniq([1, 2, 1, 3]))
    IO.inspect(Enum.slice(1..20, 5..-5//1))
    IO.inspect(List.flatten([1, [2, [3, []]], 4]))
    IO.inspect(List.foldr([1, 2, 3], [], &[&1 | &2]))
    IO.inspect(List.myers_difference([1, 4, 2, 3], [1, 2, 3, 4]))
    IO.inspect(Keyword.merge([a: 1, b: 2], [b: 3, c: 4]))
    IO.inspect(Keyword.validate([a: 1], [:a, b: 2]))
    IO.inspect(put_in([a: [b: 1]], [:a, :b], 2))
    IO.inspect(get_in(%{a: [%{b: 1}, %{b: 2}]}, [:a, Access.all(), :b]))
    IO.inspect(update_in(%{a: %{b: 1}}, [:a, :b], &(&1 + 1)))
    IO.inspect(pop_in(%{a: %{b: 1, c: 2}}, [:a, :b]))
  end

  defp maps do
    squares = Map.new(1..50, fn x -> {x, x * x} end)
    IO.inspect(Enum.sum(Map.values(squares)))
    IO.inspect(Map.split(%{a: 1, b: 2, c: 3}, [:a, :c]))
    IO.inspect(Map.update(%{a: 1}, :a, 0, &(&1 + 1)))
    IO.inspect(Map.merge(%{a: 1, b: 2}, %{b: 3}, fn _, x, y -> {x, y} end))
    IO.inspect(Map.get_and_update(%{a: 1}, :a, &{&1, &1 + 1}))
    set = MapSet.new([3, 1, 2, 3])
    IO.inspect({MapSet.member?(set, 2), MapSet.size(set), Enum.sort(set)})
    IO.inspect(Enum.sort(MapSet.symmetric_difference(set, MapSet.new([3, 4]))))
    IO.inspect(Enum.sum(squares |> Map.filter(fn {k, _} -> k > 40 end) |> Map.keys()))
  end

  defp streams do
    IO.inspect(Stream.iterate(1, &(&1 * 2)) |> Stream.take(10) |> Enum.to_list())
    IO.inspect(Stream.unfold({0, 1}, fn {a, b} -> {a, {b, a + b}} end) |> Enum.take(10))
    IO.inspect(Stream.cycle([1, 2, 3]) |> Stream.drop(1) |> Stream.map(&(&1 + 1)) |> Enum.take(5))
    IO.inspect(1..20 |> Stream.filter(&Integer.is_even/1) |> Stream.chunk_every(3) |> Enum.to_list())
    IO.inspect(Stream.zip(1..3, [:a, :b, :c]) |> Enum.to_list())
    IO.inspect(Stream.resource(fn -> 3 end, fn 0 -> {:halt, 0}; n -> {[n], n - 1} end, fn _ -> IO.puts("closed") end) |> Enum.to_list())
    IO.inspect(Stream.transform(1..5, 0, fn x, sum -> {[sum + x], sum + x} end) |> Enum.to_list())
  end

  defp comprehensions do
    IO.inspect(for x <- 1..3, y <- [:a, :b], into: %{}, do: {{x, y}, x})
    IO.inspect(for <<c <- "hello">>, c != ?l, into: "", do: <<c - 32>>)
    IO.inspect(for {k, v} when v > 1 <- [a: 1, b: 2, c: 3], do: k)
    IO.inspect(for x <- [1, 2, 1, 3], uniq: true, do: x * 10)
    IO.inspect(for x <- 1..10, reduce: 0 do acc -> acc + x end)
    IO.inspect(for <<r::5, g::6, b::5 <- <<1234::16, 43210::16>> >>, do: {r, g, b})
  end

  defp numbers do
    IO.inspect(Integer.digits(12345))
    IO.inspect(Integer.parse("12ab", 16))
    IO.inspect(Integer.to_string(255, 2))
    IO.inspect(Integer.pow(7, 77))
    IO.inspect({Integer.floor_div(-7, 2), Integer.mod(-7, 2), Integer.gcd(84, 36)})
    IO.inspect(Float.round(3.14159, 2))
    IO.inspect(Float.ratio(0.75))
    IO.inspect(Float.parse("1.5e3xyz"))
    IO.inspect({div(-7, 2), rem(-7, 2), 7 / 2, 1.0e100, -0.0, 1.0e-10})
    IO.inspect(Bitwise.bsl(1, 100))
  end
end
