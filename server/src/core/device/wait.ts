/** `Prefer: wait=N` on a poll (RFC 7240, section 4.3): how long the answer may be held while the code is pending. */

/** Longest wait in seconds: below 30, where common proxies and our own server close a silent connection. */
export const MAX_WAIT_SECONDS = 25

/** Null if the header does not ask to wait, or not in whole seconds. Of a repeated preference the first counts. */
export function readWait(prefer: string | null): number | null {
  if (prefer === null) return null
  for (const preference of prefer.split(',')) {
    const [name = '', value = ''] = (preference.split(';', 1)[0] ?? '').split('=', 2)
    if (name.trim().toLowerCase() !== 'wait') continue
    const seconds = /^\s*"?(\d{1,9})"?\s*$/.exec(value)?.[1]
    return seconds === undefined || Number(seconds) === 0 ? null : Math.min(Number(seconds), MAX_WAIT_SECONDS)
  }
  return null
}
