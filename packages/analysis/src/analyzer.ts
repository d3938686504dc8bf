/** The form of an analyzer: a check of one object, which may look at others through the mesh. */
import type { Finding } from "./finding.ts";
import type { MeshObject } from "./mesh-object.ts";
import type { MessageName } from "./messages/messages.ts";

/** Finds objects by what they are about: a row is made of the objects that have its key. */
export interface Index {
  /** Unique among all indexes. */
  readonly name: string;
  readonly kinds: readonly string[];
  readonly keysOf: (object: MeshObject) => readonly string[];
}

/** The only way for an analyzer to read other objects: reads are recorded, and a change of an object read runs the check again. */
export interface Mesh {
  find(kind: string, namespace: string, name: string): MeshObject | undefined;
  /** All objects of a kind, by namespace and name. */
  all(kind: string): readonly MeshObject[];
  within(kind: string, namespace: string): readonly MeshObject[];
  row(index: Index, key: string): readonly MeshObject[];
}

/** Dependencies of analyzers beside data: parts that a pure package cannot have. */
export interface AnalysisTools {
  nowMs(): number;
  /** The times between which a certificate in PEM is valid. @throws Error for what is no certificate */
  validityOf(pem: string): { readonly notBeforeMs: number; readonly notAfterMs: number };
}

export interface Analyzer {
  /** For `--analyzer`, in lower case with hyphens. */
  readonly name: string;
  readonly summary: string;
  readonly messages: readonly MessageName[];
  /** Kinds whose objects it checks. */
  readonly checks: readonly string[];
  /** Other kinds that it looks at. */
  readonly reads: readonly string[];
  /** Indexes that it uses. */
  readonly indexes?: readonly Index[];
  /** Runs only when it is asked for by name. */
  readonly isOptional?: true;
  check(object: MeshObject, mesh: Mesh, tools: AnalysisTools): readonly Finding[];
}
