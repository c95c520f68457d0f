/** Routes for management keys in a console. All require a recent sign-in, because a key may change a whole account. */
import type { KeysOf } from '../../flows/manage/console-keys.ts'
import type { PageRoute } from '../route.ts'
import { createNewKey, revokeOneKey, rotateOneKey, showKey, showKeys } from './key-handlers.ts'

function keyRoutes(of: KeysOf, path: '/account/keys' | '/operator/keys'): readonly PageRoute[] {
  const access = of === 'account' ? 'administrator' : 'operator'
  const page = { method: 'GET', access, fresh: true } as const
  const form = { method: 'POST', access, fresh: true, bound: ['key'], from: `${path}/key?key={key}` } as const
  return [
    { ...page, path, handler: showKeys(of) },
    { method: 'POST', access, fresh: true, path, handler: createNewKey(of), from: path },
    { ...page, path: `${path}/key`, handler: showKey(of) },
    { ...form, path: `${path}/rotate`, handler: rotateOneKey(of) },
    { ...form, path: `${path}/revoke`, handler: revokeOneKey(of) },
  ]
}

export const accountKeyRoutes = keyRoutes('account', '/account/keys')
export const operatorKeyRoutes = keyRoutes('service', '/operator/keys')
