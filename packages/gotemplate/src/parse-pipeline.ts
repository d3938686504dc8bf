/** The tokens of an action as a pipeline. */
import { TemplateError } from "./errors.ts";
import type { Command, Operand, OperandValue, Pipeline } from "./nodes.ts";
import type { Token } from "./token.ts";

/** The template to parse: its name stands in messages. */
export interface TemplateSource {
  readonly name: string;
  readonly text: string;
  readonly isFunction: (name: string) => boolean;
}

/** Reads the tokens of one action from left to right. */
export class ActionReader {
  readonly #source: TemplateSource;
  readonly #line: number;
  readonly #tokens: readonly Token[];
  #position = 0;

  constructor(source: TemplateSource, line: number, tokens: readonly Token[]) {
    this.#source = source;
    this.#line = line;
    this.#tokens = tokens;
  }

  get line(): number {
    return this.#tokens[this.#position]?.line ?? this.#line;
  }

  get atEnd(): boolean {
    return this.#position >= this.#tokens.length;
  }

  peek(offset = 0): Token | undefined {
    return this.#tokens[this.#position + offset];
  }

  /** Consumes the next token when it is this one. */
  take(kind: Token["kind"], text?: string): Token | undefined {
    const token = this.peek();
    if (token === undefined || token.kind !== kind || (text !== undefined && token.text !== text)) return undefined;
    this.#position += 1;
    return token;
  }

  fail(reason: string): never {
    throw new TemplateError("TEMPLATE_SYNTAX", { template: this.#source.name, line: this.line }, reason);
  }

  checkFunction(name: string): void {
    if (!this.#source.isFunction(name)) this.fail(`function ${JSON.stringify(name)} not defined`);
  }

  end(what: string): void {
    const token = this.peek();
    if (token !== undefined) this.fail(`unexpected ${show(token)} in ${what}`);
  }
}

/** Up to the end of the action, or to the closing parenthesis. */
export function parsePipeline(reader: ActionReader, what: string): Pipeline {
  const { line } = reader;
  const { declared, assigns } = parseDeclaration(reader, what);
  const commands: Command[] = [];
  do {
    const operands: Operand[] = [];
    for (let operand = parseOperand(reader, what); operand !== undefined; operand = parseOperand(reader, what)) {
      operands.push(operand);
    }
    const [first, ...rest] = operands;
    if (first === undefined) return reader.fail(`missing value for ${what}`);
    if (commands.length > 0 && first.value.kind === "literal")
      reader.fail(`${first.source} in a pipeline is no function`);
    commands.push({ operands: [first, ...rest] });
  } while (reader.take("punctuation", "|") !== undefined);
  return { line, declared, assigns, commands };
}

function parseDeclaration(reader: ActionReader, what: string): Pick<Pipeline, "declared" | "assigns"> {
  const isSign = (offset: number, ...signs: string[]): boolean => {
    const token = reader.peek(offset);
    return token?.kind === "punctuation" && signs.includes(token.text);
  };
  if (reader.peek()?.kind !== "variable") return { declared: [], assigns: false };
  if (what === "range" && isSign(1, ",")) {
    const first = reader.take("variable")?.text ?? "";
    reader.take("punctuation", ",");
    const second = reader.take("variable")?.text ?? reader.fail("range can only declare variables");
    if (!isSign(0, ":=", "=")) reader.fail("missing := after the variables of range");
    return { declared: [first, second], assigns: reader.take("punctuation", ":=") === undefined && take(reader) };
  }
  if (!isSign(1, ":=", "=")) return { declared: [], assigns: false };
  const name = reader.take("variable")?.text ?? "";
  return { declared: [name], assigns: reader.take("punctuation", ":=") === undefined && take(reader) };
}

function take(reader: ActionReader): boolean {
  return reader.take("punctuation", "=") !== undefined;
}

function parseOperand(reader: ActionReader, what: string): Operand | undefined {
  const { line } = reader;
  const token = reader.peek();
  if (token === undefined) return undefined;
  const base = parseTerm(reader, token, what);
  if (base === undefined) return undefined;
  const path: string[] = [];
  for (let next = reader.peek(); next?.kind === "field" && !next.spaced; next = reader.peek()) {
    path.push(next.text);
    reader.take("field");
  }
  if (path.length === 0) return { ...base, line };
  const source = `${base.source}.${path.join(".")}`;
  const { value } = base;
  if (value.kind === "literal") return reader.fail(`${base.source} has no fields`);
  if (value.kind === "function") {
    const command: Command = { operands: [{ line, source: base.source, value }] };
    const pipeline: Pipeline = { line, declared: [], assigns: false, commands: [command] };
    return { line, source, value: { kind: "pipeline", pipeline, path } };
  }
  return { line, source, value: { ...value, path: [...value.path, ...path] } };
}

type Term = Pick<Operand, "source" | "value">;

/** Undefined where the command ends. */
function parseTerm(reader: ActionReader, token: Token, what: string): Term | undefined {
  const one = (value: OperandValue, source: string): Term => {
    reader.take(token.kind);
    return { value, source };
  };
  switch (token.kind) {
    case "dot":
      return one({ kind: "field", path: [] }, ".");
    case "field":
      return one({ kind: "field", path: [token.text] }, `.${token.text}`);
    case "variable":
      return one({ kind: "variable", name: token.text, path: [] }, token.text);
    case "number":
      return one({ kind: "literal", value: parseNumber(token.text) }, token.text);
    case "text":
      return one({ kind: "literal", value: token.text }, JSON.stringify(token.text));
    case "identifier": {
      const constant = constants.get(token.text);
      if (constant === undefined) reader.checkFunction(token.text);
      return one(
        constant === undefined ? { kind: "function", name: token.text } : { kind: "literal", value: constant },
        token.text,
      );
    }
    case "punctuation":
      return parseParenthesis(reader, token, what);
  }
}

const constants: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["nil", null],
]);

function parseParenthesis(reader: ActionReader, token: Token, what: string): Term | undefined {
  if (token.text === "|" || token.text === ")") return undefined;
  if (token.text !== "(") return reader.fail(`unexpected ${show(token)} in ${what}`);
  reader.take("punctuation", "(");
  const pipeline = parsePipeline(reader, "a parenthesised pipeline");
  if (reader.take("punctuation", ")") === undefined) reader.fail("unclosed left parenthesis");
  return { value: { kind: "pipeline", pipeline, path: [] }, source: "(…)" };
}

function parseNumber(text: string): number {
  const plain = text.replaceAll("_", "");
  const sign = plain.startsWith("-") ? -1 : 1;
  return sign * Number(plain.replace(/^[+-]/, ""));
}

function show({ kind, text }: Token): string {
  return kind === "text" ? JSON.stringify(text) : kind === "field" ? `.${text}` : `"${text}"`;
}
