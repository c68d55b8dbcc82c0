package cli

import "github.com/spf13/cobra"

// newJobsCmd is the noun jobs; without a verb it lists.
func newJobsCmd(f *factory) *cobra.Command {
	return listing(&cobra.Command{
		Use:     "jobs",
		Aliases: []string{"job"},
		Short:   "Start, follow and end jobs",
		Example: `  scv jobs start --agent codex "fix the failing test"
  scv jobs                       list what runs and what ended lately
  scv jobs log -f job-3
  scv jobs wait job-3 && scv jobs result job-3`,
	}, newJobListCmd(f, nil),
		newJobListCmd(f, nil), newJobStartCmd(f, nil), newJobShowCmd(f, nil), newJobLogCmd(f, nil), newJobResultCmd(f, nil), newJobWaitCmd(f, nil),
		newJobSendCmd(f, nil), newJobCancelCmd(f, nil), newJobDismissCmd(f, nil), newJobEventsCmd(f, nil),
		newJobQueueCmd(f), newJobResumeCmd(f), newJobRetryCmd(f), newJobForkCmd(f),
		newJobReviewCmd(f), newJobDiffCmd(f, nil), newJobApplyCmd(f, nil), newJobCommitCmd(f, nil), newJobPrCmd(f, nil), newJobOpenCmd(f, nil),
		newJobAttachCmd(f, nil), newJobShellCmd(f, nil),
		newApproveCmd(f, nil), newDenyCmd(f, nil),
	)
}
