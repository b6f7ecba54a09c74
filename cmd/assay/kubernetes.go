package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/trial/incluster"
)

func newKubernetes() *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "kubernetes",
		Short: "Certify a service in a Kubernetes cluster, from within the cluster",
		Long: `Kubernetes runs the coordinator of a run as a Job in a namespace of a cluster, with
the workers beside it, and brings the run folder back through the cluster's API: the
certificate is the same as that of a run on this machine. For a coordinator on this
machine, with the workers in a cluster: assay certify --engine kubernetes.`,
		Example: `  assay kubernetes rbac --kubernetes-namespace load | kubectl apply -f -   # once, by an administrator
  assay kubernetes certify checkout --workers 20 --target http://shop.prod.svc:8080 --allow-target shop.prod.svc`,
	})
	c.AddCommand(newKubernetesCertify(), newKubernetesRBAC(), newCoordinate(),
		inPod("export", "Write the run folder of the coordinator's pod to stdout", cli.NoArguments, func(c *cobra.Command, _ []string) error {
			return incluster.Export(c.OutOrStdout())
		}),
		inPod("interrupt", "Interrupt the run of the coordinator's pod", cli.NoArguments, func(*cobra.Command, []string) error {
			return incluster.Interrupt()
		}))
	return c
}

func newKubernetesRBAC() *cobra.Command {
	var f kubernetesFlags
	subject, target := "", ""
	c := &cobra.Command{
		Use:   "rbac",
		Short: "Print the Roles that runs in a cluster need, in one namespace",
		Long: `Rbac prints the manifests that an administrator applies once: the service account of
coordinators with its Role, and the Role of who starts runs, bound to --subject. They
grant nothing outside the namespace, except in --target-namespace, where coordinators may find
the pods behind a Service, to read the metrics of each.`,
		Example: `  assay kubernetes rbac --kubernetes-namespace load --subject user:ana@example.com | kubectl apply -f -
  assay kubernetes rbac --kubernetes-namespace load --target-namespace prod --subject serviceaccount:ci | kubectl apply -f -`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			namespace := f.Namespace
			if namespace == "" {
				return cli.Usage("for example: --kubernetes-namespace load", "rbac needs the namespace of the runs: --kubernetes-namespace")
			}
			for option, name := range map[string]string{"--kubernetes-namespace": namespace, "--target-namespace": target} {
				if err := checkNamespace(option, name); err != nil {
					return err
				}
			}
			all, err := cluster.RBAC(namespace, target, subject)
			if err != nil {
				return hint.With(err, "for example: --subject user:ana@example.com, group:sre, serviceaccount:ci")
			}
			return cluster.Print(c.OutOrStdout(), all)
		},
	}
	c.Flags().StringVar(&f.Namespace, "kubernetes-namespace", "", "namespace of the runs")
	c.Flags().StringVar(&target, "target-namespace", "", "namespace of the service under test (default: that of the runs)")
	c.Flags().StringVar(&subject, "subject", "serviceaccount:assay", "who starts runs: user:NAME, group:NAME, or serviceaccount:NAME of the namespace")
	return c
}

// inPod is a hidden command of the coordinator's pod, which its manifest or `assay kubernetes
// certify` runs. It is refused elsewhere, where its files are those of others.
func inPod(use, short string, arguments cobra.PositionalArgs, do func(*cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Hidden: true, Short: short, Args: arguments,
		RunE: func(c *cobra.Command, args []string) error {
			if coordinatorPod() == nil {
				return cli.Usage("see: assay kubernetes certify --help", "kubernetes %s is only for the pod of a coordinator", c.Name())
			}
			return do(c, args)
		},
	}
}

func newCoordinate() *cobra.Command {
	folder := ""
	c := inPod("coordinate -- COMMAND", "Run a command as the coordinator in its pod, and hold its record",
		cli.Arguments(1, 1000, "no command was named", "for example: assay kubernetes coordinate -- certify payment"),
		func(c *cobra.Command, args []string) error {
			if err := incluster.Prepare(folder); err != nil {
				return err
			}
			if err := os.Setenv(envListen, incluster.Listen()); err != nil {
				return fmt.Errorf("prepare the coordinator's pod: %w", err)
			}
			code := cli.Execute(c.Context(), newRoot(), append(args, "--out", incluster.RunFolder), io.Discard, c.ErrOrStderr())
			incluster.Hold(c.Context(), c.ErrOrStderr())
			return cli.ExitWith(code)
		})
	c.Flags().StringVar(&folder, "folder", ".", "folder of the project to run in")
	return c
}
