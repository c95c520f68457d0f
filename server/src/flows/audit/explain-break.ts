/** Diagnosis of a seal that does not match: what was done to the audit log there, judging by its neighbours. */
import { type SealedPlace, sealEntry } from '../../secrets/audit-seal.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { equalSecrets } from '../../secrets/mac.ts'
import type { EntryRow, SealedEntry } from '../../store/audit/seals.ts'

/** A seal with its event. */
export type Link = SealedEntry & { readonly entry: EntryRow }

/**
 * `changed`: the following seals match, so only this row was altered; or the next seal is in another month's tables.
 * `reordered`: the event sealed here is elsewhere now. `inserted`: the event sealed here comes right after this one.
 * `rewritten`: nothing matches from here on; rows were removed or inserted and the rest renumbered, or the seals were
 * recomputed without the key.
 */
export type Break = 'changed' | 'reordered' | 'inserted' | 'rewritten'

/** True if the stored seal matches this entry at this place. False also if its key is unknown. */
export function fits(keys: Keyset, seal: SealedEntry, place: SealedPlace, entry: EntryRow): boolean {
  const key = keys.byId.get(seal.keyId)
  const names = seal.xid === entry.xid && seal.eventAt === entry.at
  return key !== undefined && names && equalSecrets(sealEntry(key, place, entry), seal.hash)
}

/**
 * `broken` is the first seal that does not match after `previous`; `around` are its neighbours on both sides, in order.
 */
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
  const next = others.find((each) => each.position === position + 1)
  const later = others.filter((each) => each.position > position)
  if (!next || later.some((each) => fitsInPlace(keys, each, around))) return 'changed'
  return followsRepaired(keys, here, broken, next) ? 'changed' : 'rewritten'
}

/**
 * True if the broken seal was made for this entry, possibly under the broken row's own id: rows or their contents were
 * swapped.
 */
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

/** True if only the seal was altered: with the recomputed one in its place, the next seal matches. */
function followsRepaired(keys: Keyset, here: SealedPlace, broken: Link, next: Link): boolean {
  const key = keys.byId.get(broken.keyId)
  if (!key) return false
  const previous = sealEntry(key, here, broken.entry)
  return fits(keys, next, { previous, position: next.position }, next.entry)
}
