/** The engine's events as lines for somebody who waits: what is being worked on, what is done, what failed. */
import type { EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation/index.js";
import { parseFailure, stripMarkup } from "../../stacks/engine/errors.ts";

/** How an operation is called while it goes on, and when it is over. Others are the engine's own business. */
const WORDS: Readonly<Record<string, readonly [doing: string, done: string]>> = {
  create: ["creating", "created"],
  "create-replacement": ["creating", "created anew"],
  update: ["changing", "changed"],
  delete: ["deleting", "deleted"],
  "delete-replaced": ["deleting", "deleted"],
};

export class StageSteps {
  readonly #tell: (line: string, isDone: boolean) => void;
  readonly #failures = new Map<string, string>();

  constructor(tell: (line: string, isDone: boolean) => void) {
    this.#tell = tell;
  }

  /** What went wrong, a line for each resource; what the engine says in general only when it names none. */
  get failures(): readonly string[] {
    const specific = [...this.#failures].filter(([about]) => about !== "").map(([, line]) => line);
    return specific.length > 0 ? specific : [...this.#failures.values()];
  }

  take(event: EngineEvent): void {
    const { resourcePreEvent, resOutputsEvent, diagnosticEvent } = event;
    if (resourcePreEvent) this.#step(resourcePreEvent.metadata, false);
    if (resOutputsEvent) this.#step(resOutputsEvent.metadata, true);
    if (diagnosticEvent?.severity === "error") this.#note(diagnosticEvent.urn, diagnosticEvent.message);
  }

  #step({ op, urn, type }: StepEventMetadata, isDone: boolean): void {
    const words = WORDS[op];
    if (!words || type.startsWith("pulumi:")) return;
    const name = describeResource(urn);
    this.#tell(isDone ? `${name} ${words[1]}` : `${words[0]} ${name}`, isDone);
  }

  /** The first message about a resource is the cause; what follows repeats it. */
  #note(urn: string | undefined, message: string): void {
    const about = urn && !urn.includes("::pulumi:pulumi:Stack::") ? describeResource(urn) : "";
    if (this.#failures.has(about) || stripMarkup(message).trim() === "") return;
    const { message: cause } = parseFailure(message);
    this.#failures.set(about, about === "" ? cause : `${about}: ${cause}`);
  }
}

/** A resource in words, from its URN: `server worker-1`, `placement group`. */
export function describeResource(urn: string): string {
  const [, , types = "", ...rest] = urn.split("::");
  const kind = (types.split(":").at(-1) ?? "").replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
  const name = rest.join("::");
  return kind.endsWith(name.replaceAll("-", " ")) ? kind : `${kind} ${name}`;
}
