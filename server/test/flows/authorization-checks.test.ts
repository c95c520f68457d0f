/**
 * A condition that held when a page was shown or a credential was issued may no longer hold when it is used. Each row breaks one
 * condition in between; the flow checks again inside its transaction, refuses, and leaves every row as it was.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { savePolicy } from '../../src/flows/accounts/policy.ts'
import { grantDeviceCode, rejectDeviceCode, releaseCode } from '../../src/flows/device/decide.ts'
import { enterUserCode } from '../../src/flows/device/enter-code.ts'
import { pollDeviceCode } from '../../src/flows/device/poll.ts'
import { type DialogAnswer, decideDialog } from '../../src/flows/dialog/decide.ts'
import { exchangeCode } from '../../src/flows/dialog/exchange-code.ts'
import { removeGrant } from '../../src/flows/grants/connected-applications.ts'
import { refreshTokenSet } from '../../src/flows/grants/refresh.ts'
import { reportCredential, revokeCredential } from '../../src/flows/grants/revoke-credential.ts'
import { rotateAccessKey } from '../../src/flows/grants/rotate-access-key.ts'
import type { MadeUser } from '../rig/make.ts'
import { createScene, SCENE_ADDRESS, type Scene } from '../rig/scenes/scene.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { startSession } from '../rig/signed-in.ts'
import { everyRow } from '../rig/witness.ts'

let service: TestService
beforeAll(async () => {
  // No background tasks, so that rows change only by the calls here.
  service = await startTestService({}, { clock: true, listen: false })
})
afterAll(() => service.stop())

/** `undefined`: the flow returns nothing; its rows show whether it acted. */
type Act = () => Promise<string | boolean | undefined>
type Break = (scene: Scene) => Promise<unknown>
type Row = readonly [condition: string, breakIt: Break, refusal: string | boolean | undefined]

const change = (sql: string, of: (scene: Scene) => string) => (scene: Scene) => service.database.query(sql, [of(scene)])
const ofUser = ({ user }: Scene) => user.id
const ofAdministrator = ({ administrator }: Scene) => administrator.id
const ofAccount = ({ account }: Scene) => account.id
const ofApplication = ({ application }: Scene) => application.id
const ofSession = ({ sessionId }: Scene) => sessionId

const userDisabled = change('update users set disabled_at = now() where id = $1', ofUser)
const sessionEnded = change('delete from sessions where id = $1', ofSession)
const sessionRanOut = change('update sessions set expires_at = now() where id = $1', ofSession)
const colleaguesSession: Break = async (scene) => {
  scene.sessionId = await startSession(service, scene.colleague, scene)
}
const signedInLongAgo = change(
  "update sessions set authenticated_at = now() - interval '1 day' where id = $1",
  ofSession,
)
const nowDangerous: Break = async (scene) => {
  await service.database.query("update scopes set dangerous = true where name = 'orders:write'")
  await signedInLongAgo(scene)
}
const codesOff = change('update accounts set device_flow = false where id = $1', ofAccount)
const notListed = change("update accounts set only_applications = '{}' where id = $1", ofAccount)
const verifiedOnly = change('update accounts set unverified_publishers = false where id = $1', ofAccount)
const accountClosed = change('update accounts set closed_at = now() where id = $1', ofAccount)
const applicationDeleted = change('update applications set deleted_at = now() where id = $1', ofApplication)
const applicationSuspended = change('update applications set suspended_at = now() where id = $1', ofApplication)
const addressTaken = change("update applications set redirect_uris = '{}' where id = $1", ofApplication)
const lessAllowed = change("update applications set allowed_scopes = '{orders:read}' where id = $1", ofApplication)
const lessHeld = change(
  "delete from role_scopes where scope = 'orders:write' and role_id in (select role_id from user_roles where user_id = $1)",
  ofUser,
)
const nothingHeld = change('delete from user_roles where user_id = $1', ofUser)
const grantEnded = change(
  "update grants set revoked_at = now(), revocation_reason = 'removed_by_user' where user_id = $1",
  ofUser,
)

