/** The context of one running computation: answers its questions and writes down what was asked. */
import type { AnyCell, InputCell, QueryCell, TraceEntry } from "./cell.ts";
import type { Context, Facet, Finding, InputKey, Query, QueryArg } from "./query.ts";

/** What a recorder needs of the graph it works for. */
export interface Source<Subject> {
  inputCell(key: string): InputCell;
  resolve(query: Query<Subject, QueryArg, unknown>, arg: QueryArg, subject: Subject): QueryCell<Subject>;
}

export class Recorder<Subject> implements Context<Subject> {
  readonly deps = new Set<AnyCell<Subject>>();
  readonly findings: Finding[] = [];
  readonly #trace = new Map<string, TraceEntry<Subject>>();
  readonly #source: Source<Subject>;
  readonly #subject: Subject;

  constructor(source: Source<Subject>, subject: Subject) {
    this.#source = source;
    this.#subject = subject;
  }

  get trace(): readonly TraceEntry<Subject>[] {
    return [...this.#trace.values()];
  }

  input<Value>(key: InputKey<Value>): Value | undefined {
    const cell = this.#source.inputCell(key);
    this.deps.add(cell);
    return cell.value as Value | undefined;
  }

  facet<Arg, Value>(facet: Facet<Subject, Arg, Value>, arg: Arg): Value {
    const value = facet.read(this.#subject, arg);
    const id = arg === undefined ? facet.name : `${facet.name}(${textOf(arg)})`;
    if (!this.#trace.has(id)) {
      const keyOf = facet.keyOf ?? textOf;
      const valueKeyOf = (subject: Subject) => keyOf(facet.read(subject, arg));
      this.#trace.set(id, { id, valueKey: keyOf(value), valueKeyOf });
    }
    return value;
  }

  read<Arg extends QueryArg, Result>(query: Query<Subject, Arg, Result>, arg: Arg): Result {
    const cell = this.#source.resolve(query as unknown as Query<Subject, QueryArg, unknown>, arg, this.#subject);
    this.deps.add(cell);
    for (const entry of cell.trace) if (!this.#trace.has(entry.id)) this.#trace.set(entry.id, entry);
    return cell.value as Result;
  }

  report(finding: Finding): void {
    this.findings.push(finding);
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
