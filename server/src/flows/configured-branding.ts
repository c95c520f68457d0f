/** Name, logo and links of the service, as the operator configured them, for pages and mails. */
import type { Service } from '../pages/ui/frame.ts'
import type { Context } from './context.ts'

export function serviceOf({ config, serviceLogo }: Pick<Context, 'config' | 'serviceLogo'>): Service {
  const links = [
    { kind: 'help', href: config.helpUrl },
    { kind: 'privacy', href: config.privacyUrl },
    { kind: 'terms', href: config.termsUrl },
  ] as const
  return {
    name: config.serviceName,
    logo: serviceLogo && { path: serviceLogo.path, url: `${config.publicUrl}${serviceLogo.path}` },
    links: links.flatMap(({ kind, href }) => (href === null ? [] : [{ kind, href }])),
  }
}
