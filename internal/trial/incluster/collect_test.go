package incluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"assay.dev/assay/internal/cluster"
	"assay.dev/assay/internal/cluster/client"
	"assay.dev/assay/internal/hint"
)

// server is an API server before Kubernetes 1.30: it runs commands over SPDY alone. It has
// one pod, until it is gone.
type server struct {
	archive []byte // archive that the pod exports
	gone    atomic.Bool
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/log"):
		_, _ = io.WriteString(w, stamp("01")+"payment: hold\n"+stamp("02")+complete+"\n")
	case strings.HasSuffix(r.URL.Path, "/exec") && r.Method == http.MethodPost:
		s.export(w, r)
	case strings.HasSuffix(r.URL.Path, "/pods"):
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		if !s.gone.Load() {
			list.Items = []corev1.Pod{*coordinator(corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	default:
		http.Error(w, "no WebSocket here", http.StatusBadRequest)
	}
}

// export writes the archive to the stream of stdout, and no error to that of errors.
func (s *server) export(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{"v4.channel.k8s.io"}); err != nil {
		return
	}
	opened := make(chan httpstream.Stream, 3)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		opened <- stream
		return nil
	})
	if connection == nil {
		return
	}
	defer connection.Close()
	var all []httpstream.Stream
	for range 3 {
		all = append(all, <-opened)
	}
	for _, stream := range all {
		if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeStdout {
			_, _ = stream.Write(s.archive)
		}
		_ = stream.Close()
	}
	<-connection.CloseChan()
}

// startServer serves an archive of files, and keeps the other objects in memory.
func startServer(t *testing.T, files map[string][]byte) (*server, *cluster.Cluster, *dynamicfake.FakeDynamicClient) {
	t.Helper()
	folder := t.TempDir()
	write(t, folder, files)
	var archive bytes.Buffer
	if err := packFolder(&archive, folder); err != nil {
		t.Fatal(err)
	}
	s := &server{archive: archive.Bytes()}
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	config := &rest.Config{Host: listener.URL}
	clients, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	dynamic := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
	return s, &cluster.Cluster{Interface: clients, Dynamic: dynamic, Config: config, Namespace: "load"}, dynamic
}

// sealed are the files of a record, of which evidence/ has the seal.
func sealed() map[string][]byte {
	return map[string][]byte{"certificate.json": []byte("{}"), "evidence/manifest.json": []byte("{}"), "evidence/workers/1.log": []byte("x"), "junit.xml": nil}
}

// The record is brought, and what was created is removed. A record whose run cannot be
// removed is brought all the same, and the error says how to remove the run.
func TestRunBrings(t *testing.T) {
	t.Parallel()
	stays := apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "assay-checkout", errors.New("no"))
	for name, refused := range map[string]error{"removed": nil, "not removed": stays} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c, dynamic := startServer(t, sealed())
			dynamic.PrependReactor("delete", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
				s.gone.Store(true)
				return refused != nil, nil, refused
			})
			dir := filepath.Join(t.TempDir(), "runs", "a run")
			var said []string
			err := Run(t.Context(), t.Context(), c, example(), dir, func(line string) { said = append(said, line) })
			if refused == nil && err != nil || refused != nil && (!errors.Is(err, ErrNotRemoved) || isLeft(err)) {
				t.Fatal(err)
			}
			if refused != nil {
				const text = `the record was brought back, and the run is not removed from the cluster: remove job/assay-checkout in namespace load: jobs.batch "assay-checkout" is forbidden: no`
				const next = "kubectl delete --namespace load --ignore-not-found --wait=false job/assay-checkout secret/assay-checkout" +
					" && kubectl delete pods --namespace load --selector app.kubernetes.io/managed-by=assay,app.kubernetes.io/instance=assay-checkout --force"
				if err.Error() != text || hint.Of(err) != next {
					t.Errorf("%v (%s)", err, hint.Of(err))
				}
			}
			if diff := cmp.Diff(keys(sealed()), keys(read(t, dir))); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if want := []string{"created job/assay-checkout in namespace load", "payment: hold", "collecting the record"}; !slices.Equal(said, want) {
				t.Errorf("said %q", said)
			}
		})
	}
}

