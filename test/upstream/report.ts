/** Reads the JSON reports of Ginkgo, which Kubernetes' tests are written with. Pure. */

/** What became of a test. */
export interface TestResult {
  /** Its full name, with all labels. */
  readonly test: string;
  readonly outcome: "passed" | "skipped" | "failed";
  readonly seconds: number;
  /** Why it did not pass; empty if it passed, or was not selected in this run. */
  readonly message: string;
}

interface Spec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string };
}

/** The results of all tests in a report, also of those that did not run. */
export function parseReport(json: string): readonly TestResult[] {
  // Ginkgo's format; a suite without specs has null.
  const suites = JSON.parse(json) as readonly { readonly SpecReports: readonly Spec[] | null }[];
  const specs = suites.flatMap(({ SpecReports }) => SpecReports ?? []);
  return specs.filter(({ LeafNodeType }) => LeafNodeType === "It").map(resultOf);
}

function resultOf({ ContainerHierarchyTexts, LeafNodeText, State, RunTime, Failure }: Spec): TestResult {
  return {
    test: [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(" "),
    outcome: State === "passed" || State === "skipped" ? State : "failed",
    seconds: RunTime / 1e9,
    message: Failure?.Message ?? "",
  };
}
