package redact

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkLine is the everyday case: 120 bytes without a secret. The bar is 5 µs and no allocation.
func BenchmarkLine(b *testing.B) {
	m := New(Secret("known-value-9-here"))
	for name, line := range map[string]string{
		"log":  `2026-11-30T10:00:00Z INFO server: accepted connection from 127.0.0.1:5432 path="/v1/items?page=2" status=200 took=12ms` + "\n",
		"code": "\tif err := store.Save(ctx, session.Key, token, secretName); err != nil { return fmt.Errorf(\"save: %w\", err) }  // ok ok\n",
		"json": `{"type":"text","id":"msg_01","usage":{"input_tokens":5437,"output_tokens":3638},"text":"I will look at the file now"}` + "\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				m.Text(line)
			}
		})
	}
}

// BenchmarkT61 shows that time grows with the length: ns per byte stay level from 1 to 8 MB.
func BenchmarkT61(b *testing.B) {
	m := New(Secret("known-value-9-here"))
	for _, unit := range []string{"=", "eyJ", "eyJ.", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "token=", "a:b@", "key:", `"key":`, "Cookie: a=", "sk-", "[masked:", "\u009d", "\x1b[31m", "word "} {
		for _, mb := range []int{1, 8} {
			text := strings.Repeat(unit, mb<<20/len(unit))
			b.Run(fmt.Sprintf("%q/%dMB", unit, mb), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					m.Text(text)
				}
			})
		}
	}
}

// BenchmarkKnown shows that the number of known values does not matter.
func BenchmarkKnown(b *testing.B) {
	line := strings.Repeat("2026-11-30 INFO accepted connection from 127.0.0.1:5432 status=200 ", 2) + "\n"
	for _, n := range []int{0, 1, 50} {
		var known []Secret
		for i := range n {
			known = append(known, Secret(random(uint64(i), 24, alnum)))
		}
		m := New(known...)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Text(line)
			}
		})
	}
}
