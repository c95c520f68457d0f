/** Multipart forms as clients send them, and as none does. */
import { randomBytes, randomInt } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { MAX_BODY_BYTES, readForm } from '../../src/http/form.ts'

async function read(body: Buffer | string, type = 'multipart/form-data; boundary=x', maxFields = 50) {
  const headers = { 'content-type': type, 'content-length': String(Buffer.byteLength(body)) }
  const request = Object.assign(Readable.from([Buffer.from(body)]), { headers }) as unknown as IncomingMessage
  const rules = { maxBytes: MAX_BODY_BYTES, maxMultipartBytes: MAX_BODY_BYTES, maxFields }
  const form = await readForm(request, rules)
  if (!form?.parts || form.parts === 'unreadable') return form?.parts
  return form.parts.map(({ name, isFile, bytes }) => [name, isFile ? 'file' : bytes.toString()])
}

const part = (header: string, value: string) => `--x\r\n${header}\r\n\r\n${value}\r\n`
const field = (name: string, value: string) => part(`Content-Disposition: form-data; name="${name}"`, value)

describe('read', () => {
  it.each([
    [
      'two fields',
      `${field('a', '1')}${field('b', '2')}--x--\r\n`,
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    ['no field', '--x--\r\n', []],
    ['an empty value', `${field('a', '')}--x--`, [['a', '']]],
    [
      'line breaks and half delimiters in a value',
      `${field('a', '\r\n--\r\n-x\n--x')}--x--`,
      [['a', '\r\n--\r\n-x\n--x']],
    ],
    ['a byte order mark and other scripts', `${field('ä', '\uFEFFü🔑')}--x--`, [['ä', '\uFEFFü🔑']]],
    ['a name that browsers escape', `${field('a%22%0D%0Ab%20', '1')}--x--`, [['a"\r\nb%20', '1']]],
    ['a name without quotes', `${part('content-disposition:form-data;name=a', '1')}--x--`, [['a', '1']]],
    [
      'other headers',
      `${part('Content-Type: text/plain\r\nContent-Disposition: form-data; name="a"\r\nX: y', '1')}--x--`,
      [['a', '1']],
    ],
    ['a file', `${part('Content-Disposition: form-data; name="a"; filename="n;b.png"', '1')}--x--`, [['a', 'file']]],
    [
      'a file name that looks like a name',
      `${part('Content-Disposition: form-data; filename="; name=b"; name="a"', '1')}--x--`,
      [['a', 'file']],
    ],
    [
      'lines before the first and behind the last delimiter',
      `ignored --x\r\n${field('a', '1')}--x--\r\nignored`,
      [['a', '1']],
    ],
    ['spaces behind a delimiter', `--x \t\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--`, [['a', '1']]],
  ])('%s', async (_, body, parts) => {
    expect(await read(body)).toEqual(parts)
  })

  it.each(['boundary="a b"', 'Boundary=----x', 'charset=utf-8; boundary=q', "boundary=it's"])(
    '%s',
    async (parameter) => {
      const [, boundary] = /boundary="?([^"]*)/i.exec(parameter) ?? []
      const body = `--${boundary}\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--${boundary}--`
      expect(await read(body, `multipart/form-data; ${parameter}`)).toEqual([['a', '1']])
    },
  )

  it('any form that Node writes', async () => {
    const piece = () => ['\r\n', '--', 'x', '"', ';', '%22', 'ä', '🔑', ' '][randomInt(9)] ?? ''
    const text = () => Array.from({ length: randomInt(12) }, piece).join('')
    for (let round = 0; round < 500; round += 1) {
      const form = new FormData()
      for (let fields = randomInt(6); fields >= 0; fields -= 1) {
        if (randomInt(4) > 0) form.append(text().replaceAll('%22', ''), text())
        else form.append('file', new File([randomBytes(20)], `n${text()}`))
      }
      const response = new Response(form)
      const written = Array.from(form, ([name, value]) => [name, typeof value === 'string' ? value : 'file'])
      expect(await read(await response.text(), response.headers.get('content-type') ?? '')).toEqual(written)
    }
  })

  it('one part more than the limit, and none behind it', async () => {
    const many = Array.from({ length: 20 }, (_, at) => field(`f${at}`, '')).join('')
    expect(await read(`${many}nonsense`, undefined, 3)).toHaveLength(4)
  })
})

describe('not read', () => {
  it.each([
    ['an empty line', '\r\n'],
    ['nonsense', 'nonsense'],
    ['a form that does not end', field('a', '1')],
    ['a value that does not end', '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1'],
    ['a part without a header', '--x\r\n\r\n1\r\n--x--'],
    ['a part without a name', `${part('content-disposition: form-data', '1')}--x--`],
    ['a part that is no form data', `${part('content-disposition: attachment; name="a"', '1')}--x--`],
    ['a name that is not UTF-8', Buffer.from(`${field('a\xff', '1')}--x--`, 'latin1')],
    ['a name that does not end', `${part('content-disposition: form-data; name="a', '1')}--x--`],
    ['a longer delimiter', `${field('a', '1').replace('--x', '--xy')}--x--`],
    [
      'a header of a kilobyte',
      `${part(`x: ${'y'.repeat(1024)}\r\ncontent-disposition: form-data; name="a"`, '1')}--x--`,
    ],
    ['lines that end with a line feed only', `${field('a', '1').replaceAll('\r\n', '\n')}--x--`],
  ])('%s', async (_, body) => {
    expect(await read(body)).toBe('unreadable')
  })

  it('a form without a boundary', async () => {
    expect(await read(`${field('a', '1')}--x--`, 'multipart/form-data')).toBe('unreadable')
  })
})
