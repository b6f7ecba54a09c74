package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"assay.dev/assay/internal/cli"
	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/load/fleet/kubernetes"
	"assay.dev/assay/internal/observe/collect/service/endpoints"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/trial/incluster"
	"assay.dev/assay/internal/wire"
)

// kubernetesFlags are the options on workers in a cluster.
type kubernetesFlags struct {
	cluster.Options
	name, image, cpu, memory, patch string
	dryRun                          bool
}

// Defaults of a worker's pod (docs/kubernetes.md has the sizes for given rates).
const (
	defaultCPU    = "1"
	defaultMemory = "1Gi"
)

func (f *kubernetesFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.Kubeconfig, "kubeconfig", "", "file that says how to reach the cluster (default: KUBECONFIG, ~/.kube/config, or this pod's service account)")
	fs.StringVar(&f.Context, "kubernetes-context", "", "context of that file (default: its current one)")
	fs.StringVar(&f.Namespace, "kubernetes-namespace", "", "namespace (default: the context's)")
	fs.StringVar(&f.name, "kubernetes-name", "", "name of the run's objects; a second run of the same name is refused (default: assay-PROFILE)")
	fs.StringVar(&f.image, "kubernetes-image", "", "image with this program, of the same build (default: ASSAY_IMAGE)")
	fs.StringVar(&f.cpu, "kubernetes-cpu", defaultCPU, "CPUs that each worker's pod requests; they are not limited")
	fs.StringVar(&f.memory, "kubernetes-memory", defaultMemory, "memory that each worker's pod requests, which is its limit too")
	fs.StringVar(&f.patch, "kubernetes-patch", "", "YAML file with strategic merge patches of the manifests, such as tolerations or image pull secrets")
	fs.BoolVar(&f.dryRun, "dry-run", false, "print the manifests of --engine "+engineNames(engine.inCluster)+", and do nothing")
}

// nameOf is the name of a profile's run.
func (f *kubernetesFlags) nameOf(profile string) string {
	return cmp.Or(f.name, incluster.Name(profile))
}

// settings are those of the manifests of a profile's run.
func (f *kubernetesFlags) settings(ctx context.Context, profile string, e engine) (s kubernetes.Settings, err error) {
	s = kubernetes.Settings{
		Name: f.nameOf(profile), Namespace: f.Namespace, Image: cmp.Or(f.image, os.Getenv(wire.EnvImage)), Operator: e.operator,
	}
	if !names.MatchString(s.Name) || len(s.Name) > maxName {
		return s, cli.Usage("for example: --kubernetes-name before-sale", "--kubernetes-name is %q: it must have at most %d small letters, digits and -, begin with a letter, and not end with -", s.Name, maxName)
	}
	if err := checkNamespace("--kubernetes-namespace", s.Namespace); err != nil {
		return s, err
	}
	if s.Image == "" {
		return s, cli.Usage("for example: --kubernetes-image registry.example.com/assay:1.0 (make image builds it)", "--engine %s needs an image with this program: --kubernetes-image or ASSAY_IMAGE", e.name)
	}
	if s.Worker, err = resources("--kubernetes-cpu", f.cpu, "--kubernetes-memory", f.memory); err != nil {
		return s, err
	}
	if f.patch != "" {
		s.Patch, err = cluster.ReadPatch(ctx, f.patch)
	}
	return s, err
}

// resources are what a pod requests, by two options.
func resources(cpuOption, cpu, memoryOption, memory string) (r cluster.Resources, err error) {
	for _, q := range []struct {
		option, text string
		to           *resource.Quantity
	}{{cpuOption, cpu, &r.CPU}, {memoryOption, memory, &r.Memory}} {
		if *q.to, err = resource.ParseQuantity(q.text); err != nil || q.to.Sign() <= 0 {
			return r, cli.Usage(fmt.Sprintf("for example: %s 500m %s 1Gi", cpuOption, memoryOption), "%s is %q: it must be a quantity above 0, as Kubernetes writes them", q.option, q.text)
		}
	}
	return r, nil
}

// checkNamespace refuses what cannot be the name of a namespace. Empty: the option is not set.
func checkNamespace(option, name string) error {
	if name == "" || len(validation.IsDNS1123Label(name)) == 0 {
		return nil
	}
	return cli.Usage("for example: "+option+" load", "%s is %q: it must have at most %d small letters, digits and -, and begin and end with a letter or digit", option, name, validation.DNS1123LabelMaxLength)
}

