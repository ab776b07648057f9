/** Compares a response of the API with the simulator's, where ids, addresses and times differ by nature. */
import ipaddr from "ipaddr.js";

/** Recorded ids and addresses with those that the simulator uses for them. */
export class Names {
  readonly #known = new Map<string, string>();

  /** The simulator's value for a recorded one; undefined if it has not occurred yet. */
  of(recorded: string | number): string | undefined {
    return this.#known.get(String(recorded));
  }

  /** Whether both mean the same. Remembers them when the recorded one occurs for the first time. */
  agree(recorded: string | number, simulated: string | number): boolean {
    const known = this.of(recorded);
    if (known === undefined) this.#known.set(String(recorded), String(simulated));
    return known === undefined || known === String(simulated);
  }
}

/** Fields with ids, also in lists. */
export const ID_FIELDS: ReadonlySet<string> = new Set([
  "id",
  "network",
  "networks",
  "server",
  "servers",
  "load_balancer",
  "load_balancers",
  "certificates",
  "assignee_id",
]);

/** What depends on time or chance, or belongs to the catalogue rather than the project. */
const IGNORED =
  /^(created|started|finished|progress|locked|mac_address|.*traffic|not_valid_.*|health_status|image|iso|prices|description|datacenter|location|locations|server_type|load_balancer_type|backup_window|primary_disk_size)$/;

/** Dates, and default names of addresses: any two are equal. */
const ANY = [/^\d{4}-\d\d-\d\dT/, /^static\..*your-server\.de$/];

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** All differences, each as `path: what`. */
export function compare(recorded: unknown, simulated: unknown, names: Names, path = ""): readonly string[] {
  const field = path.slice(path.lastIndexOf(".") + 1).replace("[]", "");
  if (Array.isArray(recorded) && Array.isArray(simulated)) return compareLists(recorded, simulated, names, path);
  if (isFields(recorded) && isFields(simulated)) return compareFields(recorded, simulated, names, path);
  if (isName(field, recorded) && isName(field, simulated)) {
    return names.agree(recorded, simulated) ? [] : [`${path}: refers to another resource or address`];
  }
  if (/^<\w+>$/.test(String(recorded)) && typeof simulated === typeof recorded) return []; // removed from the recording
  if (ANY.some((kind) => kind.test(String(recorded)) && kind.test(String(simulated)))) return [];
  return Object.is(recorded, simulated)
    ? []
    : [`${path}: the API has ${show(recorded)}, the simulator ${show(simulated)}`];
}

/** Whether a value is an id or an address. */
function isName(field: string, value: unknown): value is string | number {
  if (typeof value === "number") return ID_FIELDS.has(field);
  return typeof value === "string" && /[.:]/.test(value) && ipaddr.isValid(value.split("/")[0] ?? "");
}

function compareFields(recorded: Fields, simulated: Fields, names: Names, path: string): readonly string[] {
  // How far an action is depends on the time.
  const isAction = "command" in recorded;
  const fields = [...new Set([...Object.keys(recorded), ...Object.keys(simulated)])];
  return fields.flatMap((field) => {
    const where = path === "" ? field : `${path}.${field}`;
    if (!(field in simulated)) return [`${where}: the simulator does not have it`];
    if (!(field in recorded)) return [`${where}: only the simulator has it`];
    if (IGNORED.test(field) || (isAction && field === "status")) return [];
    return compare(recorded[field], simulated[field], names, where);
  });
}

/** Lists have no order: elements are matched by what identifies them. */
function compareLists(
  recorded: readonly unknown[],
  simulated: readonly unknown[],
  names: Names,
  path: string,
): readonly string[] {
  if (recorded.length !== simulated.length) {
    return [`${path}: the API lists ${recorded.length}, the simulator ${simulated.length}`];
  }
  const keyed = recorded.toSorted(byKey((name) => names.of(name) ?? String(name)));
  const others = simulated.toSorted(byKey(String));
  return keyed.flatMap((item, index) => compare(item, others[index], names, `${path}[]`));
}

function byKey(translate: (name: string | number) => string) {
  const keyOf = (item: unknown): string => {
    if (!isFields(item)) return typeof item === "number" ? translate(item) : String(item);
    const { name, listen_port, destination, ip_range, server, command } = item;
    const target = isFields(server) && typeof server.id === "number" ? translate(server.id) : undefined;
    return String(name ?? listen_port ?? destination ?? ip_range ?? target ?? command ?? "");
  };
  return (a: unknown, b: unknown) => keyOf(a).localeCompare(keyOf(b));
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
