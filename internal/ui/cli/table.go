package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"scv/internal/safe/plain"
)

// A column is one field of a table. Keep says how long it stays when the terminal is narrow: the column with the
// lowest goes first, one with 0 never goes. A column that can shrink gives its cells before any column goes.
type column struct {
	name   string
	keep   int
	shrink int // least cells of a column that may be cut; 0 for one that may not
}

// A cell has what a terminal shows and what a pipe gets; an empty pipe text is the same as the shown one.
type cell struct {
	show, pipe, colour string
}

func text(s string) cell { return cell{show: plain.Line(s)} }

// printTable writes rows. A terminal gets a head and columns that fit it; a pipe gets tabs between whole values.
func (f *screen) printTable(out io.Writer, columns []column, rows [][]cell) error {
	if f.columns == 0 {
		return pipeTable(out, rows)
	}
	if f.plain {
		return spokenTable(out, columns, rows)
	}
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = plain.Width(c.name)
		for _, row := range rows {
			widths[i] = max(widths[i], plain.Width(row[i].show))
		}
	}
	shown := fit(columns, widths, f.columns)
	head := make([]cell, len(columns))
	for i, c := range columns {
		head[i] = cell{show: c.name}
	}
	for _, row := range append([][]cell{head}, rows...) {
		if err := f.printRow(out, row, shown, widths); err != nil {
			return err
		}
	}
	return nil
}

func pipeTable(out io.Writer, rows [][]cell) error {
	for _, row := range rows {
		parts := make([]string, len(row))
		for i, c := range row {
			parts[i] = c.show
			if c.pipe != "" {
				parts[i] = plain.Line(c.pipe)
			}
		}
		if _, err := fmt.Fprintln(out, strings.Join(parts, "\t")); err != nil {
			return err
		}
	}
	return nil
}

// spokenTable writes a row as a sentence of names and values, for a screen reader: columns mean nothing to the ear.
func spokenTable(out io.Writer, columns []column, rows [][]cell) error {
	for _, row := range rows {
		var parts []string
		for i, c := range row {
			if word := strings.Trim(c.show, " !*.=?x-"); word != "" {
				parts = append(parts, strings.ToLower(columns[i].name)+" "+plain.Line(strings.TrimLeft(c.show, "!*.=?x ")))
			}
		}
		if _, err := fmt.Fprintln(out, strings.Join(parts, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// fit chooses the columns that stay, and narrows those that may shrink, in place. A column goes when shrinking does not
// do; those that stay are then as wide as the room allows.
func fit(columns []column, widths []int, limit int) []int {
	shown := make([]int, len(columns))
	for i := range columns {
		shown[i] = i
	}
	for {
		over := 2*(len(shown)-1) - limit
		least := -1
		for at, i := range shown {
			over += widths[i]
			if columns[i].keep > 0 && (least < 0 || columns[i].keep < columns[shown[least]].keep) {
				least = at
			}
		}
		if shrink(columns, widths, shown, over) || least < 0 {
			return shown
		}
		shown = slices.Delete(shown, least, least+1)
	}
}

// shrink takes the missing cells from the columns that have some to give, or nothing when they have too few.
func shrink(columns []column, widths, shown []int, over int) bool {
	room := 0
	for _, i := range shown {
		if columns[i].shrink > 0 {
			room += max(0, widths[i]-columns[i].shrink)
		}
	}
	if over > room {
		return false
	}
	for _, i := range slices.Backward(shown) {
		if columns[i].shrink > 0 && over > 0 {
			give := min(max(0, widths[i]-columns[i].shrink), over)
			widths[i] -= give
			over -= give
		}
	}
	return true
}

func (f *screen) printRow(out io.Writer, row []cell, shown, widths []int) error {
	var b strings.Builder
	for at, i := range shown {
		s := plain.Truncate(row[i].show, widths[i])
		if at < len(shown)-1 {
			s = plain.Pad(row[i].show, widths[i])
		}
		if row[i].colour != "" && f.colour {
			s = "\x1b[" + row[i].colour + "m" + s + "\x1b[0m"
		}
		if at > 0 {
			b.WriteString("  ")
		}
		b.WriteString(s)
	}
	_, err := fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
	return err
}

// leastRoom is the narrowest column of text that is worth its own margin.
const leastRoom = 24

// hang breaks a text at its spaces so that it fits the terminal behind the cells that stand before it, each further
// line below the first. A word that is too long stays whole, and so does every text for a pipe.
func (f *screen) hang(before int, s string) string {
	room := f.columns - before
	if room < leastRoom || plain.Width(s) <= room {
		return s
	}
	var b strings.Builder
	used := 0
	for i, word := range strings.Split(s, " ") {
		w := plain.Width(word)
		switch {
		case i == 0:
		case used+1+w > room && used > 0:
			b.WriteString("\n" + strings.Repeat(" ", before))
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += w
	}
	return b.String()
}