// names is the form of a run's name: with a suffix it must be a DNS label.
var names = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// maxName leaves room for the suffixes of workers' pods: "-workers-99999-abcde".
const maxName = 40

// engine connects to the cluster, which must answer.
func (f *kubernetesFlags) engine(ctx context.Context, s kubernetes.Settings) (kubernetes.Engine, error) {
	c, err := cluster.Connect(f.Options)
	if err == nil {
		err = c.Reach(ctx)
	}
	if err != nil {
		return kubernetes.Engine{}, err
	}
	s.Namespace = c.Namespace
	return kubernetes.Engine{Settings: s, Cluster: c, Owner: coordinatorPod()}, nil
}

// manifests are those of a run's workers, not patched.
func (f *kubernetesFlags) manifests(ctx context.Context, o run.Options, e engine, address string) ([]runtime.Object, error) {
	s, err := f.settings(ctx, o.Profile.Name, e)
	if err != nil {
		return nil, err
	}
	launch, err := o.Launch(address, "")
	if err != nil {
		return nil, err
	}
	s.Patch = nil
	return s.Manifests(launch)
}

// show checks the patch of manifests, and prints them if it is a dry run.
func (f *kubernetesFlags) show(c *cobra.Command, patch cluster.Patch, all []runtime.Object) error {
	if err := patch.Check(all); err != nil || !f.dryRun {
		return err
	}
	all, err := patch.Apply(all)
	if err != nil {
		return err
	}
	return cluster.Print(c.OutOrStdout(), all)
}

// coordinatorPod is the pod that this process runs in, if its manifest is Assay's; nil:
// it is not.
func coordinatorPod() *metav1.OwnerReference {
	name, uid := os.Getenv(wire.EnvPodName), os.Getenv(incluster.EnvPodUID)
	if name == "" || uid == "" {
		return nil
	}
	return &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(uid)}
}

// checkTarget requires a target that pods may reach.
func checkTarget(o run.Options) error {
	next := "for example: --target http://shop.prod.svc:8080 --allow-target shop.prod.svc"
	if o.Target == "" {
		return cli.Usage(next, "workers in a cluster need the service's URL: --target or ASSAY_TARGET")
	}
	if err := run.CheckTarget(o); err != nil {
		return err
	}
	if u, err := url.Parse(o.Target); err == nil && isLoopback(u.Hostname()) {
		return cli.Usage(next, "pods cannot reach %s", o.Target)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkAddress requires an address that pods can reach.
func checkAddress(listen, advertise string) error {
	next := "--listen 0.0.0.0:7077 --advertise ADDRESS:7077, with an address of this machine that pods can reach; or run the coordinator in the cluster: assay kubernetes certify"
	if listen == "" {
		return cli.Usage(next, "workers in a cluster need an address to join: --listen")
	}
	told := cmp.Or(advertise, listen)
	host, _, _ := net.SplitHostPort(told) // its form was checked
	ip := net.ParseIP(host)
	if isLoopback(host) || advertise != "" && ip != nil && ip.IsUnspecified() {
		return cli.Usage(next, "pods cannot reach %s", told)
	}
	return nil
}

// targetService is the Service that a target names; nil: it is no Service's, or that of an
// ExternalName, behind which the cluster knows no instances.
func targetService(ctx context.Context, c *cluster.Cluster, target string) *endpoints.Service {
	u, err := url.Parse(target)
	if err != nil {
		return nil
	}
	name, namespace, ok := endpoints.ParseService(u.Hostname(), c.Namespace)
	if !ok {
		return nil
	}
	port := map[string]int{"http": 80, "https": 443}[u.Scheme]
	if u.Port() != "" {
		port, _ = strconv.Atoi(u.Port())
	}
	s := endpoints.Of(c, namespace, name, port)
	_, err = s.URLs(ctx)
	// A name of two parts, like example.com, may be that of another host.
	if apierrors.IsNotFound(err) || errors.Is(err, endpoints.ErrExternal) || err != nil && strings.Count(u.Hostname(), ".") == 1 {
		return nil
	}
	return s
}
