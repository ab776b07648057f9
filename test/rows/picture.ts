/** The picture of docs/explanation/architecture.md, from a table of boxes and arrows. */

interface Box {
  readonly title: string;
  readonly lines: readonly string[];
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly kind: "ours" | "child" | "outside";
}

interface Arrow {
  readonly from: readonly [x: number, y: number];
  readonly to: readonly [x: number, y: number];
  readonly label: string;
}

const HEIGHT = 62;
const COLOURS = { ours: "#e8f1fb", child: "#f3ecfb", outside: "#f1f1ee" } as const;

const BOXES: readonly Box[] = [
  { title: "kube-apiserver", lines: ["Nodes, Services, Secrets"], x: 20, y: 20, width: 180, kind: "outside" },
  { title: "observe", lines: ["watches and lists", "kube/, hcloud/view"], x: 20, y: 130, width: 140, kind: "ours" },
  { title: "render", lines: ["objects → specs", "node/ service/ route/"], x: 190, y: 130, width: 140, kind: "ours" },
  { title: "guard", lines: ["may this happen?", "guard, approval"], x: 360, y: 130, width: 150, kind: "ours" },
  { title: "apply", lines: ["units that differ", "stacks/engine"], x: 540, y: 130, width: 140, kind: "ours" },
  { title: "publish", lines: ["on proof of the lists", "cluster/publish"], x: 710, y: 130, width: 150, kind: "ours" },
  {
    title: "worker",
    lines: ["automation API, program", "child process, recycled"],
    x: 540,
    y: 240,
    width: 180,
    kind: "child",
  },
  {
    title: "pulumi + hcloud plugin",
    lines: ["one start per run", "no token, no memory of it"],
    x: 540,
    y: 350,
    width: 190,
    kind: "child",
  },
  { title: "gateway", lines: ["token, order, budget,", "batching, record"], x: 190, y: 350, width: 160, kind: "ours" },
  { title: "Hetzner Cloud API", lines: ["the truth"], x: 20, y: 460, width: 150, kind: "outside" },
];

const ARROWS: readonly Arrow[] = [
  { from: [90, 82], to: [90, 130], label: "watch" },
  { from: [160, 161], to: [190, 161], label: "" },
  { from: [330, 161], to: [360, 161], label: "" },
  { from: [510, 161], to: [540, 161], label: "" },
  { from: [680, 161], to: [710, 161], label: "" },
  { from: [785, 130], to: [200, 51], label: "status, finalizers, conditions, Events" },
  { from: [610, 192], to: [610, 240], label: "specs and state, over a pipe" },
  { from: [620, 302], to: [620, 350], label: "gRPC" },
  { from: [540, 381], to: [350, 381], label: "loopback, this run only" },
  { from: [210, 412], to: [130, 460], label: "HTTPS, the token" },
  { from: [230, 350], to: [100, 192], label: "lists" },
];

/** The picture as SVG. */
export function renderPicture(): string {
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 540" font-family="sans-serif" font-size="12">',
    "<title>observe, render, guard, apply, publish</title>",
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">',
    '<path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>',
    '<rect width="880" height="540" fill="#fff"/>',
    ...ARROWS.map(drawArrow),
    ...BOXES.map(drawBox),
    "</svg>",
    "",
  ].join("\n");
}

function drawBox({ title, lines, x, y, width, kind }: Box): string {
  const texts = lines.map(
    (line, index) => `<text x="${x + 10}" y="${y + 36 + index * 15}" fill="#444">${escaped(line)}</text>`,
  );
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${HEIGHT}" rx="6" fill="${COLOURS[kind]}" stroke="#777"/>`,
    `<text x="${x + 10}" y="${y + 19}" font-weight="bold">${escaped(title)}</text>`,
    ...texts,
  ].join("");
}

function drawArrow({ from, to, label }: Arrow): string {
  const [x, y] = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2 - 5];
  const anchor = from[1] === to[1] ? "middle" : "start";
  return [
    `<path d="M${from.join(" ")} L${to.join(" ")}" fill="none" stroke="#555" marker-end="url(#tip)"/>`,
    `<text x="${x + (anchor === "start" ? 10 : 0)}" y="${y}" text-anchor="${anchor}" fill="#555" font-size="11">${escaped(label)}</text>`,
  ].join("");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
