/** Configuration check: every setting can be read, and the settings fit together. */
import { access, constants, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Config, everyOption, readConfig } from '../../config.ts'
import { openGeoIp } from '../../geoip.ts'
import { openHostService } from '../../host-service.ts'
import { readOverlays } from '../../pages/messages/read-overlays.ts'
import { readLogoFile } from '../../pictures/logo-file.ts'
import { broken, type Finding, ok, warning } from './finding.ts'

const CHECK = 'configuration'

/** Reads the settings one by one, so that an unreadable one does not prevent checks that use the others. */
export function readValidSettings(): { readonly config: Partial<Config>; readonly problems: readonly string[] } {
  const problems: string[] = []
  const parts = everyOption.map((name) => {
    try {
      return readConfig([name])
    } catch (error) {
      problems.push((error as Error).message)
      return {}
    }
  })
  return { config: Object.assign({}, ...parts), problems }
}

export async function examineConfiguration(
  config: Partial<Config>,
  problems: readonly string[],
): Promise<readonly Finding[]> {
  const findings = [
    ...problems.map((problem) => {
      const [what = '', example = ''] = problem.split(/(?<=\.) (?=Example: )/)
      return broken(CHECK, what, `Correct it and start again. ${example}`)
    }),
    ...(await examineGeoIp(config)),
    ...(await examineFiles(config)),
    ...(await examineJournal(config)),
    ...(await examineHostService(config)),
    ...examinePublic(config),
  ]
  return findings.length > 0 ? findings : [ok(CHECK, 'All settings are valid.')]
}

async function examineGeoIp({
  geoipCityFile = null,
  geoipAsnFile = null,
}: Partial<Config>): Promise<readonly Finding[]> {
  try {
    await openGeoIp(geoipCityFile, geoipAsnFile)
    return []
  } catch (error) {
    return [broken(CHECK, (error as Error).message, 'Provide a MaxMind database at this path, or unset the variable.')]
  }
}

async function examineHostService(config: Partial<Config>): Promise<readonly Finding[]> {
  const { publicUrl, signInUrl, signInKeys } = config
  if (publicUrl === undefined || signInUrl === undefined || signInKeys === undefined) return []
  try {
    await openHostService({ publicUrl, signInUrl, signInKeys })
    return []
  } catch (error) {
    return [broken(CHECK, (error as Error).message, 'Correct the settings: docs/guides/your-own-users.md.')]
  }
}

/** Files that are read at startup: the service does not start with one that cannot be used. */
async function examineFiles({ serviceLogo = null, messagesDir = null }: Partial<Config>): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  await readLogoFile(serviceLogo).catch((error: Error) => {
    findings.push(broken(CHECK, error.message, 'Provide a picture at this path, or unset the variable.'))
  })
  await readOverlays(messagesDir).catch((error: Error) => {
    findings.push(broken(CHECK, error.message, 'Correct the files; "latchkey messages print" prints every text.'))
  })
  return findings
}

/** Does not create the file: it would belong to the user of this command. */
async function examineJournal({ revocationJournal = null }: Partial<Config>): Promise<readonly Finding[]> {
  if (revocationJournal === null) return []
  try {
    const file = await open(revocationJournal, constants.O_RDWR | constants.O_APPEND).catch(async (error) => {
      if (error.code !== 'ENOENT') throw error
      await access(dirname(revocationJournal), constants.W_OK | constants.X_OK)
    })
    await file?.close()
    return []
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const what = `REVOCATION_JOURNAL, ${revocationJournal}, cannot be read and written (${code}).`
    return [broken(CHECK, what, 'Create its folder, and let the user of the service write to it and to the file.')]
  }
}

/** Settings that are fine on a laptop and wrong on a public service. */
function examinePublic({ publicUrl, trustProxy, outboundPrivate }: Partial<Config>): readonly Finding[] {
  if (publicUrl === undefined || isLocal(publicUrl)) return []
  const findings: Finding[] = []
  if (publicUrl.startsWith('http:')) {
    const remedy = 'Run a TLS proxy in front of the service and set PUBLIC_URL to its https URL.'
    findings.push(warning(CHECK, `PUBLIC_URL is ${publicUrl}: users cannot sign in without https.`, remedy))
  } else if (trustProxy?.length === 0) {
    const what =
      'TRUST_PROXY is not set: all requests appear to come from the proxy, so all clients share the limits of one network.'
    findings.push(warning(CHECK, what, 'Set TRUST_PROXY to the network of your proxy, for example 10.0.0.0/8.'))
  }
  if (outboundPrivate) {
    const what = 'OUTBOUND_PRIVATE is true: developers can send webhooks into your own network.'
    findings.push(warning(CHECK, what, 'Unset OUTBOUND_PRIVATE; it is for development.'))
  }
  return findings
}

export function isLocal(publicUrl: string): boolean {
  const { hostname } = new URL(publicUrl)
  return /(^|\.)localhost$/.test(hostname) || hostname === '127.0.0.1' || hostname === '[::1]'
}
