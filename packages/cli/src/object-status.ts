/** The status of an object as `/debug/objects` of config-controller answers it, and in words. */

export interface ObjectStatus {
  readonly object: string;
  readonly state: "accepted" | "refused";
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
  /** Why it changes nothing in the mesh. */
  readonly noEffect?: string;
  readonly inForce?: {
    readonly generation: number;
    readonly by: string;
    readonly source?: string;
    readonly objectGeneration?: number;
    readonly distribution: Distribution;
  };
}

interface Finding {
  readonly field: string;
  readonly reason: string;
}

export interface Distribution {
  readonly live: number;
  readonly concerned: number;
  readonly refusals: readonly { readonly proxy: string; readonly typeUrl: string; readonly message: string }[];
  readonly isPrecise: boolean;
  readonly behind: readonly string[];
  readonly replicas: number;
}

/** One line: the state, and how far it has come. */
export function summarize({ object, state, noEffect, inForce }: ObjectStatus): string {
  if (inForce === undefined) return `${object}  ${state}`;
  const { generation, distribution } = inForce;
  if (noEffect !== undefined) return `${object}  accepted, without effect  generation ${generation}`;
  const before = state === "refused" ? "refused, the last good one is" : "";
  return [object, before, reachText(distribution), `generation ${generation}`].filter((part) => part !== "").join("  ");
}

function reachText({ live, concerned, isPrecise, replicas }: Distribution): string {
  if (replicas === 0) return "no xds-server reports how far it has come";
  if (concerned === 0) return "concerns no connected proxy";
  return `live on ${live} of ${concerned}${isPrecise ? " proxies it concerns" : " proxies (all are counted)"}`;
}

/** The full description, with all problems, warnings and rejections. */
export function describeObject(status: ObjectStatus): string {
  const { problems, warnings, inForce } = status;
  const { refusals = [], behind = [] } = inForce?.distribution ?? {};
  return [
    summarize(status),
    ...(inForce === undefined ? [] : [`  by ${inForce.by}`]),
    ...(inForce?.source === undefined ? [] : [`  read from ${inForce.source}`]),
    ...problems.map((finding) => `  refused: ${findingText(finding)}`),
    ...warnings.map((finding) => `  warning: ${findingText(finding)}`),
    ...refusals.map(
      ({ proxy, typeUrl, message }) =>
        `  refused by ${proxy} (${typeUrl.split(".").at(-1)}): ${message.replaceAll(/\s+/g, " ")}`,
    ),
    ...(behind.length === 0 ? [] : [`  waiting for ${behind.join(", ")}`]),
  ].join("\n");
}

function findingText({ field, reason }: Finding): string {
  return field === "" ? reason : `${field}: ${reason}`;
}
