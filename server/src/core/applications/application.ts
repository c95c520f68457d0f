/** An application: what a third party registered, as the flows need it. docs/interface.md, "Application credentials". */
import type { ScopePolicy } from '../grants/scope.ts'

export type ApplicationSecret = { readonly id: string; readonly keyId: number; readonly digest: Buffer }

/** Whom an application comes from: the service itself, somebody whose domain was verified, or nobody knows. */
export type Publisher = { readonly status: PublisherStatus; readonly name: string | null }

export const publisherStatuses = ['own', 'verified', 'unverified'] as const

export type PublisherStatus = (typeof publisherStatuses)[number]

export type Application = ScopePolicy & {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly publisher: Publisher
  /** Somebody vouches, or once vouched, for its publisher: its name and logo change only with a second look. */
  readonly vouchedFor: boolean
  /** Null: it has no logo. */
  readonly logoVersion: string | null
  readonly deviceFlow: boolean
  /** Those of the allowed scopes that a typed code may lead to. */
  readonly deviceScopes: readonly string[]
  /** Where the dialog may return to, to the character. Without any, there is no dialog. */
  readonly redirectUris: readonly string[]
  /** Cannot keep a secret and has none: a page, a program on somebody else's machine. */
  readonly public: boolean
  /** The dialog is opened only with a code challenge (RFC 7636). Otherwise it may have one, and then it counts as well. */
  readonly pkceRequired: boolean
  /** May ask about credentials of every application. */
  readonly resourceServer: boolean
  /** In test mode: the user as whom it decides its own codes. */
  readonly testedAs: string | null
  /** A review asked for more patience than the configuration does. Null: as configured. */
  readonly pollIntervalSeconds: number | null
  readonly suspended: boolean
  readonly deleted: boolean
  /** Live secrets only. */
  readonly secrets: readonly ApplicationSecret[]
}

/** Which picture is meant: the same version is the same picture, always. */
export type LogoName = { readonly applicationId: string; readonly version: string }

/**
 * The logo that people are shown, if any. A picture of somebody else's brand is what a fraud needs most, so there is none
 * where nobody vouches for whom the application comes from.
 */
export function shownLogo(application: Pick<Application, 'id' | 'publisher' | 'logoVersion'>): LogoName | null {
  const { id: applicationId, logoVersion: version, publisher } = application
  return version === null || publisher.status === 'unverified' ? null : { applicationId, version }
}

/** So that a fleet can move from one secret to the next without a gap, and no further. */
export const MAX_LIVE_SECRETS = 3

/** What its new codes are told. A review can ask for more patience, never for less. */
export function pollIntervalOf(
  { pollIntervalSeconds }: Pick<Application, 'pollIntervalSeconds'>,
  configured: number,
): number {
  return Math.max(configured, pollIntervalSeconds ?? 0)
}

/** What holds for a typed code: the application's own rules, without the scopes that are never granted that way. */
export function deviceFlowPolicy(application: ScopePolicy & Pick<Application, 'deviceScopes'>): ScopePolicy {
  const { deviceScopes: allowedScopes, defaultScopes, requiredScopes } = application
  return { allowedScopes, defaultScopes, requiredScopes }
}

const MAX_NAME_LENGTH = 100

/**
 * Controls, formats (direction, zero width, tags), private use, surrogates, what is not assigned, and what is drawn as
 * nothing at all: with them one name can look like another, or rewrite the sentence it stands in.
 */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\u{2800}]/u

/** Words with one plain space between them: no padding that pushes the rest of a line out of sight. */
const SPACED = /^\S+(?: \S+)*$/u

/** A mark belongs to the letter before it. More than any script needs climb over the lines above. */
const LOOSE_MARKS = /(?:^| )\p{M}|\p{M}{5,}/u

/**
 * May an application be called that, on the page where somebody decides? A name that merely resembles another cannot be
 * told from an honest one here; that is what name-skeleton.ts and the status of its publisher beside it are for.
 */
export function isApplicationName(name: string): boolean {
  return (
    name.length <= MAX_NAME_LENGTH &&
    name === name.normalize('NFC') &&
    SPACED.test(name) &&
    !UNSEEN.test(name) &&
    !LOOSE_MARKS.test(name) &&
    /[\p{L}\p{N}]/u.test(name)
  )
}

/** A host name, as its publisher proved to own it: lower case, at least two labels. Other scripts come as `xn--…`. */
export function isPublisherName(name: string): boolean {
  return (
    name.length <= 253 && /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/.test(name)
  )
}
