// Command kube-node contains the Kubernetes components that run beside an API server, in one binary: they share most
// of their code, so that four separate binaries would take three times the space. The first argument selects one:
//
//	kube-node kubelet --config=…
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func component(name string) *cobra.Command {
	switch name {
	case "kubelet":
		return kubelet.NewKubeletCommand(context.Background())
	case "kube-proxy":
		return proxy.NewProxyCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kube-controller-manager":
		return controllers.NewControllerManagerCommand()
	}
	return nil
}

func main() {
	if len(os.Args) > 1 {
		if command := component(os.Args[1]); command != nil {
			os.Args = os.Args[1:]
			os.Exit(cli.Run(command))
		}
	}
	fmt.Fprintln(os.Stderr, "usage: kube-node kubelet|kube-proxy|kube-scheduler|kube-controller-manager [flags]")
	os.Exit(2)
}
