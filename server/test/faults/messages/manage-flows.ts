/** Flows of the management API, with an Idempotency-Key: a new user, and a new secret in place of an old one. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Device } from '../../rig/device.ts'
import { type ManageAnswer, type ManageClient, makeManagementKey, manageClient } from '../../rig/manage.ts'
import { attempt, countRows, expectEqual, type Flow, untilServed } from './flow.ts'
import type { Harness } from './harness.ts'

async function openClient(harness: Harness): Promise<ManageClient> {
  const { service } = harness
  return manageClient(service.address, (await makeManagementKey(service)).key)
}

const createUser: Flow = {
  name: 'manage-create-user',
  prepare: async (harness) => {
    const { account } = harness.service
    const call = await openClient(harness)
    const key = randomUUID()
    const body = { email: `${key}@example.com` }
    const create = () => call('POST', `/accounts/${account.id}/users`, body, { 'idempotency-key': key })
    let heard: ManageAnswer | null = null
    return {
      act: async () => {
        heard = await attempt(create)
      },
      finish: async () => {
        const answer = await untilServed(heard, create)
        const again = await untilServed(null, create)
        const events = "from audit_events where user_id = $1 and kind = 'user.created'"
        return [
          ...expectEqual('the user', answer.status, 201),
          ...expectEqual('the user, again', again.body.id, answer.body.id),
          ...(await countRows(harness, 'users', 1, 'from users where email = $1', [body.email])),
          ...(await countRows(harness, 'user.created', 1, events, [answer.body.id])),
        ]
      },
    }
  },
}

/** New secrets are known to every process within so long. */
const MAX_CHECKS = 10
const PAUSE_MS = 300

const rotateSecret: Flow = {
  name: 'manage-rotate-secret',
  prepare: async (harness) => {
    const { service } = harness
    const { account } = service
    const call = await openClient(harness)
    const key = randomUUID()
    const { body: application } = await call('POST', `/accounts/${account.id}/applications`, {
      name: `Rotated ${key}`,
      allowed_scopes: ['orders:read'],
    })
    const path = `/accounts/${account.id}/applications/${application.id}/secrets`
    const [{ id: old }] = application.secrets
    const add = () => call('POST', path, { label: 'next' }, { 'idempotency-key': key })
    const remove = () => call('DELETE', `${path}/${old}`)
    let added: ManageAnswer | null = null
    return {
      act: async () => {
        added = await attempt(add)
        if (added?.status === 201) await attempt(remove)
      },
      finish: async () => {
        const answer = await untilServed(added, add)
        const removed = await untilServed(null, remove)
        const device = new Device(service.address, { id: application.id, secret: answer.body.secret })
        let requested = await device.request()
        for (let look = 0; requested.status !== 200 && look < MAX_CHECKS; look += 1) {
          await sleep(PAUSE_MS)
          requested = await device.request()
        }
        const rows = 'from application_secrets where application_id = $1 and revoked_at is null'
        return [
          ...expectEqual('the new secret', answer.status, 201),
          ...(removed.status === 204 || removed.status === 404 ? [] : expectEqual('removing', removed.status, 204)),
          ...expectEqual('a request with the new secret', requested.status, 200),
          ...(await countRows(harness, 'live secrets', 1, rows, [application.id])),
        ]
      },
    }
  },
}

export const manageFlows: readonly Flow[] = [createUser, rotateSecret]