func keys(files map[string][]byte) []string { return slices.Sorted(maps.Keys(files)) }

// A record comes to a folder that exists, though its parent cannot be written, and to one
// that does not.
func TestCollectFolder(t *testing.T) {
	t.Parallel()
	_, c, _ := startServer(t, sealed())
	p := coordinator(corev1.PodRunning, corev1.ContainerState{})
	base := t.TempDir()
	for name, make := range map[string]func(dir string) error{
		"new/folder": func(string) error { return nil },
		"empty":      func(dir string) error { return os.Mkdir(dir, 0o755) },
		"locked/empty": func(dir string) error {
			return errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o555))
		},
	} {
		dir := filepath.Join(base, name)
		if err := make(dir); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Dir(dir), 0o755) })
		if err := CheckFolder(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := collect(t.Context(), c, p, dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(keys(sealed()), keys(read(t, dir))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 3 {
			t.Errorf("%s: %v", name, entries)
		}
	}
}

// A transfer that fails leaves nothing.
func TestCollectNothing(t *testing.T) {
	t.Parallel()
	s, c, _ := startServer(t, sealed())
	s.archive = s.archive[:len(s.archive)/2]
	p, dir := coordinator(corev1.PodRunning, corev1.ContainerState{}), filepath.Join(t.TempDir(), "run")
	for _, made := range []bool{false, true} {
		if made {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := collect(ctx, c, p, dir); err == nil {
			t.Error("no error")
		}
		if err := collectOnceInto(t, c, p, dir); err == nil {
			t.Error("a part of an archive is no error")
		}
		if entries, err := os.ReadDir(dir); len(entries) > 0 || errors.Is(err, fs.ErrNotExist) == made {
			t.Errorf("%v, %v", entries, err)
		}
	}
}

// collectOnceInto is collectOnce into a folder that may not exist.
func collectOnceInto(t *testing.T, c *cluster.Cluster, p *corev1.Pod, dir string) error {
	t.Helper()
	if _, err := os.Stat(dir); err == nil {
		return collectOnce(t.Context(), c, p, dir)
	}
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		err = collectOnce(t.Context(), c, p, dir)
	}
	return errors.Join(err, os.Remove(dir))
}

// The seal is the last that gets its name, and a record of which a part cannot be moved has
// no part there.
func TestMoveUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	partial := filepath.Join(dir, partialPrefix+"1")
	files := sealed()
	files["zzz"] = nil // after evidence in the order of names
	write(t, partial, files)
	write(t, dir, map[string][]byte{"evidence/of another": nil})
	if err := moveUp(partial, dir); !isLocal(err) {
		t.Error(err)
	}
	if got := keys(read(t, dir)); !slices.Equal(got, []string{".partial-1/evidence/manifest.json", ".partial-1/evidence/workers/1.log", "evidence/of another"}) {
		t.Errorf("left: %q", got)
	}
}

// What cannot become a run folder is refused, with the next step, and left as it was.
func TestCheckFolder(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	write(t, base, map[string][]byte{"file": nil, "full/file": nil})
	locked := filepath.Join(base, "locked")
	if err := os.Mkdir(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(base, "gone"), filepath.Join(base, "dangling")); err != nil {
		t.Fatal(err)
	}
	refused := []string{"full", "file", "file/run", "dangling/run"}
	if os.Getuid() != 0 { // who may write everywhere
		refused = append(refused, "locked", "locked/run", "locked/a/run")
	}
	for _, dir := range refused {
		if err := CheckFolder(filepath.Join(base, dir)); err == nil || !strings.HasPrefix(err.Error(), "create run folder: ") || hint.Of(err) != "name another folder with --out" {
			t.Errorf("%s: %v (%s)", dir, err, hint.Of(err))
		}
	}
	if err := CheckFolder(filepath.Join(base, "a", "run")); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(base); len(entries) != 4 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
}
