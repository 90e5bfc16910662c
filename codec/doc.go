// Package codec holds the pure transformations of the product: id <-> code here,
// FF1 in codec/ff1, URL text -> checked target and dedup keys in codec/weburl.
// It touches no file, no clock and no network; only NewKey and NewTweak draw
// randomness.
//
// A link has an id from a counter, and a public code: FF1 of the id's position in
// its epoch, written in an alphabet at a fixed length. FF1 (NIST SP 800-38G, with
// AES-256) because it is a keyed bijection of exactly the N^length codes there
// are: no collision, no visible order, nothing to store, and official vectors to
// check it by. An Epoch fixes key, length, alphabet and tweak; a Table of epochs
// only grows, so that every code ever printed keeps its meaning.
//
// What this does and does not hide: codes are a keyed pseudo-random permutation of
// a counter, so knowing some does not help to find others. Anyone can still guess,
// and a guess hits with probability n/N (n links among N codes; 10 million links
// of 7 base62 characters: 1 in 352,161). Do not put secrets behind a short link.
package codec
