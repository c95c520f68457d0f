/** The operator's product, as pages and mails show it. */
import type { Service } from '../pages/ui/frame.ts'
import type { Context } from './context.ts'

export function serviceOf({ config }: Context): Service {
  const links = [
    { kind: 'help', href: config.helpUrl },
    { kind: 'privacy', href: config.privacyUrl },
    { kind: 'terms', href: config.termsUrl },
  ] as const
  return {
    name: config.serviceName,
    links: links.flatMap(({ kind, href }) => (href === null ? [] : [{ kind, href }])),
  }
}
