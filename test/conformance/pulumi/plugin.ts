/** A client of the real plugin, over gRPC. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import type { Cloud } from "../../../dev-env/cloud/cloud.ts";
import { ensureToolchain } from "../../../dev-env/toolchain/toolchain.ts";

/** The gRPC packages of the SDK. */
const fromSdk = createRequire(createRequire(import.meta.url).resolve("@pulumi/pulumi/package.json"));
const grpc = fromSdk("@grpc/grpc-js");
const { Struct } = fromSdk("google-protobuf/google/protobuf/struct_pb.js");
const messages = fromSdk("@pulumi/pulumi/proto/provider_pb.js");
const { ResourceProviderClient } = fromSdk("@pulumi/pulumi/proto/provider_grpc_pb.js");

export type Properties = Readonly<Record<string, unknown>>;

/** A resource that the plugin has created or imported. */
export interface Deployed {
  readonly type: string;
  readonly id: string;
  readonly inputs: Properties;
  readonly state: Properties;
}

/** How the plugin would apply changed inputs. */
export interface Verdict {
  readonly action: "none" | "update" | "replace";
  readonly keys: readonly string[];
}

/** Provider settings for tests: polls actions every 10 ms. */
export const FAST_POLLS: Properties = { pollInterval: "10ms", pollFunction: "constant" };

// biome-ignore lint/suspicious/noExplicitAny: generated stubs without usable types
type Message = any;

/** The real `pulumi-resource-hcloud`, called as the engine does. */
export class Plugin {
  readonly #process: ChildProcess;
  readonly #client: Message;
  readonly #port: string;
  /** Output of the plugin to stderr, including panics. */
  readonly stderr: string[] = [];

  private constructor(child: ChildProcess, port: string) {
    this.#process = child;
    this.#port = port;
    child.stderr?.on("data", (chunk) => this.stderr.push(String(chunk)));
    this.#client = new ResourceProviderClient(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  }

  /** Starts and configures the plugin, with token and endpoint in the environment. */
  static async start({ url, token }: Pick<Cloud, "url" | "token">, settings: Properties = FAST_POLLS): Promise<Plugin> {
    const { paths } = await ensureToolchain(["pulumi-resource-hcloud"]);
    const env = { PATH: "", HCLOUD_TOKEN: token, HCLOUD_ENDPOINT: url };
    // The argument is the engine's address for log messages. Nothing listens there, which the plugin tolerates.
    const child = spawn(paths["pulumi-resource-hcloud"], ["127.0.0.1:1"], { env, stdio: ["ignore", "pipe", "pipe"] });
    const [port] = await once(createInterface({ input: child.stdout }), "line");
    const plugin = new Plugin(child, port);
    await plugin.configure(settings);
    return plugin;
  }

  /** The same plugin as any other process on the machine reaches it: its port needs no credential. */
  intrude(): Plugin {
    return new Plugin(this.#process, this.#port);
  }

  /** False after the process has exited, which only a panic causes. */
  get isAlive(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  async stop(): Promise<void> {
    this.#client.close();
    if (this.isAlive) {
      const gone = once(this.#process, "exit");
      this.#process.kill("SIGKILL");
      await gone;
    }
  }

  async create(type: string, inputs: Properties): Promise<Deployed> {
    const checked = await this.check(type, inputs);
    const response = await this.#call("create", requestOf("Create", type, { Properties: toStruct(checked) }));
    return { type, id: response.getId(), inputs: checked, state: fromStruct(response.getProperties()) };
  }

  /** Reads a resource, as `pulumi refresh` does; undefined if it no longer exists. */
  async read({
    type,
    id,
    state = {},
    inputs = {},
  }: Pick<Deployed, "type" | "id"> & Partial<Deployed>): Promise<Deployed | undefined> {
    const fields = { Id: id, Properties: toStruct(state), Inputs: toStruct(inputs) };
    const response = await this.#call("read", requestOf("Read", type, fields));
    if (response.getId() === "") return undefined;
    const found = { state: fromStruct(response.getProperties()), inputs: fromStruct(response.getInputs()) };
    return { type, id: response.getId(), ...found };
  }

  async diff({ type, id, state, inputs }: Deployed, news: Properties): Promise<Verdict> {
    const checked = await this.check(type, news, inputs);
    const fields = { Id: id, Olds: toStruct(state), OldInputs: toStruct(inputs), News: toStruct(checked) };
    const response = await this.#call("diff", requestOf("Diff", type, fields));
    const isChanged = response.getChanges() === messages.DiffResponse.DiffChanges.DIFF_SOME;
    const replaces = response.getReplacesList();
    return { action: !isChanged ? "none" : replaces.length > 0 ? "replace" : "update", keys: response.getDiffsList() };
  }

  async update(resource: Deployed, news: Properties): Promise<Deployed> {
    const { type, id, state, inputs } = resource;
    const checked = await this.check(type, news, inputs);
    const fields = { Id: id, Olds: toStruct(state), OldInputs: toStruct(inputs), News: toStruct(checked) };
    const response = await this.#call("update", requestOf("Update", type, fields));
    return { ...resource, inputs: checked, state: fromStruct(response.getProperties()) };
  }

  async delete({ type, id, state, inputs }: Deployed): Promise<void> {
    const fields = { Id: id, Properties: toStruct(state), OldInputs: toStruct(inputs) };
    await this.#call("delete", requestOf("Delete", type, fields));
  }

  async check(type: string, inputs: Properties, olds: Properties = {}): Promise<Properties> {
    const fields = { Olds: toStruct(olds), News: toStruct(inputs) };
    const response = await this.#call("check", requestOf("Check", type, fields));
    const failures: Message[] = response.getFailuresList();
    if (failures.length > 0) throw new Error(failures.map((failure) => failure.getReason()).join("; "));
    return fromStruct(response.getInputs());
  }

  async configure(settings: Properties): Promise<void> {
    const request = new messages.ConfigureRequest();
    for (const [name, value] of Object.entries(settings)) {
      request.getVariablesMap().set(`hcloud:config:${name}`, String(value));
    }
    request.setArgs(toStruct(settings));
    await this.#call("configure", request);
  }

  #call(method: string, request: Message): Promise<Message> {
    return new Promise((resolve, reject) => {
      const deadline = Date.now() + 100_000;
      this.#client[method](request, new grpc.Metadata(), { deadline }, (error: Error | null, response: Message) =>
        error ? reject(error) : resolve(response),
      );
    });
  }
}

/** A request about a resource, such as `DiffRequest`, with these fields. */
function requestOf(kind: string, type: string, fields: Readonly<Record<string, Message>>): Message {
  const request = new messages[`${kind}Request`]();
  request.setUrn(`urn:pulumi:test::conformance::hcloud:index/${type}::resource`);
  for (const [name, value] of Object.entries(fields)) request[`set${name}`](value);
  return request;
}

function toStruct(properties: Properties): Message {
  return Struct.fromJavaScript(JSON.parse(JSON.stringify(properties)));
}

function fromStruct(struct: Message): Properties {
  return struct ? struct.toJavaScript() : {};
}
