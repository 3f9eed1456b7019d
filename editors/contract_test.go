// This file checks that the table is complete and that what is generated from it is current and says the same.

package editors_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"sandboxagent/editors"
	"sandboxagent/editors/internal/generate"
	"sandboxagent/editors/internal/shape"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := generate.Files("..")
	require.NoError(t, err)
	require.Len(t, files, 5)
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join("..", path))
		require.NoError(t, err, "run `make generate`")
		require.Equal(t, string(want), string(got), "%s is not current: run `make generate`", path)
	}
}

func TestCommandsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range editors.Commands() {
		require.Regexp(t, `^[a-z][A-Za-z]+$`, c.Name)
		require.Regexp(t, `^[A-Z].*\.$`, c.Doc, c.Name)
		require.Contains(t, []editors.Kind{editors.KindUpdate, editors.KindSignal, editors.KindQuery, editors.KindLocal}, c.Kind, c.Name)
		require.False(t, seen[c.Name], "%s is there twice", c.Name)
		seen[c.Name] = true
		require.Equal(t, c.Name, editors.CommandName(c.Method()))
		if c.Kind == editors.KindUpdate || c.Kind == editors.KindSignal {
			_, ok := c.Params.FieldByName("RequestID")
			require.True(t, ok, "%s changes something: it needs a requestId", c.Name)
		}
	}
}

func TestTypesAreDocumented(t *testing.T) {
	m, err := generate.NewModel(".")
	require.NoError(t, err)
	for _, typ := range m.Types {
		require.NotEmpty(t, typ.Doc, typ.Name)
	}
	var events []string
	for _, e := range editors.Events() {
		require.Regexp(t, `^[A-Z].*\.$`, e.Doc, e.Type)
		require.Subset(t, e.Fields, e.Optional, e.Type)
		events = append(events, string(e.Type))
	}
	require.ElementsMatch(t, enumOf(t, "EventType"), events, "every event type is in Events, once")
	var codes []string
	for _, c := range editors.Codes() {
		codes = append(codes, string(c))
	}
	require.Equal(t, enumOf(t, "Code"), codes, "every code is in Codes")
}

// TestEnumerationsAreInTheSchema reads the constants with an expression of its own, not as the generator does.
func TestEnumerationsAreInTheSchema(t *testing.T) {
	constant := regexp.MustCompile(`(?m)^\t\w+ +(\w+) += "([^"]*)"`)
	found := 0
	for _, name := range []string{"words.go", "events.go", "errors.go", "carry.go"} {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, match := range constant.FindAllStringSubmatch(string(source), -1) {
			require.Contains(t, enumOf(t, match[1]), match[2], match[1])
			found++
		}
	}
	require.Greater(t, found, 50)
}

func TestSamplesFitTheSchema(t *testing.T) {
	s := compiler(t)
	for _, c := range editors.Commands() {
		for part, typ := range map[string]reflect.Type{"params": c.Params, "result": c.Result} {
			schema := s.MustCompile("schema.json#/commands/" + c.Name + "/" + part)
			for _, optional := range []bool{false, true} {
				value := sample(typ, nil, optional)
				text, err := json.Marshal(value.Interface())
				require.NoError(t, err)
				require.NoError(t, schema.Validate(parse(t, text)), "%s of %s: %s", part, c.Name, text)

				again := reflect.New(typ)
				require.NoError(t, json.Unmarshal(text, again.Interface()))
				require.Equal(t, value.Interface(), again.Elem().Interface(), "%s of %s survives JSON", part, c.Name)
			}
		}
	}
}

// TestSchemaAndDispatchAgree spoils params in every field; both must refuse the same ones.
func TestSchemaAndDispatchAgree(t *testing.T) {
	s := compiler(t)
	refused := 0
	for _, c := range editors.Commands() {
		schema := s.MustCompile("schema.json#/commands/" + c.Name + "/params")
		text, err := json.Marshal(sample(c.Params, nil, true).Interface())
		require.NoError(t, err)
		for _, f := range shape.Fields(c.Params) {
			for _, wrong := range []any{absent{}, true, 1.5, 7, "odd", []any{}, []any{1}, map[string]any{}} {
				params := parse(t, text).(map[string]any)
				params[f.Name] = wrong
				if _, drop := wrong.(absent); drop {
					delete(params, f.Name)
				}
				spoilt, err := json.Marshal(params)
				require.NoError(t, err)
				bySchema := schema.Validate(parse(t, spoilt))
				byDispatch := editors.CheckParams(c.Params, spoilt, "params")
				require.Equal(t, bySchema == nil, byDispatch == nil, "%s %s: %v, %v", c.Name, spoilt, bySchema, byDispatch)
				if byDispatch != nil {
					require.Contains(t, byDispatch.Error(), f.Name)
					refused++
				}
			}
		}
	}
	require.Greater(t, refused, 200)
}

