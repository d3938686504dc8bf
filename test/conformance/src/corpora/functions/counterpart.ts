/** How a function of ours stands for one of Istio's. */

export interface FunctionCase {
  readonly name: string;
  readonly function: string;
  // The arguments are of the case's function: each counterpart has their types.
  readonly args: readonly never[];
  readonly expected: { readonly returns: readonly unknown[] };
}

/** By Istio's name: takes the recorded arguments, gives results that are compared with as many recorded ones. */
export type Counterparts = Readonly<Record<string, (...args: readonly never[]) => readonly unknown[]>>;
