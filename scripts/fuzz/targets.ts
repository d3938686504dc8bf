/** Parsers of input from unauthenticated clients, proxies, the bus and the store: each with kept inputs, words of its format and the errors it promises. */

import { parseXfcc } from "../../packages/auth/src/xfcc/xfcc-header.ts";
import { contentOf } from "../../packages/bus/src/envelope.ts";
import { BusError } from "../../packages/bus/src/errors.ts";
import { TemplateError } from "../../packages/gotemplate/src/errors.ts";
import { sprigFunctions } from "../../packages/gotemplate/src/sprig/index.ts";
import { parseTemplate } from "../../packages/gotemplate/src/template.ts";
import { isObject } from "../../packages/model/src/json/own-value.ts";
import { NodeError } from "../../packages/model/src/proxy/node.ts";
import { PkiError } from "../../packages/pki/src/errors.ts";
import { parseCertificate } from "../../packages/pki/src/x509/certificate.ts";
import { parseCsr } from "../../packages/pki/src/x509/csr.ts";
import { FrameReader } from "../../packages/raw-grpc/src/frame.ts";
import { GrpcError } from "../../packages/raw-grpc/src/status.ts";
import { parseDocumentText, splitDocuments } from "../../packages/sources/src/documents.ts";
import { checksumOnly, entryTag, readEntry, taggedEntry } from "../../packages/state/src/entry-codec.ts";
import schemas from "../../packages/validation/src/gen/schemas.json" with { type: "json" };
import { CelRules } from "../../packages/validation/src/schema/cel-rules.ts";
import type { KindSchemas } from "../../packages/validation/src/schema/schema.ts";
import { createValidator } from "../../packages/validation/src/validate-object.ts";
import { parseReview } from "../../services/webhook/src/admission/review.ts";
import { WebhookError } from "../../services/webhook/src/errors.ts";
import { NodeReader, RequestDecoder } from "../../services/xds-server/src/serve/decode-request.ts";
import { bearerTokens } from "./bearer-tokens.ts";
import { keptInputs } from "./corpus.ts";
import { applyChange, applyObject, changeSamples } from "./mesh-targets.ts";
import type { FuzzTarget } from "./run-target.ts";

const derWords = ["\x30\x82", "\x06\x03\x55\x1d\x11", "\x02\x01\x00", "\xa0\x80", "\x04\x00"];
const jsonWords = ['"', "{", "}", "[", "]", "null", "1e999", "-0", '"__proto__":', '"toString":', "\\u0000", "\\ud800"];
const objectWords = [
  "apiVersion",
  "kind",
  "metadata",
  "spec",
  "hosts",
  "*",
  "regex",
  "match",
  "tls",
  "0s",
  "1h",
  "::1",
  "/",
  ".",
  ",",
];
const yamlWords = ["---\n", "- ", ": ", "&a ", "*a", "<<: ", "!!set ", "? ", "|\n", "{", "}", "#"];
const never = (): boolean => false;
const isOf =
  (...classes: readonly (abstract new (...of: never[]) => Error)[]) =>
  (error: unknown): boolean =>
    classes.some((one) => error instanceof one);

const decoder = new RequestDecoder();
const nodes = new NodeReader();
const validate = createValidator();
const rules = new CelRules();
const withRules = (Object.values(schemas) as unknown as readonly KindSchemas[]).flatMap((kind) => kind.schemas);
const entryKey = "config/VirtualService/shop/reviews";

