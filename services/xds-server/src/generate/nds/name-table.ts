/** The name table: what a sidecar's own DNS server answers. Joined from entries that are encoded once a service. */
import { create, encode, typeUrl } from "@flotilla/proto";
import { type NameTable_NameInfo, NameTableSchema } from "@flotilla/proto/istio/networking/nds/v1/nds_pb";
import { scopeName } from "../../snapshot/scope/sidecar.ts";
import { scopeServices, visibleService } from "../../snapshot/scope/sidecar-scope.ts";
import { query } from "../../snapshot/view.ts";
import { createContainerGenerator } from "../generator.ts";
import { concatBytes, sameBytes } from "../shared/wire.ts";
import { nameEntries } from "./name-entries.ts";

/** The only resource has no name; other proxies than sidecars get an empty table. */
export const nameTable = createContainerGenerator({
  typeUrl: typeUrl.nameTable,
  names: () => [""],
  select: (view) => ({ entries: view.proxy.type === "sidecar" ? view.read(encodedTable) : [] }),
  join: ({ entries }) => concatBytes(entries),
});

const encodedTable = query<readonly Uint8Array[]>("name-table", (view) =>
  view
    .read(scopeServices, view.read(scopeName))
    .map(({ hostname }) => hostname)
    .sort()
    .map((hostname) => view.read(encodedEntries, hostname)),
);

/** The part of the table that one service contributes. */
const encodedEntries = query<Uint8Array, string>(
  "name-table-entries",
  (view, hostname) => {
    const service = visibleService(view, hostname);
    const table: { [host: string]: NameTable_NameInfo } = {};
    if (service !== undefined) for (const [host, info] of nameEntries(view, service)) table[host] = info;
    return encode(NameTableSchema, create(NameTableSchema, { table }));
  },
  sameBytes,
);
