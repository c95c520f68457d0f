/** Status of a process's background tasks, for operators. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTasks } from '../../../src/flows/operator/tasks.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

describe('a task', () => {
  const watched = () => {
    let now = 1_000
    const tasks = createTasks(() => now)
    tasks.started('sweeping', 10_000)
    const pass = (ms: number) => {
      now += ms
    }
    return { tasks, pass, line: () => tasks.list()[0] }
  }

  it('has no success when it starts, and is not overdue', () => {
    const { line } = watched()
    expect(line()).toEqual({
      ...{ name: 'sweeping', everyMs: 10_000, succeededAgoMs: null },
      ...{ failedAgoMs: null, failure: null, overdue: false },
    })
  })

  it('is overdue after three intervals and half a minute without success', () => {
    const { tasks, pass, line } = watched()
    tasks.succeeded('sweeping')
    pass(60_000)
    tasks.failed('sweeping', new Error('no space left'))
    expect(line()).toMatchObject({ overdue: false, succeededAgoMs: 60_000, failedAgoMs: 0, failure: 'no space left' })
    pass(1)
    expect(line()).toMatchObject({ overdue: true, failedAgoMs: 1 })
    tasks.succeeded('sweeping')
    expect(line()).toMatchObject({ overdue: false, succeededAgoMs: 0, failure: 'no space left' })
  })

  it('is overdue when its first run never ends', () => {
    const { pass, line } = watched()
    pass(60_001)
    expect(line()).toMatchObject({ overdue: true, succeededAgoMs: null })
  })

  it('shows a failure shortened, whatever was thrown', () => {
    const { tasks, line } = watched()
    tasks.failed('sweeping', 'x'.repeat(5_000))
    expect(line()?.failure).toHaveLength(200)
    tasks.failed('nobody knows', new Error('this one'))
    expect(tasks.list()).toHaveLength(1)
  })
})

describe('a process', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService()
  })
  afterAll(() => service.stop())

  it('lists every task that it runs, and soon the success of the frequent ones', async () => {
    const frequent = () => service.context.tasks.list().filter(({ everyMs }) => everyMs <= 2_000)
    expect(service.context.tasks.list().map(({ name }) => name)).toEqual(
      expect.arrayContaining(['pulling applications', 'pulling revocations', 'judging applications', 'sweeping']),
    )
    const waiting = () => frequent().filter(({ succeededAgoMs }) => succeededAgoMs === null)
    await expect.poll(waiting, { timeout: 30_000 }).toEqual([])
    expect(frequent().filter(({ overdue, failure }) => overdue || failure !== null)).toEqual([])
  })
})
