/**
 * What subjects answer to the questions of computations. Equal entries and equal traces are the identical object, so that most
 * comparisons are of references; and what the present subject has answered once it is not asked again.
 */

/** The tables serve identity only: when one is full it begins anew, and comparisons by text find what is equal. */
const maxEntries = 50_000;
const maxTraces = 20_000;

export class Answers<Subject> {
  /** By question and answer. */
  #entries = new Map<string, Map<string, TraceEntry<Subject>>>();
  #entryCount = 0;
  #serial = 0;
  readonly #traces = new Map<string, Trace<Subject>>();
  #subject: Subject | undefined;
  /** Of the present subject, by question. */
  readonly #given = new Map<string, string>();
  readonly #verdicts = new Map<Trace<Subject>, boolean>();

  entry(id: string, valueKey: string, valueKeyOf: (subject: Subject) => string): TraceEntry<Subject> {
    const known = this.#entries.get(id)?.get(valueKey);
    if (known !== undefined) return known;
    if (this.#entryCount === maxEntries) {
      this.#entries = new Map();
      this.#entryCount = 0;
    }
    const entry = { id, valueKey, valueKeyOf, serial: ++this.#serial };
    const ofQuestion = this.#entries.get(id) ?? new Map<string, TraceEntry<Subject>>();
    this.#entries.set(id, ofQuestion.set(valueKey, entry));
    this.#entryCount++;
    return entry;
  }

  trace(entries: readonly TraceEntry<Subject>[]): Trace<Subject> {
    let key = "";
    for (const { serial } of entries) key += `${serial},`;
    const known = this.#traces.get(key);
    if (known !== undefined) return known;
    if (this.#traces.size === maxTraces) this.#traces.clear();
    this.#traces.set(key, entries);
    return entries;
  }

  /** The subject's answer to the question of an entry. */
  of(subject: Subject, { id, valueKeyOf }: TraceEntry<Subject>): string {
    this.#turnTo(subject);
    let given = this.#given.get(id);
    if (given === undefined) {
      given = valueKeyOf(subject);
      this.#given.set(id, given);
    }
    return given;
  }

  /** Whether the subject answers as the trace has it. */
  agree(subject: Subject, trace: Trace<Subject>): boolean {
    this.#turnTo(subject);
    let verdict = this.#verdicts.get(trace);
    if (verdict === undefined) {
      verdict = trace.every((entry) => this.of(subject, entry) === entry.valueKey);
      this.#verdicts.set(trace, verdict);
    }
    return verdict;
  }

  #turnTo(subject: Subject): void {
    if (subject === this.#subject) return;
    this.#subject = subject;
    this.#given.clear();
    this.#verdicts.clear();
  }
}

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
