/** ServiceEntries that take more connections than they mean, or contradict each other. */
import { compareText } from "@flotilla/model";
import { field, fieldAt, isSet, items, numberOf, textOf, texts } from "@flotilla/validation/field";
import type { Analyzer, Index, Mesh } from "../analyzer.ts";
import { finding } from "../finding.ts";
import { fullName, type MeshObject } from "../mesh-object.ts";
import { exportScopes } from "../shared/hosts.ts";
import { meshConfig } from "../shared/settings.ts";

/** The counterpart of istioctl's serviceentry.Analyzer. */
export const serviceEntryAddresses: Analyzer = {
  name: "service-entry-addresses",
  summary: "TCP ports of ServiceEntries without addresses",
  messages: ["ServiceEntryAddressesRequired"],
  checks: ["ServiceEntry"],
  reads: ["MeshConfig"],
  check: (entry, mesh) => {
    const hasAddresses =
      isSet(field(entry.spec, "addresses")) || items(field(entry.whole, "status"), "addresses").length > 0;
    if (hasAddresses || allocatesAddresses(mesh)) return [];
    return items(entry.spec, "ports")
      .filter((port) => ["", "TCP"].includes(textOf(field(port, "protocol")).toUpperCase()))
      .map((port) => finding("ServiceEntryAddressesRequired", entry, port, {}));
  },
};

/** True where agents answer DNS themselves, with addresses that they or the control plane allocate. */
function allocatesAddresses(mesh: Mesh): boolean {
  const metadata = fieldAt(meshConfig(mesh), "defaultConfig", "proxyMetadata");
  const isOn = (name: string) => textOf(field(metadata, name)) === "true";
  return (
    isOn("ISTIO_META_DNS_CAPTURE") && (isOn("ISTIO_META_DNS_AUTO_ALLOCATE") || isOn("PILOT_ENABLE_IP_AUTOALLOCATE"))
  );
}

const everywhere = "*";

/** ServiceEntries by the namespaces that see them, their hosts and ports; and by host and port alone. */
const entriesByPort: Index = {
  name: "ServiceEntries by host and port",
  kinds: ["ServiceEntry"],
  keysOf: (entry) => [
    ...new Set(
      placesOf(entry).flatMap(({ host, port }) =>
        [...exportScopes(entry), "any"].map((scope) => `${scope} ${host} ${port}`),
      ),
    ),
  ],
};

interface PortPlace {
  readonly host: string;
  readonly port: number;
  readonly protocol: string;
}

function placesOf({ spec }: MeshObject): readonly PortPlace[] {
  const ports = items(spec, "ports").map((port) => ({
    port: numberOf(field(port, "number")),
    protocol: textOf(field(port, "protocol")).toUpperCase(),
  }));
  return texts(spec, "hosts").flatMap(({ value: host }) => ports.map((port) => ({ host, ...port })));
}

/** The counterpart of istioctl's serviceentry.ConflictingServiceEntryProtocolAnalyzer. */
export const serviceEntryProtocols: Analyzer = {
  name: "service-entry-protocols",
  summary: "ServiceEntries that give one port of a host different protocols",
  messages: ["ConflictingServiceEntryProtocols"],
  checks: ["ServiceEntry"],
  reads: [],
  indexes: [entriesByPort],
  check: (entry, mesh) => {
    for (const { host, port } of placesOf(entry)) {
      const group = [entry, ...rivalsOf(entry, `${host} ${port}`, mesh)];
      const protocols = new Set(
        group
          .flatMap((one) => placesOf(one).filter((place) => place.host === host && place.port === port))
          .map(({ protocol }) => protocol),
      );
      if (protocols.size < 2) continue;
      const names = [...new Set(group.map(({ key }) => fullName(key)))].sort(compareText);
      const values = {
        serviceEntries: names.join(", "),
        host,
        port,
        protocols: [...protocols].sort(compareText).join(", "),
      };
      return [finding("ConflictingServiceEntryProtocols", entry, field(entry.spec, "ports"), values)];
    }
    return [];
  },
};

/** Those that some namespace sees beside this one. */
function rivalsOf(entry: MeshObject, place: string, mesh: Mesh): readonly MeshObject[] {
  const scopes = exportScopes(entry);
  const others = scopes.includes(everywhere)
    ? mesh.row(entriesByPort, `any ${place}`)
    : [...scopes, everywhere].flatMap((scope) => mesh.row(entriesByPort, `${scope} ${place}`));
  return others.filter((other) => other !== entry);
}
