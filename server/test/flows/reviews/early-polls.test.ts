/** Early polls: those answered slow_down are counted once, in bounded memory, and not while the service is overloaded. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createEarlyPolls } from '../../../src/flows/reviews/early-polls.ts'
import { openPostgres, Unavailable } from '../../../src/store/postgres/postgres.ts'
import { useOwnTimeouts } from '../../rig/engines/long-timeouts.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

useOwnTimeouts()

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

const counted = async () => {
  const rows = await service.database.query<{ polls: number }>('select polls from early_polls order by polls')
  return rows.map(({ polls }) => polls)
}
beforeEach(() => service.database.query('truncate early_polls'))

describe('over the wire', () => {
  const save = () => service.context.earlyPolls.save()

  it('counts polls that were answered slow_down, per code', async () => {
    const device = service.device()
    const [one, two, patient] = [await device.code(), await device.code(), await device.code()]
    for (let poll = 0; poll < 4; poll += 1) await device.poll(one.device_code)
    for (let poll = 0; poll < 2; poll += 1) await device.poll(two.device_code)
    await device.poll(patient.device_code)
    await save()
    expect(await counted()).toEqual([1, 3])
    await device.poll(one.device_code)
    await save()
    await save()
    expect(await counted()).toEqual([1, 4])
  })

  it('does not count an early poll that gets an outcome, nor polls of a used or unknown code', async () => {
    const device = service.device()
    const granted = await device.code()
    await device.poll(granted.device_code)
    await service.grant(granted.user_code)
    expect((await device.poll(granted.device_code)).status).toBe(200)
    for (let poll = 0; poll < 30; poll += 1) {
      expect((await device.poll(granted.device_code)).body.error).toBe('invalid')
      expect((await device.poll(`lkd_${'x'.repeat(56)}`)).body.error).toBe('invalid')
    }
    await save()
    expect(await counted()).toEqual([])
  })
})

describe('in process', () => {
  const make = (isOverloaded = () => false) => createEarlyPolls(service.context.db, isOverloaded)
  const application = () => service.application.id

  it('adds up the counts of several processes', async () => {
    const [code, other] = [randomUUID(), randomUUID()]
    const processes = Array.from({ length: 4 }, () => make())
    for (const [index, each] of processes.entries()) {
      for (const id of index % 2 === 0 ? [code, other] : [other, code]) each.count(id, application())
      each.count(code, application())
    }
    await Promise.all(processes.map((each) => each.save()))
    expect(await counted()).toEqual([4, 8])
  })

  it('RL-07: counts nothing while the service is overloaded', async () => {
    let overloaded = true
    const polls = make(() => overloaded)
    const code = randomUUID()
    for (let each = 0; each < 50; each += 1) polls.count(code, application())
    await polls.save()
    expect(await counted()).toEqual([])
    overloaded = false
    polls.count(code, application())
    await polls.save()
    expect(await counted()).toEqual([1])
  })

  it('is bounded: twenty thousand codes between two saves, and known ones are still counted', async () => {
    const polls = make()
    const codes = Array.from({ length: 20_500 }, () => randomUUID())
    for (const code of codes) polls.count(code, application())
    for (const code of codes) polls.count(code, application())
    await polls.save()
    const [row] = await service.database.query(
      'select count(*)::int as codes, sum(polls)::int as polls from early_polls',
    )
    expect(row).toEqual({ codes: 20_000, polls: 40_000 })
  })

  it('keeps unsaved counts, and counts nothing twice', async () => {
    const polls = make()
    const code = randomUUID()
    polls.count(code, application())
    const elsewhere = openPostgres(service.database.url, 1)
    await elsewhere.transaction(async (tx) => {
      await tx.query('lock table early_polls in access exclusive mode')
      const saving = expect(polls.save()).rejects.toThrow(Unavailable)
      polls.count(code, application())
      await saving
    })
    await elsewhere.close()
    await polls.save()
    await polls.save()
    expect(await counted()).toEqual([2])
  })

  it('drops what PostgreSQL refuses for good, and continues', async () => {
    const polls = make()
    polls.count(randomUUID(), 'app_that_is_none')
    await expect(polls.save()).rejects.toThrow('foreign key')
    polls.count(randomUUID(), application())
    await polls.save()
    expect(await counted()).toEqual([1])
  })
})
