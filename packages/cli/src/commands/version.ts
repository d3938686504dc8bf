/** `flotilla version`, with `--remote` also that of every service that runs. */
import { askAt, type Connection, serviceAddresses } from "../connection.ts";
import type { version as definition } from "../definitions/version.ts";
import { CliError } from "../errors.ts";
import { columns, formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import { packageVersion } from "../parse/program.ts";

export const version: Run<typeof definition> = async ({ options, terminal }) => {
  const value = { flotilla: packageVersion(), node: process.versions.node };
  if (!options.remote) {
    terminal.print(render(formatOf(options), value, line));
    return 0;
  }
  const services = await versionsOf(options);
  const text = () => columns([...services.map(({ service, at, version }) => [service, version, at])]);
  terminal.print(render(formatOf(options), { ...value, services }, (all) => `${line(all)}\n${text()}`));
  return services.every(({ version }) => version === away) ? 4 : 0;
};

const away = "no answer";

/** Of every replica. @throws CliError CLI_NOT_RUNNING */
async function versionsOf(connection: Connection): Promise<readonly RemoteVersion[]> {
  return Promise.all(
    serviceAddresses(connection).map(async ({ name, replica = name, url }) => {
      try {
        const page = await askAt<{ readonly version: string; readonly node: string }>(
          name,
          url,
          "/version",
          connection,
        );
        return { service: replica, at: url, version: page.version, node: page.node };
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        return { service: replica, at: url, version: away };
      }
    }),
  );
}

interface RemoteVersion {
  readonly service: string;
  readonly at: string;
  readonly version: string;
  readonly node?: string;
}

function line({ flotilla, node }: { readonly flotilla: string; readonly node: string }): string {
  return `flotilla ${flotilla} (node ${node})`;
}