// TestWhatIsNotDurableIsSaid holds the table, the code that numbers events and the first guarantee of the docs together.
func TestWhatIsNotDurableIsSaid(t *testing.T) {
	var passing []string
	for _, e := range editors.Events() {
		require.Equal(t, e.Durable, e.Type.Durable(), e.Type)
		if !e.Durable {
			passing = append(passing, "`"+string(e.Type)+"`")
		}
	}
	docs, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	require.Contains(t, string(docs), "\n1. Durable events (all but "+strings.Join(passing, " and ")+") arrive")
}

func TestEventsFitTheSchema(t *testing.T) {
	schema := compiler(t).MustCompile("schema.json#/$defs/EventMessage")
	for _, doc := range editors.Events() {
		message := sample(reflect.TypeFor[editors.EventMessage](), nil, true).Interface().(editors.EventMessage)
		message.Event.Type = doc.Type
		text, err := json.Marshal(message)
		require.NoError(t, err)
		require.NoError(t, schema.Validate(parse(t, text)), string(text))
		var again editors.EventMessage
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, message, again)

		for _, field := range doc.Fields {
			value := parse(t, text).(map[string]any)
			delete(value["event"].(map[string]any), field)
			optional := false
			for _, name := range doc.Optional {
				optional = optional || name == field
			}
			require.Equal(t, optional, schema.Validate(value) == nil, "%s without %s", doc.Type, field)
		}
	}
	text, err := json.Marshal(editors.Event{Type: editors.QueueChanged})
	require.NoError(t, err)
	require.Contains(t, string(text), `"queued":[]`, "an empty queue is told as such")
	text, err = json.Marshal(editors.Event{Type: editors.ItemDelta, ItemID: "i"})
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"item/delta","itemId":"i","attempt":0,"n":0,"stream":"","data":"","encoding":"utf8"}`, string(text))
}

// absent stands for a field that is not there.
type absent struct{}

// sample makes a value of type t with every field set, or only the required ones.
func sample(t reflect.Type, enum []string, optional bool) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(sample(t.Elem(), enum, optional))
	case shape.IsTime(t):
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)))
	case t.Kind() == reflect.Struct:
		for _, f := range shape.Fields(t) {
			if optional || !f.Optional {
				field := v.FieldByName(f.GoName)
				field.Set(sample(field.Type(), f.Enum, optional))
			}
		}
	case t.Kind() == reflect.Slice:
		v.Set(reflect.Append(reflect.MakeSlice(t, 0, 1), sample(t.Elem(), enum, optional)))
	case t.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.ValueOf("key"), sample(t.Elem(), nil, optional))
	case t.Kind() == reflect.String:
		switch {
		case len(enum) > 0:
			v.SetString(enum[0])
		case t.PkgPath() != "":
			v.SetString(editors.EnumValues(t.Name())[0])
		default:
			v.SetString("text é \u2028 </script>")
		}
	case t.Kind() == reflect.Bool:
		v.SetBool(true)
	case t.Kind() == reflect.Float64:
		v.SetFloat(0.25)
	default:
		v.SetInt(7)
	}
	return v
}

func compiler(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	text, err := os.ReadFile("schema.json")
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("schema.json", parse(t, text)))
	return c
}

func parse(t *testing.T, text []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	require.NoError(t, err)
	return value
}

// enumOf lists the values that the schema allows for a named enumeration.
func enumOf(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("schema.json")
	require.NoError(t, err)
	var schema struct {
		Defs map[string]struct {
			Enum []string `json:"enum"`
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	return schema.Defs[name].Enum
}
