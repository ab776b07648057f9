/** The control endpoint: faults, journal and health over HTTP. */
import type { IncomingMessage } from "node:http";
import { refuse } from "../api/errors.ts";
import { id } from "../api/fields.ts";
import type { Answer } from "../api/route.ts";
import { type Check, nullable, object, oneOf, parseBody, string } from "../api/schema.ts";
import { readJson } from "./body.ts";
import type { EndpointOptions, SideEndpoint } from "./endpoint.ts";
import { FAULT_KINDS, type Fault } from "./faults.ts";

type ControlParts = Pick<EndpointOptions, "project" | "journal" | "faults">;

/** Checks only the kind of the effect. */
const faultBody: Check<Fault> = (value) => {
  const fault = value as Fault;
  oneOf(...FAULT_KINDS)(fault?.effect?.kind, "effect.kind");
  return fault;
};

/** A target: a server id or an IP. */
const serverOrIp: Check<number | string> = (value, path) =>
  typeof value === "number" ? id(value, path) : string({ min: 1 })(value, path);

const healthBody = object({ target: serverOrIp, status: nullable(oneOf("healthy", "unhealthy", "unknown")) });

/** `/_control/…`, for other processes. It needs no token, because it listens on loopback only. */
export function controlEndpoint({ project, journal, faults }: ControlParts): SideEndpoint {
  const commands: Readonly<Record<string, (body: unknown) => unknown>> = {
    "GET /_control/journal": () => ({ entries: journal.entries }),
    "DELETE /_control/journal": () => journal.clear(),
    "GET /_control/faults": () => ({ faults: faults.list() }),
    "POST /_control/faults": (body) => ({ id: faults.add(parseBody(faultBody, body)).id }),
    "DELETE /_control/faults": () => faults.clear(),
    "PUT /_control/health": (body) => {
      const { target, status } = parseBody(healthBody, body);
      project.health.override(target, status === null ? undefined : { status });
    },
  };
  const handle = async (request: IncomingMessage, url: URL): Promise<Answer> => {
    const command = commands[`${request.method} ${url.pathname}`];
    if (!command)
      throw refuse("not_found", `unknown control command; expected one of: ${Object.keys(commands).join(", ")}`);
    const body = command(await readJson(request));
    if (body === undefined) return { status: 204 };
    return { status: request.method === "POST" ? 201 : 200, body };
  };
  return { prefix: "/_control/", handle };
}
