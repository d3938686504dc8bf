/** The text of a template as nodes: control structures matched with their ends, defined templates set apart. */
import { TemplateError } from "./errors.ts";
import { type Piece, splitPieces } from "./lexer.ts";
import type { Branch, Node, Pipeline } from "./nodes.ts";
import { ActionReader, parsePipeline, type TemplateSource } from "./parse-pipeline.ts";

export interface ParsedTemplate {
  readonly name: string;
  readonly body: readonly Node[];
  /** By name; the last definition of a name counts. */
  readonly defined: ReadonlyMap<string, readonly Node[]>;
}

/** @throws TemplateError TEMPLATE_SYNTAX */
export function parse(source: TemplateSource): ParsedTemplate {
  const parser = new Parser(source, splitPieces(source.name, source.text));
  const body = parser.parseTop();
  return { name: source.name, body, defined: parser.defined };
}

/** The keyword that ended a list of nodes. */
interface Ending {
  readonly keyword: "end" | "else";
  readonly reader: ActionReader;
}

class Parser {
  readonly defined = new Map<string, readonly Node[]>();
  readonly #source: TemplateSource;
  readonly #pieces: readonly Piece[];
  #position = 0;
  #loops = 0;

  constructor(source: TemplateSource, pieces: readonly Piece[]) {
    this.#source = source;
    this.#pieces = pieces;
  }

  parseTop(): readonly Node[] {
    const { nodes, ending } = this.#parseList();
    if (ending !== undefined) ending.reader.fail(`unexpected {{${ending.keyword}}}`);
    return nodes;
  }

  /** Until `end` or `else`, or the end of the text. */
  #parseList(): { readonly nodes: readonly Node[]; readonly ending: Ending | undefined } {
    const nodes: Node[] = [];
    for (let piece = this.#pieces[this.#position]; piece !== undefined; piece = this.#pieces[this.#position]) {
      this.#position += 1;
      if (piece.kind === "text") {
        nodes.push({ kind: "text", text: piece.text });
        continue;
      }
      const reader = new ActionReader(this.#source, piece.line, piece.tokens);
      for (const keyword of ["end", "else"] as const) {
        if (reader.take("identifier", keyword) !== undefined) return { nodes, ending: { keyword, reader } };
      }
      const node = this.#parseAction(reader);
      if (node !== undefined) nodes.push(node);
    }
    return { nodes, ending: undefined };
  }

  #parseAction(reader: ActionReader): Node | undefined {
    for (const kind of ["if", "range", "with"] as const) {
      if (reader.take("identifier", kind) !== undefined) return this.#parseBranch(kind, reader);
    }
    if (reader.take("identifier", "template") !== undefined) return this.#parseCall(reader);
    if (reader.take("identifier", "define") !== undefined) return this.#parseDefinition(reader);
    if (reader.take("identifier", "block") !== undefined) {
      const call = this.#parseCall(reader);
      this.#define(call.name, reader);
      return call;
    }
    for (const kind of ["break", "continue"] as const) {
      if (reader.take("identifier", kind) === undefined) continue;
      if (this.#loops === 0) reader.fail(`{{${kind}}} outside of {{range}}`);
      reader.end(kind);
      return { kind };
    }
    return { kind: "output", pipeline: this.#wholePipeline(reader, "an action") };
  }

  #parseBranch(kind: Branch["kind"], reader: ActionReader): Branch {
    const { line } = reader;
    const pipeline = this.#wholePipeline(reader, kind);
    if (kind === "range") this.#loops += 1;
    const { nodes: body, ending } = this.#parseList();
    if (kind === "range") this.#loops -= 1;
    if (ending === undefined) return this.#unclosed(kind, line);
    if (ending.keyword === "end") {
      ending.reader.end("end");
      return { kind, pipeline, body, otherwise: [] };
    }
    return { kind, pipeline, body, otherwise: this.#parseElse(kind, line, ending.reader) };
  }

  /** `{{else if}}` and `{{else with}}` stand for a branch in the else part, with which they share the end. */
  #parseElse(kind: Branch["kind"], line: number, reader: ActionReader): readonly Node[] {
    if (kind !== "range" && reader.take("identifier", kind) !== undefined) return [this.#parseBranch(kind, reader)];
    reader.end("else");
    const { nodes, ending } = this.#parseList();
    if (ending === undefined) return this.#unclosed(kind, line);
    if (ending.keyword === "else") ending.reader.fail(`a second {{else}} of {{${kind}}}`);
    ending.reader.end("end");
    return nodes;
  }

  #parseCall(reader: ActionReader): Extract<Node, { kind: "template" }> {
    const { line } = reader;
    const name = this.#templateName(reader, "template");
    const argument = reader.atEnd ? undefined : this.#wholePipeline(reader, "template");
    return { kind: "template", name, line, argument };
  }

  #parseDefinition(reader: ActionReader): undefined {
    const name = this.#templateName(reader, "define");
    reader.end("define");
    this.#define(name, reader);
  }

  #define(name: string, { line }: ActionReader): void {
    const { nodes, ending } = this.#parseList();
    if (ending === undefined) this.#unclosed("define", line);
    if (ending?.keyword === "else") ending.reader.fail("unexpected {{else}} in define");
    this.defined.set(name, nodes);
  }

  #templateName(reader: ActionReader, what: string): string {
    return reader.take("text")?.text ?? reader.fail(`${what} needs a quoted name`);
  }

  #wholePipeline(reader: ActionReader, what: string): Pipeline {
    const pipeline = parsePipeline(reader, what);
    reader.end(what);
    return pipeline;
  }

  #unclosed(what: string, line: number): never {
    throw new TemplateError("TEMPLATE_SYNTAX", { template: this.#source.name, line }, `{{${what}}} has no {{end}}`);
  }
}
