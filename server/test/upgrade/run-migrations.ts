/**
 * Applies the migrations of a folder in a process of its own, which kills itself at its nth statement: before it is sent, or
 * while PostgreSQL runs it.
 *
 *   node run-migrations.ts DATABASE_URL FOLDER [n before|during]
 */
import pg from 'pg'
import { migrate } from '../../src/store/postgres/migrate.ts'

const [url = '', folder = '', killAt = '0', moment = 'before'] = process.argv.slice(2)

let statements = 0
const query = pg.Client.prototype.query
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  statements += 1
  const isLast = statements === Number(killAt)
  if (isLast && moment === 'before') process.kill(process.pid, 'SIGKILL')
  const answer = Reflect.apply(query, this, args)
  if (isLast) setImmediate(() => process.kill(process.pid, 'SIGKILL'))
  return answer
} as typeof query

await migrate(url, new URL(folder))
console.log(statements)
