package plain

import "fmt"

// Size is a number of bytes as people read it, such as "312 B", "4.0 KiB" or "12 GiB": at least two digits that count.
func Size(n uint64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), 0
	for value >= 1023.5 && unit < 6 {
		value, unit = value/1024, unit+1
	}
	if value < 9.95 {
		return fmt.Sprintf("%.1f %ciB", value, " KMGTPE"[unit])
	}
	return fmt.Sprintf("%.0f %ciB", value, " KMGTPE"[unit])
}
