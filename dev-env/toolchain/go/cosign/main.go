// cosign without the key services of AWS, Azure, Google and HashiCorp, which take most of the official build.
package main

import (
	"log"

	"github.com/sigstore/cosign/v3/cmd/cosign/cli"
)

func main() {
	if err := cli.New().Execute(); err != nil {
		log.Fatal(err)
	}
}
