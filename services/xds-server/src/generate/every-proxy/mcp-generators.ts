/**
 * Configuration for other control planes (node metadata GENERATOR "api"): every object of Istio's kinds in MCP's envelope, under
 * each version that is served, and the MeshConfig as it is.
 */
import { isIstioKind, type Kind, kinds, mcpTypeUrls } from "@flotilla/kinds";
import { type Config, type ConfigKeyText, compareText, configKeyText, parseConfigKey } from "@flotilla/model";
import { create, type Message, pack, registry, typeUrl } from "@flotilla/proto";
import { MetadataSchema } from "@flotilla/proto/mcp/v1alpha1/metadata_pb";
import { ResourceSchema } from "@flotilla/proto/mcp/v1alpha1/resource_pb";
import { MeshConfigSchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { query } from "../../snapshot/view.ts";
import { contentHash, type Encoded, type EncodedResource, encodedMessage, sameVersion } from "../encode/encoded.ts";
import type { Generator } from "../encode/generator.ts";

const envelopeTypeUrl = `type.googleapis.com/${ResourceSchema.typeName}`;
const meshTypeUrl = `type.googleapis.com/${MeshConfigSchema.typeName}`;

/** One encoding of an object, whatever version of its kind it is asked for under. */
const encodedObject = query<Encoded | undefined, ConfigKeyText>(
  "mcp object",
  (view, text) => {
    const { kind, namespace, name } = parseConfigKey(text);
    const config = view.configOfAnyKind<Message>(kind, namespace, name);
    return config && encodedMessage(ResourceSchema, envelopeOf(config));
  },
  sameVersion,
);

const namesOfKind = query<readonly string[], string>("mcp names", (view, kind) =>
  view
    .allOfAnyKind(kind)
    .map(({ key }) => `${key.namespace}/${key.name}`)
    .sort(compareText),
);

export const mcpGenerators: readonly (readonly [string, Generator])[] = [
  ...kinds
    .filter(isIstioKind)
    .flatMap((kind) => mcpTypeUrls(kind).map((url) => [`api/${url}`, kindGenerator(kind, url)] as const)),
  [`api/${typeUrl.meshConfig}`, meshGenerator()],
];

function kindGenerator({ name: kind }: Kind, url: string): Generator {
  return {
    typeUrl: url,
    names: query(`mcp ${url} names`, (view) => view.read(namesOfKind, kind)),
    resource: query<EncodedResource | undefined, string>(
      `mcp ${url}`,
      (view, name) => {
        const [namespace = "", object, rest] = name.split("/");
        if (object === undefined || rest !== undefined) return undefined;
        const found = view.read(encodedObject, configKeyText({ kind, namespace, name: object }));
        return found && { ...found, name, typeUrl: envelopeTypeUrl };
      },
      sameVersion,
    ),
  };
}

/** The only resource has no name. */
function meshGenerator(): Generator {
  return {
    typeUrl: typeUrl.meshConfig,
    names: query<readonly string[]>("mcp mesh names", () => [""]),
    resource: query<EncodedResource | undefined, string>(
      "mcp mesh",
      (view, name) =>
        name === "" ? { ...encodedMessage(MeshConfigSchema, view.mesh), name, typeUrl: meshTypeUrl } : undefined,
      sameVersion,
    ),
  };
}

/** The version follows from the contents, so that it is the same on every replica. */
function envelopeOf({ key, labels, annotations, creationTimeMs, spec }: Config<Message>) {
  const schema = registry.getMessage(spec.$typeName);
  if (schema === undefined) throw new RangeError(spec.$typeName);
  const body = pack(schema, spec);
  const texts = JSON.stringify([labels, annotations]);
  const metadata = create(MetadataSchema, {
    name: `${key.namespace}/${key.name}`,
    version: contentHash(`${contentHash(body.value)}${texts}`),
    labels: { ...labels },
    annotations: { ...annotations },
    ...(creationTimeMs > 0 && {
      createTime: { seconds: BigInt(Math.floor(creationTimeMs / 1000)), nanos: (creationTimeMs % 1000) * 1_000_000 },
    }),
  });
  return create(ResourceSchema, { metadata, body });
}

/** Clients choose the kinds that they ask for: no more than this many are remembered. */
const maxKinds = 200;
const form = /^[\w.-]+\/v[\w.-]+\/\w+$/;

/**
 * A generator of nothing for a type of the form `group/version/Kind`, for kinds that this control plane does not support: istiod counts a
 * source as synced only when every kind that it asked for was answered (nacos#5301).
 */
export function unknownKinds(): (typeUrl: string) => Generator | undefined {
  const known = new Map<string, Generator>();
  return (typeUrl) => {
    const before = known.get(typeUrl);
    if (before !== undefined || !form.test(typeUrl) || known.size >= maxKinds) return before;
    const made: Generator = {
      typeUrl,
      names: query<readonly string[]>(`mcp ${typeUrl} names`, () => []),
      resource: query<EncodedResource | undefined, string>(`mcp ${typeUrl}`, () => undefined),
    };
    known.set(typeUrl, made);
    return made;
  };
}
