/**
 * The rule of granting through its real entry points: what `latchkey code show` forecasts, what the page offers and what the
 * transaction does agree with each other and with the table of causes. For all pairs of facts, and for random combinations.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { groupDigits } from '../../../src/core/device/user-code.ts'
import { grantDeviceCode, showDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterCode, enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { foreseeDecision } from '../../../src/flows/device/foresee-decision.ts'
import { readDecision } from '../../../src/flows/device/read-decision.ts'
import { requestDeviceCode } from '../../../src/flows/device/request-code.ts'
import { decideDialog } from '../../../src/flows/dialog/decide.ts'
import { openDialog } from '../../../src/flows/dialog/open.ts'
import { readDialogView } from '../../../src/flows/dialog/read.ts'
import { findAccountSession, type SessionUser } from '../../../src/store/sign-in/sessions.ts'
import { expectedOutcome, ORDER, type Values } from '../../core/grants/granting-causes.ts'
import { randomFrom } from '../../model/suspension-traffic.ts'
import { makePkce } from '../../rig/dialog.ts'
import { CALLBACK, makeScopes } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import {
  type GrantingScene,
  insertScenes,
  ownTestOf,
  PLAIN_SCOPES,
  placesOf,
  preventEntry,
  type SceneValues,
  VIEWER,
} from './granting-scenes.ts'

const SEED = 20_261_119

const FINE: SceneValues = {
  ...{ flow: 'device', parties: 'there', policy: 'open', publisher: 'verified', testMode: 'off', suspended: 'no' },
  ...{ unvetted: 'no', holds: 'all', dangerous: 'no', variant: 'token_set' },
  ...{ signedIn: 'now', others: 'nobody', origin: 'same', answer: 'right' },
}

/** What may be different, by fact. An application can only be unvetted if its publisher is unverified. */
const SHARED: readonly (readonly Partial<SceneValues>[])[] = [
  [{ parties: 'application deleted' }, { parties: 'user disabled' }, { parties: 'account closed' }],
  [{ policy: 'no codes' }, { policy: 'others listed' }, { policy: 'verified only' }],
  [
    { publisher: 'unverified' },
    { publisher: 'unverified', unvetted: 'counted' },
    { publisher: 'unverified', unvetted: 'a hundred' },
  ],
  [{ testMode: 'on' }, { testMode: 'over' }],
  [{ suspended: 'yes' }],
  [{ holds: 'some' }, { holds: 'not the required' }, { holds: 'none' }],
  [{ dangerous: 'yes' }],
  [{ signedIn: 'long ago' }, { signedIn: 'many grants ago' }],
]
const FACTS = {
  device: [
    ...SHARED,
    [{ variant: 'access_key' }],
    [{ others: 'a crowd' }, { others: 'a colleague' }],
    [{ origin: 'other_country' }, { origin: 'other_network' }, { origin: 'unknown' }],
    [{ answer: 'not retyped' }, { answer: 'others shown' }, { answer: 'not retyped, others shown' }],
  ],
  dialog: [...SHARED, [{ answer: 'others shown' }]],
} as const satisfies Record<string, readonly (readonly Partial<SceneValues>[])[]>

function pairsOf(flow: 'device' | 'dialog'): SceneValues[] {
  const facts: readonly (readonly Partial<SceneValues>[])[] = FACTS[flow]
  const none = [{}]
  const pairs = facts.flatMap((one, at) =>
    [none, ...facts.slice(at + 1)].flatMap((other) => one.flatMap((a) => other.map((b) => ({ ...a, ...b })))),
  )
  return [{}, ...pairs].map((given) => ({ ...FINE, flow, ...given }))
}

function randomCombinations(count: number): SceneValues[] {
  const random = randomFrom(SEED)
  const pick = <T>(among: readonly T[]) => among[Math.floor(random() * among.length)]
  return Array.from({ length: count }, () => {
    const flow = random() < 0.6 ? 'device' : 'dialog'
    const facts: readonly (readonly Partial<SceneValues>[])[] = FACTS[flow]
    const given = facts.map((values) => (random() < 0.3 ? pick(values) : {}))
    return Object.assign({ ...FINE, flow }, ...given)
  })
}

let service: TestService
beforeAll(async () => {
  service = await startTestService(placesOf('granting'), { listen: false })
  await makeScopes(service.context.db, PLAIN_SCOPES)
  await service.database.query("update scopes set dangerous = true where name = 'orders:erase'")
})
afterAll(() => service.stop())

