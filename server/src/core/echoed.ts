/**
 * Text of a request as a message repeats it: not longer than `max`, and in the characters that `error_description` allows
 * (RFC 6749, section 5.2). All others are percent-encoded.
 */
export function echoed(text: string, max: number): string {
  const start = text.slice(0, max + 1).toWellFormed()
  const escaped = start.replace(/[^\x21\x23-\x5b\x5d-\x7e]/gu, (character) => encodeURIComponent(character))
  return escaped.length > max ? `${escaped.slice(0, max)}...` : escaped
}
