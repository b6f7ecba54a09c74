package tpcc

// epoch is the time of all rows that are loaded: the same data at every load.
const epoch = "2026-01-01 00:00:00"

// leastLines and mostLines bound the lines of an order (clause 4.3.3.1).
const leastLines, mostLines = 5, 15

// add takes the next row of a table.
type add func(table string, row ...any) error

// items makes the table item.
func (s Scale) items(add add) error {
	d := newDraw(s.Seed, 0)
	for i := 1; i <= s.Items; i++ {
		if err := add("item", i, d.between(1, 10_000), d.words(14, 24), float64(d.between(100, 10_000))/100, d.data()); err != nil {
			return err
		}
	}
	return nil
}

// warehouse makes all rows of a warehouse, but not those of item.
func (s Scale) warehouse(w int, add add) error {
	d := newDraw(s.Seed, uint64(w))
	address := func() []any {
		return []any{d.words(10, 20), d.words(10, 20), d.words(10, 20), d.text(letters[:26], 2, 2), d.zip()}
	}
	row := append([]any{w, d.words(6, 10)}, address()...)
	if err := add("warehouse", append(row, d.rate(0.2), 30_000*Districts)...); err != nil {
		return err
	}
	for i := 1; i <= s.Items; i++ {
		row := []any{i, w, d.between(10, 100)}
		for range Districts {
			row = append(row, d.words(24, 24))
		}
		if err := add("stock", append(row, 0, 0, 0, d.data())...); err != nil {
			return err
		}
	}
	for district := 1; district <= Districts; district++ {
		row := append([]any{district, w, d.words(6, 10)}, address()...)
		if err := add("district", append(row, d.rate(0.2), 30_000, s.Customers+1)...); err != nil {
			return err
		}
		if err := s.customers(d, w, district, address, add); err != nil {
			return err
		}
		if err := s.orders(d, w, district, add); err != nil {
			return err
		}
	}
	return nil
}

func (s Scale) customers(d draw, w, district int, address func() []any, add add) error {
	for c := 1; c <= s.Customers; c++ {
		last := c - 1
		if c > s.names() {
			last = d.nonUniform(255, lastConstant, 0, s.names()-1)
		}
		credit := "GC"
		if d.IntN(10) == 0 {
			credit = "BC"
		}
		row := append([]any{c, district, w, d.words(8, 16), "OE", lastName(last)}, address()...)
		row = append(row, d.text(digits, 16, 16), epoch, credit, 50_000, d.rate(0.5), -10, 10, 1, 0, d.words(300, 500))
		if err := add("customer", row...); err != nil {
			return err
		}
		if err := add("history", c, district, w, district, w, epoch, 10, d.words(12, 24)); err != nil {
			return err
		}
	}
	return nil
}

func (s Scale) orders(d draw, w, district int, add add) error {
	customers := d.Perm(s.Customers)
	for o := 1; o <= s.Customers; o++ {
		lines := d.between(leastLines, mostLines)
		var carrier, deliveredAt any
		if o <= s.delivered() {
			carrier, deliveredAt = d.between(1, 10), epoch
		}
		if err := add("orders", o, district, w, customers[o-1]+1, epoch, carrier, lines, 1); err != nil {
			return err
		}
		for line := 1; line <= lines; line++ {
			amount := 0.0
			if deliveredAt == nil {
				amount = float64(d.between(1, 999_999)) / 100
			}
			if err := add("order_line", o, district, w, line, d.between(1, s.Items), w, deliveredAt, 5, amount, d.words(24, 24)); err != nil {
				return err
			}
		}
		if deliveredAt == nil {
			if err := add("new_order", o, district, w); err != nil {
				return err
			}
		}
	}
	return nil
}
