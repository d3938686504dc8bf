/** Access logs to files: formats of the mesh, defaults, and wrong formats. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decode, toJson } from "@flotilla/proto";
import { FileAccessLogSchema } from "@flotilla/proto/envoy/extensions/access_loggers/file/v3/file_pb";
import { MeshConfig_AccessLogEncoding as Encoding } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { defaultJsonFormat, defaultTextFormat, fileLog, type Log, textLog } from "./file-log.ts";

function formatOf({ name, config }: Log): unknown {
  assert.equal(name, "envoy.access_loggers.file");
  const json = toJson(FileAccessLogSchema, decode(FileAccessLogSchema, config.value)) as {
    readonly path: string;
    readonly logFormat: object;
  };
  assert.equal(json.path, "/dev/stdout");
  return json.logFormat;
}

const text = (inlineString: string) => ({ textFormatSource: { inlineString } });
const withoutQuery = {
  formatters: [
    {
      name: "envoy.formatter.req_without_query",
      typedConfig: { "@type": "type.googleapis.com/envoy.extensions.formatter.req_without_query.v3.ReqWithoutQuery" },
    },
  ],
};
const json = (jsonFormat: object) => ({ jsonFormat, jsonFormatOptions: {} });

describe("a log to a file", () => {
  const cases: readonly (readonly [name: string, format: string, encoding: Encoding, want: object])[] = [
    ["has Istio's text by default", "", Encoding.TEXT, text(defaultTextFormat)],
    ["has the mesh's text, ended by a line break", "%PROTOCOL%", Encoding.TEXT, text("%PROTOCOL%\n")],
    [
      "brings the extension of an operator along",
      "%REQ_WITHOUT_QUERY(:PATH)%",
      Encoding.TEXT,
      { ...text("%REQ_WITHOUT_QUERY(:PATH)%\n"), ...withoutQuery },
    ],
    [
      "brings it along for JSON",
      '{"p": "%REQ_WITHOUT_QUERY(:PATH)%"}',
      Encoding.JSON,
      { ...json({ p: "%REQ_WITHOUT_QUERY(:PATH)%" }), ...withoutQuery },
    ],
    ["has one line break at the end of a text", "%PROTOCOL%\n", Encoding.TEXT, text("%PROTOCOL%\n")],
    ["has Istio's fields as JSON by default", "", Encoding.JSON, json(defaultJsonFormat)],
    ["has the mesh's fields as JSON", '{"p": "%PROTOCOL%"}', Encoding.JSON, json({ p: "%PROTOCOL%" })],
    ["keeps nested fields", '{"a": {"p": "%PROTOCOL%"}}', Encoding.JSON, json({ a: { p: "%PROTOCOL%" } })],
    ["has the default where the format is a list", "[1]", Encoding.JSON, json(defaultJsonFormat)],
    ["has the default where the format is null", "null", Encoding.JSON, json(defaultJsonFormat)],
    ["has the default where the format is no JSON", "%PROTOCOL%", Encoding.JSON, json(defaultJsonFormat)],
    [
      "has the default where the format is nested too deep for a message",
      `${'{"a":'.repeat(1_000)}"%PROTOCOL%"${"}".repeat(1_000)}`,
      Encoding.JSON,
      json(defaultJsonFormat),
    ],
  ];
  for (const [name, accessLogFormat, accessLogEncoding, want] of cases)
    it(name, () => assert.deepEqual(formatOf(fileLog({ accessLogFormat, accessLogEncoding }, "/dev/stdout")), want));

  it("leaves out empty values where that is asked for", () => {
    const omitEmptyValues = true;
    assert.deepEqual(formatOf(textLog("/dev/stdout", "x", omitEmptyValues)), { ...text("x\n"), omitEmptyValues });
    const inJson = fileLog({ accessLogFormat: "", accessLogEncoding: Encoding.JSON }, "/dev/stdout", omitEmptyValues);
    assert.deepEqual(formatOf(inJson), { ...json(defaultJsonFormat), omitEmptyValues });
  });
});
