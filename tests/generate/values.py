"""Values at which engines are likely to differ, as Erlang text."""

# Bits of a small integer here and in OTP, of immediate floats, of machine words and of their halves.
EDGE_BITS = (7, 8, 15, 16, 23, 24, 27, 28, 31, 32, 47, 48, 52, 53, 57, 58, 59, 60, 61, 62, 63, 64,
             65, 127, 128, 129, 191, 192, 255, 256)
SMALL_INTEGERS = (0, 1, -1, 2, -2, 3, 4, 5, 7, 8, 9, 10, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65,
                  -3, -8, -64, 97, 100, 127, 128, 255, 256, 257, 0xD800, 0xDFFF, 0xFFFF, 0x10000,
                  0x10FFFF, 0x110000)
FLOATS = ("1.0", "-1.0", "1.5", "0.1", "-2.5", "3.0", "100.25", "1.0e22", "1.0e-10", "1.0e308",
          "-1.0e308", "1.7976931348623157e308", "5.0e-324", "-5.0e-324", "2.2250738585072014e-308",
          "9007199254740992.0", "9007199254740993.0", "1152921504606846976.0",
          "576460752303423488.0", "9223372036854775808.0", "-9223372036854775808.0",
          "18446744073709551616.0",
          # around 2^-255 and 2^257, where immediate floats begin and end
          "1.7272337110188893e-77", "1.7272337110188892e-77", "3.4544674220377786e-77",
          "2.3158417847463239e77", "2.315841784746324e77", "4.6316835694926478e77",
          "65504.0", "65520.0", "3.4028234663852886e38", "3.5e38", "6.0e-8", "1.401298464324817e-45")
ATOMS = ("a", "b", "c", "ok", "error", "true", "false", "undefined", "''", "'hello world'", "nil",
         "infinity", "rec0", "rec1", "badarg", "'\\x{e9}'", "normal", "x", "y", "z")
BINARIES = ("<<>>", "<<0>>", "<<1,2,3>>", "<<\"abc\">>", "<<255,254,253,252,251,250,249,248>>",
            "<<\"hello, world\">>", "<<0:512>>", "<<16#123456789abcdef0:64,16#0fedcba987654321:64>>",
            "<<\"gr\\x{fc}n\"/utf8>>", "<<\"\\x{20ac}\\x{1f600}z\"/utf8>>", "<<\"a\\x{1f600}\"/utf16>>",
            "<<\"a\\x{1f600}\"/utf32>>", "<<16#ED,16#A0,16#80>>", "<<16#F4,16#90,0,0>>",
            "<<16#C0,16#80>>", "<<16#D8,0,16#DC,0>>", "<<16#DC,0,65>>", "<<127,240,0,0,0,0,0,0>>",
            "<<63,240,0,0,0,0,0,0,1>>", "<<124,0,60,0>>", "<<1:8,2:16/little,-3:32,4:64>>",
            "<<\"%s\">>" % ("0123456789" * 9))
BITSTRINGS = ("<<1:1>>", "<<0:3>>", "<<5:7>>", "<<1,2,3:4>>", "<<\"abc\",1:1>>", "<<-1:65>>",
              "<<16#5555:15,16#AAAA:18>>", "<<\"0123456789abcdef0123456789\",3:5>>", "<<-1:513>>")
LISTS = ("[]", "[1]", "[1,2,3]", "[a,b]", "\"abc\"", "[[]]", "[{a,1},{b,2}]", "[1|2]", "[a,b|c]",
         "[1.5,2,3.0]", "[<<1>>,\"x\",y]", "[3,1,2,3,1]", "[1152921504606846976,-1]", "\"\\x{20ac}u\"",
         "[0,1,2,3,4,5,6,7,8,9]", "[#{a=>1},{b}]")
TUPLES = ("{}", "{a}", "{1}", "{1,2}", "{ok,1}", "{error,badarg}", "{rec0,1,2,3}", "{rec0,a,[],1.5}",
          "{rec1,x}", "{rec2,1,2,3,4,5,6}", "{a,{b,{c,{}}}}", "{1,2,3}", "{1,2,3,4}", "{[],[]}",
          "{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20}", "{<<1>>,1.5,a}", "{rec0,1,2}",
          "{rec1,1,2}")
