// Runs cluster-capacity's own library on a cluster given as JSON: how many more of one pod fit.
//
// Standard input is {"nodes": [...], "pods": [...], "pod": {...}, "max": n}, objects of the Kubernetes API;
// max 0 means until full. Standard output is one line, {"count": n, "stop": reason, "cpuSeconds": s}.
//
// The hard thing is to measure the search alone. The library fills its scheduler from a fake clientset in the
// background, so the clock starts when this process has been idle for a while; and the process exits as soon
// as it has its answer, because the library's scheduler goes on running behind it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fakeclientset "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/cluster-capacity/pkg/framework"
	"sigs.k8s.io/cluster-capacity/pkg/utils"
)

const (
	watchInterval = 200 * time.Millisecond
	idleShare     = 0.05
	settleMax     = 2 * time.Minute
)

type question struct {
	Nodes []v1.Node `json:"nodes"`
	Pods  []v1.Pod  `json:"pods"`
	Pod   v1.Pod    `json:"pod"`
	Max   int       `json:"max"`
}

type answer struct {
	Count      int     `json:"count"`
	Stop       string  `json:"stop"`
	CPUSeconds float64 `json:"cpuSeconds"`
}

func main() {
	found, err := run()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster-capacity:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run() (answer, error) {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return answer{}, fmt.Errorf("the question is not JSON of nodes, pods and a pod: %w", err)
	}
	settings, err := utils.BuildKubeSchedulerCompletedConfig(nil)
	if err != nil {
		return answer{}, err
	}
	capacity, err := framework.New(settings, nil, &asked.Pod, asked.Max, nil)
	if err != nil {
		return answer{}, err
	}
	if err := capacity.SyncWithClient(fakeclientset.NewSimpleClientset(objects(&asked)...)); err != nil {
		return answer{}, err
	}
	if err := settle(); err != nil {
		return answer{}, err
	}
	before := cpuSeconds()
	if err := capacity.Run(); err != nil {
		return answer{}, err
	}
	seconds := cpuSeconds() - before
	reason := capacity.Report().Status.FailReason
	return answer{len(capacity.ScheduledPods()), fmt.Sprintf("%s: %s", reason.FailType, reason.FailMessage), seconds}, nil
}

func objects(asked *question) []runtime.Object {
	found := []runtime.Object{&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: asked.Pod.Namespace}}}
	for index := range asked.Nodes {
		found = append(found, &asked.Nodes[index])
	}
	for index := range asked.Pods {
		found = append(found, &asked.Pods[index])
	}
	return found
}

// settle waits until this process does next to nothing.
func settle() error {
	began := time.Now()
	for busy := cpuSeconds(); ; {
		time.Sleep(watchInterval)
		now := cpuSeconds()
		if now-busy < idleShare*watchInterval.Seconds() {
			return nil
		}
		if time.Since(began) > settleMax {
			return fmt.Errorf("the cluster was not taken up in %s", settleMax)
		}
		busy = now
	}
}

// cpuSeconds returns what this process has used so far, user and system, of all threads.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
