/** Ends a command when its user wants that. */
import type { Screen } from "./screen.ts";

/** The first Ctrl-C, or a closed terminal, finishes what is under way; a second Ctrl-C ends at once. */
export function listenForStop(stop: AbortController, screen: Screen): void {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      // Kernel and shell may each send a SIGHUP when the terminal is closed.
      if (stop.signal.aborted && name === "SIGHUP") return;
      if (stop.signal.aborted) process.exit(130);
      screen.say("stopping", "finishing what is under way; press Ctrl-C again to end at once");
      stop.abort();
    });
  }
}
