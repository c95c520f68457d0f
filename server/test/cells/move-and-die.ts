/** Moves a bucket and is killed when it has sent its n-th statement; 0: not at all. Prints how many statements it sent. */
import pg from 'pg'
import { moveBuckets } from '../../src/flows/cells/move.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'

const [homeUrl = '', sourceUrl = '', targetUrl = '', bucket, to, dieAfter] = process.argv.slice(2)

let statements = 0
const send = pg.Client.prototype.query
pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
  statements += 1
  const sent = Reflect.apply(send, this, given)
  if (statements === Number(dieAfter)) {
    // The statement is executed, and its answer is on the way.
    Promise.resolve(sent).then(
      () => process.kill(process.pid, 'SIGKILL'),
      () => process.kill(process.pid, 'SIGKILL'),
    )
    return new Promise(() => {})
  }
  return sent
} as typeof send

const home = openPostgres(homeUrl, 2)
const result = await moveBuckets(home, {
  buckets: [Number(bucket)],
  to: Number(to),
  sourceUrl,
  targetUrl,
  dialogCodeLifetimeMs: 60_000,
})
await home.close()
if (result.outcome === 'refused') throw new Error(result.reason)
process.stdout.write(String(statements))
