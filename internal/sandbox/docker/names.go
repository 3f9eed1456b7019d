// This file names what the backend makes in an engine, so that it is found again and nothing else is taken for it.

package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
)

// Root is the absolute path of the workspace in every container.
const Root = "/workspace"

// The labels of everything the backend makes.
const (
	LabelOwner   = "sandboxagent.owner"
	LabelSession = "sandboxagent.session" // the sandbox's id
	LabelRealm   = "sandboxagent.realm"   // where its session is known; see sandbox.Spec
	LabelHost    = "sandboxagent.host"
	LabelEpoch   = "sandboxagent.epoch"  // counts the containers of a session from 1
	LabelEngine  = "sandboxagent.engine" // identity of the engine that it was made on
)

// Where things are inside a container.
const (
	root      = Root
	ownDir    = "/sandbox-agent"      // on a volume that lives as long as the workspace
	binDir    = ownDir + "/bin"       // one directory for each build of the helper
	stateDir  = ownDir + "/state"     // the helper's ledger
	markBegun = ownDir + "/importing" // the workspace was empty, and its first content is being copied
	markReady = ownDir + "/ready"     // the workspace is complete
)

// names are those of one sandbox.
type names struct{ container, workspace, own string }

func (b *Backend) names(id string) names {
	n := "sandbox-agent-" + b.short(id)
	return names{container: n, workspace: n + "-workspace", own: n + "-helper"}
}

// short is a name for the sandbox that nobody else's has, though hosts share an engine.
func (b *Backend) short(id string) string {
	sum := sha256.Sum256([]byte(b.opts.HostID + "\x00" + id))
	return hex.EncodeToString(sum[:10])
}

func (b *Backend) stateDir(id string) string { return filepath.Join(b.opts.StateDir, b.short(id)) }

func (b *Backend) labels(r record) map[string]string {
	return map[string]string{
		LabelOwner: r.Owner, LabelSession: r.ID, LabelHost: b.opts.HostID, LabelRealm: r.Realm,
		LabelEpoch: strconv.FormatInt(r.Epoch, 10), LabelEngine: r.Engine,
	}
}

// ours selects what this host made, and of it, unless id is "", what belongs to that sandbox.
func (b *Backend) ours(id string) filters.Args {
	args := filters.NewArgs(filters.Arg("label", LabelHost+"="+b.opts.HostID))
	if id != "" {
		args.Add("label", LabelSession+"="+id)
	}
	return args
}

// mine reports whether a container with our name was made by us for that sandbox.
func (b *Backend) mine(c container.InspectResponse, id string) bool {
	return c.Config != nil && c.Config.Labels[LabelSession] == id && c.Config.Labels[LabelHost] == b.opts.HostID
}

// identity is the user that everything in a sandbox but its first process runs as: with the ids of this host's user, so
// that files belong to that user when they come back; never root.
type identity struct{ uid, gid int }

const commonID = 1000

// ownIdentity is the user of this process.
func ownIdentity() identity { return identity{max(os.Getuid(), 0), max(os.Getgid(), 0)} }

func hostIdentity() identity {
	uid, gid := os.Getuid(), os.Getgid()
	if uid <= 0 {
		return identity{commonID, commonID}
	}
	if gid <= 0 {
		gid = uid
	}
	return identity{uid, gid}
}

func (i identity) String() string { return strconv.Itoa(i.uid) + ":" + strconv.Itoa(i.gid) }