/** What the table of causes says. */
function expected({ values }: GrantingScene, by: Values['by'], answer = values.answer): string {
  const { parties, publisher, unvetted, flow } = values
  const signedIn = values.signedIn === 'long ago' ? 'long ago' : 'now'
  const inBrowser = { variant: 'token_set', others: 'nobody', origin: 'same', signedIn } as const
  return expectedOutcome({
    ...values,
    ...(flow === 'dialog' ? inBrowser : {}),
    parties: parties === 'account closed' ? 'user disabled' : parties,
    unvetted: publisher === 'verified' ? 'no' : unvetted,
    by,
    answer,
  })
}

type Said = { readonly outcome: string; readonly scopes?: readonly string[] }

/** As expected, where the scopes are those that the user holds. */
const said = (outcome: string, scopes: readonly string[]): Said =>
  outcome === 'gone' || outcome === 'barred' ? { outcome } : { outcome, scopes }
const NOT_ASKED = ['gone', 'barred']

type Answered = {
  readonly outcome: string
  readonly by?: string
  readonly consent?: { readonly granted: readonly string[] }
}
const nameOf = ({ outcome, by, consent }: Answered): Said => {
  const name = by ?? (outcome === 'granted' ? 'ok' : outcome)
  return consent ? { outcome: name, scopes: consent.granted } : { outcome: name }
}

type View = {
  readonly outcome: string
  readonly prevented?: string | null
  readonly retype?: boolean
  readonly can?: readonly { readonly name: string }[]
}
const nameOfView = ({ outcome, prevented, retype, can }: View): Said =>
  can ? { outcome: prevented ?? (retype ? 'retype' : 'ok'), scopes: can.map(({ name }) => name) } : { outcome }

/** Scopes of an answer to a page that shows these scopes, or others. */
const shownOf = ({ held, values }: GrantingScene) => (values.answer.endsWith('others shown') ? ['orders:write'] : held)

type Check = () => Promise<Record<string, readonly [actual: Said, wanted: Said]>>

async function arrangeDevice(scene: GrantingScene, sessionUser: SessionUser): Promise<Check> {
  const { context, config } = service
  const { values, applicationId, userId, held, requested, requestedFrom } = scene
  const account = { id: scene.accountId, slug: scene.slug } as Parameters<typeof enterCode>[1]
  const request = async () => {
    const from = { requestedFrom, requestedWith: null, lifetimeSeconds: null }
    const asked = {
      applicationId,
      secret: null,
      variant: values.variant,
      scope: requested.join(','),
      state: '',
      ...from,
    }
    const result = await requestDeviceCode(context, asked)
    if (result.outcome !== 'requested') throw new Error(`no code: ${result.outcome}`)
    return result.userCode
  }
  const [mine, another] = [await request(), await request()]
  const entered = await enterCode(context, account, sessionUser, mine, VIEWER)
  if (entered.outcome !== 'claimed') throw new Error(`not claimed: ${entered.outcome}`)
  const { code } = entered
  if (values.others === 'a colleague') {
    await service.database.query('update device_codes set taken_from = $2 where id = $1', [code.id, service.user.id])
  }

  return async () => {
    const found = await showDeviceCode(context.db, config.keys, another)
    const foreseen = found && (await foreseeDecision(context, found, userId))
    const forecast =
      foreseen?.entry === 'accepted'
        ? { outcome: foreseen.prevented ?? 'ok', scopes: foreseen.granted }
        : { outcome: 'barred' }
    const entry = await enterCode(context, account, sessionUser, another, VIEWER)
    const view = nameOfView(await readDecision(context, sessionUser, code, VIEWER))
    const lastGroup = values.answer.startsWith('not retyped') ? '' : (groupDigits(mine).split(' ').at(-1) ?? '')
    const page = {
      kind: 'page',
      sessionId: sessionUser.session.id,
      address: VIEWER,
      shown: shownOf(scene),
      lastGroup,
    } as const
    const granted = nameOf(await grantDeviceCode(context, userId, code, page))

    const foretold = expected(scene, 'forecast')
    const shown = expected(scene, 'page', 'none yet')
    const onPage = {
      gone: { outcome: 'closed' },
      barred: { outcome: 'closed' },
      reauthenticate: { outcome: 'stale_session' },
    }
    const off = values.policy === 'no codes' || values.parties === 'account closed'
    const barred = NOT_ASKED.includes(foretold)
    const checks: Awaited<ReturnType<Check>> = {
      forecast: [forecast, barred ? { outcome: 'barred' } : said(foretold, held)],
      entry: [{ outcome: entry.outcome }, { outcome: off ? 'off' : barred ? 'not_recognised' : 'claimed' }],
      page: [view, onPage[shown as keyof typeof onPage] ?? said(shown, held)],
      transaction: [granted, said(expected(scene, 'page'), held)],
    }
    if (granted.outcome === 'ok') return checks
    const tested = nameOf(await grantDeviceCode(context, userId, code, ownTestOf(scene)))
    const harmless = held.filter((name) => name !== 'orders:erase')
    const inTest = { ...checks, test: [tested, said(expected(scene, 'own test'), harmless)] as const }
    if (tested.outcome === 'ok') return inTest
    const typed = await enterUserCode(context, userId, mine)
    const typedAt = NOT_ASKED.includes(expected(scene, 'command_line')) ? 'not_recognised' : 'claimed'
    const commanded = nameOf(await grantDeviceCode(context, userId, code))
    return {
      ...inTest,
      entryOnCommandLine: [{ outcome: typed.outcome }, { outcome: typedAt }],
      commandLine: [commanded, said(expected(scene, 'command_line'), held)],
    }
  }
}

