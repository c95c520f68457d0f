/** Rules for passwords. docs/interface/account-pages.md, "The account's pages". */
import { describe, expect, test, vi } from 'vitest'
import { passwordProblem } from '../../../src/core/sign-in/password.ts'

const judge = (password: string, again = password) => passwordProblem({ password, again }, () => false)

describe('length', () => {
  test.each([
    ['a'.repeat(11), 'too_short'],
    ['a'.repeat(12), null],
    ['a'.repeat(256), null],
    ['a'.repeat(257), 'too_long'],
    ['\u{1f511}'.repeat(11), 'too_short'],
    ['\u{1f511}'.repeat(12), null],
  ])('%j: %s', (password, problem) => {
    expect(judge(password)).toBe(problem)
  })

  test('counts the normalised password, not the keyboard’s composition', () => {
    const decomposed = 'e\u0301'
    expect(judge(decomposed.repeat(6)), 'twelve code points, six letters').toBe('too_short')
    expect(judge(decomposed.repeat(256)), '512 code points, 256 letters').toBeNull()
    const grows = '\ufdfa'
    expect(grows.normalize('NFKC')).toHaveLength(18)
    expect(judge(grows), 'one code point that stands for eighteen letters').toBeNull()
    expect(judge(grows.repeat(15)), '15 code points that stand for 270 letters').toBe('too_long')
  })
})

describe('the repeated password', () => {
  test('is refused if it differs', () => {
    expect(judge('a long enough one', 'a long enough two')).toBe('differ')
  })

  test('matches if another keyboard composed it differently', () => {
    expect(judge('un caf\u00e9 au lait', 'un cafe\u0301 au lait')).toBeNull()
  })
})

test('a common one is refused, and one that is repeated wrong is not judged', () => {
  const isCommon = vi.fn(() => true)
  expect(passwordProblem({ password: 'a long enough one', again: 'another' }, isCommon)).toBe('differ')
  expect(isCommon).not.toHaveBeenCalled()
  expect(passwordProblem({ password: 'a long enough one', again: 'a long enough one' }, isCommon)).toBe('common')
})

test('one of very many combining marks is too long, and is not normalised as a whole', () => {
  const marks = '\u0301'.repeat(100_000) + '\u0316'.repeat(100_000)
  const before = process.cpuUsage()
  expect(judge(marks, marks)).toBe('too_long')
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(50)
})
