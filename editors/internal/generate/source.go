// This file reads from the source what reflection cannot see: doc comments and the constants of enumerations.

package generate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// source is what the Go files of the contract say about its types.
type source struct {
	order  map[string]int               // of declaration, by type
	docs   map[string]string            // by type
	fields map[string]map[string]string // doc by type and Go name of the field
	values map[string][]Value           // constants of string types, in the order of their declaration
}

// readSource parses the Go files of a folder, tests excluded.
func readSource(dir string) (*source, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	s := &source{
		order: map[string]int{}, docs: map[string]string{},
		fields: map[string]map[string]string{}, values: map[string][]Value{},
	}
	for _, path := range paths { // sorted by Glob
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read the contract: %w", err)
		}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				s.add(d)
			}
		}
	}
	return s, nil
}

func (s *source) add(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.order[spec.Name.Name] = len(s.order)
			s.docs[spec.Name.Name] = text(spec.Doc, spec.Comment, decl.Doc)
			if t, ok := spec.Type.(*ast.StructType); ok {
				s.fields[spec.Name.Name] = fieldDocs(t)
			}
		case *ast.ValueSpec:
			s.addConstants(decl.Tok, spec)
		}
	}
}

func (s *source) addConstants(tok token.Token, spec *ast.ValueSpec) {
	typ, named := spec.Type.(*ast.Ident)
	if tok != token.CONST || !named || len(spec.Values) != len(spec.Names) {
		return
	}
	for i := range spec.Names {
		literal, ok := spec.Values[i].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		if value, err := strconv.Unquote(literal.Value); err == nil {
			s.values[typ.Name] = append(s.values[typ.Name], Value{Name: value, Doc: text(spec.Doc, spec.Comment)})
		}
	}
}

func fieldDocs(t *ast.StructType) map[string]string {
	docs := map[string]string{}
	for _, f := range t.Fields.List {
		for _, name := range f.Names {
			docs[name.Name] = text(f.Doc, f.Comment)
		}
	}
	return docs
}

// text returns the first comment that says something, as one line.
func text(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if words := strings.Fields(g.Text()); len(words) > 0 {
			return strings.Join(words, " ")
		}
	}
	return ""
}
