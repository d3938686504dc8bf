/** The context of one running computation: answers its questions and writes down what was asked. */
import {
  type Answers,
  type AnyCell,
  type Context,
  type Facet,
  Failure,
  type Finding,
  type InputCell,
  type InputKey,
  type Query,
  type QueryArg,
  type QueryCell,
  type Trace,
  type TraceEntry,
} from "./query.ts";

/** Parts of the graph that a recorder needs. */
export interface Source<Subject> {
  readonly answers: Answers<Subject>;
  inputCell(key: string): InputCell;
  resolve(query: Query<Subject, QueryArg, unknown>, arg: QueryArg, subject: Subject): QueryCell<Subject>;
}

/** Longer traces are searched by a set: few are, and a set costs more than all of a short one. */
const searchedByLooking = 12;

const noFindings: readonly Finding[] = [];

export class Recorder<Subject> implements Context<Subject> {
  readonly deps = new Set<AnyCell<Subject>>();
  readonly trace: TraceEntry<Subject>[] = [];
  findings: readonly Finding[] = noFindings;
  #known: Set<string> | undefined;
  /** Equal results have the identical trace, and most of what is read has one of few. */
  #lastInherited: Trace<Subject> | undefined;
  #inherited: Set<Trace<Subject>> | undefined;
  readonly #source: Source<Subject>;
  readonly #subject: Subject;

  constructor(source: Source<Subject>, subject: Subject) {
    this.#source = source;
    this.#subject = subject;
  }

  input<Value>(key: InputKey<Value>): Value | undefined {
    const cell = this.#source.inputCell(key);
    this.deps.add(cell);
    return cell.value as Value | undefined;
  }

  facet<Arg, Value>(facet: Facet<Subject, Arg, Value>, arg: Arg): Value {
    const value = facet.read(this.#subject, arg);
    const id = arg === undefined ? facet.name : `${facet.name}(${textOf(arg)})`;
    if (!this.#hasAsked(id)) {
      const keyOf = facet.keyOf ?? textOf;
      const valueKeyOf = (subject: Subject) => keyOf(facet.read(subject, arg));
      this.#note(this.#source.answers.entry(id, keyOf(value), valueKeyOf));
    }
    return value;
  }

  read<Arg extends QueryArg, Result>(query: Query<Subject, Arg, Result>, arg: Arg): Result {
    const result = this.attempt(query, arg);
    if (result instanceof Failure) throw result.error;
    return result;
  }

  attempt<Arg extends QueryArg, Result>(query: Query<Subject, Arg, Result>, arg: Arg): Result | Failure {
    const cell = this.#source.resolve(query as unknown as Query<Subject, QueryArg, unknown>, arg, this.#subject);
    this.deps.add(cell);
    this.#inherit(cell.trace);
    return cell.value as Result | Failure;
  }

  report(finding: Finding): void {
    this.findings = [...this.findings, finding];
  }

  #inherit(trace: Trace<Subject>): void {
    if (trace.length === 0 || trace === this.#lastInherited || this.#inherited?.has(trace)) return;
    for (const entry of trace) if (!this.#hasAsked(entry.id)) this.#note(entry);
    if (this.#lastInherited !== undefined) {
      this.#inherited ??= new Set();
      this.#inherited.add(this.#lastInherited);
    }
    this.#lastInherited = trace;
  }

  #hasAsked(id: string): boolean {
    return this.#known === undefined ? this.trace.some((entry) => entry.id === id) : this.#known.has(id);
  }

  #note(entry: TraceEntry<Subject>): void {
    this.trace.push(entry);
    if (this.#known !== undefined) this.#known.add(entry.id);
    else if (this.trace.length > searchedByLooking) this.#known = new Set(this.trace.map(({ id }) => id));
  }
}

/** Of arguments and answers that are objects, as selectors of configuration are: they do not change. */
const textsOfObjects = new WeakMap<object, string>();

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  // No text is taken for a value of another type.
  if (typeof value !== "object" || value === null) return `\0${String(value)}`;
  let text = textsOfObjects.get(value);
  if (text === undefined) {
    text = JSON.stringify(value);
    textsOfObjects.set(value, text);
  }
  return text;
}
