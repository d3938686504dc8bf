/** The answer of one query of the snapshot, for tests that look at no resource. */
import { type Finding, Graph } from "@flotilla/incremental";
import type { Change, Proxy } from "@flotilla/model";
import { decodeSpec } from "../snapshot/config-specs.ts";
import { type Features, featureNames } from "../snapshot/features.ts";
import { rowIndexes } from "../snapshot/indexes/index.ts";
import { keys } from "../snapshot/row-index.ts";
import type { Subject } from "../snapshot/subject.ts";
import type { ViewQuery } from "../snapshot/view.ts";
import { World } from "../snapshot/world.ts";
import { aSidecar } from "./mesh.ts";

export interface SnapshotQuestion {
  readonly changes: readonly Change[];
  readonly proxy?: Proxy;
  /** Beside the proxy and no targets. */
  readonly subject?: Partial<Subject>;
  readonly features?: Partial<Features>;
}

/** @throws when a change is refused */
export function snapshotOf({ changes, proxy = aSidecar("shop"), subject, features = {} }: SnapshotQuestion) {
  const graph = new Graph<Subject>();
  const world = new World(graph, { indexes: rowIndexes, decode: decodeSpec });
  for (const name of featureNames) {
    const value = features[name];
    if (value !== undefined) graph.set(keys.feature(name), value);
  }
  const [refusal] = world.apply(changes);
  if (refusal !== undefined) throw refusal.error;
  const asked: Subject = { proxy, targets: [], ...subject };
  return {
    read: <Result>(query: ViewQuery<undefined, Result>): Result => graph.evaluate(query, undefined, asked),
    /** The findings that a query reported while it is kept. */
    findings: <Result>(query: ViewQuery<undefined, Result>): readonly Finding[] => {
      graph.observe(query, undefined, asked, () => undefined);
      return graph.findings();
    },
  };
}
