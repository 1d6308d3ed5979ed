// Numbers that processes share: the modules atomics and counters.
//
// Counters with write_concurrency have one row of cells for each scheduler, in cache lines of its own:
// add touches the row of the scheduler that runs the process, get sums up a column.
#include <atomic>
#include <memory>
#include <new>

#include "vm/bif/bif.hpp"
#include "vm/process/continuation.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/map.hpp"

namespace minivm {
namespace {

using Cell = std::atomic<uint64_t>;
constexpr uint64_t kMaxCells = uint64_t{1} << 40;

// ---- atomics --------------------------------------------------------------------------------------------

struct Atomics final : MagicObject {
    Atomics(std::unique_ptr<Cell[]> all, size_t n, bool is_signed_)
        : cells(std::move(all)), size(n), is_signed(is_signed_) {}
    const std::unique_ptr<Cell[]> cells;
    const size_t size;
    const bool is_signed;

    Term value(Heap& h, uint64_t v) const {
        return is_signed ? make_integer(h, static_cast<int64_t>(v)) : make_unsigned(h, v);
    }
    // False: t is not in the range of these atomics.
    bool get_value(Term t, uint64_t* out) const {
        int64_t v;
        if (!is_signed) {
            return get_uint64(t, out);
        }
        const bool fits = get_int64(t, &v);
        *out = static_cast<uint64_t>(v);
        return fits;
    }
};

// An increment may be in the signed or the unsigned range: sums wrap around.
bool get_increment(Term t, uint64_t* out) {
    int64_t v;
    if (get_int64(t, &v)) {
        *out = static_cast<uint64_t>(v);
        return true;
    }
    return get_uint64(t, out);
}

// The cell at a 1-based index; null: no atomics, or no such cell.
Cell* get_cell(const Atomics* all, Term index) {
    if (all == nullptr || !is_small(index) || small_value(index) < 1 ||
        static_cast<uint64_t>(small_value(index)) > all->size) {
        return nullptr;
    }
    return &all->cells[static_cast<size_t>(small_value(index) - 1)];
}

// Cells that are all zero; null: no memory for so many.
std::unique_ptr<Cell[]> new_cells(uint64_t n) {
    return n <= kMaxCells ? std::unique_ptr<Cell[]>(new (std::nothrow) Cell[n]()) : nullptr;
}

bool is_positive(Term t) {
    return is_small(t) ? small_value(t) > 0 : is_big(t) && !big_is_negative(t);
}

Term erts_internal_atomics_new_2(Process& p, const Term* a) {
    uint64_t n;
    if (!is_small(a[1]) || !is_positive(a[0])) {
        return badarg(p);
    }
    if (!get_uint64(a[0], &n)) {
        return system_limit(p);
    }
    std::unique_ptr<Cell[]> cells = new_cells(n);
    if (cells == nullptr) {
        return system_limit(p);
    }
    consume(p, static_cast<int64_t>(n / 128));
    const bool is_signed = small_value(a[1]) & 1;
    return hold_state(p, std::make_unique<Atomics>(std::move(cells), n, is_signed));
}

// All operations are sequentially consistent, as the module promises: others see what one process does to two
// cells in that order.
Term atomics_get_2(Process& p, const Term* a) {
    const Atomics* all = object_of<Atomics>(a[0]);
    const Cell* cell = get_cell(all, a[1]);
    return cell == nullptr ? badarg(p) : all->value(p.heap, cell->load());
}
Term atomics_put_3(Process& p, const Term* a) {
    const Atomics* all = object_of<Atomics>(a[0]);
    Cell* cell = get_cell(all, a[1]);
    uint64_t v;
    if (cell == nullptr || !all->get_value(a[2], &v)) {
        return badarg(p);
    }
    cell->store(v);
    return atoms::ok;
}
Term atomics_add_3(Process& p, const Term* a) {
    Cell* cell = get_cell(object_of<Atomics>(a[0]), a[1]);
    uint64_t v;
    if (cell == nullptr || !get_increment(a[2], &v)) {
        return badarg(p);
    }
    cell->fetch_add(v);
    return atoms::ok;
}
Term atomics_add_get_3(Process& p, const Term* a) {
    const Atomics* all = object_of<Atomics>(a[0]);
    Cell* cell = get_cell(all, a[1]);
    uint64_t v;
    if (cell == nullptr || !get_increment(a[2], &v)) {
        return badarg(p);
    }
    return all->value(p.heap, cell->fetch_add(v) + v);
}
Term atomics_exchange_3(Process& p, const Term* a) {
    const Atomics* all = object_of<Atomics>(a[0]);
    Cell* cell = get_cell(all, a[1]);
    uint64_t v;
    if (cell == nullptr || !all->get_value(a[2], &v)) {
        return badarg(p);
    }
    return all->value(p.heap, cell->exchange(v));
}
Term atomics_compare_exchange_4(Process& p, const Term* a) {
    const Atomics* all = object_of<Atomics>(a[0]);
    Cell* cell = get_cell(all, a[1]);
    uint64_t expected, desired;
    if (cell == nullptr || !all->get_value(a[2], &expected) || !all->get_value(a[3], &desired)) {
        return badarg(p);
    }
    return cell->compare_exchange_strong(expected, desired) ? atoms::ok
                                                            : all->value(p.heap, expected);
}
Term atomics_info_1(Process& p, const Term* a) {
    const Atomics* all = object_of<Atomics>(a[0]);
    if (all == nullptr) {
        return badarg(p);
    }
    Term keys[4] = {atoms::size, atoms::max, atoms::min, atoms::memory};
    Term values[4] = {make_unsigned(p.heap, all->size),
                      all->value(p.heap, all->is_signed ? INT64_MAX : UINT64_MAX),
                      all->value(p.heap, all->is_signed ? static_cast<uint64_t>(INT64_MIN) : 0),
                      make_unsigned(p.heap, sizeof(Atomics) + all->size * sizeof(Cell))};
    return map::from_pairs(p.heap, keys, values, 4);
}

// ---- counters --------------------------------------------------------------------------------------------

constexpr size_t kCellsInLine = 64 / sizeof(Cell);

struct Counters final : MagicObject {
    Counters(std::unique_ptr<Cell[]> all, size_t n, size_t row_cells, size_t row_count)
        : cells(std::move(all)), size(n), stride(row_cells), rows(row_count) {}
    const std::unique_ptr<Cell[]> cells;
    const size_t size;
    const size_t stride;  // cells from one row to the next: whole cache lines
    const size_t rows;    // row N is of scheduler N; row 0 of all other threads

