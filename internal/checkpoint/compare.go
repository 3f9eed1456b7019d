// This file compares trees without reading what is equal in both.

package checkpoint

import (
	"context"

	"sandboxagent/internal/checkpoint/tree"
)

// difference is one path that is not the same in two trees, nil where it is not there. Times do not count.
type difference struct {
	path          string
	before, after *tree.Entry
}

// compare calls visit for every difference, in the order of paths, a directory before what is in it.
func (s *Store) compare(ctx context.Context, a, b tree.Hash, visit func(difference) error) error {
	c := &comparison{ctx: ctx, s: s, visit: visit}
	return c.dirs("", a, b)
}

func (s *Store) differences(ctx context.Context, a, b tree.Hash) (all []difference, err error) {
	err = s.compare(ctx, a, b, func(d difference) error {
		all = append(all, d)
		return nil
	})
	return all, err
}

type comparison struct {
	ctx   context.Context
	s     *Store
	visit func(difference) error
}

func (c *comparison) dirs(prefix string, a, b tree.Hash) error {
	if a == b {
		return nil
	}
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	before, err := c.s.dir(a)
	if err != nil {
		return err
	}
	after, err := c.s.dir(b)
	if err != nil {
		return err
	}
	for len(before) > 0 || len(after) > 0 {
		var x, y *tree.Entry
		if len(after) == 0 || (len(before) > 0 && before[0].Name <= after[0].Name) {
			x = &before[0]
		}
		if len(before) == 0 || (len(after) > 0 && after[0].Name <= before[0].Name) {
			y = &after[0]
		}
		if x != nil {
			before = before[1:]
		}
		if y != nil {
			after = after[1:]
		}
		if err := c.entries(prefix, x, y); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) entries(prefix string, x, y *tree.Entry) error {
	d := difference{path: prefix, before: x, after: y}
	a, b := tree.Empty, tree.Empty
	if x != nil {
		d.path = prefix + x.Name
		if x.Kind == tree.Dir {
			a = x.Hash
		}
	}
	if y != nil {
		d.path = prefix + y.Name
		if y.Kind == tree.Dir {
			b = y.Hash
		}
	}
	if !x.Same(y) || (x != nil && x.Group != y.Group) {
		if err := c.visit(d); err != nil {
			return err
		}
	}
	return c.dirs(d.path+"/", a, b)
}
