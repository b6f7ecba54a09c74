package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/json"
	sigsyaml "sigs.k8s.io/yaml"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
)

// Patch is a user's changes to manifests.
type Patch []change

// change is one document of a patch.
type change struct {
	Kind string `json:"kind"`
	Meta struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Delete string `json:"$patch"`

	place  string // file and number of the document
	fields json.RawMessage
}

// patchHint is the form of a patch.
const patchHint = "for example: {kind: Pod, spec: {tolerations: [{key: load, operator: Exists}]}}"

// kindPod changes the pods of Jobs.
const kindPod = "Pod"

// deletion leaves an object out. Only a NetworkPolicy can be: the workers need the others.
const deletion = "delete"

// MaxPatch bounds a file of patches, bytes: Kubernetes takes no object over 1.5 MiB.
const MaxPatch = 4 << 20

// ReadPatch reads a file of YAML documents. Each is a strategic merge patch of the
// manifests of its kind, and of its metadata.name, if it has one; one of kind Pod is
// merged into the pods of Jobs.
func ReadPatch(ctx context.Context, path string) (p Patch, err error) {
	data, err := foreign.ReadText(ctx, path, MaxPatch)
	if err != nil {
		return nil, hint.With(fmt.Errorf("read the patch of manifests: %w", err), "name its file: --kubernetes-patch")
	}
	defer foreign.Guard(&err)
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for i := 1; ; i++ {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		c := change{}
		if err == nil {
			c, err = readChange(text)
		}
		c.place = fmt.Sprintf("%s, document %d", path, i)
		switch {
		case err != nil:
			return nil, hint.With(fmt.Errorf("%s: %w", c.place, err), patchHint)
		case c.fields != nil:
			p = append(p, c)
		}
	}
}

// readChange reads a document. One that is empty has no fields.
func readChange(text []byte) (c change, err error) {
	fields, err := sigsyaml.YAMLToJSONStrict(text)
	switch {
	case err != nil:
		return c, oneLine(errors.New(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")))
	case bytes.Equal(fields, []byte("null")):
		return c, nil
	}
	if err := json.Unmarshal(fields, &c); err != nil || c.Kind == "" {
		return c, errors.New("it has no kind")
	}
	switch {
	case c.Delete == deletion && c.Kind != "NetworkPolicy":
		return c, errors.New("only a NetworkPolicy can be deleted: the run needs the others")
	case c.Delete != "" && c.Delete != deletion:
		return c, fmt.Errorf("$patch of a whole manifest is %q: it must be delete", c.Delete)
	}
	c.fields = fields
	return c, nil
}

// Apply returns the changed manifests, without those that are to be deleted.
func (p Patch) Apply(all []runtime.Object) (patched []runtime.Object, err error) {
	for _, o := range all {
		removed := false
		for _, c := range p {
			switch {
			case !c.matches(o):
			case c.Delete == deletion:
				removed = true
			default:
				if o, err = c.apply(o); err != nil {
					return nil, hint.With(fmt.Errorf("%s: %w", c.place, err), patchHint)
				}
			}
		}
		if !removed {
			patched = append(patched, o)
		}
	}
	return patched, nil
}

// Check fails if a document changes none of the manifests.
func (p Patch) Check(all []runtime.Object) error {
	for _, c := range p {
		if !slices.ContainsFunc(all, c.matches) {
			return hint.With(fmt.Errorf("%s: there is no %s among the manifests", c.place, strings.TrimSpace(c.Kind+" "+c.Meta.Name)), "see the manifests: --dry-run, without this patch")
		}
	}
	return nil
}

func (c change) matches(o runtime.Object) bool {
	name, kind := NameOf(o), o.GetObjectKind().GroupVersionKind().Kind
	if _, isJob := o.(*batchv1.Job); isJob && c.Kind == kindPod {
		kind = kindPod
	}
	return c.Kind == kind && (c.Meta.Name == "" || c.Meta.Name == name)
}

func (c change) apply(o runtime.Object) (runtime.Object, error) {
	job, isJob := o.(*batchv1.Job)
	if !isJob || c.Kind != kindPod {
		patched := reflect.New(reflect.TypeOf(o).Elem()).Interface().(runtime.Object)
		return patched, merge(o, c.fields, patched)
	}
	job = job.DeepCopy()
	// A template has neither kind nor name.
	var fields map[string]any
	if err := json.Unmarshal(c.fields, &fields); err != nil {
		return nil, err
	}
	delete(fields, "kind")
	delete(fields, "apiVersion")
	if meta, ok := fields["metadata"].(map[string]any); ok {
		delete(meta, "name")
	}
	patch, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	template := corev1.PodTemplateSpec{}
	err = merge(&job.Spec.Template, patch, &template)
	job.Spec.Template = template
	if err != nil {
		return nil, err
	}
	for _, one := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
		if one.Image == "" {
			return nil, fmt.Errorf("container %s has no image; the container of the pods is called %s", one.Name, Container)
		}
	}
	return job, nil
}

// merge merges patch into from. Unknown fields are errors.
func merge[T any](from T, patch []byte, to T) error {
	original, err := json.Marshal(from)
	if err != nil {
		return err
	}
	merged, err := strategicpatch.StrategicMergePatch(original, patch, to)
	if err != nil {
		return oneLine(err)
	}
	unknown, err := strict.UnmarshalStrict(merged, to)
	if err != nil {
		// The standard library's error names the field apart from the rest.
		var wrong *json.UnmarshalTypeError
		if errors.As(json.Unmarshal(merged, to), &wrong) {
			return fmt.Errorf("field %q cannot be of type %s", wrong.Field, wrong.Value)
		}
		return oneLine(err)
	}
	if len(unknown) > 0 {
		return errors.New(strings.ReplaceAll(errors.Join(unknown...).Error(), "\n", "; "))
	}
	return nil
}

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
			for name := range s.Data { // a patch may set Data
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
		out, err := sigsyaml.Marshal(fields)
		if err != nil {
			return fmt.Errorf("print %s: %w", text(o), err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", out); err != nil {
			return err
		}
	}
	return nil
}
