/** Check of `next`, the page after signing in: only a path on this account's host; anything else becomes `/`. */

/**
 * One slash, then lower-case letters, digits, slashes and dashes, then a plain query. Never two slashes or a backslash
 * at the start, which browsers read as another host.
 */
const PLAIN = /^\/(?!\/)[a-z0-9/-]{0,80}(\?[a-z_]{1,20}=[\w.%*+-]{0,400}(&[a-z_]{1,20}=[\w.%*+-]{0,400}){0,3})?$/

export function nextPath(given: string | undefined): string {
  return given !== undefined && PLAIN.test(given) ? given : '/'
}
