// This file is the verb version.

package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"sandboxagent/editors"
)

// versionResult says which build this is.
type versionResult struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the build",
		Args:  cobra.NoArgs,
		RunE: a.does(func(context.Context, []string) error {
			v := buildVersion()
			return a.result(v, func() {
				a.printf("%s %s (%s, %s%s)\n", editors.Name, v.Version, v.Go, v.Platform, revision(v))
			})
		}),
	}
}

func buildVersion() versionResult {
	v := versionResult{Version: editors.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Revision = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}

func revision(v versionResult) string {
	if v.Revision == "" {
		return ""
	}
	text := ", " + v.Revision[:min(12, len(v.Revision))]
	if v.Modified {
		text += " with changes"
	}
	return text
}
