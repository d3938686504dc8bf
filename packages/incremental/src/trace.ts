/** What a computation has asked about its subject, and what it was answered. */
export interface TraceEntry<Subject> {
  /** Facet name and argument. */
  readonly id: string;
  readonly valueKey: string;
  readonly valueKeyOf: (subject: Subject) => string;
  /** Equal entries have the same, as long as the table of answers remembers them. */
  readonly serial: number;
}

/** The facets read, own and inherited, in the order of reading. */
export type Trace<Subject> = readonly TraceEntry<Subject>[];

export function sameTrace<S>(a: Trace<S>, b: Trace<S>): boolean {
  if (a === b) return true;
  return a.length === b.length && a.every((entry, i) => entry.id === b[i]?.id && entry.valueKey === b[i]?.valueKey);
}
