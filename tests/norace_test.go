//go:build !race

package tests

const underRace = false
