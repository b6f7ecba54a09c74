package cluster

import (
	"crypto/sha256"
	"encoding/hex"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Components of a run.
const (
	Worker      = "worker"
	Coordinator = "coordinator"
	Starter     = "starter" // pod of the k6-operator that starts the workers
)

// Labels of https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/.
const (
	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"
	labelManager   = "app.kubernetes.io/managed-by"
)

// Labels are those of a run's objects. name is the run's name in the namespace.
func Labels(name, component string) map[string]string {
	all := Selector(name, component)
	all[labelName] = "assay"
	return all
}

// Selector are the labels that select the pods of a component of a run. Other tools, such
// as Helm, use the same labels: only the manager's tells our pods from those of a release of
// that name.
func Selector(name, component string) map[string]string {
	return map[string]string{labelInstance: name, labelComponent: component, labelManager: "assay"}
}

// RunLabel tells the pods of a run from those of earlier runs of the same name, which may
// still be ending. It is made of the run's id, which may be no value of a label.
func RunLabel(id string) (key, value string) {
	sum := sha256.Sum256([]byte(id))
	return "assay/run", hex.EncodeToString(sum[:8])
}

// PodsOf select the pods of a component of a run, whose Job or TestRun is owner. Those of a
// Job are found by its UID: pods of a deleted Job of the same name may still be ending. For
// those of a TestRun see RunLabel.
func PodsOf(owner metav1.OwnerReference, name, component string) metav1.ListOptions {
	if owner.Kind == "Job" {
		return metav1.ListOptions{LabelSelector: labels.Set{batchv1.ControllerUidLabel: string(owner.UID)}.String()}
	}
	return ListOptions(name, component)
}

// ListOptions select the objects of a component of all runs of a name.
func ListOptions(name, component string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: labels.SelectorFromSet(Selector(name, component)).String()}
}

// Annotations ask autoscalers not to remove the nodes of a run's pods: a worker that moves
// costs the run.
func Annotations() map[string]string {
	return map[string]string{
		"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
		"karpenter.sh/do-not-disrupt":                    "true",
	}
}
