package clustertest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/servers/process"
)

// Image is an image of one layer.
type Image struct {
	// Name has a tag; without one, or with :latest, Kubernetes would try to pull it.
	Name       string
	Files      map[string]File // by absolute path
	Entrypoint []string
	Cmd        []string
	Env        []string // NAME=VALUE
	User       string   // UID:GID; empty: root
	WorkingDir string
}

// File is a file of an image: one of this machine, or a text, a link or a folder.
type File struct {
	From string // path of a file or of a folder with all in it
	Text string
	Link string      // target of a symbolic link
	Mode fs.FileMode // with fs.ModeDir: an empty folder; 0: that of From, else 0644
}

// Import writes an image and gives it to the node.
func (c *Cluster) Import(t testing.TB, image Image) {
	t.Helper()
	if err := c.importImage(t.Context(), image); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) importImage(ctx context.Context, image Image) (err error) {
	dir, err := os.MkdirTemp(c.dir, "image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	archive := filepath.Join(dir, "image.tar")
	if err = image.write(archive); err == nil {
		err = c.ctr(ctx, "--namespace", "k8s.io", "images", "import", archive)
	}
	if err != nil {
		return fmt.Errorf("import image %s: %w", image.Name, err)
	}
	return nil
}

// ctr runs containerd's client.
func (c *Cluster) ctr(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, c.packaged("ctr"), append([]string{"--address", c.socket()}, args...)...)
	cmd.Env = process.Environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ctr %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return nil
}

// write writes the image in the format of `docker save`.
func (image Image) write(archive string) (err error) {
	layer, err := os.CreateTemp(filepath.Dir(archive), "layer-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layer.Close(), os.Remove(layer.Name())) }()
	digest := sha256.New()
	if err := image.writeLayer(io.MultiWriter(layer, digest)); err != nil {
		return err
	}
	size, err := layer.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return err
	}
	id := hex.EncodeToString(digest.Sum(nil))
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{
			"Entrypoint": image.Entrypoint, "Cmd": image.Cmd, "Env": image.Env, "User": image.User, "WorkingDir": image.WorkingDir,
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + id}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]any{map[string]any{
		"Config": "config.json", "RepoTags": []string{image.Name}, "Layers": []string{"layer.tar"},
	}})
	if err != nil {
		return err
	}
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	defer func() { err = errors.Join(err, w.Close(), f.Close()) }()
	return errors.Join(
		add(w, "config.json", int64(len(config)), bytes.NewReader(config)),
		add(w, "layer.tar", size, layer),
		add(w, "manifest.json", int64(len(manifest)), bytes.NewReader(manifest)),
	)
}

// add adds a file to an archive.
func add(w *tar.Writer, name string, size int64, from io.Reader) error {
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644}); err != nil {
		return err
	}
	_, err := io.Copy(w, from)
	return err
}

func (image Image) writeLayer(to io.Writer) error {
	w := tar.NewWriter(to)
	for _, name := range slices.Sorted(maps.Keys(image.Files)) {
		if err := image.Files[name].write(w, strings.TrimPrefix(path.Clean(name), "/")); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return w.Close()
}

func (file File) write(w *tar.Writer, name string) error {
	if file.From != "" {
		return file.copy(w, name)
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(file.Text)), Mode: 0o644, Format: tar.FormatPAX, ModTime: time.Unix(0, 0)}
	if file.Mode != 0 {
		header.Mode = mode(file.Mode)
	}
	switch {
	case file.Link != "":
		header.Typeflag, header.Linkname, header.Size = tar.TypeSymlink, file.Link, 0
	case file.Mode.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.WriteString(w, file.Text)
	return err
}

// mode is a mode as archives have it.
func mode(m fs.FileMode) int64 {
	bits := int64(m.Perm())
	if m&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return bits
}

// copy adds a file of this machine, or a folder with all in it. The owner is root.
func (file File) copy(w *tar.Writer, name string) error {
	root, err := filepath.EvalSymlinks(file.From)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(from string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, from)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			if target, err = os.Readlink(from); err != nil {
				return err
			}
		}
		header, err := tar.FileInfoHeader(info, target)
		if err != nil {
			return err
		}
		header.Name, header.Uid, header.Gid, header.Uname, header.Gname = path.Join(name, below), 0, 0, "", ""
		if from == root && file.Mode != 0 {
			header.Mode = mode(file.Mode)
		}
		if err := w.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
			return err
		}
		f, err := os.Open(from)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		_, err = io.Copy(w, f)
		return err
	})
}
