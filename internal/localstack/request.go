package localstack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/program"
)

// AnswerCommand is the hidden command of assay-lab that answers a request.
const AnswerCommand = "answer"

// The requests.
const (
	DoStatus  = "status"  // Reply.State
	DoServer  = "server"  // Reply.Text: the database server that Up would start
	DoUp      = "up"      // Reply.State and Reply.Started
	DoDown    = "down"    // stops Request.Parts
	DoRestart = "restart" // restarts Request.Parts as Request.Setup says
	DoAdmin   = "admin"   // Reply.Text: root's DSN
	DoReady   = "ready"   // an error if Request.Node is not in use
	DoNode    = "node"    // does Request.Action to Request.Node
)

// Request is what assay-lab reads.
type Request struct {
	Do      string  `json:"do"`
	Dir     string  `json:"dir"`
	Options Options `json:"options"`
	Setup   Setup   `json:"setup"`
	Parts   Parts   `json:"parts"`
	Node    string  `json:"node"`
	Action  string  `json:"action"`
}

// Reply is what assay-lab writes.
type Reply struct {
	State   *State `json:"state"` // nil: there was no stack yet
	Started Parts  `json:"started"`
	Text    string `json:"text"`
	Error   string `json:"error"` // empty: it was done
	Hint    string `json:"hint"`
}

// maxReply limits a reply, bytes.
const maxReply = 1 << 20

// ask starts assay-lab, and returns its reply. When ctx ends assay-lab is told to, which undoes
// what it has begun; it is waited for.
func ask(ctx context.Context, r Request) (Reply, error) {
	path, err := program.Lab()
	if err != nil {
		return Reply{}, err
	}
	request, err := json.Marshal(r)
	if err != nil {
		return Reply{}, err
	}
	cmd := exec.CommandContext(ctx, path, AnswerCommand)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.SysProcAttr = ownGroup() // an interrupt of the terminal reaches it by ctx only
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(request), &out, log.Writer() // which masks
	self, err := program.Assay()
	if err != nil {
		return Reply{}, err
	}
	cmd.Env = append(Environment(), program.Env+"="+self)
	err = cmd.Run()
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return Reply{}, cause
	}
	var reply Reply
	switch {
	case err != nil:
		return Reply{}, fmt.Errorf("assay-lab: %w", err)
	case out.Len() > maxReply || foreign.CheckJSON(out.Bytes(), maxReply) != nil || json.Unmarshal(out.Bytes(), &reply) != nil:
		return Reply{}, hint.With(fmt.Errorf("what %s says is no reply", path), "build both programs of one revision: make build")
	}
	if reply.State != nil {
		for _, s := range reply.State.Secrets {
			mask.Add(s)
		}
	}
	if reply.Error != "" {
		return reply, hint.With(errors.New(strings.TrimSpace(reply.Error)), reply.Hint)
	}
	return reply, nil
}

// withheld are the variables that the local stack has no use for: secrets of a run.
var withheld = []string{"ASSAY_DB", "ASSAY_DB_NODES", "ASSAY_INFLUX_URL", "ASSAY_INFLUX_TOKEN", "ASSAY_SIGNING_KEY", "ASSAY_STUB_TOKEN", "ASSAY_JOIN_TOKEN"}

// Environment is the environment of this process without the secrets of a run.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(withheld, name)
	})
}

// Status is the state of the stack; nil: there was none yet.
func Status(ctx context.Context, dir string) (*State, error) {
	r, err := ask(ctx, Request{Do: DoStatus, Dir: dir})
	return r.State, err
}

// Server is the database server that Up would start, with its version.
func Server(ctx context.Context, dir string) (string, error) {
	r, err := ask(ctx, Request{Do: DoServer, Dir: dir})
	return r.Text, err
}

// Up starts the components that are down. started are those that it has started; it stops
// them again if it fails or ctx ends.
func Up(ctx context.Context, dir string, o Options) (_ *State, started Parts, err error) {
	r, err := ask(ctx, Request{Do: DoUp, Dir: dir, Options: o})
	return r.State, r.Started, err
}

// Down stops parts of the stack, and keeps its data. ctx only bounds the wait for another
// command.
func Down(ctx context.Context, dir string, which Parts) error {
	_, err := ask(ctx, Request{Do: DoDown, Dir: dir, Parts: which})
	return err
}

// Restart restarts parts of the stack with another configuration on the same ports and data.
// If that fails they are down.
func Restart(ctx context.Context, dir string, to Setup, which Parts) error {
	_, err := ask(ctx, Request{Do: DoRestart, Dir: dir, Setup: to, Parts: which})
	return err
}

// AdminDSN is root's DSN of the running database, node a: only root may change global
// variables and read the binlog. It is a secret.
func AdminDSN(ctx context.Context, dir string) (string, error) {
	r, err := ask(ctx, Request{Do: DoAdmin, Dir: dir})
	return r.Text, err
}

// NodeReady returns why a database node is not in use; nil: it is.
func NodeReady(ctx context.Context, dir, node string) error {
	_, err := ask(ctx, Request{Do: DoReady, Dir: dir, Node: node})
	return err
}

// NodeDo does an action to a database node, also while a run has reserved the stack: kill,
// stop, cut or start.
func NodeDo(ctx context.Context, dir, node, action string) error {
	_, err := ask(ctx, Request{Do: DoNode, Dir: dir, Node: node, Action: action})
	return err
}

// ownGroup makes a process the leader of a group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
