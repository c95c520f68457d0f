/** The refusal of a request because its management key lacks a scope, which the message names and the audit log counts. */
import { Refusal } from '../refusal.ts'
import type { ManagementScope } from './key.ts'

export class MissingScope extends Refusal {
  readonly scope: ManagementScope

  constructor(scope: ManagementScope) {
    super('insufficient_scope', `The management key does not have the scope ${scope}.`)
    this.scope = scope
  }
}
