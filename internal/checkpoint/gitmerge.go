// This file merges git's own state, repository by repository: its files refer to each other, so that they come together or
// not at all.

package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sandboxagent/internal/checkpoint/repo"
	"sandboxagent/internal/checkpoint/tree"
	"sandboxagent/internal/sandbox"
)

const (
	maxGitFile = 64 << 20 // bytes of an index or of packed refs that are read
	maxRefFile = 4 << 10  // bytes
	maxRefs    = 10_000   // that are brought
)

// repository is one repository on the three sides; all paths are relative to it.
type repository struct {
	p                  *planner
	dir                string // of the repository below the root
	base, ours, theirs tree.Hash
	isNew              bool // not there here
}

// mergeRepository plans what of a repository comes.
func (p *planner) mergeRepository(git string) error {
	var sides [3]*tree.Entry
	for i, root := range []tree.Hash{p.base.Root, p.ours.Root, p.theirs.Root} {
		var err error
		if sides[i], err = p.s.lookup(root, git); err != nil {
			return err
		}
	}
	b, o, t := sides[0], sides[1], sides[2]
	switch {
	case t == nil && o != nil:
		p.keep(git, "the repository was removed there; here it stays")
		return nil
	case t == nil:
		return nil
	case t.Kind != tree.Dir:
		if !o.Same(t) {
			p.keep(git, "what leads git to another place is not carried")
		}
		return nil
	case o == nil && isDir(b):
		p.conflict(git, "the repository was removed here and changed there")
		return nil
	case o != nil && o.Kind != tree.Dir:
		p.conflict(git, "git's files are in another place here, and were changed there")
		return nil
	}
	if lack := p.lacking(git); lack != nil {
		p.keep(git, fmt.Sprintf("the repository there is not whole: %s is %s", lack.Path, lack.Reason))
		return nil
	}
	r := repository{p: p, dir: git, base: dirHash(b), ours: dirHash(o), theirs: t.Hash, isNew: o == nil}
	return r.merge()
}

func dirHash(e *tree.Entry) tree.Hash {
	if !isDir(e) {
		return tree.Empty
	}
	return e.Hash
}

// lacking returns what of the objects that come is not in the checkpoint.
func (p *planner) lacking(git string) *tree.Note {
	for i := range p.theirs.Notes {
		n := &p.theirs.Notes[i]
		below, ok := strings.CutPrefix(n.Path, git+"/")
		if !ok || !n.Reason.Left() {
			continue
		}
		if repo.PartOf(below, false) == repo.Object || repo.PartOf(below, true) == repo.Object {
			return n
		}
	}
	return nil
}

// partOf tells what a difference is in; a link is nothing that comes.
func partOf(d *difference) repo.Part {
	part := repo.Foreign
	for _, e := range []*tree.Entry{d.before, d.after} {
		if e == nil {
			continue
		}
		if part = repo.PartOf(d.path, e.Kind == tree.Dir); e.Kind == tree.Link || part == repo.Foreign {
			return repo.Foreign
		}
	}
	return part
}

// parts sorts the differences of two states of the repository.
func (r *repository) parts(a, b tree.Hash) (map[repo.Part][]difference, error) {
	all, err := r.p.s.differences(r.p.ctx, a, b)
	out := map[repo.Part][]difference{}
	for i := range all {
		part := partOf(&all[i])
		out[part] = append(out[part], all[i])
	}
	return out, err
}

func (r *repository) merge() error {
	theirs, err := r.parts(r.base, r.theirs)
	if err != nil {
		return err
	}
	ours, err := r.parts(r.base, r.ours)
	if err != nil {
		return err
	}
	between, err := r.parts(r.ours, r.theirs)
	if err != nil {
		return err
	}
	if len(theirs[repo.Object])+len(theirs[repo.State])+len(theirs[repo.Trace]) == 0 {
		return nil
	}
	r.add(between[repo.Object])
	if r.isNew {
		r.add(between[repo.Cache])
	}
	r.takeTraces(theirs[repo.Trace], ours[repo.Trace])
	return r.mergeState(theirs[repo.State], ours[repo.State], between[repo.State])
}

// add brings what is not there.
func (r *repository) add(ds []difference) {
	for i := range ds {
		if ds[i].before == nil {
			r.set(&ds[i])
		}
	}
}

// takeTraces takes what they changed and we did not.
func (r *repository) takeTraces(theirs, ours []difference) {
	changed := map[string]bool{}
	for i := range ours {
		changed[ours[i].path] = true
	}
	for i := range theirs {
		if !changed[theirs[i].path] {
			r.set(&theirs[i])
		}
	}
}

// set plans one change. Permissions of directories are not git's concern.
func (r *repository) set(d *difference) {
	at := r.dir + "/" + d.path
	if isDir(d.before) && isDir(d.after) || r.p.untouchable(at) {
		return
	}
	r.p.next[at] = &decision{ours: d.before, after: inGroup(d.after, 0)}
}

func (r *repository) mergeState(theirs, ours, between []difference) error {
	var changed [3]bool
	for i, ds := range [][]difference{theirs, ours, between} {
		var err error
		if changed[i], err = r.changed(ds); err != nil {
			return err
		}
	}
	switch byThem, byUs, differ := changed[0], changed[1], changed[2]; {
	case !byThem, !differ:
		return nil
	case byUs:
		return r.bringRefs()
	}
	for i := range between {
		same, err := r.sameIndex(&between[i])
		if err != nil {
			return err
		}
		if !same {
			r.set(&between[i])
		}
	}
	return nil
}

