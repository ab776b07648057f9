/** Which of the framework's controllers run: `--controllers` with names, aliases, `*` and `-name`. */
import type { Parser } from "../formats/values.ts";

/** Upstream's name and alias for each controller. */
const NAMES = {
  node: ["cloud-node-controller", "cloud-node"],
  lifecycle: ["cloud-node-lifecycle-controller", "cloud-node-lifecycle"],
  service: ["service-lb-controller", "service"],
  route: ["node-route-controller", "route"],
} as const;

/** The first entry that names a controller decides, otherwise `*`. An empty list disables every controller. */
export const controllers: Parser<Readonly<Record<keyof typeof NAMES, boolean>>> = (text) => {
  const words = text.split(",").map((word) => word.trim());
  const known: readonly string[] = Object.values(NAMES).flat();
  const unknown = words.filter((word) => word !== "" && word !== "*" && !known.includes(word.replace(/^-/, "")));
  if (unknown.length > 0)
    return { allowed: `a list of *, name and -name (unknown: ${unknown.join(", ")}; known: ${known.join(", ")})` };
  const isOn = (names: readonly string[]) => {
    const word = words.find((candidate) => names.includes(candidate.replace(/^-/, "")));
    return word === undefined ? words.includes("*") : !word.startsWith("-");
  };
  const { node, lifecycle, service, route } = NAMES;
  return { value: { node: isOn(node), lifecycle: isOn(lifecycle), service: isOn(service), route: isOn(route) } };
};
