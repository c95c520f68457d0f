/**
 * Preloaded into a server: the process kills itself while sending a webhook. KILL_AT says when: before the first
 * byte, after the last, or when the answer has arrived and is not saved yet.
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
