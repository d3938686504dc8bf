/**
 * The root of the mesh, rotated again and again while the stores lose their disks: an operator who starts and aborts rotations, a workload in
 * a pod that renews its certificate, and what must hold between them and ca whatever was lost.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import { requestCertificate } from "@flotilla/auth/serving";

export interface RotatingRootOptions {
  readonly workDir: string;
  /** Of ca's pages. */
  readonly pagesPort: number;
  readonly caPort: number;
  readonly random: () => number;
}

interface RotationPage {
  readonly phase: string;
  readonly id: string;
  readonly serial?: number;
}

interface CaPage {
  readonly signing: { readonly sha256: string } | null;
  readonly roots: readonly { readonly sha256: string }[];
}

/** The workload's certificate: fingerprints of the root that it leads to, and of those that came with it. */
interface Held {
  readonly issuer: string;
  readonly roots: readonly string[];
  readonly rootsPem: string;
}

export class RotatingRoot {
  readonly #options: RotatingRootOptions;
  #held: Held | undefined;
  /** Its last request was not answered: the certificate that it holds may not be the one that ca has on record. */
  #isRenewalDue = true;
  /** The highest that ca has shown or acknowledged. */
  #serial = 0;
  /** Every root that was in use or about to be, and those of them that were given up. */
  readonly #known = new Set<string>();
  readonly #gone = new Set<string>();
  /** More rotations than these cannot have made roots. */
  #asked = 0;
  /** Stands for the rest of the run: what happened once cannot be put right. */
  #violation = "";

  constructor(options: RotatingRootOptions) {
    this.#options = options;
  }

  /** The phase that ca works by; undefined while it does not answer. */
  async phase(): Promise<string | undefined> {
    return (await this.#page<RotationPage>("/debug/rotation"))?.phase;
  }

  /** An operator who starts a rotation or aborts it, or does neither; refusals and lost answers included. */
  async operate(): Promise<void> {
    const draw = this.#options.random();
    if (draw > 0.5) return;
    if (draw < 0.4) this.#asked++;
    const page = await this.#page<RotationPage>(`/debug/rotation?action=${draw < 0.4 ? "rotate" : "abort"}`, "POST");
    this.#serial = Math.max(this.#serial, page?.serial ?? 0);
  }

  /** The workload asks for its next certificate, trusting the roots that it was given with the last one; false: not answered. */
  async renew(): Promise<boolean> {
    const { workDir, caPort } = this.#options;
    try {
      const issuer = await openLocalIssuer(workDir);
      const pod = { name: "web-1", uid: "web-1-uid" };
      const { chainPem, rootsPem } = await requestCertificate({
        ...{ address: `127.0.0.1:${caPort}`, serverName: "flotilla-ca.istio-system.svc", names: [] },
        rootsPem: this.#held?.rootsPem ?? readFileSync(join(workDir, "root-cert.pem"), "utf8"),
        proof: { token: await issuer.mintToken({ namespace: "shop", serviceAccount: "web", pod }) },
        ...{ keyType: "ecdsa-p256", ttlMs: 3_600_000, deadlineMs: 60_000 },
      });
      const roots = certificatesOf(rootsPem);
      const [leaf] = certificatesOf(chainPem);
      const root = roots.find(({ publicKey }) => leaf?.verify(publicKey) === true);
      if (root === undefined) this.#violation = "a certificate leads to none of the roots that came with it";
      else this.#held = { issuer: fingerprintOf(root), roots: roots.map(fingerprintOf), rootsPem };
      this.#isRenewalDue = false;
    } catch {
      // Of a ca that is stopped: asked again.
      this.#isRenewalDue = true;
    }
    return !this.#isRenewalDue;
  }

  /** Empty when everything agrees; a renewal that was not answered has to succeed first. */
  async whatDiffers(servedRoot: string | undefined): Promise<string> {
    const rotation = await this.#page<RotationPage>("/debug/rotation");
    const page = await this.#page<CaPage>("/debug/caz");
    if (rotation === undefined || page?.signing === undefined || page.signing === null) return "ca unreachable";
    const [signing, trusted] = [page.signing.sha256, page.roots.map(({ sha256 }) => sha256)];
    this.#note(rotation, signing, trusted);
    if (this.#violation !== "") return this.#violation;
    if (servedRoot === undefined || !trusted.includes(servedRoot)) return `ca serves under ${servedRoot}`;
    return !this.#isRenewalDue || (await this.renew()) ? this.#violation : "the workload gets no certificate";
  }

  #note({ serial = 0, phase, id }: RotationPage, signing: string, trusted: readonly string[]): void {
    const fail = (text: string) => {
      this.#violation ||= `${text} (rotation ${id} ${phase} ${serial})`;
    };
    if (serial < this.#serial) fail(`the rotation went back from state ${this.#serial}`);
    this.#serial = Math.max(this.#serial, serial);
    for (const root of this.#known) if (!trusted.includes(root)) this.#gone.add(root);
    for (const root of trusted) {
      this.#known.add(root);
      if (this.#gone.has(root)) fail(`the root ${root} was given up and is back`);
    }
    if (this.#known.size > 1 + this.#asked) fail(`there were ${this.#known.size} roots and ${this.#asked} rotations`);
    if (!trusted.includes(signing)) fail("ca signs with a root that it does not hand out");
    if (this.#held === undefined) return;
    if (!trusted.includes(this.#held.issuer)) fail("a certificate in use is of a root that is not trusted any more");
    if (!this.#held.roots.includes(signing)) fail("ca signs with a root that a workload was never given");
  }

  async #page<T>(path: string, method = "GET"): Promise<T | undefined> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.#options.pagesPort}${path}`, {
        method,
        signal: AbortSignal.timeout(5_000),
      });
      return response.ok ? ((await response.json()) as T) : undefined;
    } catch {
      return undefined;
    }
  }
}

function certificatesOf(pem: string): readonly X509Certificate[] {
  return (pem.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []).map((one) => new X509Certificate(one));
}

export function fingerprintOf({ fingerprint256 }: { readonly fingerprint256: string }): string {
  return fingerprint256.replaceAll(":", "").toLowerCase();
}
