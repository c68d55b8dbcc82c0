package plain

import (
	"strconv"
	"strings"
)

// Count writes a number with its noun, which is given for one: 1 file, 0 files, 2 copies. It is the one place that knows
// how a noun is written for several; a sentence is worded so that its verb fits both.
func Count[N ~int | ~uint32 | ~uint64](n N, noun string) string {
	number := strconv.FormatInt(int64(n), 10)
	if n == 1 {
		return number + " " + noun
	}
	stem, y := strings.CutSuffix(noun, "y")
	if y && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return number + " " + stem + "ies"
	}
	return number + " " + noun + "s"
}
