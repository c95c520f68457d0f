/** Applications that Northwind registered in the developer console: a part of northwind.ts. */

import { changeLogo } from '../../../src/flows/applications/logo.ts'
import { addOwnSecret, changeSettings, registerApplication } from '../../../src/flows/applications/own.ts'
import { rotateEndpointSecret } from '../../../src/flows/webhooks/manage.ts'
import { setPublisher } from '../../../src/store/applications/applications.ts'
import { requestVetting } from '../../../src/store/applications/vettings.ts'
import { makeSettings } from '../application-settings.ts'
import { grant } from '../connect.ts'
import { drawLogo, drawOtherLogo } from '../corpora/logo.ts'
import { post } from '../device.ts'
import type { MadeApplication, MadeUser } from '../make.ts'
import type { TestService } from '../service.ts'
import { switchTestModeOn } from '../test-mode.ts'
import { makeEndpoint } from '../webhooks.ts'

/** One with the device flow that is in use, a confidential one with the dialog, a public one that waits for a review, and one in test mode. */
export type OwnApplications = Readonly<Record<'board' | 'shop' | 'counter' | 'trial', MadeApplication>>

type People = {
  /** Their owner. */
  readonly by: MadeUser
  /** Their user. */
  readonly user: MadeUser
}

const SETTINGS = makeSettings({
  allowedScopes: ['orders:read', 'orders:write', 'stock:read'],
  defaultScopes: ['orders:read', 'stock:read'],
  requiredScopes: ['orders:read'],
})

export async function makeOwnApplications(service: TestService, { by, user }: People): Promise<OwnApplications> {
  const { context, database } = service
  const register = async (name: string, redirectUris: readonly string[] = [], isPublic = false) => {
    const deviceFlow = redirectUris.length === 0
    const wish = { ...SETTINGS, name, deviceFlow, redirectUris, public: isPublic }
    const result = await registerApplication(context, by.id, wish)
    if (result.outcome !== 'registered') throw new Error(`${name} was not registered: ${result.outcome}`)
    return { id: result.id, secret: result.secret ?? '' }
  }
  const addSecret = async ({ id }: MadeApplication, label: string) => {
    const result = await addOwnSecret(context, by.id, id, label)
    if (result.outcome !== 'added') throw new Error(`the secret was not added: ${result.outcome}`)
    return { id, secret: result.secret }
  }
  const board = await addSecret(await register('Order Board'), 'Boards in Hamburg')
  const shop = await register('Northwind Shop', [
    'https://shop.northwind.example/connected',
    'http://localhost:3000/connected',
  ])
  await addSecret(shop, 'Web server')
  await addSecret(shop, 'Nightly export')
  const counter = await register('Shop Counter', ['https://counter.northwind.example/'], true)
  await context.db.transaction((tx) => requestVetting(tx, counter.id, by.id))
  const trial = await register('Order Board, next version')
  await switchTestModeOn(service, trial, by)
  await lookAfter(service, shop, by)
  await context.applications.refresh()
  await hookShop(service, shop, by)
  await useBoard(service, board, user)
  await database.query("update applications set created_at = created_at - interval '50 days' where id = $1", [board.id])
  return { board, shop, counter, trial }
}

/** Two endpoints and a delivery log with every outcome; no delivery is due during a test. */
async function hookShop(service: TestService, shop: MadeApplication, by: MadeUser): Promise<void> {
  const { context, database } = service
  const [account] = await database.query<{ account_id: string }>('select account_id from users where id = $1', [by.id])
  const owned = { application: shop, by, accountId: account?.account_id ?? '' }
  const live = await makeEndpoint(service, 'https://shop.northwind.example/hooks/latchkey?tenant=hamburg', owned)
  const gone = await makeEndpoint(service, 'https://old.northwind.example/hooks', owned)
  await rotateEndpointSecret(context, by.id, shop.id, live.id)
  await database.query(
    `insert into webhook_deliveries (endpoint_id, event_id, kind, data, created_at, due_at, attempts, tried_at,
       delivered_at, given_up_at, last_status, last_error, last_took_ms)
     select case when kind = 'application.restored' then $2 else $1 end, md5('event ' || n)::uuid, kind, '{}',
       now() - (8 - n) * interval '7 hours', now() + interval '1 day', attempts,
       case when attempts > 0 then now() - (8 - n) * interval '6 hours' end,
       case when status between 200 and 299 then now() end, case when attempts = 8 then now() end, status, error, took
     from (values
       (1, 'application.restored', 0, null, null, null), (2, 'grant.created', 1, 204, null, 38),
       (3, 'grant.revoked', 8, null, 'unreachable', 12), (4, 'credential.reported', 6, 503, null, 9480),
       (5, 'application.suspended', 3, null, 'timeout', 10000), (6, 'grant.created', 2, 200, null, 112),
       (7, 'webhook.test', 0, null, null, null)) as log(n, kind, attempts, status, error, took)`,
    [live.id, gone.id],
  )
  await database.query("update webhook_endpoints set disabled_at = now(), disabled_reason = 'gone' where id = $1", [
    gone.id,
  ])
}

/** Its publisher and logo were verified; a new name and logo wait for an operator. */
async function lookAfter({ context }: TestService, { id }: MadeApplication, by: MadeUser): Promise<void> {
  await changeLogo(context, by.id, id, await drawLogo())
  await context.db.transaction((tx) =>
    setPublisher(tx, id, { status: 'verified', name: 'shop.northwind.example' }, true),
  )
  await changeLogo(context, by.id, id, await drawOtherLogo())
  const redirectUris = ['https://shop.northwind.example/connected', 'http://localhost:3000/connected']
  const renamed = {
    ...SETTINGS,
    name: 'Northwind Web Shop',
    deviceFlow: false,
    redirectUris,
    pkceRequired: true,
  }
  await changeSettings(context, by.id, id, renamed)
}

/** All kinds of lines of an application's activity, including errors of its developer. */
async function useBoard(service: TestService, board: MadeApplication, user: MadeUser): Promise<void> {
  const { context } = service
  const { device, deviceCode } = await grant(service, { user, application: board, scope: 'orders:read' })
  await device.poll(deviceCode)
  await service.reject((await device.code()).user_code, user)
  const { device_code } = await device.code()
  for (let poll = 0; poll < 3; poll += 1) await device.poll(device_code)
  await device.request({ scope: 'orders:eat' })
  await post(service.address, '/auth/oauth/device/code', { query: device.credentials })
  await settle(service)
  await context.applications.saveUses()
}

/** Waits until the counts of the process are saved, which happens every few seconds. */
export async function settle({ context }: TestService): Promise<void> {
  // Counted when the answer has been sent.
  await new Promise((resolve) => setTimeout(resolve, 20))
  await context.usage.save()
}