LARGE_MAP = "#{%s}" % ",".join("%d=>%d" % (k, k * k) for k in range(40))
FULL_MAP = "#{%s}" % ",".join("%d=>k%d" % (k, k) for k in range(32))
MAPS = ("#{}", "#{a=>1}", "#{a=>1,b=>2}", "#{1=>a,1.0=>b}", "#{<<1>>=>x,{1}=>y,[1]=>z}", "#{a=>#{b=>c}}",
        "#{x=>1,y=>2,z=>3}", "#{a=>1,b=>2,c=>3,ok=>4,error=>5}", "#{0=>0,1=>1,2=>2,3=>3}",
        "#{18446744073709551616=>big,-1=>neg}", "#{b=>[],a=>{}}", FULL_MAP, LARGE_MAP)
# What only the harness can make; it replaces these tuples before the call.
MARKERS = ("{'$self'}", "{'$ref'}", "{'$fun',0}", "{'$fun',1}", "{'$fun',2}", "{'$extfun',1}",
           "{'$sub',<<\"abcdefghijklmnop\">>,3}", "{'$sub',<<1,2,3,4,5,6,7,8,9,10,11,12>>,8}",
           "{'$sub',<<16#5A5A5A5A5A5A5A5A5A5A5A:88>>,13}",
           "{'$sub',<<16#123456789abcdef0123456789abcdef0:1024>>,900}", "{'$grown',<<\"abc\">>}")

ZEROS = ("0.0", "-0.0")


def integer(rng):
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(SMALL_INTEGERS)
    if kind < 0.85:
        value = (1 << rng.choice(EDGE_BITS)) + rng.randint(-2, 2)
        return -value if rng.random() < 0.4 else value
    bits = rng.choice((8, 20, 40, 60, 64, 70, 130))
    return rng.getrandbits(bits) * rng.choice((1, -1))


def float_text(rng):
    if rng.random() < 0.1:
        return rng.choice(ZEROS)
    if rng.random() < 0.8:
        return rng.choice(FLOATS)
    return repr(rng.uniform(-1, 1) * 10.0 ** rng.randint(-20, 20))


def literal(rng, hint):
    if hint == "int":
        return str(integer(rng))
    if hint == "small":
        return str(rng.choice((0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65)))
    if hint == "float":
        return float_text(rng)
    if hint == "number":
        return literal(rng, rng.choice(("int", "float", "small")))
    if hint == "atom":
        return rng.choice(ATOMS)
    if hint == "bool":
        return rng.choice(("true", "false"))
    if hint == "list":
        return rng.choice(LISTS)
    if hint == "ints":
        return "[%s]" % ",".join(str(integer(rng)) for _ in range(rng.randint(0, 6)))
    if hint == "tuple":
        return rng.choice(TUPLES)
    if hint == "map":
        return rng.choice(MAPS)
    if hint == "bin":
        if rng.random() < 0.2:
            return "<<%s>>" % ",".join(str(rng.getrandbits(8)) for _ in range(rng.randint(1, 40)))
        return rng.choice(BINARIES)
    if hint == "bits":
        return rng.choice(BITSTRINGS + BINARIES)
    assert hint in ("any", "fun"), hint
    return literal(rng, rng.choice(
        ("int", "int", "small", "float", "atom", "bool", "list", "tuple", "map", "bin", "bits")))


def argument(rng, hint):
    """An argument for a parameter whose code expects `hint`; now and then something else."""
    if hint == "fun" and rng.random() < 0.9:
        return rng.choice(("{'$fun',0}", "{'$fun',1}", "{'$fun',1}", "{'$fun',2}", "{'$extfun',1}"))
    if hint in ("bin", "bits", "any") and rng.random() < 0.25:
        return rng.choice(MARKERS)
    if rng.random() < 0.12:
        hint = "any"
    return literal(rng, hint)