async function arrangeDialog(scene: GrantingScene, sessionUser: SessionUser): Promise<Check> {
  const { context } = service
  const opened = await openDialog(context, {
    ...{
      applicationId: scene.applicationId,
      redirectUri: CALLBACK,
      responseType: 'code',
      scope: scene.requested.join(','),
    },
    ...{ state: null, codeChallenge: makePkce().challenge, codeChallengeMethod: 'S256', requestedFrom: VIEWER },
    ...{ responseMode: null, resource: null, proven: false },
  })
  if (opened.outcome !== 'opened') throw new Error(`no dialog: ${opened.outcome}`)
  return async () => {
    const view = nameOfView(await readDialogView(context, sessionUser, opened.dialogId))
    const answer = { decision: 'allow', shown: shownOf(scene), address: VIEWER } as const
    const decided = await decideDialog(context, sessionUser, opened.dialogId, answer)
    const allowed = decided.outcome === 'allowed'
    const shown = expected(scene, 'page', 'none yet')
    const onPage = { gone: { outcome: 'expired' }, reauthenticate: { outcome: 'stale_session' } }
    const transaction = allowed ? { outcome: 'ok', scopes: scene.held } : nameOf(decided as Answered)
    return {
      page: [view, onPage[shown as keyof typeof onPage] ?? said(shown, scene.held)],
      transaction: [transaction, said(expected(scene, 'page'), scene.held)],
    }
  }
}

/** In a few lanes: one would leave the processor waiting for PostgreSQL. */
async function inLanes<From, To>(from: readonly From[], work: (each: From) => Promise<To>): Promise<To[]> {
  const results: To[] = []
  const waiting = [...from.entries()]
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) results[next[0]] = await work(next[1])
  }
  await Promise.all(Array.from({ length: 6 }, lane))
  return results
}

const COMBINATIONS = [...pairsOf('device'), ...pairsOf('dialog'), ...randomCombinations(500)]

test(`forecast, page and transaction agree in ${COMBINATIONS.length} combinations of facts, 500 of them random`, {
  timeout: 300_000,
}, async () => {
  const scenes = await insertScenes(service, COMBINATIONS)
  await service.context.applications.refresh()
  const arranged = await inLanes(scenes, async (scene) => {
    const found = await findAccountSession(service.context.db, scene.slug, { id: scene.sessionId, idleMs: 3_600_000 })
    if (!found?.sessionUser) throw new Error('nobody is signed in')
    return scene.values.flow === 'device'
      ? arrangeDevice(scene, found.sessionUser)
      : arrangeDialog(scene, found.sessionUser)
  })
  await preventEntry(service, scenes)
  const checked = await inLanes(arranged, (check) => check())

  const wrong = checked.flatMap((checks, at) =>
    Object.entries(checks)
      .filter(([, [actual, wanted]]) => JSON.stringify(actual) !== JSON.stringify(wanted))
      .map(([where, [actual, wanted]]) => ({ where, actual, wanted, ...scenes[at]?.values })),
  )
  expect(wrong.slice(0, 5)).toEqual([])
  expect(wrong).toHaveLength(0)

  expect(new Set(scenes.map((scene) => expected(scene, 'page'))).size, 'every outcome occurs').toBe(ORDER.length)
  const rows = await service.database.query<{ application_id: string; scopes: string[] }>(
    'select application_id, scopes from grants where revoked_at is null',
  )
  const stored = new Map(rows.map(({ application_id, scopes }) => [application_id, scopes]))
  const promised = checked.map(
    ({ transaction, test: tested, commandLine }) =>
      [transaction, tested, commandLine].find((check) => check?.[1].outcome === 'ok')?.[1].scopes,
  )
  expect(scenes.map(({ applicationId }) => stored.get(applicationId))).toEqual(promised)
})
