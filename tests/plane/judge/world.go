package judge

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"

	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
)

// court holds what all cases share: kube-scheduler's plugins and its default profile.
type court struct {
	registry frameworkruntime.Registry
	profile  config.KubeSchedulerProfile
	recorder *metrics.MetricAsyncRecorder
}

// world is one cluster as kube-scheduler sees it. The informers never run: their stores are filled directly,
// which the listers and the volume binder cannot tell from a list and a watch.
type world struct {
	informers informers.SharedInformerFactory
	cache     cache.Cache
	snapshot  *cache.Snapshot
	framework framework.Framework
	client    *recordingClient
	version   int
}

func newCourt() (*court, error) {
	metrics.Register()
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	return &court{
		registry: plugins.NewInTreeRegistry(),
		profile:  defaults.Profiles[0],
		recorder: metrics.NewMetricsAsyncRecorder(1000, time.Second, context.Background().Done()),
	}, nil
}

// newWorld builds the framework as scheduler.New does, less the queue, the event handlers and the bindings.
func (c *court) newWorld(ctx context.Context) (*world, error) {
	client := &recordingClient{}
	factory := scheduler.NewInformerFactory(client, 0)
	claims, err := newClaims(ctx, factory)
	if err != nil {
		return nil, err
	}
	snapshot := cache.NewEmptySnapshot()
	schedulerCache := cache.New(ctx, nil, false)
	built, err := frameworkruntime.NewFramework(ctx, c.registry, c.profile.DeepCopy(),
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedDRAManager(claims),
		frameworkruntime.WithSharedCSIManager(
			nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithMetricsRecorder(c.recorder),
		frameworkruntime.WithPodGroupManager(schedulerCache),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
		frameworkruntime.WithParallelism(1),
	)
	if err != nil {
		return nil, err
	}
	made := &world{informers: factory, cache: schedulerCache, snapshot: snapshot, framework: built, client: client}
	client.world = made
	return made, nil
}

// newClaims gives the plugins for dynamic resources what they ask for. It stays empty: those objects are
// refused when a case is loaded, because they reach the plugins by events only.
func newClaims(ctx context.Context, factory informers.SharedInformerFactory) (fwk.SharedDRAManager, error) {
	slices, err := resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{
		SliceInformer: factory.Resource().V1().ResourceSlices(),
	})
	if err != nil {
		return nil, err
	}
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx),
		factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	return dynamicresources.NewDRAManager(ctx, claims, slices, factory), nil
}
