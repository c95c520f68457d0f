/** Which `state` can be echoed exactly, in JSON and in XML. docs/interface.md, "Parameters". */
import { expect, test } from 'vitest'
import { stateProblem } from '../../../src/core/dialog/state.ts'

const isEchoable = (state: string) => stateProblem(state) === null

/** XML 1.0, section 2.2, "Char". */
function isXmlCharacter(point: number): boolean {
  return (
    [0x9, 0xa, 0xd].includes(point) ||
    (point >= 0x20 && point <= 0xd7ff) ||
    (point >= 0xe000 && point <= 0xfffd) ||
    (point >= 0x10000 && point <= 0x10ffff)
  )
}

test('AP-13 every character that XML 1.0 can carry is echoable, and no other', () => {
  const wrong: number[] = []
  for (let point = 0; point <= 0x10ffff; point += 1) {
    if (isEchoable(`a${String.fromCodePoint(point)}b`) !== isXmlCharacter(point)) wrong.push(point)
  }
  expect(wrong).toEqual([])
})

test.each(['\ud800', '\udc00', 'a\ud83d', '\ude00b', '\ude00\ud83d'])(
  'AP-11 the lone surrogate in %j is refused',
  (state) => {
    expect(isEchoable(state)).toBe(false)
  },
)

test.each([
  ['nothing', ''],
  ['markup', '</state><access_token>x</access_token><![CDATA[ ]]>'],
  ['a line break and a tab', 'a\r\n\tb'],
  ['a pair of surrogates', '\u{1f511}'],
  ['a byte order mark', '\ufeffa'],
])('%s is echoable', (_name, state) => {
  expect(isEchoable(state)).toBe(true)
})

test.each([
  ['one byte', 'a', 1024],
  ['two bytes', 'é', 512],
  ['four bytes', '\u{1f511}', 256],
])('1024 bytes are echoable and one character more is not, in characters of %s', (_name, character, count) => {
  expect(isEchoable(character.repeat(count))).toBe(true)
  expect(isEchoable(character.repeat(count + 1))).toBe(false)
})

test('the two problems are told apart, and a state that is too long is not read further', () => {
  expect(stateProblem('x'.repeat(1025))).toBe('The state is longer than 1024 bytes.')
  expect(stateProblem('\0'.repeat(1025))).toBe('The state is longer than 1024 bytes.')
  expect(stateProblem('\x07')).toMatch(/^The state has a character that XML 1\.0 cannot carry/)
})
