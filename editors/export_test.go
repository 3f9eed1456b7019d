// This file lets the tests reach what decides over params.

package editors

// CheckParams is what Dispatch checks before it decodes.
var CheckParams = check

// EnumValues lists the values of an enumeration by the name of its type.
func EnumValues(name string) []string { return enums[name] }
