/** Application: a registered OAuth client, as the flows need it. docs/interface.md, "Application credentials". */
import type { ScopePolicy } from '../grants/scope.ts'
import type { TestMode } from './test-mode.ts'

export type ApplicationSecret = { readonly id: string; readonly keyId: number; readonly digest: Buffer }

/** Publisher: the service itself (`own`), a publisher whose domain was verified, or unknown (`unverified`). */
export type Publisher = {
  readonly status: PublisherStatus
  /** A domain or a name; for `unverified`, the name that the application claims. */
  readonly name: string | null
}

export const publisherStatuses = ['own', 'verified', 'unverified'] as const

export type PublisherStatus = (typeof publisherStatuses)[number]

export type Application = ScopePolicy & {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly publisher: Publisher
  /** Its publisher is or once was verified: a new name or logo needs the approval of an operator. */
  readonly vouchedFor: boolean
  readonly logoVersion: string | null
  readonly deviceFlow: boolean
  /** The allowed scopes that the device flow may grant. */
  readonly deviceScopes: readonly string[]
  /** Registered redirect URIs (`isRegisteredRedirect`). Empty: the application cannot use the dialog. */
  readonly redirectUris: readonly string[]
  /** Public client (RFC 6749 §2.1): a web page or an installed program. Has no secret. */
  readonly public: boolean
  /** The dialog requires a code challenge (RFC 7636). Otherwise one is optional, and verified if sent. */
  readonly pkceRequired: boolean
  /** May introspect credentials of every application. */
  readonly resourceServer: boolean
  /** Null: off. A test mode that is over may still be here (`runningTestMode`). */
  readonly testMode: TestMode | null
  /** Longer poll interval set by a review. Null: as configured. */
  readonly pollIntervalSeconds: number | null
  readonly suspended: boolean
  readonly deleted: boolean
  /** Live ones only. */
  readonly secrets: readonly ApplicationSecret[]
}

/** Identifies a logo. A version never changes its picture. */
export type LogoName = { readonly applicationId: string; readonly version: string }

/**
 * The logo to show on pages, if any. Logos of unverified publishers are not shown: the picture of another brand is what
 * a fraud needs most.
 */
export function shownLogo(application: Pick<Application, 'id' | 'publisher' | 'logoVersion'>): LogoName | null {
  const { id: applicationId, logoVersion: version, publisher } = application
  return version === null || publisher.status === 'unverified' ? null : { applicationId, version }
}

/** Several secrets let a fleet of devices move to a new one without a gap. */
export const MAX_LIVE_SECRETS = 3

/** The poll interval of new codes. A review can lengthen it, never shorten it. */
export function pollIntervalOf(
  { pollIntervalSeconds }: Pick<Application, 'pollIntervalSeconds'>,
  configured: number,
): number {
  return Math.max(configured, pollIntervalSeconds ?? 0)
}

/** The scope policy of the device flow: the application's own, without scopes that the device flow never grants. */
export function deviceFlowPolicy(application: ScopePolicy & Pick<Application, 'deviceScopes'>): ScopePolicy {
  const { deviceScopes: allowedScopes, defaultScopes, requiredScopes } = application
  return { allowedScopes, defaultScopes, requiredScopes }
}

const MAX_NAME_LENGTH = 100

/**
 * Characters that make one name look like another, or rewrite the sentence around it: controls, formats (direction,
 * zero width, tags), private use, surrogates, unassigned, and characters without a glyph.
 */
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}\u{2800}]/u

/** Words separated by single spaces. Padding could push the rest of a line out of sight. */
const SPACED = /^\S+(?: \S+)*$/u

/**
 * Combining marks without a base letter, or five and more in a row: more than any script needs, and they overlap the
 * lines above.
 */
const LOOSE_MARKS = /(?:^| )\p{M}|\p{M}{5,}/u

/**
 * Whether the name is acceptable on the consent page. It cannot tell a look-alike name from an honest one: for that
 * there are name-skeleton.ts and the publisher status, shown beside the name.
 */
export function isApplicationName(name: string): boolean {
  return (
    name.length <= MAX_NAME_LENGTH &&
    name === name.normalize('NFC') &&
    SPACED.test(name) &&
    !INVISIBLE.test(name) &&
    !LOOSE_MARKS.test(name) &&
    /[\p{L}\p{N}]/u.test(name)
  )
}

/** A host name: lower case, at least two labels, non-ASCII as `xn--…`. */
export function isPublisherName(name: string): boolean {
  return (
    name.length <= 253 && /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/.test(name)
  )
}
