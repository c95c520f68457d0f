/** A seal of the audit log does not fit: what was done to the log there, as far as its neighbourhood tells. */
import { type SealedPlace, sealEntry } from '../../secrets/audit-seal.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { equalSecrets } from '../../secrets/mac.ts'
import type { EntryRow, SealedEntry } from '../../store/audit/seals.ts'

/** A seal whose event is there. */
export type Link = SealedEntry & { readonly entry: EntryRow }

/**
 * `changed`: what follows still fits, so this one row is not what was sealed. `reordered`: what was sealed here is elsewhere now.
 * `inserted`: what was sealed here comes after this. `rewritten`: from here on nothing fits; something was taken out or put in
 * and the rest renumbered, or the seals were made anew without the key.
 */
export type Break = 'changed' | 'reordered' | 'inserted' | 'rewritten'

/** Of the seal as it is stored, for this entry in this place. False also when its key is not known. */
export function fits(keys: Keyset, seal: SealedEntry, place: SealedPlace, entry: EntryRow): boolean {
  const key = keys.byId.get(seal.keyId)
  const names = seal.xid === entry.xid && seal.eventAt === entry.at
  return key !== undefined && names && equalSecrets(sealEntry(key, place, entry), seal.hash)
}

/** `broken` is the first that does not fit behind `previous`; `around` are its neighbours in order, on both sides. */
export function explainBreak(keys: Keyset, previous: Buffer, broken: Link, around: readonly SealedEntry[]): Break {
  const { position } = broken
  const here = { previous, position }
  const others = around.filter((each): each is Link => each.entry !== null && each.position !== position)
  if (others.some(({ entry }) => wasHere(keys, here, broken, entry))) return 'reordered'

  const belongs = others.find((each) => fits(keys, each, here, each.entry))
  if (belongs) {
    const follows = { previous: belongs.hash, position: position + 1 }
    const second = others.find((each) => each.position === position + 2)
    const shifted = belongs.position === position + 1 && (!second || fits(keys, second, follows, second.entry))
    return shifted && !fits(keys, broken, follows, broken.entry) ? 'inserted' : 'reordered'
  }
  const later = others.filter((each) => each.position > position)
  if (later.length === 0 || later.some((each) => fitsInPlace(keys, each, around))) return 'changed'
  return followsRepaired(keys, here, broken, later[0]) ? 'changed' : 'rewritten'
}

/** The broken seal was made for this entry, or for this one under its own number: rows or what they say were exchanged. */
function wasHere(keys: Keyset, here: SealedPlace, broken: Link, entry: EntryRow): boolean {
  const { id, xid } = broken.entry
  const timed = { ...broken, eventAt: entry.at }
  const seal = { ...timed, xid: entry.xid }
  return (
    fits(keys, seal, here, entry) ||
    fits(keys, seal, here, { ...entry, id }) ||
    fits(keys, timed, here, { ...entry, id, xid })
  )
}

function fitsInPlace(keys: Keyset, link: Link, around: readonly SealedEntry[]): boolean {
  const before = around.find((each) => each.position === link.position - 1)
  return before !== undefined && fits(keys, link, { previous: before.hash, position: link.position }, link.entry)
}

/** Only the seal itself was changed: with the right one in its place, the next fits. */
function followsRepaired(keys: Keyset, here: SealedPlace, broken: Link, next: Link | undefined): boolean {
  const key = keys.byId.get(broken.keyId)
  if (!key || !next || next.position !== here.position + 1) return false
  const previous = sealEntry(key, here, broken.entry)
  return fits(keys, next, { previous, position: next.position }, next.entry)
}
