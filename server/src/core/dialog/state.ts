/** `state` parameter: the application's text, echoed exactly. docs/interface.md, "Parameters". */

const MAX_STATE_BYTES = 1024

/** Characters that XML 1.0 can carry. One rule for both formats: a state accepted in JSON must not fail in XML. */
const XML_TEXT = /^[\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]*$/u

export function isEchoable(state: string): boolean {
  return Buffer.byteLength(state) <= MAX_STATE_BYTES && XML_TEXT.test(state)
}
