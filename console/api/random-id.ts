/** Random bytes in hexadecimal. `crypto.randomUUID` is missing where the service is reached over plain HTTP. */
export function randomId(bytes = 16): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )
}
