/** Variants of a request on the wire: two formats, two ways of passing parameters, with and without the version. */
import { SaxesParser } from 'saxes'
import { post, type WireAnswer, type WireVariant } from './device.ts'

export type Dialect = {
  readonly format: 'json' | 'xml'
  readonly by: 'query' | 'form' | 'multipart'
  readonly version: '' | '/1'
}

/** Combinations in which each value occurs at least once with each value of the others. */
export const dialects: readonly Dialect[] = [
  { format: 'json', by: 'form', version: '' },
  { format: 'json', by: 'query', version: '/1' },
  { format: 'xml', by: 'form', version: '/1' },
  { format: 'xml', by: 'query', version: '' },
  { format: 'json', by: 'multipart', version: '' },
]

export function describeDialect({ format, by, version }: Dialect): string {
  return `${format}, parameters by ${by}, ${version === '' ? 'no version' : 'version 1'}`
}

export type Spoken = WireAnswer & {
  /** Fields of the answer in either format, as text. */
  readonly fields: Readonly<Record<string, string>>
}

export async function speak(
  address: string,
  dialect: Dialect,
  variant: WireVariant,
  endpoint: 'code' | 'polling',
  parameters: Record<string, string>,
): Promise<Spoken> {
  const path = `${dialect.version}/auth/${variant}/device/${endpoint}${dialect.format === 'xml' ? '.xml' : ''}`
  const answer = await post(address, path, encode(dialect, parameters))
  return { ...answer, fields: readFields(dialect.format, answer) }
}

function encode({ by }: Dialect, parameters: Record<string, string>) {
  if (by === 'query') return { query: parameters }
  if (by === 'form') return { form: parameters }
  const boundary = 'a-boundary-that-occurs-nowhere-else'
  const parts = Object.entries(parameters).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  return {
    raw: `${parts.join('')}--${boundary}--\r\n`,
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  }
}

function readFields(format: Dialect['format'], answer: WireAnswer): Record<string, string> {
  if (format === 'xml') return readXml(answer.text)
  return Object.fromEntries(Object.entries(answer.body).map(([name, value]) => [name, String(value)]))
}

/** An independent, strict XML parser. Anything but text directly under <response> is an error. */
export function readXml(text: string): Record<string, string> {
  const fields: Record<string, string> = {}
  const path: string[] = []
  const parser = new SaxesParser()
  parser.on('error', (error) => {
    throw error
  })
  parser.on('opentag', ({ name }) => {
    path.push(name)
    if (path[0] !== 'response' || path.length > 2) throw new Error(`unexpected element ${path.join('/')}`)
    if (path.length === 2) fields[name] = ''
  })
  parser.on('text', (piece) => {
    if (path.length === 2) fields[path[1] ?? ''] += piece
    else if (piece.trim() !== '') throw new Error(`unexpected text ${piece}`)
  })
  parser.on('closetag', () => {
    path.pop()
  })
  parser.write(text).close()
  return fields
}
