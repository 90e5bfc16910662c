//go:build race

package tests

// underRace says that the race detector is on, which makes everything five to ten times slower.
const underRace = true
