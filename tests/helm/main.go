// Helm itself, to render the chart with: the program that people use.
package main

import (
	"os"

	helm "helm.sh/helm/v4/pkg/cmd"
)

func main() {
	command, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err != nil || command.Execute() != nil {
		os.Exit(1)
	}
}
