// This file reads the front matter of skills.

package instructions

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/sourcegraph/conc/iter"
	"go.yaml.in/yaml/v3"

	"sandboxagent/internal/sandbox"
)

// skills adds the skills to the set.
func (c *Cache) skills(ctx context.Context, id string, w Workspace, set *Set) error {
	listing, err := w.List(ctx, SkillsDir, 1, 4*MaxSkills)
	switch {
	case hopeless(err):
		return err
	case err != nil: // there is none, or what is there is no directory of the workspace
		return nil
	}
	var names []string
	for _, e := range listing.Entries {
		if e.Path != SkillsDir && (e.Mode.IsDir() || e.Mode&fs.ModeSymlink != 0) {
			names = append(names, path.Join(e.Path, SkillName))
		}
	}
	if set.More = max(0, len(names)-MaxSkills); set.More > 0 {
		names = names[:MaxSkills]
	}
	look := iter.Mapper[string, *Skill]{MaxGoroutines: together}
	found, err := look.MapErr(names, func(name *string) (*Skill, error) { return c.skill(ctx, id, w, *name) })
	if err != nil {
		return err
	}
	for _, s := range found {
		if s != nil {
			set.Skills = append(set.Skills, *s)
		}
	}
	return nil
}

// skill returns what a skill's file says of it; nil when there is none.
func (c *Cache) skill(ctx context.Context, id string, w Workspace, name string) (*Skill, error) {
	s := &Skill{Path: name, Name: path.Base(path.Dir(name))}
	got, err := c.read(ctx, id, w, name, maxHead)
	switch {
	case absent(err):
		return nil, nil
	case hopeless(err):
		return nil, err
	case err != nil:
		s.Problem = why(err)
		return s, nil
	}
	if err := s.describe(got.text); err != nil {
		s = &Skill{Path: name, Name: path.Base(path.Dir(name)), Problem: err.Error()}
	}
	return s, nil
}

// describe fills in the skill's name and description from the head of its file.
func (s *Skill) describe(head string) error {
	matter, err := frontMatter(head)
	if err != nil {
		return err
	}
	var fields struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	if err := yaml.Unmarshal([]byte(matter), &fields); err != nil {
		return errors.New("its front matter is not valid YAML")
	}
	if fields.Description == "" {
		return errors.New("its front matter has no description")
	}
	if fields.Name = oneLine(fields.Name); fields.Name != "" {
		s.Name = fields.Name
	}
	if utf8.RuneCountInString(s.Name) > maxName {
		return errors.New("its name is too long")
	}
	if s.Description = oneLine(fields.Description); len(s.Description) > maxDesc {
		return errors.New("its description is too long")
	}
	return nil
}

// frontMatter returns what stands between the first line, "---", and the next such line.
func frontMatter(head string) (string, error) {
	head = strings.ReplaceAll(strings.TrimPrefix(head, "\uFEFF"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(head, "---\n")
	if !ok {
		return "", errors.New(`it has no front matter: its first line must be "---"`)
	}
	matter, _, ok := strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		if matter, ok = strings.CutSuffix("\n"+rest, "\n---"); !ok {
			return "", errors.New("its front matter does not end")
		}
	}
	if !isText(matter) {
		return "", errors.New("it is not UTF-8 text")
	}
	return matter, nil
}

// oneLine joins the lines of a text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

var _ Workspace = sandbox.Sandbox(nil)
