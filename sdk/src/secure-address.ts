/** Secrets and credentials are sent by https, except to this machine. */

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

export function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.includes(hostname))
}
