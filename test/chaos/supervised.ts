/** A controller under supervision, as by a kubelet. */
import type { ControllerProcess } from "../support/controller-process.ts";
import type { World } from "../support/world.ts";

/** Restarts a controller whenever it exits, until it is stopped. */
export class Supervised {
  #controller: ControllerProcess;
  #isStopped = false;

  constructor(world: World, flags: readonly string[] = []) {
    this.#controller = world.startController(flags);
    void this.#watch(world, flags);
  }

  get pid(): number {
    return this.#controller.pid;
  }

  tail(): string {
    return this.#controller.tail();
  }

  kill(): void {
    this.#controller.signal("SIGKILL");
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#controller.stop();
  }

  async #watch(world: World, flags: readonly string[]): Promise<void> {
    for (;;) {
      await this.#controller.ended;
      if (this.#isStopped || world.isEnding) return;
      this.#controller = world.startController(flags);
    }
  }
}
