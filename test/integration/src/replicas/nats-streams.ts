/** The streams of a NATS cluster, as its servers describe them on their pages. */

export interface StreamDescription {
  readonly name: string;
  readonly replicas: number;
  /** Name of a server; empty while there is none. */
  readonly leader: string;
}

interface Page {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly {
      readonly name: string;
      readonly config?: { readonly num_replicas: number };
      readonly cluster?: { readonly leader?: string };
    }[];
  }[];
}

/** Of the first server that answers. @throws Error when none does */
export async function streamsOf(pages: readonly string[]): Promise<readonly StreamDescription[]> {
  for (const page of pages) {
    const response = await fetch(`${page}/jsz?accounts=true&streams=true&config=true`).catch(() => undefined);
    if (response?.ok !== true) continue;
    const { account_details: accounts = [] } = (await response.json()) as Page;
    return accounts
      .flatMap(({ stream_detail: streams = [] }) => streams)
      .map(({ name, config, cluster }) => ({
        name,
        replicas: config?.num_replicas ?? 0,
        leader: cluster?.leader ?? "",
      }));
  }
  throw new Error(`no NATS answers at ${pages.join(", ")}`);
}
