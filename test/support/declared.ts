/** Runs Pulumi programs with Pulumi's mocks and records what they declare. */
import * as pulumi from "@pulumi/pulumi";
import { PROJECT } from "../../stacks/units/names.ts";

/** A resource that a program declared. */
export interface Declared {
  readonly type: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly parent: string;
  readonly deletedWith: string;
  readonly deleteBeforeReplace: boolean;
  readonly ignoreChanges: readonly string[];
  readonly dependencies: readonly string[];
  readonly protect: boolean;
  readonly provider: string;
}

/** A registration request as the engine's monitor receives it. */
interface Registration {
  getName(): string;
  getType(): string;
  getParent(): string;
  getDeletedwith(): string;
  getDeletebeforereplace(): boolean;
  getIgnorechangesList(): string[];
  getDependenciesList(): string[];
  getProtect(): boolean;
  getProvider(): string;
}

/** Properties that the cloud would add to a new resource. */
export type Computed = (type: string, name: string) => Readonly<Record<string, unknown>>;

/** Runs a program. Every resource gets the id 42; `computed` adds outputs. Returns the declarations by name. */
export async function declared<T>(program: () => T | Promise<T>, computed: Computed = () => ({})) {
  const found = new Map<string, Declared>();
  const inputs = new Map<string, Record<string, unknown>>();
  const mocks = {
    newResource: (args: pulumi.runtime.MockResourceArgs) => {
      inputs.set(args.name, args.inputs);
      return { id: "42", state: { ...args.inputs, ...computed(args.type, args.name) } };
    },
    call: ({ token }: pulumi.runtime.MockCallArgs) => {
      throw new Error(`programs look nothing up, but this one called ${token}`);
    },
  };
  await pulumi.runtime.setMocks(mocks, PROJECT, "test");
  const monitor = pulumi.runtime.getMonitor() as unknown as {
    registerResource: (request: Registration, callback: unknown) => Promise<void>;
  };
  const register = monitor.registerResource.bind(monitor);
  monitor.registerResource = async (request, callback) => {
    await register(request, callback);
    const name = request.getName();
    found.set(name, {
      type: inputs.has(name) ? request.getType() : "",
      name,
      inputs: inputs.get(name) ?? {},
      parent: request.getParent(),
      deletedWith: request.getDeletedwith(),
      deleteBeforeReplace: request.getDeletebeforereplace(),
      ignoreChanges: request.getIgnorechangesList(),
      dependencies: request.getDependenciesList(),
      protect: request.getProtect(),
      provider: request.getProvider(),
    });
  };
  const outputs = await program();
  await pulumi.runtime.disconnect();
  return { outputs, found, names: [...found.keys()].toSorted(), part: (name: string) => found.get(name) };
}

/** The value of an output, after its program has run with the mocks. */
export function resolved<T>(output: pulumi.Output<T>): Promise<T> {
  return new Promise((resolve) => {
    output.apply(resolve);
  });
}
