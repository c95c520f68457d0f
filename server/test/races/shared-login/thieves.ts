/** Thieves who copied the stored token set once, and use their copy while the owner goes on. */
import { SharedProcesses } from './shared-processes.ts'
import { ACCESS_TOKEN_MS, type HeldSet, VirtualService } from './virtual-service.ts'
import { createRandom, type Program, VirtualTime } from './virtual-time.ts'

const OWNERS_PROCESSES = 8
const WARM_UP_REFRESHES = 5
/** Long enough for every thief that can be caught; one in lock-step is not. */
const WATCHED_MS = 20 * ACCESS_TOKEN_MS

export type ThiefFigures = {
  thieves: number
  /** The grant was revoked. */
  caught: number
  /** Refreshes of the owner that were answered while the thief held a set that the owner did not have, or vice versa. */
  ownerRefreshesWhileApart: number
  /** Not caught: thief and owner were answered with the same token set, before a use of it was recorded. */
  lockStep: number
  missed: number
}

/**
 * `rash` refreshes at once and uses what it gets. `late` does so after a while. `lock_step` refreshes whenever the owner
 * is about to, and uses nothing before the owner does.
 */
export type ThiefKind = 'rash' | 'late' | 'lock_step'

export function watchThief(kind: ThiefKind, seed: number, figures: ThiefFigures): void {
  const time = new VirtualTime()
  const service = new VirtualService()
  const random = createRandom(seed)
  const owner = new SharedProcesses(time, service, random, false)
  for (let each = 0; each < OWNERS_PROCESSES; each += 1) owner.start()
  while (service.refreshes < WARM_UP_REFRESHES && time.step());
  const stolenUntil = time.now + random() * ACCESS_TOKEN_MS
  while (time.now < stolenUntil && time.step());

  const login = service.login
  const thief = { held: owner.stored, refused: false, shared: 0 }
  run(time, steal(kind, time, service, owner, thief, random))
  const until = time.now + WATCHED_MS
  let apart = 0
  let before = { refreshes: service.refreshes, stored: owner.stored }
  while (service.login === login && !thief.refused && time.now < until && time.step()) {
    const ownerRenewed = owner.stored !== before.stored && owner.stored.login === login
    if (ownerRenewed && before.stored.generation < thief.held.generation) {
      if (owner.stored.generation === thief.held.generation) thief.shared += 1
      else apart += 1
    }
    before = { refreshes: service.refreshes, stored: owner.stored }
  }
  figures.thieves += 1
  figures.ownerRefreshesWhileApart = Math.max(figures.ownerRefreshesWhileApart, apart)
  const isCaught = service.login !== login || thief.refused
  if (isCaught) figures.caught += 1
  else if (thief.shared > 0) figures.lockStep += 1
  else figures.missed += 1
}

type Thief = { held: HeldSet; refused: boolean; shared: number }

function* steal(
  kind: ThiefKind,
  time: VirtualTime,
  service: VirtualService,
  owner: SharedProcesses,
  thief: Thief,
  random: () => number,
): Program {
  if (kind === 'late') yield random() * 2 * ACCESS_TOKEN_MS
  for (;;) {
    // In lock-step it waits until the owner is about to refresh.
    if (kind === 'lock_step') while (thief.held.expiresAt - time.now > ACCESS_TOKEN_MS * 0.11) yield 1_000
    const { set, step } = service.refresh(thief.held, time.now)
    if (!set) {
      thief.refused = true
      return
    }
    if (step !== 'refreshed') thief.shared += 1
    thief.held = set
    // In lock-step it uses nothing before the owner has the same set.
    if (kind === 'lock_step') while (owner.stored.generation < set.generation && !thief.refused) yield 1_000
    else service.check(set, time.now)
    yield ACCESS_TOKEN_MS * (0.2 + 0.8 * random())
  }
}

function run(time: VirtualTime, program: Program): void {
  const wake = () => {
    const { value, done } = program.next()
    if (!done && value !== undefined) time.after(value, wake)
  }
  wake()
}