/** One flow: how to set up a scene for it, and every condition that it has to check again. */
function checks(flow: string, arrange: (scene: Scene) => Promise<Act>, rows: readonly Row[]): void {
  describe(flow, () => {
    it('acts when nothing has changed', async () => {
      const act = await arrange(await createScene(service))
      const before = await everyRow(service)
      await act()
      expect(await everyRow(service)).not.toEqual(before)
    })

    it.each(rows)('refuses, and changes nothing: %s', async (_condition, breakIt, refusal) => {
      const scene = await createScene(service)
      const act = await arrange(scene)
      await breakIt(scene)
      const before = await everyRow(service)
      expect(await act()).toBe(refusal)
      expect(await everyRow(service)).toEqual(before)
    })
  })
}

const person = (refusal: string | undefined, disabled = refusal): Row[] => [
  ['the user is disabled', userDisabled, disabled],
  ['the session has ended', sessionEnded, refusal],
  ['the session has run out', sessionRanOut, refusal],
  ['the session is somebody else’s', colleaguesSession, refusal],
]

const SHOWN = ['orders:read', 'orders:write']
const outcome = (result: Promise<{ readonly outcome: string; readonly by?: string }>) =>
  result.then(({ outcome, by }) => by ?? outcome)

const onPage = ({ sessionId }: Scene) =>
  ({ kind: 'page', shown: SHOWN, sessionId, address: SCENE_ADDRESS, lastGroup: '' }) as const

checks(
  'granting an access key',
  async (scene) => {
    const { code } = await scene.claimedCode('access_key')
    return () => outcome(grantDeviceCode(service.context, scene.user.id, code, onPage(scene)))
  },
  [['the user signed in long ago', signedInLongAgo, 'reauthenticate']],
)

checks(
  'granting a device code',
  async (scene) => {
    const { code } = await scene.claimedCode()
    return () => outcome(grantDeviceCode(service.context, scene.user.id, code, onPage(scene)))
  },
  [
    ...person('not_open', 'gone'),
    ['the account uses no codes any more', codesOff, 'barred'],
    ['the account lets only other applications in', notListed, 'barred'],
    ['the account wants verified publishers', verifiedOnly, 'barred'],
    ['the application is deleted', applicationDeleted, 'gone'],
    ['the application is suspended', applicationSuspended, 'suspended'],
    ['the application may ask for less', lessAllowed, 'changed'],
    ['the user holds less', lessHeld, 'changed'],
    ['the user holds nothing of it', nothingHeld, 'lacking'],
    ['a scope is dangerous now, and the user signed in long ago', nowDangerous, 'reauthenticate'],
    ['somebody else entered the code', (scene) => scene.giveClaimTo(scene.colleague), 'not_open'],
  ],
)

for (const reported of [false, true]) {
  checks(
    reported ? 'reporting a device code' : 'rejecting a device code',
    async (scene) => {
      const { code } = await scene.claimedCode()
      const by = () => ({ kind: 'page', sessionId: scene.sessionId, reported }) as const
      return () => outcome(rejectDeviceCode(service.context, scene.user.id, code, by()))
    },
    [
      ...person('not_open'),
      ['somebody else entered the code', (scene) => scene.giveClaimTo(scene.colleague), 'not_open'],
    ],
  )
}

checks(
  'handing a device code back',
  async (scene) => {
    const { code } = await scene.claimedCode()
    return async () => {
      await releaseCode(service.context, scene.user.id, code, scene.sessionId)
      return undefined
    }
  },
  [...person(undefined), ['somebody else entered the code', (scene) => scene.giveClaimTo(scene.colleague), undefined]],
)

checks(
  'entering a user code',
  async (scene) => {
    const { userCode } = await scene.requestedCode()
    return () => outcome(enterUserCode(service.context, scene.user.id, userCode))
  },
  [
    ['the user is disabled', userDisabled, 'not_recognised'],
    ['the account uses no codes any more', codesOff, 'not_recognised'],
    ['the account lets only other applications in', notListed, 'not_recognised'],
    ['the account wants verified publishers', verifiedOnly, 'not_recognised'],
    ['the application is deleted', applicationDeleted, 'not_recognised'],
  ],
)

const answerDialog = (answer: DialogAnswer) => async (scene: Scene) => {
  const dialogId = await scene.openDialog()
  return async () => outcome(decideDialog(service.context, await scene.visitor(), dialogId, answer))
}

