// This file tests what travels between a folder of this host and a sandbox, and whose it is when it arrives.

package docker

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sandboxagent/internal/sandbox"
)

// odd makes a folder with what folders may have in them.
func odd(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
	}
	write("plain", "text", 0o640)
	write("tool", "#!/bin/sh\n", 0o755)
	write("sub/deep/file", strings.Repeat("x", 3<<20), 0o644)
	write("bad\xffname\n -rf", "odd", 0o644)
	write(".git/config", "[core]", 0o644)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o700))
	require.NoError(t, os.Symlink("plain", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("/nowhere/outside", filepath.Join(dir, "dangling")))
	require.NoError(t, os.Link(filepath.Join(dir, "plain"), filepath.Join(dir, "same")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	return dir
}

func TestWorkspaceBeginsAsACopy(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	dir := odd(t)
	var notes []string
	spec := sandbox.Spec{Workspace: dir, Notify: func(text string) { notes = append(notes, text) }}
	s := open(t, b, spec)
	require.Contains(t, strings.Join(notes, "\n"), `1 entries of the folder were not copied, since they are no files or cannot be read: ["pipe"]`)
	require.Equal(t, "text", succeed(t, s, "cat link"))
	require.Equal(t, "640 755 700 "+hostIdentity().String(), succeed(t, s, "echo $(stat -c %a plain tool empty) $(stat -c %u:%g sub/deep/file)"))
	require.Equal(t, "/nowhere/outside", succeed(t, s, "readlink dangling"))
	require.Equal(t, "2", succeed(t, s, "stat -c %h same"), "hard links stay links")
	require.Equal(t, "3145728", succeed(t, s, "stat -c %s sub/deep/file"))
	require.Equal(t, "odd", succeed(t, s, `cat "$(printf 'bad\377name\n -rf')"`))

	succeed(t, s, "rm plain; echo new > made; chmod 755 .")
	s = open(t, b, sandbox.Spec{Workspace: dir})
	require.Equal(t, "new", succeed(t, s, "cat made"), "the copy is made once")
	require.FileExists(t, filepath.Join(dir, "plain"), "the user's folder is left alone")
	require.NoFileExists(t, filepath.Join(dir, "made"))
}

// A copy that was cut short is made again; a workspace that somebody worked in never is.
func TestCopyCutShort(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("whole"), 0o644))
	spec := sandbox.Spec{ID: "s", Workspace: dir}
	e, err := b.engine()
	require.NoError(t, err)
	r, err := b.begin(t.Context(), spec)
	require.NoError(t, err)
	_, err = e.ContainerCreate(t.Context(), b.config(r), b.hostConfig(r), nil, nil, b.names("s").container)
	require.NoError(t, err)
	err = e.put(t.Context(), b.names("s").container, func(tw *tar.Writer) error {
		p := &packer{tw: tw, who: hostIdentity()}
		p.file(markBegun, 0o644, nil)
		p.file(root+"/stale", 0o644, nil)
		return p.err
	})
	require.NoError(t, err)
	s := open(t, b, spec)
	require.Equal(t, "file", succeed(t, s, "ls"))

	succeed(t, s, "echo changed > file")
	require.NoError(t, e.ContainerRemove(t.Context(), b.names("s").container, removal))
	require.NoError(t, e.VolumeRemove(t.Context(), b.names("s").own, true), "the marks are lost with it")
	require.Equal(t, "changed", succeed(t, open(t, b, spec), "cat file"))
}

func TestFoldersThatAreNotCopied(t *testing.T) {
	b := newBackend(t)
	t.Setenv("HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for folder, class := range map[string]sandbox.Class{
		"relative": sandbox.ClassInvalid, "/": sandbox.ClassInvalid, os.Getenv("HOME"): sandbox.ClassInvalid,
		file: sandbox.ClassInvalid, "/no/such/folder": sandbox.ClassNotFound,
	} {
		_, err := b.Open(t.Context(), sandbox.Spec{ID: "s", Workspace: folder})
		require.Equal(t, class, sandbox.ClassOf(err), "%s: %v", folder, err)
	}
	require.Empty(t, b.containers(t, ""))
}

func TestExportBelongsToTheUser(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	s := open(t, b, sandbox.Spec{})
	succeed(t, s, "mkdir -p a/b; echo text > a/b/file; ln -s b/file a/link; ln a/b/file a/same; chmod 4750 a/b/file; mkfifo pipe")
	var archive bytes.Buffer
	require.NoError(t, b.Export(t.Context(), s.Ref(), &archive))

	dir := t.TempDir()
	unpack := exec.Command("tar", "-x", "-p", "-C", dir)
	unpack.Stdin = bytes.NewReader(archive.Bytes())
	out, err := unpack.CombinedOutput()
	require.NoError(t, err, string(out))
	info, err := os.Lstat(filepath.Join(dir, "a/b/file"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o750), info.Mode(), "without setuid")
	require.EqualValues(t, os.Getuid(), info.Sys().(*syscall.Stat_t).Uid)
	require.EqualValues(t, 2, info.Sys().(*syscall.Stat_t).Nlink)
	target, err := os.Readlink(filepath.Join(dir, "a/link"))
	require.NoError(t, err)
	require.Equal(t, "b/file", target)
	require.NoFileExists(t, filepath.Join(dir, "pipe"))

	other := open(t, b, sandbox.Spec{ID: "other"})
	require.NoError(t, b.Import(t.Context(), other.Ref(), &archive))
	require.Equal(t, "text "+hostIdentity().String(), succeed(t, other, "echo $(cat a/link) $(stat -c %u:%g a/b)"))
	succeed(t, other, "echo more >> a/b/file")
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	s := open(t, b, sandbox.Spec{})
	archive := func(h tar.Header) io.Reader {
		var text bytes.Buffer
		tw := tar.NewWriter(&text)
		require.NoError(t, tw.WriteHeader(&h))
		require.NoError(t, tw.Close())
		return &text
	}
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeReg, Name: "../etc/file"},
		{Typeflag: tar.TypeReg, Name: "/etc/file"},
		{Typeflag: tar.TypeReg, Name: "a/../../file"},
		{Typeflag: tar.TypeLink, Name: "file", Linkname: "../etc/passwd"},
	} {
		err := b.Import(t.Context(), s.Ref(), archive(h))
		require.Equal(t, sandbox.ClassDenied, sandbox.ClassOf(err), "%s: %v", h.Name, err)
	}
	require.NoError(t, b.Import(t.Context(), s.Ref(), archive(tar.Header{Typeflag: tar.TypeFifo, Name: "pipe"})))
	require.Empty(t, succeed(t, s, "ls"))
	require.Equal(t, sandbox.ClassCorrupt, sandbox.ClassOf(b.Import(t.Context(), s.Ref(), strings.NewReader(strings.Repeat("nonsense", 100)))))
	require.Equal(t, sandbox.ClassNotFound, sandbox.ClassOf(b.Export(t.Context(), sandbox.Ref{ID: "never made"}, io.Discard)))
}
