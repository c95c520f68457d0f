/** The queue for password hashing: one hash at a time, known browsers first, and room for whoever is not a flood. */
import { describe, expect, it } from 'vitest'
import { createPasswordQueue, PasswordsBusy, type Stranger } from '../../src/secrets/password-queue.ts'

type Work = { readonly work: () => Promise<string>; readonly end: () => void; readonly fail: (error: Error) => void }

/** Work that begins when it is its turn, and ends when the test says so. */
function createDesk(maxWaiting: number) {
  const queue = createPasswordQueue(maxWaiting)
  const begun: string[] = []
  const works = new Map<string, Work>()

  const workOf = (name: string): Work => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const work = () => {
      begun.push(name)
      return promise
    }
    const made = { work, end: () => resolve(name), fail: reject }
    works.set(name, made)
    return made
  }
  const settle = async () => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
  }
  return {
    queue,
    begun,
    known: (name: string, accountId = 'acc', network = 'home') =>
      outcome(queue.known({ accountId, network }, workOf(name).work)),
    /** A stranger who hashes once. */
    stranger: (name: string, source: Partial<Stranger> = {}) =>
      outcome(
        queue.inTurn({ accountId: 'acc', network: name, deferredRank: null, ...source }, (hash) =>
          hash(workOf(name).work),
        ),
      ),
    end: async (name: string) => {
      works.get(name)?.end()
      await settle()
    },
    fail: async (name: string, error: Error) => {
      works.get(name)?.fail(error)
      await settle()
    },
    settle,
  }
}

function outcome(asked: Promise<string>): Promise<string> {
  return asked.catch((error) => (error instanceof PasswordsBusy ? 'busy' : `failed: ${error.message}`))
}

/** What was decided so far. */
async function decided(asked: Promise<string>): Promise<string> {
  return Promise.race([asked, new Promise<string>((resolve) => setImmediate(resolve, 'waiting'))])
}

describe('one hash at a time', () => {
  it('the next begins when the one before has ended', async () => {
    const { begun, known, end } = createDesk(4)
    const first = known('first')
    const second = known('second')
    expect(begun).toEqual(['first'])
    await end('first')
    expect(begun).toEqual(['first', 'second'])
    expect(await first).toBe('first')
    await end('second')
    expect(await second).toBe('second')
  })

  it('the next begins, too, when the one before has failed; only the one fails', async () => {
    const { begun, known, end, fail } = createDesk(4)
    const asked = [known('first'), known('second')]
    await fail('first', new Error('broken digest'))
    expect(begun).toEqual(['first', 'second'])
    await end('second')
    expect(await Promise.all(asked)).toEqual(['failed: broken digest', 'second'])
  })

  it('after a pause, the next begins at once', async () => {
    const { begun, known, end } = createDesk(4)
    void known('first')
    await end('first')
    void known('second')
    expect(begun).toEqual(['first', 'second'])
  })
})

describe('the order', () => {
  it('known browsers before the hashes of a stranger whose turn it is, and those before nothing', async () => {
    const { begun, known, stranger, end } = createDesk(8)
    void known('running')
    void stranger('stranger')
    void known('known 1')
    void known('known 2')
    for (const name of ['running', 'known 1', 'known 2']) await end(name)
    expect(begun).toEqual(['running', 'known 1', 'known 2', 'stranger'])
  })

  it('known browsers of each account in turn, and of an account those of each network', async () => {
    const { begun, known, end } = createDesk(8)
    const names = ['a home 1', 'a home 2', 'a office 1', 'b home 1']
    void known('running', 'x')
    for (const name of names) void known(name, name.slice(0, 1), name.split(' ')[1])
    for (const name of ['running', ...names]) await end(name)
    for (const name of names) await end(name)
    expect(begun).toEqual(['running', 'a home 1', 'b home 1', 'a office 1', 'a home 2'])
  })

  it('strangers of each network in turn, and of a network those of each account', async () => {
    const { begun, stranger, end } = createDesk(16)
    const names = ['a one 1', 'a one 2', 'a two 1', 'b one 1']
    void stranger('running')
    for (const name of names) void stranger(name, { network: name.slice(0, 1), accountId: name.split(' ')[1] ?? '' })
    for (let round = 0; round < 2; round += 1) for (const name of ['running', ...names]) await end(name)
    expect(begun).toEqual(['running', 'a one 1', 'b one 1', 'a two 1', 'a one 2'])
  })

  it('strangers who wait for the response before those who have it, of whom the lowest rank is first', async () => {
    const { begun, stranger, end } = createDesk(16)
    void stranger('running')
    void stranger('rank 2', { deferredRank: 2 })
    void stranger('rank 0', { deferredRank: 0 })
    void stranger('waits')
    for (const name of ['running', 'waits', 'rank 0', 'rank 2']) await end(name)
    expect(begun).toEqual(['running', 'waits', 'rank 0', 'rank 2'])
  })

  it('the deferred of a network that has one in the queue already come behind those of others', async () => {
    const { begun, stranger, end } = createDesk(16)
    void stranger('running')
    void stranger('a 1', { deferredRank: 0, network: 'a' })
    void stranger('a 2', { deferredRank: 0, network: 'a' })
    void stranger('b 1', { deferredRank: 0, network: 'b' })
    for (const name of ['running', 'a 1', 'b 1', 'a 2']) await end(name)
    expect(begun).toEqual(['running', 'a 1', 'b 1', 'a 2'])
  })
})

