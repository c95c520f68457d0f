/** Where to go after signing in. Only ever a path of this account: what looks like anything else leads home. */

/**
 * One slash, then lower-case words and dashes, with a plain query behind it. Never two slashes or a backslash at the front,
 * which browsers read as another host.
 */
const PLAIN = /^\/(?!\/)[a-z0-9/-]{0,80}(\?[a-z_]{1,20}=[\w.%*+-]{0,400}(&[a-z_]{1,20}=[\w.%*+-]{0,400}){0,3})?$/

export function nextPath(given: string | undefined): string {
  return given !== undefined && PLAIN.test(given) ? given : '/'
}
