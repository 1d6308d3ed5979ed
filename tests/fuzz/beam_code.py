"""Reads, changes and writes the instructions of .beam files, and builds files from instructions.

An instruction is [opcode, operand...]; an operand is a tuple of its kind and what the kind holds:

    ("u", 3)  ("i", -7)  ("a", 5)  ("x", 0)  ("y", 1)  ("f", 12)     numbers; atoms by their number, 0 is []
    ("big", tag, bytes)            a number of more than 64 bits
    ("list", [operand...])         ("fr", 2)  ("literal", 4)  ("alloc", [(kind, number)...])
    ("typed", operand, type)       a register with what the compiler says of it
"""

import pathlib
import re
import struct

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TAGS = "uiaxyfhz"
TEXT = re.compile(r'^GENERIC\((\d+), (\w+), "(\w*)",', re.MULTILINE)
# {opcode: (name, letters of its arguments)}, as the loader knows them
INSTRUCTIONS = {int(n): (name, letters) for n, name, letters in
                TEXT.findall((REPOSITORY / "loader" / "generic_ops.def").read_text(encoding="utf-8"))}
OPCODES = {name: n for n, (name, _) in INSTRUCTIONS.items()}
END = OPCODES["int_code_end"]


# ---- numbers -------------------------------------------------------------------------------------

