"""Generated source as a tree, so that a reproducer can be cut down by taking pieces out of it."""


class Node:
    """A piece of source text made of strings and nodes.

    kind says what the minimiser may do: "expr" may become one of the expressions inside it or `ok`,
    "items" (joined by sep) may lose items down to `least`, "guard" may become `true`, "text" stays.
    """

    __slots__ = ("kind", "parts", "sep", "least", "hint")

    def __init__(self, kind, parts, sep="", least=1, hint=None):
        self.kind = kind
        self.parts = list(parts)
        self.sep = sep
        self.least = least
        self.hint = hint

    def text(self):
        return self.sep.join(
            p if isinstance(p, str) else p.text() for p in self.parts)

    __str__ = text

    def nodes(self):
        return [p for p in self.parts if isinstance(p, Node)]

    def walk(self):
        yield self
        for part in self.parts:
            if isinstance(part, Node):
                yield from part.walk()

    def size(self):
        return sum(1 for _ in self.walk())


def items(parts, sep, least=1):
    return Node("items", parts, sep, least)


def copy(node, replaced=None, by=None):
    """A copy in which the node `replaced` (by identity) is `by`."""
    if node is replaced:
        return by
    return Node(node.kind,
                [copy(p, replaced, by) if isinstance(p, Node) else p for p in node.parts],
                node.sep, node.least, node.hint)


def inner_expressions(node):
    """The nearest expressions below a node."""
    for part in node.nodes():
        if part.kind == "expr":
            yield part
        else:
            yield from inner_expressions(part)


def smaller(root):
    """Trees with one piece taken out, those that lose most first."""
    candidates = []
    for node in root.walk():
        size = node.size()
        if node.kind == "items":
            if len(node.parts) > node.least:
                for index, part in enumerate(node.parts):
                    lost = part.size() if isinstance(part, Node) else 1
                    without = Node("items", node.parts[:index] + node.parts[index + 1:],
                                   node.sep, node.least)
                    candidates.append((lost, node, without))
        elif node.kind == "expr":
            for inner in inner_expressions(node):
                candidates.append((size - inner.size(), node, inner))
            if node.parts != ["ok"]:
                candidates.append((size - 1, node, Node("expr", ["ok"])))
            if size > 1:
                candidates.append((size - 1, node, Node("expr", ["0"])))
        elif node.kind == "guard" and node.parts != ["true"]:
            candidates.append((size, node, Node("guard", ["true"])))
    candidates.sort(key=lambda c: -c[0])
    for _, node, by in candidates:
        yield copy(root, node, by)
