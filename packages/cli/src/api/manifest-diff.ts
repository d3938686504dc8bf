/** Differences of objects as unified diffs of their YAML: `patch` and editors read them. */
import { createTwoFilesPatch } from "diff";
import { stringify } from "yaml";

export interface ManifestDiff {
  /** `Kind/namespace/name`. */
  readonly object: string;
  /** Undefined: there was no such object. */
  readonly before: object | undefined;
  readonly after: object | undefined;
  readonly labels: readonly [before: string, after: string];
}

/** "" for equal objects. */
export function unifiedDiff({ object, before, after, labels }: ManifestDiff): string {
  const [old, fresh] = [yamlOf(before), yamlOf(after)];
  if (old === fresh) return "";
  const names = [before === undefined ? "/dev/null" : `a/${object}`, after === undefined ? "/dev/null" : `b/${object}`];
  const [from = "", to = ""] = names;
  const patch = createTwoFilesPatch(from, to, old, fresh, labels[0], labels[1], { context: 3 });
  // The first line of a patch by this library is a ruler, which `patch` skips and people need not see.
  return patch.replace(/^=+\n/, "").trimEnd();
}

function yamlOf(object: object | undefined): string {
  return object === undefined ? "" : stringify(object, { sortMapEntries: true, lineWidth: 0 });
}
