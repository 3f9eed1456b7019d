package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made makes a folder of a module with these files.
func made(t *testing.T, name string, files map[string]string) module {
	t.Helper()
	folder := t.TempDir()
	for path, text := range files {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return module{name, folder}
}

func TestEachLicenceIsWrittenOnceAfterTheNamesOfAllThatItIsFor(t *testing.T) {
	var out strings.Builder
	err := write(&out, []module{
		made(t, "a v1.0.0", map[string]string{"LICENSE": "free\n", "NOTICE.txt": "by a\n", "license.go": "package a"}),
		made(t, "b v2.0.0", map[string]string{"License.md": "free\r\n", "taken/over/COPYING": "by c", "testdata/LICENSE": "no"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "\n\n")
	rule := strings.Repeat("=", 80) + "\n"
	want := rule + "a v1.0.0\nb v2.0.0\n\nfree\n\n" + rule + "a v1.0.0\n\nby a\n\n" + rule + "b v2.0.0\n\nby c\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestAModuleWithoutALicenceFailsUnlessItIsKnown(t *testing.T) {
	err := write(&strings.Builder{}, []module{made(t, "a v1.0.0", map[string]string{"README.md": "a"})})
	if err == nil || !strings.Contains(err.Error(), "a v1.0.0 has no licence") {
		t.Errorf("got %v", err)
	}
	for name := range untold {
		if err := write(&strings.Builder{}, []module{made(t, name+" v1.0.0", nil)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAModuleIsFoundByItsEscapedName(t *testing.T) {
	if got, want := escaped("github.com/BurntSushi/toml"), "github.com/!burnt!sushi/toml"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWhatIsLinkedIntoAProgramIsRead(t *testing.T) {
	modules, err := linked([]string{os.Args[0], os.Args[0]}, "/go", "/cache")
	if err != nil {
		t.Fatal(err)
	}
	if len(modules) == 0 || !strings.HasPrefix(modules[0].name, "Go 1.") || modules[0].folder != "/go" {
		t.Errorf("got %v", modules)
	}
}
