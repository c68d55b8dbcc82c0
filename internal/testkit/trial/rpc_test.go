package trial

import (
	"maps"
	"slices"
)

type object = map[string]any

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
