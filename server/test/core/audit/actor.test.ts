/** Kind, id and interface of each actor, as the audit log stores them. */
import { expect, test } from 'vitest'
import {
  BY_COMMAND_LINE,
  byAnybody,
  byApplication,
  byHostService,
  byMailLink,
  byManagementKey,
  byOperator,
  byProvider,
  byService,
  byUser,
} from '../../../src/core/audit/actor.ts'

test.each([
  ['a signed-in user', byUser('usr_1'), { kind: 'user', id: 'usr_1', via: 'web' }],
  ['a user with a link sent by mail', byMailLink('usr_1'), { kind: 'user', id: 'usr_1', via: 'mail' }],
  ['an operator in the console', byOperator('usr_1'), { kind: 'operator', id: 'usr_1', via: 'web' }],
  ['the command line', BY_COMMAND_LINE, { kind: 'operator', id: 'cli', via: 'cli' }],
  ['an application', byApplication('app_1'), { kind: 'application', id: 'app_1', via: 'api' }],
  ['a management key', byManagementKey('mkey_1'), { kind: 'management_key', id: 'mkey_1', via: 'api' }],
  ['a job', byService('expiry'), { kind: 'service', id: 'expiry', via: 'job' }],
  ['the host service', byHostService, { kind: 'service', id: 'host service', via: 'web' }],
  ['an identity provider', byProvider, { kind: 'service', id: 'identity provider', via: 'web' }],
  ['anybody on a page', byAnybody('web'), { kind: 'anonymous', id: 'anonymous', via: 'web' }],
  ['anybody with a request', byAnybody('api'), { kind: 'anonymous', id: 'anonymous', via: 'api' }],
])('%s is stored with its kind, its id and its interface', (_who, actor, stored) => {
  expect(actor).toEqual(stored)
})
