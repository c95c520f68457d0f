/** Whom an application comes from, proven by a record in DNS. docs/interface.md, "Whom an application comes from". */
import { isPublisherName } from './application.ts'

/** What is wrong with a domain that somebody typed, each with words of its own. */
export type DomainProblem =
  | 'empty'
  | 'address'
  | 'port'
  | 'ip'
  | 'single'
  | 'dot'
  | 'too_long'
  | 'not_a_domain'
  /** The service's own host, or an account's: what is there is for the operator to say. */
  | 'ours'

export type ReadDomain = { readonly domain: string } | { readonly problem: DomainProblem }

/** In front of the domain: nobody has such a name by accident, and no web host can answer for it. */
const LABEL = '_latchkey'

/** A name in DNS has at most 253 characters (RFC 1035, section 2.3.4), our label and its dot included. */
const MAX_DOMAIN_LENGTH = 253 - LABEL.length - 1

/** As people type it. Other scripts and capitals become what DNS knows them by. `ownHost`: the service's. */
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

/** A browser's own reading of it: `Bücher.example` is `xn--bcher-kva.example`, and `0x7f.1` is 127.0.0.1. */
function inDns(typed: string): string | null {
  if (/[\s%]/.test(typed) || !URL.canParse(`http://${typed}/`)) return null
  return new URL(`http://${typed}/`).hostname
}

export function recordName(domain: string): string {
  return `${LABEL}.${domain}`
}

/** What the name servers said of the record. `silent`: nothing that could be believed. */
export type RecordStatus = 'there' | 'gone' | 'silent'

const DAY_MS = 24 * 60 * 60 * 1000

/** A record that was deleted by mistake can be set again; one that stays away was meant to. */
const MAY_BE_GONE_MS = 7 * DAY_MS

/** Name servers that have not answered for so long belong to nobody any more. */
const MAY_BE_SILENT_MS = 30 * DAY_MS

export type ProvenPublisher = {
  /** When the record was last seen. */
  readonly provenAt: number
  /** Since when it has been gone, every time that anybody answered. */
  readonly missingSince: number | null
}

/** What becomes of a proof that is looked at again. `missed`: for the first time; `lost`: for good. */
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
      return now - missingSince >= MAY_BE_GONE_MS ? 'lost' : 'still_missing'
    case 'silent':
      return now - provenAt >= MAY_BE_SILENT_MS ? 'lost' : 'unknown'
  }
}
