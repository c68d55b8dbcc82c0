package term

import (
	"math"
	"testing"
)

// TestE8_ShadesHaveContrast measures every shade on the backgrounds that terminals come with.
func TestE8_ShadesHaveContrast(t *testing.T) {
	for ground, backgrounds := range map[ground][]int{
		darkGround: {0x000000, 0x1e1e1e, 0x282828, 0x1e1e2e, 0x002b36, 0x282c34}, lightGround: {0xffffff, 0xfdf6e3, 0xf0f0f0, 0xeff1f5},
	} {
		for role, index := range shades(ground) {
			if index < 0 {
				continue
			}
			for _, bg := range backgrounds {
				if c := contrast(paletteRGB(index), bg); c < 4.5 {
					t.Errorf("role %d (shade %d) on %06x: contrast %.2f", role, index, bg, c)
				}
			}
		}
	}
}

// paletteRGB is a colour of the xterm palette from 16 on.
func paletteRGB(index int) int {
	if index >= 232 {
		v := 8 + 10*(index-232)
		return v<<16 | v<<8 | v
	}
	steps := []int{0, 95, 135, 175, 215, 255}
	n := index - 16
	return steps[n/36]<<16 | steps[n/6%6]<<8 | steps[n%6]
}

// contrast is the ratio of WCAG 2.
func contrast(a, b int) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(rgb int) float64 {
	part := func(shift int) float64 {
		v := float64(rgb>>shift&0xff) / 255
		if v <= 0.03928 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}