checks('allowing in the dialog', answerDialog({ decision: 'allow', shown: SHOWN, address: null }), [
  ...person('not_open', 'gone'),
  ['a scope is dangerous now, and the user signed in long ago', nowDangerous, 'reauthenticate'],
  ['the application is deleted', applicationDeleted, 'gone'],
  ['the redirect address is no longer registered', addressTaken, 'not_open'],
  ['the application is suspended', applicationSuspended, 'suspended'],
  ['the account lets only other applications in', notListed, 'barred'],
  ['the account wants verified publishers', verifiedOnly, 'barred'],
  ['the application may ask for less', lessAllowed, 'changed'],
  ['the user holds less', lessHeld, 'changed'],
  ['the user holds nothing of it', nothingHeld, 'lacking'],
])

checks('denying in the dialog', answerDialog({ decision: 'cancel' }), [
  ...person('not_open', 'gone'),
  ['the application is deleted', applicationDeleted, 'gone'],
  ['the redirect address is no longer registered', addressTaken, 'not_open'],
])

/** The application that presents a credential: the one it was issued to, unless the scene says otherwise. */
const by = ({ presenter }: Scene) => ({ applicationId: presenter.id, secret: presenter.secret })
const anotherApplication: Break = async (scene) => {
  scene.presenter = scene.otherApplication
}
const keyPath: Break = async (scene) => {
  scene.pathVariant = 'access_key'
}
const holder = (refusal: string | boolean): Row[] => [
  ['the user is disabled', userDisabled, refusal],
  ['the account is closed', accountClosed, refusal],
  ['the application is deleted', applicationDeleted, refusal],
  ['the grant has ended', grantEnded, refusal],
]

checks(
  'refreshing a token set',
  async (scene) => {
    const { refreshToken } = await scene.tokenSet()
    return () => outcome(refreshTokenSet(service.context, { ...by(scene), refreshToken, scope: null }))
  },
  [...holder('invalid_grant'), ['another application presents it', anotherApplication, 'invalid_grant']],
)

checks(
  'replacing an access key',
  async (scene) => {
    const { accessKey } = await scene.accessKey()
    return () => outcome(rotateAccessKey(service.context, { ...by(scene), accessKey }))
  },
  [...holder('invalid_grant'), ['another application presents it', anotherApplication, 'invalid_grant']],
)

checks(
  'revoking a token set',
  async (scene) => {
    const { refreshToken: credential } = await scene.tokenSet()
    return () => outcome(revokeCredential(service.context, { ...by(scene), credential, variant: scene.pathVariant }))
  },
  [
    ['another application presents it', anotherApplication, 'foreign'],
    ['it is presented where access keys are revoked', keyPath, 'revoked'],
    ['the grant has ended', grantEnded, 'revoked'],
  ],
)

checks(
  'reporting an access token that was found',
  async (scene) => {
    const { accessToken } = await scene.tokenSet()
    return () => reportCredential(service.context, accessToken)
  },
  [
    ...holder(false),
    [
      'the access token has expired',
      () => service.database.advance(service.config.accessTokenLifetimeMs + 1_000),
      false,
    ],
  ],
)

checks(
  'reporting an access key that was found',
  async (scene) => {
    const { accessKey } = await scene.accessKey()
    return () => reportCredential(service.context, accessKey)
  },
  [
    ...holder(false),
    [
      'the key was replaced, and its overlap is over',
      async ({ user }) => {
        const replaced = 'update grants set key_generation = 2, key_rotated_at = now() where user_id = $1'
        await service.database.query(replaced, [user.id])
        await service.database.advance(service.config.accessKeyOverlapMs)
      },
      false,
    ],
  ],
)

const removedBy =
  (who: (scene: Scene) => MadeUser, asAdministrator: boolean): Break =>
  async (scene) => {
    scene.removal = { by: who(scene).id, asAdministrator }
  }

