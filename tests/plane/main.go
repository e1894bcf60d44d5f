// The test control plane as one program: the first argument names the part that it is to be.
//
// The hard thing is that these programs expect to be alone: each one registers flags in the process-wide
// flag sets while packages are initialised, and reads os.Args itself. So the name of the part is cut out of
// os.Args before the part starts, and kwok, whose own --version would meet Kubernetes' one, gets a fresh set.
//
// A server ends when its standard input does: tests hold the other end, so no server outlives them.
package main

import (
	"fmt"
	"io"
	"os"
	_ "time/tzdata" // time zones for CronJobs, on a machine that has none

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the JSON log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // the metric that states the version
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"

	"plane/judge"
)

func main() {
	if len(os.Args) < 2 {
		fail("name a part: etcd, kube-apiserver, kube-scheduler, kube-controller-manager, kwok, kubectl, judge or key")
	}
	part := os.Args[1]
	os.Args = append([]string{part}, os.Args[2:]...)
	switch part {
	case "judge":
		judge.Main()
	case "key":
		writeKey()
	case "kubectl":
		runKubectl()
	default:
		go endWithInput()
		serve(part)
	}
}

// serve runs a server until it is told to stop.
func serve(part string) {
	switch part {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	case "kwok":
		runKwok()
	default:
		fail(fmt.Sprintf("there is no part %q", part))
	}
}

// runKwok does what kwok's own main function does.
func runKwok() {
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ExitOnError)
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		fail(fmt.Sprintf("kwok's settings: %v", err))
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	if err := command.ExecuteContext(ctx); err != nil {
		fail(fmt.Sprintf("kwok: %v", err))
	}
}

// runKubectl does what kubectl's own main function does.
func runKubectl() {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}

// writeKey writes a new private key, for the tokens of service accounts.
func writeKey() {
	key, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		fail(err.Error())
	}
	_, _ = os.Stdout.Write(key)
}

// endWithInput ends this process as soon as nobody can write to its standard input any more.
func endWithInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func fail(reason string) {
	fmt.Fprintln(os.Stderr, "plane:", reason)
	os.Exit(1)
}
