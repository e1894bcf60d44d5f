package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install" // ReplicaSet and StatefulSet
	core "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"       // Pod, Node, volumes and claims
	_ "k8s.io/kubernetes/pkg/apis/policy/install"     // PodDisruptionBudget
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install" // PriorityClass
	_ "k8s.io/kubernetes/pkg/apis/storage/install"    // StorageClass and the CSI kinds
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
)

// decode reads an object of any served version and fills in the defaults that an API server would store.
func decode(raw json.RawMessage) (runtime.Object, error) {
	object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(object)
	return object, nil
}

// load puts an object where kube-scheduler's plugins look for it.
func (w *world) load(ctx context.Context, raw json.RawMessage) error {
	object, err := decode(raw)
	if err != nil {
		return err
	}
	if list, ok := object.(*corev1.List); ok {
		for index := range list.Items {
			if err := w.load(ctx, list.Items[index].Raw); err != nil {
				return fmt.Errorf("items[%d]: %w", index, err)
			}
		}
		return nil
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	w.complete(object, accessor)
	switch object := object.(type) {
	case *corev1.Node:
		w.cache.AddNode(klog.FromContext(ctx), object)
	case *corev1.Pod:
		return w.loadPod(ctx, object)
	}
	indexer := w.indexer(object)
	if indexer == nil {
		return fmt.Errorf("the judge knows no %T", object)
	}
	return indexer.Add(object)
}

// complete gives an object what only a live cluster gives: a namespace, an identity and a version, and to a new
// volume that no claim has yet the phase that the volume controller sets.
func (w *world) complete(object runtime.Object, accessor metav1.Object) {
	volume, ok := object.(*corev1.PersistentVolume)
	if ok && volume.Status.Phase == corev1.VolumePending && volume.Spec.ClaimRef == nil {
		volume.Status.Phase = corev1.VolumeAvailable
	}
	if accessor.GetNamespace() == "" && namespaced(object) {
		accessor.SetNamespace(metav1.NamespaceDefault)
	}
	if accessor.GetUID() == "" {
		parts := []string{fmt.Sprintf("%T", object), accessor.GetNamespace(), accessor.GetName()}
		accessor.SetUID(types.UID(strings.Join(parts, "/")))
	}
	accessor.SetResourceVersion(w.nextVersion())
}

func namespaced(object runtime.Object) bool {
	switch object.(type) {
	case *corev1.Node, *corev1.Namespace, *corev1.PersistentVolume, *schedulingv1.PriorityClass,
		*storagev1.StorageClass, *storagev1.CSINode, *storagev1.CSIDriver, *storagev1.VolumeAttachment:
		return false
	}
	return true
}

func (w *world) indexer(object runtime.Object) toolscache.Indexer {
	factory := w.informers
	switch object.(type) {
	case *corev1.Node:
		return factory.Core().V1().Nodes().Informer().GetIndexer()
	case *corev1.Namespace:
		return factory.Core().V1().Namespaces().Informer().GetIndexer()
	case *corev1.Pod:
		return factory.Core().V1().Pods().Informer().GetIndexer()
	case *corev1.PersistentVolume:
		return factory.Core().V1().PersistentVolumes().Informer().GetIndexer()
	case *corev1.PersistentVolumeClaim:
		return factory.Core().V1().PersistentVolumeClaims().Informer().GetIndexer()
	case *corev1.Service:
		return factory.Core().V1().Services().Informer().GetIndexer()
	case *corev1.ReplicationController:
		return factory.Core().V1().ReplicationControllers().Informer().GetIndexer()
	case *appsv1.ReplicaSet:
		return factory.Apps().V1().ReplicaSets().Informer().GetIndexer()
	case *appsv1.StatefulSet:
		return factory.Apps().V1().StatefulSets().Informer().GetIndexer()
	case *policyv1.PodDisruptionBudget:
		return factory.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer()
	case *schedulingv1.PriorityClass:
		return factory.Scheduling().V1().PriorityClasses().Informer().GetIndexer()
	case *storagev1.StorageClass:
		return factory.Storage().V1().StorageClasses().Informer().GetIndexer()
	case *storagev1.CSINode:
		return factory.Storage().V1().CSINodes().Informer().GetIndexer()
	case *storagev1.CSIDriver:
		return factory.Storage().V1().CSIDrivers().Informer().GetIndexer()
	case *storagev1.CSIStorageCapacity:
		return factory.Storage().V1().CSIStorageCapacities().Informer().GetIndexer()
	case *storagev1.VolumeAttachment:
		return factory.Storage().V1().VolumeAttachments().Informer().GetIndexer()
	}
	return nil
}

// loadPod takes a pod in as kube-scheduler's watch does: ended pods are not listed at all, pods with a node
// count, pods without one are only known by name.
func (w *world) loadPod(ctx context.Context, pod *corev1.Pod) error {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	if err := admit(ctx, pod); err != nil {
		return err
	}
	if pod.Spec.NodeName != "" {
		if err := w.cache.AddPod(klog.FromContext(ctx), pod); err != nil {
			return err
		}
	}
	return w.indexer(pod).Add(pod)
}

// admit changes the spec as the API server does when a pod is created: above all it writes matchLabelKeys and
// mismatchLabelKeys into the selectors, which kube-scheduler itself does not do. Doing it twice changes nothing.
func admit(ctx context.Context, pod *corev1.Pod) error {
	var internal core.Pod
	if err := legacyscheme.Scheme.Convert(pod, &internal, nil); err != nil {
		return err
	}
	podregistry.Strategy.PrepareForCreate(ctx, &internal)
	var admitted corev1.Pod
	if err := legacyscheme.Scheme.Convert(&internal, &admitted, nil); err != nil {
		return err
	}
	pod.Spec = admitted.Spec
	return nil
}
