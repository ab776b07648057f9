import type { IncomingMessage } from "node:http";
import { refuse } from "../api/errors.ts";
import { id, ipv4 } from "../api/fields.ts";
import { labels } from "../api/labels.ts";
import { given } from "../api/resource.ts";
import type { Answer } from "../api/route.ts";
import {
  boolean,
  type Check,
  integer,
  nullable,
  object,
  oneOf,
  optional,
  optionalOrNull,
  parseBody,
  string,
} from "../api/schema.ts";
import { seedNetwork, seedServer } from "../seed.ts";
import { ManualClock } from "../state/clock.ts";
import type { Project, ProjectSnapshot } from "../state/project.ts";
import { readJson } from "./body.ts";
import type { SideDoor } from "./endpoint.ts";
import { type Faults, faultBody } from "./faults.ts";
import type { Journal } from "./journal.ts";

/** What the control endpoint controls. */
export interface ControlParts {
  readonly project: Project;
  readonly journal: Journal;
  readonly faults: Faults;
}

type Command = (body: unknown) => Answer;

const ok = (body: unknown): Answer => ({ status: 200, body });
const created = (body: unknown): Answer => ({ status: 201, body });
const done: Answer = { status: 204 };

const networkSeed = object({
  name: optional(string()),
  ipRange: optional(string()),
  subnet: optionalOrNull(string()),
  zone: optional(string()),
  labels: optional(labels),
});

const serverSeed = object({
  name: string(),
  network: optional(id),
  privateIp: optional(ipv4),
  type: optional(string()),
  image: optional(string()),
  location: optional(string()),
  labels: optional(labels),
  status: optional(oneOf("running", "off")),
  publicIpv4: optional(boolean),
  publicIpv6: optional(boolean),
  backend: optional(ipv4),
});

/** Targets are known by server id or by IP. */
const serverOrIp: Check<number | string> = (value, path) =>
  typeof value === "number" ? id(value, path) : string({ min: 1 })(value, path);

const healthBody = object({
  target: serverOrIp,
  status: nullable(oneOf("healthy", "unhealthy", "unknown")),
});

/** A snapshot of ten thousand servers has about ten megabytes. */
const MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024;

type Commands = Readonly<Record<string, Command>>;

/** What tests in another process may do to the cloud, at `/_control/…`; no token is asked for on loopback. */
export function controlDoor(parts: ControlParts): SideDoor {
  const commands: Commands = { ...observation(parts), ...seeding(parts), ...timeTravel(parts) };
  const handle = async (request: IncomingMessage, url: URL): Promise<Answer> => {
    const command = commands[`${request.method} ${url.pathname}`];
    if (!command) throw refuse("not_found", `no such control command; there are ${Object.keys(commands).join(", ")}`);
    return command(await readJson(request, MAX_SNAPSHOT_BYTES));
  };
  return { prefix: "/_control/", handle };
}

function observation({ journal, faults }: ControlParts): Commands {
  return {
    "GET /_control/journal": () => ok({ entries: journal.entries }),
    "DELETE /_control/journal": () => {
      journal.clear();
      return done;
    },
    "GET /_control/faults": () => ok({ faults: faults.list() }),
    "POST /_control/faults": (body) => created({ id: faults.add(parseBody(faultBody, body)).id }),
    "DELETE /_control/faults": () => {
      faults.clear();
      return done;
    },
  };
}

function seeding({ project }: ControlParts): Commands {
  return {
    "POST /_control/networks": (body) =>
      created({ network: seedNetwork(project, given(parseBody(networkSeed, body))) }),
    "POST /_control/servers": (body) => {
      const { name, ...rest } = parseBody(serverSeed, body);
      return created({ server: seedServer(project, { name, ...given(rest) }) });
    },
    "PUT /_control/health": (body) => {
      const { target, status } = parseBody(healthBody, body);
      project.health.overrule(target, status === null ? undefined : { status });
      return done;
    },
  };
}

function timeTravel({ project }: ControlParts): Commands {
  return {
    "GET /_control/snapshot": () => ok(project.snapshot()),
    "PUT /_control/snapshot": (body) => {
      project.restore(snapshotOf(body));
      return done;
    },
    "POST /_control/clock": (body) => {
      if (!(project.clock instanceof ManualClock)) throw refuse("unsupported_error", "the clock is the machine's own");
      project.clock.advance(parseBody(object({ advanceMs: integer({ min: 0 }) }), body).advanceMs);
      return ok({ now: project.clock.now() });
    },
  };
}

function snapshotOf(body: unknown): ProjectSnapshot {
  const isSnapshot = typeof body === "object" && body !== null && "tables" in body && "nextId" in body;
  if (!isSnapshot) throw refuse("invalid_input", "not a snapshot", { fields: [] });
  // Snapshots only ever come from this simulator; the shape above tells one from anything else.
  return body as ProjectSnapshot;
}
