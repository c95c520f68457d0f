/** Passwords of account users are kept as argon2id digests. */
import { verify } from '@node-rs/argon2'
import { expect, test } from 'vitest'
import { digestPassword } from '../../src/secrets/password.ts'

test('a digest is argon2id with 19 MiB and two passes, salted, and fits its password only', async () => {
  const [digest, again] = await Promise.all([
    digestPassword('correct horse battery'),
    digestPassword('correct horse battery'),
  ])
  expect(digest).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(again).not.toBe(digest)
  expect(await verify(digest, 'correct horse battery')).toBe(true)
  expect(await verify(digest, 'correct horse batterY')).toBe(false)
})
