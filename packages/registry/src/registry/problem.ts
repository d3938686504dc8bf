/** Something that is wrong with an object that is in force. */
export interface RegistryProblem {
  /** `Kind/namespace/name`. */
  readonly object: string;
  readonly field: string;
  readonly reason: string;
}
