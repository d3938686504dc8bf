import assert from "node:assert/strict";
import { test } from "node:test";
import { startHttps } from "./https-server.fixture.ts";
import { oidcCredentials } from "./oidc-credentials.ts";

const hourMs = 3_600_000;

/** A token whose signature is not checked here: that is the API server's part. */
function idToken(issuer: string, expiresMs: number, subject = "jane"): string {
  const claims = {
    iss: issuer,
    aud: "kube",
    sub: subject,
    iat: Math.floor(Date.now() / 1000),
    exp: Math.floor(expiresMs / 1000),
  };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256" })}.${part(claims)}.c2lnbmF0dXJl`;
}

/** Renews whatever it is asked with `refresh-N`, once each, to `refresh-N+1`. */
async function startProvider() {
  const asked: string[] = [];
  const clients: string[] = [];
  const server = await startHttps("127.0.0.1", async (request, response) => {
    const issuer = `https://127.0.0.1:${server.port}`;
    response.setHeader("content-type", "application/json");
    if (request.url === "/.well-known/openid-configuration")
      return response.end(JSON.stringify({ issuer, token_endpoint: `${issuer}/token` }));
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
    const { authorization } = request.headers;
    clients.push(Buffer.from(authorization?.slice("Basic ".length) ?? "", "base64").toString());
    const refresh = new URLSearchParams(body).get("refresh_token") ?? "";
    if (refresh !== `refresh-${asked.length}`) {
      response.writeHead(400).end(JSON.stringify({ error: "invalid_grant", error_description: `${refresh} was used` }));
      return;
    }
    asked.push(refresh);
    response.end(
      JSON.stringify({
        access_token: "a",
        token_type: "bearer",
        expires_in: 3600,
        id_token: idToken(issuer, Date.now() + hourMs, `renewed-${asked.length}`),
        refresh_token: `refresh-${asked.length}`,
      }),
    );
  });
  return Object.assign(server, { asked, clients, issuer: `https://127.0.0.1:${server.port}` });
}

const subjectOf = (token = "") =>
  JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).sub as string;

test("a token of an OpenID Connect provider is used until it expires and renewed by the last refresh-token", async () => {
  await using provider = await startProvider();
  const config = {
    "client-id": "kube",
    "client-secret": "secret",
    "idp-issuer-url": provider.issuer,
    "idp-certificate-authority-data": Buffer.from(provider.ca).toString("base64"),
    "id-token": idToken(provider.issuer, Date.now() - 1000),
    "refresh-token": "refresh-0",
  };
  let now = Date.now();
  const credentials = oidcCredentials(config, "east", () => now);
  const both = await Promise.all([credentials.get(), credentials.get()]);
  assert.deepEqual(
    both.map(({ token }) => subjectOf(token)),
    ["renewed-1", "renewed-1"],
  );
  assert.deepEqual(provider.clients, ["kube:secret"]);
  now += hourMs / 2;
  assert.equal(subjectOf((await credentials.get()).token), "renewed-1");
  assert.deepEqual(provider.asked, ["refresh-0"]);
  now += hourMs;
  assert.equal(subjectOf((await credentials.get()).token), "renewed-2");
  credentials.forget();
  assert.equal(subjectOf((await credentials.get()).token), "renewed-3");
});

test("a token that holds is used without its provider", async () => {
  const token = idToken("https://provider.invalid", Date.now() + hourMs);
  const config = { "client-id": "kube", "id-token": token };
  assert.equal((await oidcCredentials(config, "east").get()).token, token);
});

test("a token that cannot be renewed is an error with its reason", async () => {
  await using provider = await startProvider();
  const expired = idToken(provider.issuer, Date.now() - 1000);
  const alone = oidcCredentials({ "id-token": expired }, "east");
  await assert.rejects(alone.get(), /KUBE_CONFIG.*east: auth-provider oidc gives no token: its id-token does not hold/);
  const config = {
    "client-id": "kube",
    "idp-issuer-url": provider.issuer,
    "idp-certificate-authority-data": Buffer.from(provider.ca).toString("base64"),
    "id-token": expired,
    "refresh-token": "stolen",
  };
  const refused = oidcCredentials(config, "east");
  await assert.rejects(refused.get(), /east: auth-provider oidc gives no token: .*stolen was used/);
});
