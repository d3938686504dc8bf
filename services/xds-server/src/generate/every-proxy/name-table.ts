/** The name table: what a sidecar's own DNS server answers. Joined from entries that are encoded once a service. */
import { compareText, type Service, type TextOf, textCodec } from "@flotilla/model";
import { create, typeUrl } from "@flotilla/proto";
import { NameTableSchema } from "@flotilla/proto/istio/networking/nds/v1/nds_pb";
import { type ServiceText, serviceText } from "../../snapshot/row-index.ts";
import { servicesOfName } from "../../snapshot/scope/services.ts";
import { type ScopeName, scopeName } from "../../snapshot/scope/sidecar.ts";
import { allImportedServices } from "../../snapshot/scope/sidecar-scope.ts";
import { query } from "../../snapshot/view.ts";
import { type Encoded, encodedMessage, sameVersion, slicedParts } from "../encode/encoded.ts";
import { createContainerGenerator } from "../encode/generator.ts";
import { joinEntries, nameEntries } from "./name-entries.ts";

/** The only resource has no name; other proxies than sidecars get an empty table. */
export const nameTable = createContainerGenerator({
  typeUrl: typeUrl.nameTable,
  names: () => [""],
  select: (view) => ({ entries: view.proxy.type === "sidecar" ? view.read(tableEntries, view.read(scopeName)) : [] }),
  schema: NameTableSchema,
  parts: ({ entries }) => entries,
});

const tableService = textCodec<
  "TableService",
  { readonly service: ServiceText; readonly registry: string; readonly name: string }
>("TableService", " ", ["service", "registry", "name"]);

/** Texts of the services of one host, with commas between: independent of who sees them. */
type TableHost = string;

/** A Service has its host's name for itself; ServiceEntries of one host share it. */
const tableHosts = query<readonly TableHost[], ScopeName>("name-table-hosts", (view, scope) => {
  const byHost = Map.groupBy(view.read(allImportedServices, scope), ({ hostname }) => hostname);
  return [...byHost]
    .sort(([a], [b]) => compareText(a, b))
    .map(([, all]) => {
      const [kubernetes] = all.filter(({ registry }) => registry === "Kubernetes");
      const texts = new Set((kubernetes === undefined ? all : [kubernetes]).map(tableText));
      return [...texts].join();
    });
});

/** The part of the table that the services of one host contribute. */
const encodedEntries = query<Encoded, TableHost>(
  "name-table-entries",
  (view, host) => {
    const services = host.split(",").flatMap((text) => {
      const { service } = tableService.read(text as TextOf<typeof tableService>);
      return view.read(servicesOfName, service).find((one) => tableText(one) === text) ?? [];
    });
    const table = joinEntries(services.map((service) => nameEntries(view, service)));
    return encodedMessage(NameTableSchema, create(NameTableSchema, { table }));
  },
  sameVersion,
);

const tableEntries = slicedParts("name-table", tableHosts, encodedEntries);

function tableText(service: Service): TextOf<typeof tableService> {
  const { registry, name } = service;
  return tableService.write({ service: serviceText.write(service), registry, name });
}
