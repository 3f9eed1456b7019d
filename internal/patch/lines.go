// This file compares files line by line. The library's search gives up on files with many differences and calls all between
// the first and the last one changed; lines that are unique in both files cut the task into small ones first.

package patch

import (
	"slices"
	"sort"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// pair is a line that both files have: its index in each.
type pair struct{ a, b int }

// CompareLines returns the differences of two files, as lines with their ends, in order. It takes time in proportion to the
// lines: where very much differs, it calls more changed than need be.
func CompareLines(a, b []string) []lcs.Diff {
	var all []lcs.Diff
	var at pair
	for _, fixed := range append(uniquePairs(a, b), pair{len(a), len(b)}) {
		for _, d := range gap(a[at.a:fixed.a], b[at.b:fixed.b]) {
			all = append(all, lcs.Diff{Start: d.Start + at.a, End: d.End + at.a, ReplStart: d.ReplStart + at.b, ReplEnd: d.ReplEnd + at.b})
		}
		at = pair{fixed.a + 1, fixed.b + 1}
	}
	return all
}

// gap compares what lies between two fixed lines.
func gap(a, b []string) []lcs.Diff {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	if len(a) == 0 || len(b) == 0 {
		return []lcs.Diff{{End: len(a), ReplEnd: len(b)}}
	}
	return lcs.DiffLines(a, b)
}

// uniquePairs returns the longest series of lines that occur once in each file and in the same order.
func uniquePairs(a, b []string) []pair {
	inA, inB := once(a), once(b)
	var pairs []pair
	for i, line := range a {
		if _, ok := inA[line]; !ok {
			continue
		}
		if j, ok := inB[line]; ok {
			pairs = append(pairs, pair{i, j})
		}
	}
	return longestRising(pairs)
}

// once maps the lines that occur once to their index.
func once(lines []string) map[string]int {
	count := make(map[string]int, len(lines))
	for _, line := range lines {
		count[line]++
	}
	index := map[string]int{}
	for i, line := range lines {
		if count[line] == 1 {
			index[line] = i
		}
	}
	return index
}

// longestRising returns the longest subsequence of pairs, sorted by a, whose b rises too.
func longestRising(pairs []pair) []pair {
	var ends []int // ends[n]: the pair with the least b that ends a series of n+1
	previous := make([]int, len(pairs))
	for i, p := range pairs {
		n := sort.Search(len(ends), func(n int) bool { return pairs[ends[n]].b > p.b })
		previous[i] = -1
		if n > 0 {
			previous[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	var series []pair
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = previous[i] {
			series = append(series, pairs[i])
		}
	}
	slices.Reverse(series)
	return series
}
