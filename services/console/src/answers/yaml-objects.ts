/** The objects of a YAML text, with the lines that their fields stand on. */
import type { Cause } from "@flotilla/console/contract";
import { type Document, isNode, LineCounter, parseAllDocuments } from "yaml";
import { RequestRefused } from "../errors.ts";

export interface YamlObject {
  readonly object: Readonly<Record<string, unknown>>;
  readonly document: Document;
  readonly lines: LineCounter;
}

/** Nested YAML takes some 10 µs a character, in one step: no other caller is answered meanwhile. */
const maxLength = 128 * 1024;

/** Empty documents are passed over. @throws RequestRefused too-large, invalid with the line of each mistake */
export function parseYaml(text: string): readonly YamlObject[] {
  if (text.length > maxLength)
    throw new RequestRefused("too-large", `the text is longer than ${maxLength} characters: use flotilla apply`);
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, merge: true });
  if (!Array.isArray(documents)) return [];
  const causes = documents.flatMap(({ errors }) =>
    errors.map(
      ({ message, pos }): Cause => ({
        field: "",
        message: message.split("\n", 1)[0] ?? message,
        line: lines.linePos(pos[0]).line,
      }),
    ),
  );
  if (causes.length > 0) throw new RequestRefused("invalid", "the text is no YAML", causes);
  return documents.flatMap((document, item): readonly YamlObject[] => {
    const object: unknown = document.toJS({ maxAliasCount: 100 });
    if (object === null || object === undefined) return [];
    if (typeof object === "object" && !Array.isArray(object))
      return [{ object: object as Readonly<Record<string, unknown>>, document, lines }];
    throw new RequestRefused("invalid", "a document is no object", [{ item, field: "", message: "is no object" }]);
  });
}

/** Of a field such as `spec.http[0].route`: of the nearest one around it that is written; undefined for what is no object of the text. */
export function lineOf(of: YamlObject | undefined, field: string): number | undefined {
  if (of === undefined) return undefined;
  const path = field.split(/[.[\]]+/).filter((part) => part !== "");
  for (let length = path.length; length >= 0; length--) {
    const node = length === 0 ? of.document.contents : of.document.getIn(path.slice(0, length).map(keyOf), true);
    if (isNode(node) && node.range) return of.lines.linePos(node.range[0]).line;
  }
  return undefined;
}

function keyOf(part: string): string | number {
  return /^\d+$/.test(part) ? Number(part) : part;
}
