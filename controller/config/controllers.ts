/** Which of the framework's controllers run: `--controllers` with names, aliases, `*` and `-name`. */
import type { Parser } from "../formats/values.ts";

/** What each of ours is called upstream, long and short. */
const NAMES = {
  node: ["cloud-node-controller", "cloud-node"],
  lifecycle: ["cloud-node-lifecycle-controller", "cloud-node-lifecycle"],
  service: ["service-lb-controller", "service"],
  route: ["node-route-controller", "route"],
} as const;

/** For each one the first word of the list that names it decides; then `*`. An empty list switches everything off. */
export const controllers: Parser<Readonly<Record<keyof typeof NAMES, boolean>>> = (text) => {
  const words = text.split(",").map((word) => word.trim());
  const known: readonly string[] = Object.values(NAMES).flat();
  const unknown = words.filter((word) => word !== "" && word !== "*" && !known.includes(word.replace(/^-/, "")));
  if (unknown.length > 0)
    return { allowed: `a list of *, names and -names: ${unknown.join(", ")} not among ${known.join(", ")}` };
  const isOn = (names: readonly string[]) => {
    const word = words.find((candidate) => names.includes(candidate.replace(/^-/, "")));
    return word === undefined ? words.includes("*") : !word.startsWith("-");
  };
  const { node, lifecycle, service, route } = NAMES;
  return { value: { node: isOn(node), lifecycle: isOn(lifecycle), service: isOn(service), route: isOn(route) } };
};