def _number(tag, value):
    tag = TAGS.index(tag)
    if 0 <= value < 16:
        return bytes([value << 4 | tag])
    if 0 <= value < 2048:
        return bytes([value >> 3 & 0xE0 | 8 | tag, value & 0xFF])
    return _bytes(tag, value.to_bytes(max(2, value.bit_length() // 8 + 1), "big", signed=True))


def _bytes(tag, digits):
    if len(digits) <= 8:
        return bytes([len(digits) - 2 << 5 | 0x18 | tag]) + digits
    return bytes([0xF8 | tag]) + _number("u", len(digits) - 9) + digits


def _read_number(code, at):
    """(tag, value or bytes, next)"""
    first = code[at]
    tag = TAGS[first & 7]
    if not first & 8:
        return tag, first >> 4, at + 1
    if not first & 16:
        return tag, first >> 5 << 8 | code[at + 1], at + 2
    size, at = (first >> 5) + 2, at + 1
    if size == 9:
        _, more, at = _read_number(code, at)
        size = more + 9
    digits = code[at:at + size]
    if size > 8:
        return tag, digits, at + size
    return tag, int.from_bytes(digits, "big", signed=True), at + size


# ---- operands ------------------------------------------------------------------------------------

def encode(operand):
    kind = operand[0]
    if kind == "big":
        return _bytes(TAGS.index(operand[1]), operand[2])
    if kind == "list":
        return (_number("z", 1) + _number("u", len(operand[1])) +
                b"".join(encode(item) for item in operand[1]))
    if kind == "fr":
        return _number("z", 2) + _number("u", operand[1])
    if kind == "alloc":
        return (_number("z", 3) + _number("u", len(operand[1])) +
                b"".join(_number("u", n) for pair in operand[1] for n in pair))
    if kind == "literal":
        return _number("z", 4) + _number("u", operand[1])
    if kind == "typed":
        return _number("z", 5) + encode(operand[1]) + _number("u", operand[2])
    return _number(kind, operand[1])


def _decode(code, at):
    tag, value, at = _read_number(code, at)
    if tag != "z":
        return (("big", tag, value) if isinstance(value, bytes) else (tag, value)), at
    if value == 1:
        _, count, at = _read_number(code, at)
        items = []
        for _ in range(count):
            item, at = _decode(code, at)
            items.append(item)
        return ("list", items), at
    if value == 3:
        _, count, at = _read_number(code, at)
        pairs = []
        for _ in range(count):
            _, kind, at = _read_number(code, at)
            _, number, at = _read_number(code, at)
            pairs.append((kind, number))
        return ("alloc", pairs), at
    if value == 5:
        register, at = _decode(code, at)
        _, number, at = _read_number(code, at)
        return ("typed", register, number), at
    _, number, at = _read_number(code, at)
    return ({2: "fr", 4: "literal"}[value], number), at


def decode_code(code):
    """The instructions of the bytes behind the header of the Code chunk."""
    at, instructions = 0, []
    while True:
        opcode, at = code[at], at + 1
        instruction = [opcode]
        for _ in INSTRUCTIONS[opcode][1]:
            operand, at = _decode(code, at)
            instruction.append(operand)
        instructions.append(instruction)
        if opcode == END:
            return instructions


def encode_code(instructions):
    return b"".join(bytes([i[0]]) + b"".join(encode(o) for o in i[1:]) for i in instructions)


# ---- files ---------------------------------------------------------------------------------------

class Beam:
    """The chunks of a file, its instructions apart."""

    def __init__(self, data):
        self.chunks, at = {}, 12
        while at < len(data):
            name, size = data[at:at + 4].decode("latin1"), struct.unpack_from(">I", data, at + 4)[0]
            self.chunks[name] = data[at + 8:at + 8 + size]
            at += 8 + (size + 3) // 4 * 4
        head = 4 + struct.unpack_from(">I", self.chunks["Code"])[0]
        self.header = list(struct.unpack_from(">5I", self.chunks["Code"]))
        self.code = decode_code(self.chunks["Code"][head:])

    def count(self, chunk):
        """Rows of one of the tables; those of literals are not told without inflating them."""
        return struct.unpack_from(">I", self.chunks[chunk])[0] if self.chunks.get(chunk) else 0

    def labels(self):
        return self.header[3]

    def data(self):
        self.header[0] = 16
        chunks = dict(self.chunks)
        chunks["Code"] = struct.pack(">5I", *self.header) + encode_code(self.code)
        return assemble(chunks)


def assemble(chunks):
    form = b"BEAM"
    for name, contents in chunks.items():
        form += name.encode("latin1") + struct.pack(">I", len(contents)) + contents
        form += bytes(-len(form) % 4)
    return b"FOR1" + struct.pack(">I", len(form)) + form


class Builder:
    """A module from functions: (name, arity, [instruction by name...]); its labels are numbers from 1.

    An instruction is ("move", ("x", 0), ("x", 1)); ("atom", "ok") stands for an atom by its text,
    ("import", "erlang", "self", 0) for an import and ("string", b"ab") for bytes of the string table.
    The function's own labels are "info" and "entry": ("f", "entry") or ("f", "other/1"). Native records, of OTP 29,
    are names; none has a field."""

    def __init__(self, module, functions, literals=(), types=b"", label_count=200, records=()):
        self.atoms, self.imports, self.strings = [module], [], b""
        entries, exports, code = {}, b"", []
        for n, (name, arity, _) in enumerate(functions):
            entries["%s/%d" % (name, arity)] = 100 + 2 * n + 1
            exports += struct.pack(">3I", self._atom(name), arity, 100 + 2 * n + 1)
        for name, arity, body in functions:
            entry = entries["%s/%d" % (name, arity)]
            code.append([OPCODES["label"], ("u", entry - 1)])
            code.append([OPCODES["func_info"], ("a", 1), ("a", self._atom(name)), ("u", arity)])
            code.append([OPCODES["label"], ("u", entry)])
            for instruction in body:
                code.append([OPCODES[instruction[0]]] +
                            [self._operand(o, entry, entries) for o in instruction[1:]])
        code.append([END])
        record_rows = b"".join(
            bytes([OPCODES["call_last"]]) + encode(("a", self._atom(name))) + encode(("a", self._atom("true"))) +
            encode(("list", [])) for name in records)
        self.file = {
            "AtU8": struct.pack(">I", len(self.atoms)) + b"".join(
                bytes([len(a.encode())]) + a.encode() for a in self.atoms),
            "Code": struct.pack(">5I", 16, 0, max(OPCODES.values()), label_count, len(functions)) + encode_code(code),
            "StrT": self.strings,
            "ImpT": struct.pack(">I", len(self.imports)) + b"".join(
                struct.pack(">3I", self._atom(m), self._atom(f), a) for m, f, a in self.imports),
            "ExpT": struct.pack(">I", len(functions)) + exports}
        if types:
            self.file["Type"] = types
        if records:
            self.file["Recs"] = struct.pack(">3I", 0, len(records), 0) + record_rows
        if literals:  # in the external term format
            self.file["LitT"] = struct.pack(">2I", 0, len(literals)) + b"".join(
                struct.pack(">I", len(t)) + t for t in literals)

    def _atom(self, text):
        if text not in self.atoms:
            self.atoms.append(text)
        return self.atoms.index(text) + 1

    def _operand(self, o, entry, entries):
        if o[0] == "atom":
            return ("a", self._atom(o[1]))
        if o[0] == "import":
            for text in o[1:3]:
                self._atom(text)
            if o[1:] not in self.imports:
                self.imports.append(o[1:])
            return ("u", self.imports.index(o[1:]))
        if o[0] == "string":
            self.strings += o[1]
            return ("u", len(self.strings) - len(o[1]))
        if o[0] == "f" and isinstance(o[1], str):
            return ("f", {"entry": entry, "info": entry - 1, **entries}[o[1]])
        if o[0] == "list":
            return ("list", [self._operand(item, entry, entries) for item in o[1]])
        if o[0] == "typed":
            return ("typed", self._operand(o[1], entry, entries), o[2])
        return o

    def data(self):
        return assemble(self.file)
