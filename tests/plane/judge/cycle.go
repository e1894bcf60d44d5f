package judge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// step judges one pod and then, if asked, lets it run on a node.
func (w *world) step(ctx context.Context, asked *Step, scores bool) (Verdict, error) {
	object, err := decode(asked.Pod)
	if err != nil {
		return Verdict{}, err
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return Verdict{}, fmt.Errorf("a step is a Pod, not a %T", object)
	}
	w.complete(pod, pod)
	if err := admit(ctx, pod); err != nil {
		return Verdict{}, err
	}
	if _, exists, _ := w.indexer(pod).Get(pod); exists {
		return Verdict{}, fmt.Errorf("pod %s/%s exists already", pod.Namespace, pod.Name)
	}
	if err := w.cache.UpdateSnapshot(klog.FromContext(ctx), w.snapshot); err != nil {
		return Verdict{}, err
	}
	cycle := newCycle(w, pod)
	feasible := cycle.run(ctx)
	if scores && len(feasible) > 0 {
		cycle.score(ctx, feasible)
	}
	if asked.Bind != "" {
		if err := w.bind(ctx, cycle, asked.Bind); err != nil {
			return Verdict{}, err
		}
	}
	return cycle.verdict, nil
}

// cycle is one scheduling cycle: schedulePod without sampling, nominated pods and extenders.
type cycle struct {
	world   *world
	pod     *corev1.Pod
	state   fwk.CycleState
	verdict Verdict
}

func newCycle(w *world, pod *corev1.Pod) *cycle {
	return &cycle{
		world: w,
		pod:   pod,
		state: framework.NewCycleState(),
		verdict: Verdict{
			Feasible: []string{},
			Reasons:  map[string][]string{},
			Plugin:   map[string]string{},
		},
	}
}

// run returns the nodes that pass. A plugin that fails ends the cycle, as it does in kube-scheduler.
func (c *cycle) run(ctx context.Context) []fwk.NodeInfo {
	nodes, err := c.world.snapshot.List()
	if err != nil {
		c.verdict.Error = err.Error()
		return nil
	}
	for _, plugin := range c.world.framework.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(ctx, c.pod); !status.IsSuccess() {
			c.refuseAll(nodes, status.Reasons(), plugin.Name())
			return nil
		}
	}
	result, status, narrowing := c.world.framework.RunPreFilterPlugins(ctx, c.state, c.pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			c.verdict.Error = status.AsError().Error()
			return nil
		}
		c.refuseAll(nodes, status.Reasons(), pluginOf(status, narrowing))
		return nil
	}
	feasible := make([]fwk.NodeInfo, 0, len(nodes))
	for _, node := range nodes {
		name := node.Node().Name
		if !result.AllNodes() && !result.NodeNames.Has(name) {
			names := joined(narrowing)
			c.refuse(name, []string{fmt.Sprintf("node(s) didn't satisfy plugin(s) [%s]", names)}, names)
			continue
		}
		status := c.world.framework.RunFilterPlugins(ctx, c.state, c.pod, node)
		switch {
		case status.IsSuccess():
			feasible = append(feasible, node)
			c.verdict.Feasible = append(c.verdict.Feasible, name)
		case status.Code() == fwk.Error:
			c.fail(status.AsError())
			return nil
		default:
			c.refuse(name, status.Reasons(), status.Plugin())
		}
	}
	slices.Sort(c.verdict.Feasible)
	return feasible
}

func (c *cycle) refuse(node string, reasons []string, plugin string) {
	c.verdict.Reasons[node] = append([]string{}, reasons...)
	c.verdict.Plugin[node] = plugin
}

func (c *cycle) refuseAll(nodes []fwk.NodeInfo, reasons []string, plugin string) {
	for _, node := range nodes {
		c.refuse(node.Node().Name, reasons, plugin)
	}
}

func (c *cycle) fail(err error) {
	c.verdict.Feasible = []string{}
	c.verdict.Error = err.Error()
}

// score adds up what the score plugins say of the feasible nodes, weights applied. kube-scheduler skips this
// when one node is left; here it is done for one node too.
func (c *cycle) score(ctx context.Context, nodes []fwk.NodeInfo) {
	if status := c.world.framework.RunPreScorePlugins(ctx, c.state, c.pod, nodes); !status.IsSuccess() {
		c.fail(status.AsError())
		return
	}
	scored, status := c.world.framework.RunScorePlugins(ctx, c.state, c.pod, nodes)
	if !status.IsSuccess() {
		c.fail(status.AsError())
		return
	}
	c.verdict.Scores = make(map[string]int64, len(scored))
	c.verdict.ByPlugin = map[string]map[string]int64{}
	for _, node := range scored {
		c.verdict.Scores[node.Name] = node.TotalScore
		for _, part := range node.Scores {
			if c.verdict.ByPlugin[part.Name] == nil {
				c.verdict.ByPlugin[part.Name] = make(map[string]int64, len(scored))
			}
			c.verdict.ByPlugin[part.Name][node.Name] = part.Score
		}
	}
}

func pluginOf(status *fwk.Status, narrowing sets.Set[string]) string {
	if status.Plugin() != "" {
		return status.Plugin()
	}
	return joined(narrowing)
}

func joined(names sets.Set[string]) string {
	return strings.Join(sets.List(names), " ")
}