// changed tells whether some difference is more than a second look at the same files.
func (r *repository) changed(ds []difference) (bool, error) {
	for i := range ds {
		d := &ds[i]
		if !r.isNew && (d.before == nil || isDir(d.before)) && (d.after == nil || isDir(d.after)) {
			continue
		}
		if same, err := r.sameIndex(d); err != nil || !same {
			return err == nil, err
		}
	}
	return false, nil
}

// sameIndex tells whether a difference is in an index that stages the same.
func (r *repository) sameIndex(d *difference) (bool, error) {
	if d.path != "index" || d.before == nil || d.after == nil || max(d.before.Size, d.after.Size) > maxGitFile {
		return false, nil
	}
	before, err := r.p.s.readFile(d.before)
	if err != nil {
		return false, err
	}
	after, err := r.p.s.readFile(d.after)
	return err == nil && repo.SameIndex(before, after), err
}

// bringRefs keeps what their branches and tags name, where ours are something else, and tells how to merge them.
func (r *repository) bringRefs() error {
	var sides [3]repo.Refs
	for i, root := range []tree.Hash{r.base, r.ours, r.theirs} {
		var err error
		if sides[i], err = r.p.refs(root); err != nil {
			return err
		}
	}
	base, ours, theirs := sides[0], sides[1], sides[2]
	var names []string
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if id := theirs[name]; id != base[name] && id != ours[name] {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		r.p.keep(r.dir, "both sides staged or checked out something; what you did stays")
		return nil
	case len(names) > maxRefs:
		return sandbox.Errorf(sandbox.ClassLimit, opMerge, "more than %d branches and tags of %s differ", maxRefs, r.dir)
	}
	below := repo.Brought + "/" + short(r.p.theirs.ID) + "/"
	for _, name := range names {
		if err := r.bringRef(below+strings.TrimPrefix(name, "refs/"), theirs[name]); err != nil {
			return err
		}
	}
	best, err := r.best(names)
	if err != nil {
		return err
	}
	r.p.conflict(r.dir, "both sides changed the repository: here it stays. To join the commits that came, commit what is here first, "+
		"new files too, since the files are joined already: git add -A && git commit -m Joined; git merge "+below+strings.TrimPrefix(best, "refs/"))
	return nil
}

// best is the branch that is most likely meant: the one that they, or else we, have checked out, or else the first.
func (r *repository) best(names []string) (string, error) {
	for _, side := range []tree.Hash{r.theirs, r.ours} {
		head, err := r.p.head(side)
		if err != nil || slices.Contains(names, head) {
			return head, err
		}
	}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "refs/heads/") }); i >= 0 {
		return names[i], nil
	}
	return names[0], nil
}

// head returns what a repository has checked out: the name of a branch, or "HEAD".
func (p *planner) head(git tree.Hash) (string, error) {
	e, err := p.s.lookup(git, "HEAD")
	if err != nil || e == nil || e.Kind != tree.File || e.Size > maxRefFile {
		return "", err
	}
	b, err := p.s.readFile(e)
	if branch, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: "); ok {
		return branch, err
	}
	return "HEAD", err
}

func (r *repository) bringRef(name, id string) error {
	at := r.dir + "/" + name
	o, err := r.p.s.lookup(r.p.ours.Root, at)
	if err != nil {
		return err
	}
	e, err := r.p.texts.add([]byte(id + "\n"))
	if err != nil {
		return err
	}
	t := named(e, at)
	if !o.SameContent(t) && !r.p.untouchable(at) {
		r.p.next[at] = &decision{ours: o, after: t}
	}
	return nil
}

// refs reads what the branches and tags of a repository name.
func (p *planner) refs(git tree.Hash) (repo.Refs, error) {
	s := p.s
	out := repo.Refs{}
	for _, name := range []string{"packed-refs", "HEAD"} {
		e, err := s.lookup(git, name)
		if err != nil {
			return nil, err
		}
		if e == nil || e.Kind != tree.File {
			continue
		}
		b, err := s.readFile(e)
		if err != nil {
			return nil, err
		}
		if name == "HEAD" {
			out.Add(name, b)
		} else {
			out.AddPacked(b)
		}
	}
	top, err := s.lookup(git, "refs")
	if err != nil || !isDir(top) {
		return out, err
	}
	return out, s.walk(p.ctx, top.Hash, "refs/", func(name string, e *tree.Entry) error {
		if e.Kind != tree.File || e.Size > maxRefFile {
			return nil
		}
		b, err := s.readFile(e)
		out.Add(name, b)
		return err
	})
}

// readFile returns the content of a file of at most maxGitFile bytes.
func (s *Store) readFile(e *tree.Entry) ([]byte, error) {
	if e.Size > maxGitFile {
		return nil, sandbox.Errorf(sandbox.ClassLimit, opMerge, "git's file %s is larger than %d MiB", e.Name, maxGitFile>>20)
	}
	return s.ReadFile(e, maxGitFile)
}
