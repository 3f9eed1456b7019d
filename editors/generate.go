// This file says how the contract is generated in the languages of its clients.

package editors

//go:generate go run ./gen
