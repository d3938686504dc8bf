/** The name table: what a sidecar's own DNS server answers. Joined from entries that are encoded once a service. */
import { compareText, type Service, type TextOf, textCodec } from "@flotilla/model";
import { create, typeUrl } from "@flotilla/proto";
import { NameTableSchema } from "@flotilla/proto/istio/networking/nds/v1/nds_pb";
import { type ServiceText, serviceText } from "../../snapshot/row-index.ts";
import { servicesOfName } from "../../snapshot/scope/services.ts";
import { type ScopeName, scopeName } from "../../snapshot/scope/sidecar.ts";
import { importedServices } from "../../snapshot/scope/sidecar-scope.ts";
import { query } from "../../snapshot/view.ts";
import { type Encoded, encodedMessage, sameVersion, slicedParts } from "../encode/encoded.ts";
import { createContainerGenerator } from "../encode/generator.ts";
import { nameEntries } from "./name-entries.ts";

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
type TableService = TextOf<typeof tableService>;

/** The services of a scope by name, as texts that do not depend on who sees them. */
const tableServices = query<readonly TableService[], ScopeName>("name-table-services", (view, scope) =>
  [...view.read(importedServices, scope)].sort((a, b) => compareText(a.hostname, b.hostname)).map(tableText),
);

/** The part of the table that one service contributes. */
const encodedEntries = query<Encoded, TableService>(
  "name-table-entries",
  (view, text) => {
    const found = view.read(servicesOfName, tableService.read(text).service);
    const service = found.find((one) => tableText(one) === text);
    const table = service === undefined ? {} : Object.fromEntries(nameEntries(view, service));
    return encodedMessage(NameTableSchema, create(NameTableSchema, { table }));
  },
  sameVersion,
);

const tableEntries = slicedParts("name-table", tableServices, encodedEntries);

function tableText(service: Service): TableService {
  const { registry, name } = service;
  return tableService.write({ service: serviceText.write(service), registry, name });
}
