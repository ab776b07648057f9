// Command launch disables core dumps, which would contain the token, and then replaces itself with the given program.
// Node cannot set resource limits, Kubernetes has no setting for them, and the image has no shell.
package main

import (
	"fmt"
	"os"
	"syscall"
)

func main() {
	if err := launch(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "launch:", err)
		os.Exit(1)
	}
}

func launch(command []string) error {
	if len(command) == 0 {
		return fmt.Errorf("no program given")
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	// One byte rather than zero: it is smaller than any dump, and the only limit that also stops the kernel from piping the
	// dump to a program on the host (core_pattern).
	most := min(limit.Max, 1)
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		return err
	}
	return &os.PathError{Op: "exec", Path: command[0], Err: syscall.Exec(command[0], command, os.Environ())}
}
