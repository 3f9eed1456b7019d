// These cases are about calls that go wrong, and about the caller that repeats them.

package sandboxtest

var faultCases = []testCase{}