/** In alphabetical order. */
export const fuzzTargets: readonly FuzzTarget[] = [
  target("admission-review", [...jsonWords, "request", "uid", "AdmissionReview"], isOf(WebhookError), parseReview),
  target("bus-envelope", [...jsonWords, "op", "put", "key", "value", "type"], isOf(BusError), readEnvelope),
  {
    ...target("bus-changes", [...jsonWords, ...objectWords], isOf(BusError), applyChange),
    corpus: [...keptInputs("bus-changes"), ...changeSamples],
    isSlow: true,
  },
  { ...target("cel", [...jsonWords, ...objectWords], never, evaluateRules), corpus: keptInputs("objects") },
  target("certificate", derWords, isOf(PkiError), parseCertificate),
  {
    ...target("cluster-objects", [...jsonWords, ...objectWords], never, applyObject),
    corpus: keptInputs("objects"),
    isSlow: true,
  },
  target("csr", derWords, isOf(PkiError), parseCsr),
  target(
    "discovery-request",
    ["\x0a\x00", "type.googleapis.com/", "\x12\xff\xff\x03"],
    isOf(GrpcError, NodeError),
    readRequest,
  ),
  {
    ...target("documents", yamlWords, never, readDocuments),
    // The parser takes 1 to 10 µs a byte of nested YAML.
    maxBytes: 1_024,
    isSlow: true,
  },
  {
    ...target(
      "go-template",
      ["{{", "}}", "range ", "end", "define ", "| ", ".a", '"', "`", "$x := ", "printf ", "1e9"],
      isOf(TemplateError),
      render,
    ),
    isSlow: true,
  },
  target(
    "grpc-frames",
    ["\x00\x00\x00\x00\x01", "\x01\x00\x00\x00\x08", "\xff\xff\xff\xff"],
    isOf(GrpcError),
    readFrames,
  ),
  { ...target("jwt", [".", "eyJ", "bnVsbA", "e30"], never, bearerTokens.authenticate), corpus: bearerTokens.samples },
  target("objects", [...jsonWords, ...objectWords], never, readObject),
  { ...target("snapshot-entry", [], isOf(Error), readStored), corpus: storedSamples() },
  target("xfcc", ["By=", "Hash=", "URI=spiffe://", 'Subject="', ";", ",", '\\"', "Cert="], never, (input) =>
    parseXfcc(input.toString()),
  ),
];

function target(
  name: string,
  words: readonly string[],
  isPromised: FuzzTarget["isPromised"],
  run: FuzzTarget["run"],
): FuzzTarget {
  return { name, words, isPromised, run, corpus: keptInputs(name) };
}

/** As proxies send them: the request, and the node of a stream's first one. */
function readRequest(input: Buffer): void {
  const form = input.length % 2 === 0 ? "sotw" : "delta";
  const { node } = decoder.decode(form, input);
  if (node !== undefined) nodes.read(node);
}

function readEnvelope(input: Buffer): void {
  const subject = "flotilla.v1.config.VirtualService.shop.reviews";
  contentOf({ subject, sequence: 1, payload: input, headers: {}, storedAtMs: 0 }, undefined);
}

function readDocuments(input: Buffer): void {
  for (const { body } of splitDocuments(input.toString())) {
    const parsed = parseDocumentText(body);
    if (parsed.ok && isObject(parsed.value)) validate(parsed.value);
  }
}

function readObject(input: Buffer): void {
  const value = parsedJson(input);
  if (isObject(value)) validate(value);
}

/** The rules of one kind after the other, over values that need not have the structure of the kind. */
function evaluateRules(input: Buffer): void {
  const value = parsedJson(input);
  const schema = withRules[input.length % withRules.length];
  if (isObject(value) && schema !== undefined) rules.validate(schema, value);
}

/** Undefined: the readers of JSON refuse it before anybody looks at it. */
function parsedJson(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString());
  } catch {
    return undefined;
  }
}

function render(input: Buffer): void {
  parseTemplate(input.toString(), { functions: sprigFunctions }).execute({ a: { b: ["c", 1, true] }, s: "text" });
}

/** In two pieces, as sockets may cut it. */
function readFrames(input: Buffer): void {
  const reader = new FrameReader({ maxBytes: 64 * 1024, encoding: input.length % 2 === 0 ? "gzip" : "deflate" });
  const cut = input.length >> 1;
  for (const piece of [input.subarray(0, cut), input.subarray(cut)]) reader.read(piece, () => undefined);
}

function readStored(input: Buffer): void {
  readEntry(checksumOnly, entryKey, input);
}

function storedSamples(): readonly Buffer[] {
  return ["", "{}", "x".repeat(2_000), "y".repeat(20_000)].map((text) => {
    const value = Buffer.from(text);
    return taggedEntry(entryTag(checksumOnly, entryKey, value), value);
  });
}
