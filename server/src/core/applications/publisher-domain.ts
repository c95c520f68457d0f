/**
 * Publisher domain: parses it and judges its proof, a DNS record. docs/interface/account-pages.md, "Publishers".
 */
import { isPublisherName } from './application.ts'

/** Each problem has its own message. */
export type DomainProblem =
  | 'empty'
  | 'address'
  | 'port'
  | 'ip'
  | 'single'
  | 'dot'
  | 'too_long'
  | 'not_a_domain'
  /** The service's own host or one of an account's: only the operator can set those. */
  | 'ours'

export type ReadDomain = { readonly domain: string } | { readonly problem: DomainProblem }

/** Label of the record: no host has such a name by accident, and no web host can serve it. */
const LABEL = '_latchkey'

/** A DNS name has at most 253 characters (RFC 1035, section 2.3.4), including our label and its dot. */
const MAX_DOMAIN_LENGTH = 253 - LABEL.length - 1

/**
 * Parses a typed domain. Other scripts and capitals are converted to the DNS form. `ownHost`: the host of the service.
 */
export function readDomain(text: string, ownHost: string): ReadDomain {
  const typed = text.trim()
  if (typed === '') return { problem: 'empty' }
  if (/[/\\?#@]/.test(typed)) return { problem: 'address' }
  if (/^\[|:.*:/.test(typed)) return { problem: 'ip' }
  if (typed.includes(':')) return { problem: 'port' }
  if (/[.。．｡]$/.test(typed)) return { problem: 'dot' }
  const domain = inDns(typed)
  if (domain === null) return { problem: 'not_a_domain' }
  if (/^[\d.]+$/.test(domain)) return { problem: 'ip' }
  if (!domain.includes('.')) return { problem: 'single' }
  if (domain.length > MAX_DOMAIN_LENGTH) return { problem: 'too_long' }
  if (!isPublisherName(domain)) return { problem: 'not_a_domain' }
  if (domain === ownHost || domain.endsWith(`.${ownHost}`)) return { problem: 'ours' }
  return { domain }
}

/** Converts with the URL parser: `Bücher.example` becomes `xn--bcher-kva.example`, and `0x7f.1` becomes 127.0.0.1. */
function inDns(typed: string): string | null {
  if (/[\s%]/.test(typed) || !URL.canParse(`http://${typed}/`)) return null
  return new URL(`http://${typed}/`).hostname
}

export function recordName(domain: string): string {
  return `${LABEL}.${domain}`
}

/** Result of a look-up of the record. `silent`: no usable answer. */
export type RecordStatus = 'there' | 'gone' | 'silent'

const DAY_MS = 24 * 60 * 60 * 1000

/** A record deleted by mistake can be restored within this time; after it, the removal counts as intended. */
const MAX_MISSING_MS = 7 * DAY_MS

/** Name servers that have not answered for this long count as abandoned. */
const MAX_UNANSWERED_MS = 30 * DAY_MS

export type ProvenPublisher = {
  readonly provenAt: number
  /** Since when every answer has lacked the record. */
  readonly missingSince: number | null
}

/** Outcome of a periodic recheck. `missed`: missing for the first time; `lost`: the publisher is no longer verified. */
export function recheck(
  { provenAt, missingSince }: ProvenPublisher,
  record: RecordStatus,
  now: number,
): 'proven' | 'missed' | 'still_missing' | 'unknown' | 'lost' {
  switch (record) {
    case 'there':
      return 'proven'
    case 'gone':
      if (missingSince === null) return 'missed'
      return now - missingSince >= MAX_MISSING_MS ? 'lost' : 'still_missing'
    case 'silent':
      return now - provenAt >= MAX_UNANSWERED_MS ? 'lost' : 'unknown'
  }
}
