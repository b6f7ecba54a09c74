package cluster

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// notShown stands for a secret.
const notShown = "(not shown)"

// Print writes manifests as YAML documents, without what Secrets hold.
func Print(w io.Writer, all []runtime.Object) error {
	for _, o := range all {
		if s, isSecret := o.(*corev1.Secret); isSecret {
			s = s.DeepCopy()
			shown := map[string]string{}
			for name := range s.StringData {
				shown[name] = notShown
			}
			for name := range s.Data { // of a patch
				shown[name] = notShown
			}
			s.StringData, s.Data = shown, nil
			o = s
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return fmt.Errorf("print %s: %w", text(o), err)
		}
		delete(fields, "status")
		out, err := yaml.Marshal(fields)
		if err != nil {
			return fmt.Errorf("print %s: %w", text(o), err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", out); err != nil {
			return err
		}
	}
	return nil
}
