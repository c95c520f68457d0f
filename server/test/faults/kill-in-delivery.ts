/**
 * Loaded into a server before it starts: the process kills itself in the middle of sending a webhook. KILL_AT says when: before a
 * byte is sent, once all of it is, or when the answer is there and nobody has written that down yet.
 */
import { ClientRequest } from 'node:http'

const end = ClientRequest.prototype.end
const stage = process.env.KILL_AT
let left = Number(process.env.KILL_AFTER)

const die = () => process.kill(process.pid, 'SIGKILL')

ClientRequest.prototype.end = function (this: ClientRequest, ...args: unknown[]) {
  if (this.hasHeader('webhook-id')) {
    left -= 1
    if (left === 0) {
      if (stage === 'before') die()
      if (stage === 'sent') this.once('finish', die)
      if (stage === 'answered') this.prependOnceListener('response', die)
    }
  }
  return Reflect.apply(end, this, args)
} as typeof end
