/** What Northwind itself has registered in the developer console: a part of northwind.ts. */
import { changeLogo } from '../../src/flows/application-logo.ts'
import { addOwnSecret, changeSettings, registerApplication } from '../../src/flows/own-applications.ts'
import { setPublisher } from '../../src/store/applications.ts'
import { grant } from './connect.ts'
import { post } from './device.ts'
import { drawLogo, drawOtherLogo } from './logo.ts'
import type { MadeApplication, MadeUser } from './make.ts'
import type { TestService } from './service.ts'

/** One that shows codes and is in use, one with a server that opens the dialog, a public one, and one in test mode. */
export type OwnApplications = Readonly<Record<'board' | 'shop' | 'counter' | 'trial', MadeApplication>>

type People = {
  /** Who registers them. */
  readonly by: MadeUser
  /** Who uses them. */
  readonly user: MadeUser
}

const SETTINGS = {
  allowedScopes: ['orders:read', 'orders:write', 'stock:read'],
  defaultScopes: ['orders:read', 'stock:read'],
  requiredScopes: ['orders:read'],
}

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
  const trial = await register('Order Board, next version')
  const tried = { ...SETTINGS, name: 'Order Board, next version', deviceFlow: true, redirectUris: [], testMode: true }
  await changeSettings(context, by.id, trial.id, tried)
  await lookAfter(service, shop, by)
  await context.applications.refresh()
  await useBoard(service, board, user)
  await database.query("update applications set created_at = created_at - interval '50 days' where id = $1", [board.id])
  return { board, shop, counter, trial }
}

/** Its publisher proved a domain, its logo was accepted, and it wants another name and logo now. */
async function lookAfter({ context }: TestService, { id }: MadeApplication, by: MadeUser): Promise<void> {
  await changeLogo(context, by.id, id, await drawLogo())
  await context.db.transaction((tx) =>
    setPublisher(tx, id, { standing: 'verified', name: 'shop.northwind.example' }, true),
  )
  await changeLogo(context, by.id, id, await drawOtherLogo())
  const redirectUris = ['https://shop.northwind.example/connected', 'http://localhost:3000/connected']
  const renamed = { ...SETTINGS, name: 'Northwind Web Shop', deviceFlow: false, redirectUris, testMode: false }
  await changeSettings(context, by.id, id, renamed)
}

/** Something of everything that an application's activity tells: also what its developer did wrong. */
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

/** What is counted in the process is written down every few seconds; after this, it is. */
export async function settle({ context }: TestService): Promise<void> {
  // Noted once the answer is on its way.
  await new Promise((resolve) => setTimeout(resolve, 20))
  await context.tally.save()
}
