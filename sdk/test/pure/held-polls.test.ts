/** Polls that wait for the decision, on a virtual clock. docs/interface/device-flow.md, "Wait for the decision". */
import { expect, test } from 'vitest'
import { lost, pending, refusal, type Script } from '../rig/scripted.ts'
import { accepted, gapsOf, start } from '../rig/started.ts'

type Clock = { sleep(ms: number): Promise<void> }

const held = (seconds: number, retryAfter = '0') =>
  refusal('auth_pending', { 'preference-applied': `wait=${seconds}`, 'retry-after': retryAfter })

const after = (clock: Clock, seconds: number, answer: Response | Error): Script => {
  return async () => {
    await clock.sleep(seconds * 1000)
    return answer
  }
}

const waitsOf = (asked: readonly { readonly headers: Headers }[]) =>
  asked.slice(1).map(({ headers }) => headers.get('prefer'))

test('every poll asks to wait; after a held answer the next one follows at once', async () => {
  const { asked, clock, next, session, state } = await start()
  next(after(clock, 25, held(25)), after(clock, 25, held(25)), accepted(state))
  await clock.during(session.wait())
  expect(waitsOf(asked)).toEqual(['wait=25', 'wait=25', 'wait=25'])
  expect(gapsOf(asked)).toEqual([5.5, 25.25, 25.25])
})

test('an answer that was released early is followed after what is left of the interval', async () => {
  const { asked, clock, next, session, state } = await start()
  next(after(clock, 1, held(25, '4')), accepted(state))
  await clock.during(session.wait())
  expect(gapsOf(asked)).toEqual([5.5, 5.5])
})

test('where a proxy cuts off at ten seconds, the next wait ends before', async () => {
  const { asked, clock, next, session, state } = await start()
  next(after(clock, 10, lost()), after(clock, 8, held(8)), accepted(state))
  await clock.during(session.wait())
  expect(waitsOf(asked)).toEqual(['wait=25', 'wait=8', 'wait=8'])
})

test('where a proxy cuts off soon, polls do not wait any more', async () => {
  const { asked, clock, next, session, state } = await start()
  next(after(clock, 4, lost()), pending, accepted(state))
  await clock.during(session.wait())
  expect(waitsOf(asked)).toEqual(['wait=25', null, null])
})

test('where a held answer never arrives, polls do not wait any more', async () => {
  const { asked, clock, next, session, state } = await start()
  next(() => new Promise<Response>(() => {}), pending, accepted(state))
  await clock.during(session.wait())
  expect(waitsOf(asked)).toEqual(['wait=25', null, null])
})

test('a connection that is refused at once does not shorten the wait', async () => {
  const { asked, clock, next, session, state } = await start()
  next(lost('ECONNREFUSED'), accepted(state))
  await clock.during(session.wait())
  expect(waitsOf(asked)).toEqual(['wait=25', 'wait=25'])
})