    Cell& cell(size_t row, size_t index) const { return cells[row * stride + index]; }
    size_t my_row() const {
        const Scheduler* s = this_scheduler();
        const size_t number = s != nullptr ? static_cast<size_t>(s->number) : 0;
        return number < rows ? number : 0;
    }
};

// False: no counters, or no such counter. *index is 0-based.
bool get_counter(Term t, Term at, Counters** out, size_t* index) {
    *out = object_of<Counters>(t);
    if (*out == nullptr || !is_small(at) || small_value(at) < 1 ||
        static_cast<uint64_t>(small_value(at)) > (*out)->size) {
        return false;
    }
    *index = static_cast<size_t>(small_value(at) - 1);
    return true;
}

Term erts_internal_counters_new_1(Process& p, const Term* a) {
    uint64_t n;
    if (!is_positive(a[0])) {
        return badarg(p);
    }
    if (!get_uint64(a[0], &n)) {
        return system_limit(p);
    }
    const size_t rows = static_cast<size_t>(vm::scheduler_count()) + 1;
    // One line more, so that rows of different objects never share one.
    const uint64_t stride = (n / kCellsInLine + 2) * kCellsInLine;
    std::unique_ptr<Cell[]> cells = n <= kMaxCells ? new_cells(stride * rows) : nullptr;
    if (cells == nullptr) {
        return system_limit(p);
    }
    consume(p, static_cast<int64_t>(stride * rows / 128));
    return hold_state(p, std::make_unique<Counters>(std::move(cells), n, stride, rows));
}
Term erts_internal_counters_get_2(Process& p, const Term* a) {
    Counters* all;
    size_t index;
    if (!get_counter(a[0], a[1], &all, &index)) {
        return badarg(p);
    }
    uint64_t sum = 0;
    for (size_t row = 0; row < all->rows; ++row) {
        // relaxed: a sum taken while others add is some sum; nothing else hangs on it.
        sum += all->cell(row, index).load(std::memory_order_relaxed);
    }
    return make_integer(p.heap, static_cast<int64_t>(sum));
}
Term erts_internal_counters_add_3(Process& p, const Term* a) {
    Counters* all;
    size_t index;
    uint64_t v;
    if (!get_counter(a[0], a[1], &all, &index) || !get_increment(a[2], &v)) {
        return badarg(p);
    }
    // relaxed: as above.
    all->cell(all->my_row(), index).fetch_add(v, std::memory_order_relaxed);
    return atoms::ok;
}
Term erts_internal_counters_put_3(Process& p, const Term* a) {
    Counters* all;
    size_t index;
    int64_t v;
    if (!get_counter(a[0], a[1], &all, &index) || !get_int64(a[2], &v)) {
        return badarg(p);
    }
    for (size_t row = 0; row < all->rows; ++row) {
        // relaxed: a put beside an add may lose either, as the module says.
        all->cell(row, index).store(row == 0 ? static_cast<uint64_t>(v) : 0,
                                    std::memory_order_relaxed);
    }
    return atoms::ok;
}
Term erts_internal_counters_info_1(Process& p, const Term* a) {
    const Counters* all = object_of<Counters>(a[0]);
    if (all == nullptr) {
        return badarg(p);
    }
    Term keys[2] = {atoms::size, atoms::memory};
    Term values[2] = {
        make_unsigned(p.heap, all->size),
        make_unsigned(p.heap, sizeof(Counters) + all->rows * all->stride * sizeof(Cell))};
    return map::from_pairs(p.heap, keys, values, 2);
}

}  // namespace

MINIVM_BIF_TABLE(shared) = {
    {"erts_internal", "atomics_new", 2, erts_internal_atomics_new_2, kBifPlain, nullptr},
    {"atomics", "get", 2, atomics_get_2, kBifPlain, nullptr},
    {"atomics", "put", 3, atomics_put_3, kBifPlain, nullptr},
    {"atomics", "add", 3, atomics_add_3, kBifPlain, nullptr},
    {"atomics", "add_get", 3, atomics_add_get_3, kBifPlain, nullptr},
    {"atomics", "exchange", 3, atomics_exchange_3, kBifPlain, nullptr},
    {"atomics", "compare_exchange", 4, atomics_compare_exchange_4, kBifPlain, nullptr},
    {"atomics", "info", 1, atomics_info_1, kBifPlain, nullptr},
    {"erts_internal", "counters_new", 1, erts_internal_counters_new_1, kBifPlain, nullptr},
    {"erts_internal", "counters_get", 2, erts_internal_counters_get_2, kBifPlain, nullptr},
    {"erts_internal", "counters_add", 3, erts_internal_counters_add_3, kBifPlain, nullptr},
    {"erts_internal", "counters_put", 3, erts_internal_counters_put_3, kBifPlain, nullptr},
    {"erts_internal", "counters_info", 1, erts_internal_counters_info_1, kBifPlain, nullptr},
};

}  // namespace minivm
