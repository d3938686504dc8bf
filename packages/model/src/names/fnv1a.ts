/** FNV-1a: short stable hashes that spread names and distinguish versions; they guard nothing. */

/** 32 bits of FNV-1a of a text's UTF-8 bytes. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    // Host names are ASCII: only others pay for the encoding.
    if (code > 127) return ofBytes(new TextEncoder().encode(text));
    hash = Math.imul(hash ^ code, 0x01000193);
  }
  return hash >>> 0;
}

function ofBytes(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** 64 bits of a text in 16 hexadecimal digits: two hashes, the second of shifted characters. */
export function checksum(text: string): string {
  let a = 0x811c9dc5;
  let b = 0xc9dc5118;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ (code + 0x9e37), 0x01000193);
  }
  return (a >>> 0).toString(16).padStart(8, "0") + (b >>> 0).toString(16).padStart(8, "0");
}
