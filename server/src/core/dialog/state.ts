/** `state` parameter: the application's text, echoed exactly. docs/interface.md, "Parameters". */

const MAX_STATE_BYTES = 1024

/** Characters that XML 1.0 can carry. One rule for both formats: a code requested in JSON may be polled in XML. */
const XML_TEXT = /^[\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]*$/u

/** Null: it can be echoed. */
export function stateProblem(state: string): string | null {
  if (Buffer.byteLength(state) > MAX_STATE_BYTES) return `The state is longer than ${MAX_STATE_BYTES} bytes.`
  if (XML_TEXT.test(state)) return null
  return 'The state has a character that XML 1.0 cannot carry, such as a control character other than tab and line breaks.'
}