checks(
  'removing a connected application',
  async (scene) => {
    const { grantId } = await scene.tokenSet()
    return () => outcome(removeGrant(service.context, { ...scene.removal, grantId, reported: false }))
  },
  [
    ['the user is disabled', userDisabled, 'not_found'],
    ['it is somebody else’s', removedBy(({ colleague }) => colleague, false), 'not_found'],
    ['who asks is no administrator', removedBy(({ colleague }) => colleague, true), 'not_found'],
    ['who asks administers another account', removedBy(() => service.user, true), 'not_found'],
    ['the grant has ended', grantEnded, 'not_found'],
  ],
)

checks(
  'what only an administrator may do',
  async (scene) => {
    const rules = { deviceFlow: false, unverifiedPublishers: true, onlyApplications: null }
    const policy = { ...rules, secondFactor: 'optional' } as const
    return () => outcome(savePolicy(service.context, scene.administrator.id, policy))
  },
  [
    [
      'who asks is disabled',
      change('update users set disabled_at = now() where id = $1', ofAdministrator),
      'forbidden',
    ],
    ['who asks has lost the role', change('delete from user_roles where user_id = $1', ofAdministrator), 'forbidden'],
  ],
)

/** A refusal that revokes the grant does change rows. What counts: nothing was issued, and nothing can be any more. */
const issuedTo = ({ user }: Scene) =>
  service.database.query('select from grants where user_id = $1 and issued_at is not null', [user.id])

describe('collecting a granted device code', () => {
  const collect = async (scene: Scene) => {
    const { deviceCode } = await scene.grantedCode()
    return () => {
      const poll = { deviceCode, variant: scene.pathVariant, idempotencyKey: null, wait: null }
      return outcome(pollDeviceCode(service.context, { ...by(scene), ...poll }))
    }
  }

  it('issues the credentials when nothing has changed', async () => {
    const scene = await createScene(service)
    expect(await (await collect(scene))()).toBe('accepted')
    expect(await issuedTo(scene)).toHaveLength(1)
  })

  it.each<Row>(holder('invalid'))('hands nothing out: %s', async (_condition, breakIt, refusal) => {
    const scene = await createScene(service)
    const act = await collect(scene)
    await breakIt(scene)
    expect(await act()).toBe(refusal)
    expect(await issuedTo(scene)).toEqual([])
    expect(
      await service.database.query('select from grants where user_id = $1 and revoked_at is null', [scene.user.id]),
    ).toEqual([])
  })

  it.each<Row>([
    ['another application polls', anotherApplication, 'invalid'],
    ['it is polled on the path of the other variant', keyPath, 'invalid'],
  ])('issues nothing, and the code stays valid for its application: %s', async (_condition, breakIt, refusal) => {
    const scene = await createScene(service)
    const act = await collect(scene)
    await breakIt(scene)
    const before = await everyRow(service)
    expect(await act()).toBe(refusal)
    expect(await everyRow(service)).toEqual(before)
  })
})

describe('exchanging the dialog’s code', () => {
  const arrange = async (scene: Scene) => {
    const request = await scene.allowedDialog()
    return (given: Partial<typeof request> = {}) =>
      outcome(exchangeCode(service.context, { ...request, idempotencyKey: null, ...by(scene), ...given }))
  }

  it('issues the token set when nothing has changed', async () => {
    const scene = await createScene(service)
    expect(await (await arrange(scene))()).toBe('exchanged')
    expect(await issuedTo(scene)).toHaveLength(1)
  })

  it.each<Row>([...holder('invalid_grant'), ['another application presents it', anotherApplication, 'invalid_grant']])(
    'hands nothing out: %s',
    async (_condition, breakIt, refusal) => {
      const scene = await createScene(service)
      const act = await arrange(scene)
      await breakIt(scene)
      expect(await act()).toBe(refusal)
      expect(await issuedTo(scene)).toEqual([])
    },
  )

  it.each([
    ['another redirect address', { redirectUri: 'https://app.example/other' }, 'invalid_grant'],
    ['another verifier', { codeVerifier: 'x'.repeat(43) }, 'invalid_grant'],
    ['no verifier', { codeVerifier: null }, 'verifier_missing'],
  ])('issues nothing: %s', async (_condition, given, refusal) => {
    const scene = await createScene(service)
    expect(await (await arrange(scene))(given)).toBe(refusal)
    expect(await issuedTo(scene)).toEqual([])
  })
})
