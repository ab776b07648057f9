// Command launch becomes the program it is told to, of which no core dump can be written: its memory holds the token.
// Node cannot set limits, Kubernetes has no setting for them, and the image has no shell.
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
		return fmt.Errorf("no program is named")
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	// One byte and not none: it is less than any dump has, and the only limit that also keeps the kernel from handing the
	// dump to a program on the machine (core_pattern with a pipe).
	most := min(limit.Max, 1)
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		return err
	}
	return &os.PathError{Op: "exec", Path: command[0], Err: syscall.Exec(command[0], command, os.Environ())}
}
