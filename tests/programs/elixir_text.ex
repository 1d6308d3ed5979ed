# Strings, regular expressions, inspection, calendars and formatted errors of Elixir's own library.
defmodule ElixirText.Version do
  defstruct [:major, :minor]
  defimpl String.Chars do
    def to_string(v), do: "#{v.major}.#{v.minor}"
  end
  defimpl Inspect do
    import Inspect.Algebra
    def inspect(v, opts), do: concat(["#Version<", to_doc(v.major, opts), ".", to_doc(v.minor, opts), ">"])
  end
end

defmodule ElixirText.Problem do
  defexception [:what]
  @impl true
  def message(%{what: what}), do: "a problem with #{what}"
end

defmodule :elixir_text do
  alias ElixirText.{Problem, Version}

  def main(arguments) do
    {:ok, _} = Application.ensure_all_started(:elixir)
    IO.inspect(arguments)
    strings()
    patterns()
    shown()
    calendar()
    errors()
    interpolated = ~s(sigil #{1 + 1} "quoted")
    IO.puts(interpolated)
    IO.write([~c"io", ?\s, ["list", [10]]])
    IO.puts(EEx.eval_string("<%= for x <- list do %>[<%= x %>]<% end %>", list: [1, 2, 3]))
    {result, binding} = Code.eval_string("x = 3; Enum.map(1..x, & &1 * y)", y: 2)
    IO.inspect({result, Enum.sort(binding)})
    IO.puts(Macro.to_string(quote do: if(a > 1, do: b, else: c + 1)))
  end

  defp strings do
    IO.puts(String.upcase("Hello, wörld! ßtraße"))
    IO.inspect(String.graphemes("e\u0301a\u0310 👨‍👩‍👧"))
    IO.inspect(String.length("noe\u0308l"))
    IO.inspect(String.split("a,b;c", [",", ";"]))
    IO.inspect(String.split("  many   blanks "))
    IO.inspect(String.replace("a-b-c", "-", "+", global: false))
    IO.inspect(String.pad_leading("7", 3, "0") <> String.pad_trailing("x", 3, "."))
    IO.inspect(String.slice("elixir", 1..-2//1))
    IO.inspect(String.jaro_distance("martha", "marhta"))
    IO.inspect({String.valid?(<<255>>), String.printable?("\a")})
    IO.inspect(String.normalize("é", :nfd) |> byte_size())
    IO.inspect(String.to_charlist("añ"))
    IO.inspect(String.capitalize("élan VITAL"))
    IO.inspect(String.reverse("ab\u0301c"))
    IO.inspect(String.bag_distance("abc", "cab"))
    IO.inspect("#{%Version{major: 1, minor: 14}}")
  end

  defp patterns do
    IO.inspect(Regex.scan(~r/(\w)(\w)/, "abcd ef"))
    IO.inspect(Regex.named_captures(~r/(?<year>\d+)-(?<month>\d+)/, "on 2024-05-06"))
    IO.inspect(Regex.replace(~r/(\d+)/, "1 and 22", fn _, n -> "<#{n}>" end))
    IO.inspect("foo123bar" =~ ~r/\d{3}/)
    IO.inspect(Regex.split(~r/\s*,\s*/, "a , b,c"))
    IO.inspect(Regex.run(~r/ü+/iu, "aÜüb", return: :index))
  end

  defp shown do
    IO.inspect(%Version{major: 1, minor: :x})
    IO.inspect(%{"d" => nil, a: [1, 2, {:x, "y"}], b: ~c"abc", c: 1.0e10}, width: 20)
    IO.inspect(<<1, 2, 3::4>>)
    IO.inspect("with \"quotes\" and \n lines")
    IO.inspect(Enum.to_list(1..200), limit: 5)
    IO.inspect([a: 1, "b c": 2])
    IO.inspect({:ok, &String.upcase/1, 1..3, ~r/x/i})
    IO.inspect(0x1F, base: :hex)
    IO.inspect("héllo", binaries: :as_binaries)
    IO.puts(inspect(%{x: %{y: %{z: [1, 2, 3]}}}, pretty: true, width: 10))
    IO.inspect(:"odd atom")
    IO.inspect(Elixir.Some.Module)
  end

  defp calendar do
    IO.inspect(DateTime.from_unix!(1_700_000_000))
    IO.inspect(Date.diff(~D[2024-03-10], ~D[2024-02-01]))
    IO.inspect(Date.add(~D[2024-02-28], 2))
    IO.inspect(NaiveDateTime.add(~N[2024-01-01 23:59:59], 2))
    IO.inspect(Time.diff(~T[12:00:00], ~T[11:30:00]))
    IO.inspect(Calendar.strftime(~U[2024-07-04 05:06:07Z], "%a %d %b %Y %H:%M:%S %j"))
    IO.inspect(Date.from_iso8601("2024-13-01"))
    IO.inspect(Enum.map(Date.range(~D[2024-01-30], ~D[2024-02-02]), &Date.day_of_week/1))
  end

  defp errors do
    try do
      raise Problem, what: "this"
    rescue
      e in Problem -> IO.puts(Exception.message(e))
    end
    try do
      String.to_integer(hd(["abc"]))
    rescue
      e -> IO.puts(Exception.format(:error, e))
    end
    try do
      Map.fetch!(%{a: 1}, :b)
    rescue
      e in KeyError -> IO.puts(Exception.message(e))
    end
    try do
      case id(3) do 4 -> :ok end
    rescue
      e -> IO.puts(Exception.message(e))
    end
    try do
      id(:no_module).function(1)
    rescue
      e in UndefinedFunctionError -> IO.puts(Exception.message(e))
    end
    try do
      only_lists(id(5))
    rescue
      e in FunctionClauseError -> IO.puts(Exception.message(e))
    end
    try do
      id(1) + id(:a)
    rescue
      e -> IO.puts(Exception.format_banner(:error, e))
    end
    IO.inspect(catch_exit(fn -> exit(:reason) end))
    IO.inspect(try do throw(:ball) catch x -> {:caught, x} after IO.puts("after") end)
    %{status: status} = with {:ok, a} <- Map.fetch(%{a: 1}, :a), {:ok, _} <- Map.fetch(%{a: a}, :b) do %{status: :both} else :error -> %{status: :missing} end
    IO.inspect(status)
  end

  defp only_lists([_ | _]), do: :ok
  defp catch_exit(fun) do
    fun.()
  catch
    :exit, reason -> {:exited, reason}
  end
  def id(x), do: x
end
