// This file reads the numbers and sizes that settings are given as.

package config

import (
	"math"
	"strconv"
	"strings"
)

func parseInt(text string) (int64, error)     { return strconv.ParseInt(text, 10, 64) }
func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

// parseSize reads a number of bytes, or of kilo-, mega- or gigabytes of 1024 each.
func parseSize(text string) (int64, error) {
	const units = "kmg"
	digits := strings.TrimSuffix(strings.ToLower(text), "b")
	shift := 0
	for i, unit := range units {
		if number, found := strings.CutSuffix(digits, string(unit)); found {
			digits, shift = number, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err == nil && n > math.MaxInt64>>shift {
		err = strconv.ErrRange
	}
	return n << shift, err
}

// parseGigabytes reads a size that is a whole number of gigabytes, and returns that number.
func parseGigabytes(text string) (int64, error) {
	n, err := parseSize(text)
	if err == nil && n%(1<<30) != 0 {
		err = strconv.ErrSyntax
	}
	return n >> 30, err
}
