// This file lists the verbs.

package main

import (
	"github.com/spf13/cobra"

	"sandboxagent/editors"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   editors.Name,
		Short: "A coding agent whose sessions survive the editor, the worker and the machine",
		Long: "Sandbox Agent is a coding agent whose sessions survive the editor, the worker and the machine.\n" +
			"Editors run `sandbox-agent lsp`; the other verbs work from a terminal.",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("a verb is missing")
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print one JSON object per line")
	root.AddCommand(
		a.askVerb(), a.contextVerb(), a.attachVerb(), a.sessionsVerb(), a.newVerb(), a.titleVerb(), a.configureVerb(), a.compactVerb(), a.pauseVerb(),
		a.switchVerb(), a.forkVerb(), a.adoptVerb(),
		a.destroyVerb(), a.interruptVerb(), a.stopVerb(), a.approveVerb(), a.rulesVerb(), a.mcpVerb(), a.queueVerb(), a.historyVerb(), a.doctorVerb(), a.workerVerb(),
		a.checkpointVerb(), a.checkpointsVerb(), a.diffVerb(), a.showVerb(), a.previewVerb(), a.restoreVerb(), a.versionVerb(), a.lspVerb(),
	)
	inWords(root)
	return root
}
