package config

// Nearest returns the candidate that a mistyped word most likely means, or nothing when none is close: at most one
// edit in a word of up to four letters, two in a longer one.
func Nearest(word string, candidates []string) string {
	best, at := "", 3
	if len(word) <= 4 {
		at = 2
	}
	for _, c := range candidates {
		if d := distance(word, c); d < at {
			best, at = c, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their neighbour to get from a to b.
func distance(a, b string) int {
	before, last, row := []int{}, make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, append(before[:0:0], make([]int, len(b)+1)...)
	}
	return last[len(b)]
}
