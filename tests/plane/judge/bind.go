package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
)

// errDecided ends the wait for the volume controllers, which do not run here.
var errDecided = errors.New("the volumes are decided")

// bind lets the pod of a cycle run on a node. Its volumes are decided by the Reserve and PreBind plugins; on a
// node that refused the pod there is nothing decided, and the pod alone is put there.
//
// A claim that PreBind gave to an existing volume is bound at once, as the volume controller would do. A claim
// to be provisioned stays as PreBind leaves it: unbound, with the node selected. Storage capacities stay as
// they are, because kube-scheduler does not count down what it has promised.
func (w *world) bind(ctx context.Context, decided *cycle, node string) error {
	if _, err := w.snapshot.Get(node); err != nil {
		return fmt.Errorf("bind: there is no node %q", node)
	}
	pod := decided.pod
	pod.Spec.NodeName = node
	if slices.Contains(decided.verdict.Feasible, node) {
		if err := w.bindVolumes(ctx, decided, node); err != nil {
			return err
		}
	}
	if err := w.cache.AddPod(klog.FromContext(ctx), pod); err != nil {
		return err
	}
	return w.indexer(pod).Add(pod)
}

func (w *world) bindVolumes(ctx context.Context, decided *cycle, node string) error {
	runner := w.framework
	if status := runner.RunReservePluginsReserve(ctx, decided.state, decided.pod, node); !status.IsSuccess() {
		return status.AsError()
	}
	status := runner.RunPreBindPreFlights(ctx, decided.state, decided.pod, node)
	if status.IsSkip() {
		return nil
	}
	if !status.IsSuccess() {
		return status.AsError()
	}
	ended, end := context.WithCancelCause(ctx)
	end(errDecided)
	status = runner.RunPreBindPlugins(ended, decided.state, decided.pod, node)
	if !status.IsSuccess() && !errors.Is(status.AsError(), errDecided) {
		return status.AsError()
	}
	return nil
}

// recordingClient is the part of a client that PreBind uses: updates of volumes and claims, which go straight
// into the world. Any other call is a nil method and ends the case.
type recordingClient struct {
	kubernetes.Interface
	world *world
}

type recordingCore struct {
	corev1client.CoreV1Interface
	world *world
}

type recordingVolumes struct {
	corev1client.PersistentVolumeInterface
	world *world
}

type recordingClaims struct {
	corev1client.PersistentVolumeClaimInterface
	world *world
}

func (c *recordingClient) CoreV1() corev1client.CoreV1Interface {
	return recordingCore{world: c.world}
}

func (c recordingCore) PersistentVolumes() corev1client.PersistentVolumeInterface {
	return recordingVolumes{world: c.world}
}

func (c recordingCore) PersistentVolumeClaims(string) corev1client.PersistentVolumeClaimInterface {
	return recordingClaims{world: c.world}
}

// Update stores the claim with its selected node.
func (c recordingClaims) Update(
	_ context.Context, claim *corev1.PersistentVolumeClaim, _ metav1.UpdateOptions,
) (*corev1.PersistentVolumeClaim, error) {
	stored := claim.DeepCopy()
	stored.ResourceVersion = c.world.nextVersion()
	return stored, c.world.indexer(stored).Update(stored)
}

// Update stores the volume that names its claim, and completes the claim as the volume controller does.
func (c recordingVolumes) Update(
	_ context.Context, changed *corev1.PersistentVolume, _ metav1.UpdateOptions,
) (*corev1.PersistentVolume, error) {
	stored := changed.DeepCopy()
	stored.ResourceVersion = c.world.nextVersion()
	stored.Status.Phase = corev1.VolumeBound
	if err := c.world.indexer(stored).Update(stored); err != nil {
		return nil, err
	}
	reference := stored.Spec.ClaimRef
	lister := c.world.informers.Core().V1().PersistentVolumeClaims().Lister()
	found, err := lister.PersistentVolumeClaims(reference.Namespace).Get(reference.Name)
	if err != nil {
		return nil, err
	}
	claim := found.DeepCopy()
	claim.ResourceVersion = c.world.nextVersion()
	claim.Spec.VolumeName = stored.Name
	claim.Status.Phase = corev1.ClaimBound
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnBindCompleted, "yes")
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnBoundByController, "yes")
	return stored, c.world.indexer(claim).Update(claim)
}

func (w *world) nextVersion() string {
	w.version++
	return strconv.Itoa(w.version)
}
