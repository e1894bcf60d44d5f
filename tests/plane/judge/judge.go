// Package judge answers, for many small clusters, what the real kube-scheduler would decide.
//
// Cases come in as JSON lines and answers go out as JSON lines, one for one. The code that decides is
// kube-scheduler's own: its default profile, its plugins, its cache and its snapshot. The hard thing is to give
// it what an API server would have given it: objects with their defaults filled in, claims that carry on from
// one step to the next, and nothing left over from the case before. So each case gets a world of its own.
package judge

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

const (
	// lineBytesMax is far above any case that makes sense; a longer line is a mistake of the caller.
	lineBytesMax = 256 << 20
	// garbagePercent lets the heap grow to some 100 MB: cases are short-lived, and a third of the time is saved.
	garbagePercent = 400
)

// Case is one cluster and the pods to be judged on it, one after the other.
type Case struct {
	Objects []json.RawMessage `json:"objects"`
	Steps   []Step            `json:"steps"`
	Scores  bool              `json:"scores"`
}

// Step is one pod; Bind names the node on which it then runs, or is empty when it stays out.
type Step struct {
	Pod  json.RawMessage `json:"pod"`
	Bind string          `json:"bind"`
}

// Answer has one verdict per step, or the reason why the case could not be judged.
type Answer struct {
	Steps []Verdict `json:"steps,omitempty"`
	Error string    `json:"error,omitempty"`
}

// Verdict says which nodes would take the pod and, for each other node, who refused it and why.
// Error is set when a plugin failed: kube-scheduler then gives up the whole cycle, so no node is feasible.
type Verdict struct {
	Feasible []string                    `json:"feasible"`
	Reasons  map[string][]string         `json:"reasons"`
	Plugin   map[string]string           `json:"plugin"`
	Scores   map[string]int64            `json:"scores,omitempty"`
	ByPlugin map[string]map[string]int64 `json:"byPlugin,omitempty"`
	Error    string                      `json:"error,omitempty"`
}

// Main reads cases from standard input until it ends.
func Main() {
	debug.SetGCPercent(garbagePercent)
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}

func serve(input io.Reader, output io.Writer) error {
	court, err := newCourt()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(input)
	lines.Buffer(make([]byte, 1<<20), lineBytesMax)
	writer := bufio.NewWriter(output)
	encoder := json.NewEncoder(writer)
	for lines.Scan() {
		if err := encoder.Encode(court.answer(lines.Bytes())); err != nil {
			return err
		}
		if err := writer.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

// answer judges one line. A panic of a plugin is an answer too: the next case must not suffer from it.
func (c *court) answer(line []byte) (answer Answer) {
	defer func() {
		if problem := recover(); problem != nil {
			answer = Answer{Error: fmt.Sprintf("panic: %v\n%s", problem, debug.Stack())}
		}
	}()
	var asked Case
	if err := json.Unmarshal(line, &asked); err != nil {
		return Answer{Error: fmt.Sprintf("the case is not what it should be: %v", err)}
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	defer cancel()
	steps, err := c.judge(ctx, &asked)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	return Answer{Steps: steps}
}

func (c *court) judge(ctx context.Context, asked *Case) ([]Verdict, error) {
	world, err := c.newWorld(ctx)
	if err != nil {
		return nil, err
	}
	for index, raw := range asked.Objects {
		if err := world.load(ctx, raw); err != nil {
			return nil, fmt.Errorf("objects[%d]: %w", index, err)
		}
	}
	verdicts := make([]Verdict, 0, len(asked.Steps))
	for index, step := range asked.Steps {
		verdict, err := world.step(ctx, &step, asked.Scores)
		if err != nil {
			return nil, fmt.Errorf("steps[%d]: %w", index, err)
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts, nil
}
