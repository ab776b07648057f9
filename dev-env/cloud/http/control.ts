import type { IncomingMessage } from "node:http";
import { refuse } from "../api/errors.ts";
import type { Answer } from "../api/route.ts";
import { integer, object, parseBody } from "../api/schema.ts";
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
const done: Answer = { status: 204 };

/** What tests in another process may do to the cloud, at `/_control/…`; no token is asked for on loopback. */
export function controlDoor({ project, journal, faults }: ControlParts): SideDoor {
  const commands: Readonly<Record<string, Command>> = {
    "GET /_control/journal": () => ok({ entries: journal.entries }),
    "DELETE /_control/journal": () => {
      journal.clear();
      return done;
    },
    "GET /_control/faults": () => ok({ faults: faults.list() }),
    "POST /_control/faults": (body) => ({ status: 201, body: { id: faults.add(parseBody(faultBody, body)).id } }),
    "DELETE /_control/faults": () => {
      faults.clear();
      return done;
    },
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
  const handle = async (request: IncomingMessage, url: URL): Promise<Answer> => {
    const command = commands[`${request.method} ${url.pathname}`];
    if (!command) throw refuse("not_found", `no such control command; there are ${Object.keys(commands).join(", ")}`);
    return command(await readJson(request));
  };
  return { prefix: "/_control/", handle };
}

function snapshotOf(body: unknown): ProjectSnapshot {
  const isSnapshot = typeof body === "object" && body !== null && "tables" in body && "nextId" in body;
  if (!isSnapshot) throw refuse("invalid_input", "not a snapshot", { fields: [] });
  // Snapshots only ever come from this simulator; the shape above tells one from anything else.
  return body as ProjectSnapshot;
}
