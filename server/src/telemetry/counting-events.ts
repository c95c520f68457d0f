/**
 * Counting wrapper around the operator's events: counts each event where it is logged, so that log and metrics agree.
 */
import type { Events } from '../events.ts'
import type { Counts } from './counts.ts'

export function countEvents(events: Events, counts: Counts): Events {
  return {
    ...events,
    granted: (...args) => {
      counts.decisions.add('granted')
      events.granted(...args)
    },
    codeRejected: (...args) => {
      counts.decisions.add('rejected')
      events.codeRejected(...args)
    },
    dialogDenied: (...args) => {
      counts.decisions.add('rejected')
      events.dialogDenied(...args)
    },
    grantRevoked: (grantId, reason) => {
      counts.grantsRevoked.add(reason)
      events.grantRevoked(grantId, reason)
    },
    mailFailed: (mailId, attempts, givenUp, error) => {
      counts.mailFailures.add(givenUp ? 'given_up' : 'due')
      events.mailFailed(mailId, attempts, givenUp, error)
    },
    auditDiffers: (position) => {
      counts.auditDifferences.add()
      events.auditDiffers(position)
    },
    taskFailed: (task, error) => {
      counts.taskFailures.add(task)
      events.taskFailed(task, error)
    },
    unexpected: (where, error) => {
      counts.unexpected.add(where)
      events.unexpected(where, error)
    },
  }
}
