/** What is signed with and what is trusted in each phase of a rotation, from the material in use and the one to come. */
import { appendPem, certificatePem } from "@flotilla/pki";
import type { Phase } from "../rotation/rotation-state.ts";
import { idsOf, type SigningMaterial } from "./material.ts";

export function combine(phase: Phase, base: SigningMaterial, next: SigningMaterial | undefined): SigningMaterial {
  if (next === undefined) return base;
  switch (phase) {
    case "idle":
      return base;
    case "trusting":
    case "reverting":
      return trusting(base, next);
    case "issuing":
      return trusting(next, base);
    case "finishing":
      return next;
  }
}

/** Signs as before, and hands over the other's roots too. The signer's come first. */
function trusting(signer: SigningMaterial, other: SigningMaterial): SigningMaterial {
  const more = other.roots.filter(({ der }) => !signer.roots.some((root) => root.der.equals(der)));
  const roots = [...signer.roots, ...more];
  const lists = { crls: [...signer.crls, ...other.crls], crlPem: appendPem(signer.crlPem, other.crlPem) };
  return { ...signer, roots, rootsPem: roots.map(certificatePem).join(""), rootIds: idsOf(roots), ...lists };
}
