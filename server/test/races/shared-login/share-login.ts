/**
 * 64 processes that share one stored credential, killed and frozen at random, in virtual time: no login is lost, and
 * thieves are caught. docs/decisions/0044-a-refresh-is-answered-until-its-successor-is-used.md.
 */
import { type Figures, SharedProcesses } from './shared-processes.ts'
import { type ThiefFigures, type ThiefKind, watchThief } from './thieves.ts'
import { VirtualService } from './virtual-service.ts'
import { createRandom, VirtualTime } from './virtual-time.ts'

const PROCESSES = 64

export type SharedLogin = Figures & {
  readonly refreshes: number
  readonly repeated: number
  readonly logins: number
  readonly virtualDays: number
}

export function shareLogin(refreshes: number, seed: number): SharedLogin {
  const time = new VirtualTime()
  const service = new VirtualService()
  const processes = new SharedProcesses(time, service, createRandom(seed), true)
  for (let each = 0; each < PROCESSES; each += 1) processes.start()
  while (service.refreshes < refreshes && time.step());
  const virtualDays = Math.round(time.now / 86_400_000)
  return {
    ...processes.figures,
    refreshes: service.refreshes,
    repeated: service.repeated,
    logins: service.login,
    virtualDays,
  }
}

export function watchThieves(each: number, seed: number): Record<ThiefKind, ThiefFigures> {
  const watch = (kind: ThiefKind): ThiefFigures => {
    const figures = { thieves: 0, caught: 0, ownerRefreshesWhileApart: 0, lockStep: 0, missed: 0 }
    for (let index = 0; index < each; index += 1) watchThief(kind, seed + index, figures)
    return figures
  }
  return { rash: watch('rash'), late: watch('late'), lock_step: watch('lock_step') }
}
