// This file tells whether a call has been begun, for who must end a turn without starting anything new.

package tools

import (
	"context"

	"sandboxagent/internal/sandbox"
)

// Begun tells whether an earlier Run of the call, by whatever worker, may have had an effect. Run then only finds out what
// came of it. Calls that only read have none.
func Begun(ctx context.Context, env Env, call Call) (bool, error) {
	switch call.Name {
	case execCommand:
		_, err := env.Sandbox.Wait(ctx, call.EffectID, sandbox.Offsets{}, 0)
		if sandbox.ClassOf(err) == sandbox.ClassNotFound {
			return false, nil
		}
		return err == nil, err
	case applyPatch:
		_, known, err := env.Plans.Load(ctx, patchKey(call.EffectID))
		return known, err
	case writeStdin:
		_, known, err := env.Plans.Load(ctx, stdinKey(call.EffectID))
		return known, err
	}
	return false, nil
}
