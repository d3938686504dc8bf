/** Reads YAML documents of scenarios and writes those that a recording makes. */
import { readFileSync } from "node:fs";
import {
  type CollectionTag,
  Document,
  isCollection,
  isPair,
  isScalar,
  parseAllDocuments,
  type Scalar,
  type ScalarTag,
  visit,
} from "yaml";
import { stringifyString } from "yaml/util";

/** Stands for a part that `shared/` holds once. */
export class SharedPart {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

const sharedTag: ScalarTag = {
  tag: "!shared",
  identify: (value) => value instanceof SharedPart,
  resolve: (text) => new SharedPart(text),
  stringify: (item, context, onComment, onChompKeep) =>
    stringifyString({ value: (item.value as SharedPart).name }, context, onComment, onChompKeep),
};
const customTags: (ScalarTag | CollectionTag)[] = [sharedTag];

export function readDocuments(path: string): readonly unknown[] {
  return parseAllDocuments(readFileSync(path, "utf8"), { customTags })
    .map((document) => {
      const [error] = document.errors;
      if (error !== undefined) throw new Error(`${path}: ${error.message}`);
      visit(document, { Scalar: (_key, scalar) => keepText(scalar) });
      return document.toJS() as unknown;
    })
    .filter((object) => object !== null);
}

/** Files quote what Python's YAML takes for numbers: hashes such as 058062178 and 19e330099 are none there. */
function keepText(scalar: Scalar): void {
  const { value, source = "", type } = scalar;
  if (typeof value === "number" && type === "PLAIN" && !/^[-+]?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(source))
    scalar.value = source;
}

/** Values that fit on a line stand on a line, all others have a line a field. */
const longestInline = 100;

export interface DocumentLayout {
  /** Levels from the root that always have a line a field. */
  readonly blockLevels: number;
  readonly comment?: string;
}

export function writeDocument(value: unknown, { blockLevels, comment }: DocumentLayout = { blockLevels: 1 }): string {
  const document = new Document(value, { customTags, aliasDuplicateObjects: false });
  if (comment !== undefined) document.commentBefore = comment;
  inlineShort(document.contents, blockLevels);
  return document.toString({ lineWidth: 0, indentSeq: false, flowCollectionPadding: false });
}

/** The length of a node's text on one line. */
function inlineShort(node: unknown, blockLevels: number): number {
  if (isScalar(node)) {
    const { value } = node;
    if (value instanceof SharedPart) return value.name.length + "!shared ".length;
    const text = String(value);
    return text.includes("\n") ? longestInline + 1 : text.length;
  }
  if (isPair(node)) return inlineShort(node.key, 0) + inlineShort(node.value, blockLevels) + 2;
  if (!isCollection(node)) return 0;
  const length = node.items.map((item) => inlineShort(item, blockLevels - 1)).reduce((sum, item) => sum + item + 2, 2);
  if (blockLevels <= 0 && length <= longestInline) node.flow = true;
  return length;
}
