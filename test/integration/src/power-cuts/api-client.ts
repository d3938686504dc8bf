/** Writes routes over the API of config-controller and reads them back. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import {
  certificatePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  privateKeyPem,
  sanOf,
  spkiOf,
} from "@flotilla/pki";

interface Reply {
  readonly status: number;
  readonly body: string;
}

/** Of a write: an error of the connection or of the bus leaves open whether it was stored. */
export type Outcome = "stored" | "in doubt";

const path = "/apis/networking.istio.io/v1/namespaces/shop/virtualservices";

export class ApiClient {
  /** Settings of config-controller. */
  readonly certificateFiles: Readonly<Record<string, string>>;
  readonly #port: number;
  readonly #mint: () => Promise<string>;
  readonly #rootPem: string;

  #problem = "";

  private constructor(
    port: number,
    rootPem: string,
    files: Readonly<Record<string, string>>,
    mint: () => Promise<string>,
  ) {
    this.#port = port;
    this.#rootPem = rootPem;
    this.certificateFiles = files;
    this.#mint = mint;
  }

  /** @param firstPort of the mesh; the API has the ninth */
  static async create(workDir: string, firstPort: number): Promise<ApiClient> {
    const [rootKey, key] = [await generatePrivateKey("ecdsa-p256"), await generatePrivateKey("ecdsa-p256")];
    const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 86_400_000 };
    const root = issueRoot({ serial: randomBytes(16), subject: { commonName: "api" }, ...times }, rootKey);
    const leaf = { serial: randomBytes(16), spki: spkiOf(key), sans: [sanOf("localhost")], ...times };
    const files = { API_CERT_FILE: join(workDir, "api.crt"), API_KEY_FILE: join(workDir, "api.key") };
    writeFileSync(files.API_CERT_FILE, certificatePem({ der: issueLeaf(leaf, issuerOf(root, rootKey)) }));
    writeFileSync(files.API_KEY_FILE, privateKeyPem(key), { mode: 0o600 });
    const issuer = await openLocalIssuer(workDir);
    const account = { namespace: "istio-system", serviceAccount: "flotilla-admin", audience: "flotilla-api" };
    return new ApiClient(firstPort + 8, certificatePem(root), files, () => issuer.mintToken(account));
  }

  /** Why `routes` had none the last time. */
  get problem(): string {
    return this.#problem;
  }

  /** Time-outs in seconds by host; undefined while it does not answer. */
  async routes(): Promise<ReadonlyMap<string, number> | undefined> {
    const { status, body } = await this.#send("GET", path);
    if (status !== 200) {
      this.#problem = `${status} ${body.slice(0, 300)}`;
      return undefined;
    }
    const { items } = JSON.parse(body) as { readonly items: readonly ReturnType<typeof routeOf>[] };
    return new Map(
      items.map(({ metadata, spec }) => [metadata.name, Number.parseInt(spec.http[0]?.timeout ?? "0", 10)]),
    );
  }

  /** Undefined deletes. */
  async write(host: string, timeout: number | undefined): Promise<Outcome> {
    const there = await this.#send("GET", `${path}/${host}`);
    if (there.status !== 200 && there.status !== 404) return "in doubt";
    const exists = there.status === 200;
    if (timeout === undefined) return this.#outcome(exists ? await this.#send("DELETE", `${path}/${host}`) : there);
    if (!exists) return this.#outcome(await this.#send("POST", path, JSON.stringify(routeOf(host, timeout))));
    const { resourceVersion } = (JSON.parse(there.body) as { readonly metadata: { readonly resourceVersion: string } })
      .metadata;
    const route = routeOf(host, timeout);
    const body = JSON.stringify({ ...route, metadata: { ...route.metadata, resourceVersion } });
    return this.#outcome(await this.#send("PUT", `${path}/${host}`, body));
  }

  #outcome({ status }: Reply): Outcome {
    return status < 300 || status === 404 ? "stored" : "in doubt";
  }

  async #send(method: string, at: string, body?: string): Promise<Reply> {
    const authorization = `Bearer ${await this.#mint()}`;
    const { promise, resolve } = Promise.withResolvers<Reply>();
    const refused = (error: Error) => resolve({ status: 503, body: error.message });
    const options = { port: this.#port, method, path: at, ca: this.#rootPem, timeout: 5_000, agent: false } as const;
    const sending = request(
      { ...options, host: "localhost", headers: { authorization, "content-type": "application/json" } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.once("error", refused).once("end", () => resolve({ status: response.statusCode ?? 503, body: text }));
      },
    );
    sending.once("error", refused).once("timeout", () => sending.destroy(new Error("no answer")));
    sending.end(body);
    return promise;
  }
}

export function routeOf(host: string, timeout: number) {
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: host, namespace: "shop" },
    spec: { hosts: [host], http: [{ timeout: `${timeout}s`, route: [{ destination: { host } }] }] },
  };
}
