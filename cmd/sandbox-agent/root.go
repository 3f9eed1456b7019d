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
	root.AddCommand( // those that change a session
		a.once(a.askVerb(), editors.Ask.Name, editors.New.Name, editors.Configure.Name), a.once(a.newVerb(), editors.New.Name),
		a.once(a.switchVerb(), editors.Switch.Name), a.once(a.forkVerb(), editors.Fork.Name), a.once(a.adoptVerb(), editors.Adopt.Name),
		a.once(a.titleVerb(), editors.Title.Name), a.once(a.configureVerb(), editors.Configure.Name), a.once(a.compactVerb(), editors.Compact.Name),
		a.once(a.pauseVerb(), editors.Pause.Name), a.once(a.destroyVerb(), editors.Destroy.Name), a.once(a.interruptVerb(), editors.Interrupt.Name),
		a.once(a.stopVerb(), editors.Stop.Name), a.once(a.approveVerb(), editors.AnswerApproval.Name), a.once(a.rulesVerb(), editors.Rules.Name),
		a.once(a.queueVerb(), editors.Queue.Name), a.once(a.checkpointVerb(), editors.TakeCheckpoint.Name), a.once(a.restoreVerb(), editors.Restore.Name),
	)
	root.AddCommand(
		a.contextVerb(), a.attachVerb(), a.sessionsVerb(), a.mcpVerb(), a.historyVerb(), a.doctorVerb(), a.workerVerb(),
		a.checkpointsVerb(), a.diffVerb(), a.showVerb(), a.previewVerb(), a.versionVerb(), a.lspVerb(),
	)
	inWords(root)
	return root
}
