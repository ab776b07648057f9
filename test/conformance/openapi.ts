/** Validates responses against the official API description. */
import { existsSync, readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { routePath } from "../../dev-env/cloud/api/route.ts";

/** The official description, in a folder beside the project. It is not shipped. */
const DOCUMENT = new URL("../../../shared/reference/hcloud-openapi.json", import.meta.url);

interface Operation {
  readonly responses: Readonly<
    Record<string, { readonly content?: { readonly "application/json"?: { schema: object } } }>
  >;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Changes of October 2026, which take precedence over the older document. */
const NEWER: Readonly<Record<string, object | null>> = {
  "DELETE /load_balancers/{} 201": { type: "object", required: ["action"] },
  "GET /networks/{}/members 200": { type: "object", required: ["members", "meta"] },
};

export const hasOpenApi = existsSync(DOCUMENT);
if (!hasOpenApi) process.stderr.write("SKIPPED: validation of responses, because there is no OpenAPI document\n");

const schemas = hasOpenApi ? loadSchemas() : new Map<string, object>();
const validators = new Map<string, ValidateFunction>();
const ajv = new Ajv2020({
  strict: false,
  formats: { "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/, decimal: /^\d+\.\d+$/ },
  logger: false,
});
for (const format of ["int32", "int64", "double"]) ajv.addFormat(format, true);

function loadSchemas(): Map<string, object> {
  const text = readFileSync(DOCUMENT, "utf8");
  const document: OpenApi = JSON.parse(text, newerField);
  const found = new Map<string, object>();
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      for (const [status, { content }] of Object.entries(operation.responses ?? {})) {
        const key = `${method.toUpperCase()} ${path.replace(/\{[^}]+\}/g, "{}")} ${status}`;
        found.set(key, content?.["application/json"]?.schema ?? { type: "null" });
      }
    }
  }
  return found;
}

/** Since August 2026 a free primary IP is `unassigned`; since October a load balancer may have one. */
function newerField(key: string, value: unknown): unknown {
  return key === "assignee_type" ? { type: "string", enum: ["server", "load_balancer", "unassigned"] } : value;
}

/** How a response violates the official description; undefined if it does not, or if it is not described. */
export function violationOf(method: string, path: string, status: number, body: unknown): string | undefined {
  if (!hasOpenApi) return undefined;
  const base = `${method} ${routePath(path.replace(/\?.*$/, "")).path}`;
  const exact = `${base} ${status}`;
  const key = status >= 400 ? `${base} ${Math.floor(status / 100)}xx` : exact;
  const schema = NEWER[exact] ?? schemas.get(key);
  if (!schema) return status >= 400 ? undefined : `${exact} is not documented`;
  const validate = validators.get(key) ?? ajv.compile(schema);
  validators.set(key, validate);
  if (validate(body ?? null)) return undefined;
  return `${exact}: ${ajv.errorsText(validate.errors?.slice(0, 5))}`;
}
