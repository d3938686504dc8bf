/** The text of a template as plain text and actions; trim markers are applied here, comments are dropped. */
import { TemplateError } from "./errors.ts";
import { scanToken, type Token } from "./token.ts";

export type Piece =
  | { readonly kind: "text"; readonly text: string; readonly line: number }
  | { readonly kind: "action"; readonly tokens: readonly Token[]; readonly line: number };

const leadingSpace = /^[ \t\r\n]+/;

/** @throws TemplateError TEMPLATE_SYNTAX */
export function splitPieces(name: string, source: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let position = 0;
  let line = 1;
  let trimNext = false;
  const advance = (to: number): void => {
    for (; position < to; position += 1) if (source[position] === "\n") line += 1;
  };
  while (position <= source.length) {
    const open = source.indexOf("{{", position);
    const end = open === -1 ? source.length : open;
    const trimsBefore = open !== -1 && source[open + 2] === "-" && isSpace(source[open + 3]);
    let text = source.slice(position, end);
    if (trimNext) text = text.replace(leadingSpace, "");
    if (trimsBefore) text = withoutTrailingSpace(text);
    if (text !== "") pieces.push({ kind: "text", text, line });
    if (open === -1) break;
    advance(trimsBefore ? open + 3 : open + 2);
    const action = readAction(name, source, position, line);
    if (action.tokens.length > 0) pieces.push({ kind: "action", tokens: action.tokens, line });
    trimNext = action.trimsAfter;
    advance(action.end);
  }
  return pieces;
}

function withoutTrailingSpace(text: string): string {
  let end = text.length;
  while (end > 0 && isSpace(text[end - 1])) end -= 1;
  return text.slice(0, end);
}

interface Action {
  readonly tokens: readonly Token[];
  /** After the closing braces. */
  readonly end: number;
  readonly trimsAfter: boolean;
}

function readAction(name: string, source: string, start: number, startLine: number): Action {
  const comment = /^\s*\/\*[\s\S]*?\*\/(\s+-)?\}\}/.exec(source.slice(start));
  if (comment !== null) return { tokens: [], end: start + comment[0].length, trimsAfter: comment[1] !== undefined };
  const tokens: Token[] = [];
  let position = start;
  let line = startLine;
  let spaced = true;
  for (;;) {
    const space = /^\s*/.exec(source.slice(position, position + 4096))?.[0] ?? "";
    spaced = spaced || space !== "";
    line += space.split("\n").length - 1;
    position += space.length;
    if (source.startsWith("}}", position)) return { tokens, end: position + 2, trimsAfter: false };
    if (space !== "" && source.startsWith("-}}", position)) return { tokens, end: position + 3, trimsAfter: true };
    if (position >= source.length)
      throw new TemplateError("TEMPLATE_SYNTAX", { template: name, line }, "unclosed action");
    const scanned = scanToken(source, position);
    if ("reason" in scanned) throw new TemplateError("TEMPLATE_SYNTAX", { template: name, line }, scanned.reason);
    tokens.push({ ...scanned.token, line, spaced });
    line += source.slice(position, scanned.end).split("\n").length - 1;
    position = scanned.end;
    spaced = false;
  }
}

function isSpace(character: string | undefined): boolean {
  return character !== undefined && " \t\r\n".includes(character);
}