describe('the turn of a stranger', () => {
  const from = (network: string): Stranger => ({ accountId: 'acc', network, deferredRank: null })

  it('lasts until its work has ended, whether it hashes or not; nobody else’s work begins', async () => {
    const { queue, begun, stranger, end, settle } = createDesk(8)
    const { promise, resolve } = Promise.withResolvers<string>()
    const first = outcome(queue.inTurn(from('a'), () => promise))
    void stranger('second')
    await settle()
    expect(begun).toEqual([])
    resolve('no password needed')
    await settle()
    expect(begun).toEqual(['second'])
    expect(await first).toBe('no password needed')
    await end('second')
  })

  it('lets known browsers hash meanwhile', async () => {
    const { queue, begun, known, settle } = createDesk(8)
    void queue.inTurn(from('a'), () => new Promise(() => {}))
    void known('known')
    await settle()
    expect(begun).toEqual(['known'])
  })

  it('may hash several times, one after the other', async () => {
    const queue = createPasswordQueue(8)
    const begun: number[] = []
    const hashed = await queue.inTurn(from('a'), async (hash) => {
      const work = (number: number) => async () => begun.push(number)
      return [await hash(work(1)), await hash(work(2))]
    })
    expect([begun, hashed]).toEqual([
      [1, 2],
      [1, 2],
    ])
  })
})

describe('when the queue is full', () => {
  it('the newest known browser of the account that has most makes room, and is told at once', async () => {
    const { known } = createDesk(2)
    const asked = [known('running'), known('first', 'a'), known('second', 'a'), known('other', 'b')]
    expect(await Promise.all(asked.map(decided))).toEqual(['waiting', 'waiting', 'busy', 'waiting'])
  })

  it.each([
    [4, 2],
    [5, 3],
    [1, 1],
  ])('with %d places for known browsers, %d strangers wait', async (maxWaiting, places) => {
    const { stranger } = createDesk(maxWaiting)
    const asked = Array.from({ length: 1 + places + 3 }, (_, index) => stranger(`network ${index}`))
    const outcomes = await Promise.all(asked.map(decided))
    expect(outcomes.filter((each) => each === 'busy')).toHaveLength(3)
    expect(outcomes.filter((each) => each === 'waiting')).toHaveLength(1 + places)
  })

  it('strangers do not take the places of known browsers', async () => {
    const { known, stranger } = createDesk(2)
    for (let index = 0; index < 8; index += 1) void stranger(`network ${index}`)
    const asked = [known('first'), known('second')]
    expect(await Promise.all(asked.map(decided))).toEqual(['waiting', 'waiting'])
  })

  it('2,000 strangers who have their response wait; of more, the newest of the highest rank is refused', async () => {
    const { stranger } = createDesk(2)
    void stranger('running')
    const asked = Array.from({ length: 2_000 }, (_, index) => stranger(`network ${index}`, { deferredRank: 1 }))
    const last = asked.at(-1) as Promise<string>
    expect(await decided(last)).toBe('waiting')
    const newer = stranger('newer', { deferredRank: 0 })
    expect([await decided(newer), await decided(last)]).toEqual(['waiting', 'busy'])
    expect(await decided(asked[0] as Promise<string>)).toBe('waiting')
  })

  it('the refusal is an error of its own kind, with a reason', async () => {
    const { queue, known } = createDesk(1)
    for (const name of ['running', 'waiting']) void known(name)
    const error = await queue.known({ accountId: 'acc', network: 'home' }, async () => 'x').catch((reason) => reason)
    expect(error).toBeInstanceOf(PasswordsBusy)
    expect([error.name, error.message]).toEqual(['PasswordsBusy', expect.stringMatching(/too many passwords/)])
  })
})

describe('at shutdown', () => {
  it('whoever has a response is refused, waiting or new; the others are not', async () => {
    const { queue, begun, known, stranger, end } = createDesk(8)
    void stranger('running')
    const deferred = [stranger('a', { deferredRank: 0 }), stranger('b', { deferredRank: 3 })]
    const waits = stranger('waits')
    queue.rejectDeferred()
    const later = stranger('c', { deferredRank: 0 })
    const others = [waits, stranger('new'), known('known')]
    expect(await Promise.all([...deferred, later].map(decided))).toEqual(['busy', 'busy', 'busy'])
    for (const name of ['running', 'known', 'waits', 'new']) await end(name)
    for (const name of ['waits', 'new']) await end(name)
    expect(await Promise.all(others)).toEqual(['waits', 'new', 'known'])
    expect(begun).not.toContain('a')
  })
})
