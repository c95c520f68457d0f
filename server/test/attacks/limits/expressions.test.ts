/**
 * RL-12: every regular expression of the server runs in linear time. Each is found in the sources and matched against long
 * texts that provoke backtracking: a matching start, a repetition, and an end that fails.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { redirectProblem } from '../../../src/core/dialog/redirect-uri.ts'
import { readParameters } from '../../../src/http/parameters.ts'
import { expressionsIn } from '../../rig/corpora/expressions.ts'

const SRC = join(import.meta.dirname, '..', '..', '..', 'src')
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
const codeOf = (file: string) => readFileSync(join(SRC, file), 'utf8')
const expressions = files.flatMap((file) =>
  expressionsIn(codeOf(file)).map((each) => ({ ...each, where: `${file}:${each.line}` })),
)

/** One character of every class that an expression distinguishes, and typical pumps. */
const CHARACTERS = [...'aZ0_ \t\n\r.,:;-/@%<>"\'=&?#[](){}\\+*|~!$^·', '\u00a0', '\u0301', '\u0663', '\u200d', 'é', '𝟎']
const MORE = [
  'a.',
  'a-',
  'a@',
  'a ',
  ' a',
  'a,',
  ', ',
  '0.',
  '0:',
  'ff:',
  '::',
  '%4',
  '%41',
  '<a',
  'a=',
  '="',
  '&a=',
  '?a=',
  '{a',
  '/a',
  'IDAT ',
  '=;',
]
const SPOILERS = ['', '\0', '!', '\n', 'a']

/** Characters that the expression names, once each: the likeliest to be repeated. */
function literalsOf(source: string): string[] {
  const plain = source.replace(/\\[pP]\{[^}]*\}|\\u\{?[0-9a-fA-F]+\}?|\\x[0-9a-f]{2}|\\[bdDsSwW1-9]/g, '')
  return [...new Set(plain.replace(/[\\^$()[\]|?*+{}]/g, ''))].slice(0, 10)
}

/** The literal prefix of the expression. */
function beginningOf(source: string): string {
  return (/^\^?((?:\\[./+?{[]|[\w :/#])*)(?![?*{])/.exec(source)?.[1] ?? '').replace(/\\/g, '')
}

function pumpsFor(source: string): string[] {
  const own = literalsOf(source)
  return [...new Set([...CHARACTERS, ...MORE, ...own, ...own.flatMap((one) => own.map((other) => one + other))])]
}

type Pumped = { readonly text: (times: number) => string; readonly name: string }

function* textsFor(source: string): Generator<Pumped> {
  const beginnings = [...new Set(['', beginningOf(source), ':', 'a', '0'])]
  for (const pump of pumpsFor(source)) {
    for (const beginning of beginnings) {
      for (const spoiler of SPOILERS) {
        const text = (length: number) => beginning + pump.repeat(Math.ceil(length / pump.length)) + spoiler
        yield { text, name: JSON.stringify([beginning, pump, spoiler]) }
      }
    }
  }
}

function took(run: () => void, times = 1): number {
  let least = Number.POSITIVE_INFINITY
  for (let time = 0; time < times; time += 1) {
    const begun = performance.now()
    run()
    least = Math.min(least, performance.now() - begun)
  }
  return least
}

/** Six times the text takes six times as long in linear time, thirty-six times in quadratic time. */
const LENGTH = 2_000
const TIMES_LONGER = 6
const MAX_GROWTH = 15

/** A linear expression takes a twentieth of this, a quadratic one more than four times as much. In between, the growth decides. */
const SUSPICIOUS_MS = 0.5

/** One fast run of five is enough: a busy machine adds time and never removes any. */
function growsTooMuch(run: (text: string) => void, text: (length: number) => string): boolean {
  const [short, long] = [text(LENGTH), text(TIMES_LONGER * LENGTH)]
  const shortMs = Math.max(
    took(() => run(short), 7),
    0.001,
  )
  return [1, 2, 3, 4, 5].every(() => took(() => run(long)) > MAX_GROWTH * shortMs)
}

/** The first slow text, if there is one. */
function superlinear(run: (text: string) => void, texts: Iterable<Pumped>): string | null {
  for (const { text, name } of texts) {
    const given = text(LENGTH)
    if (took(() => run(given)) < SUSPICIOUS_MS) continue
    if (growsTooMuch(run, text)) return name
  }
  return null
}

describe('RL-12: regular expressions', () => {
  it('all expressions are found: known ones are among them, and only one is built at run time', () => {
    const sources = expressions.map(({ source }) => source)
    expect(sources).toContain('^Bearer +([^ ].*)$')
    expect(sources).toContain('^[a-z0-9][a-z0-9_.:-]{0,63}$')
    expect(sources.length).toBeGreaterThan(80)
    expect(files.filter((file) => /\bRegExp\(/.test(codeOf(file)))).toEqual(['core/dialog/redirect-uri.ts'])
  })

  it('the measurement distinguishes a quadratic expression from a linear one', () => {
    const run = (expression: RegExp) => (text: string) => void text.replace(expression, '')
    expect(superlinear(run(/(?<=:.*)%[\w.:-]+$/g), textsFor('%'))).not.toBeNull()
    expect(superlinear(run(/ +$/g), textsFor(' '))).not.toBeNull()
    expect(superlinear(run(/^[a-z ]+$/g), textsFor('a '))).toBeNull()
  })

  it.each(expressions)('RL-12: $where /$source/$flags', ({ source, flags }) => {
    const global = new RegExp(source, [...new Set(`${flags}g`)].join(''))
    const once = new RegExp(source, flags.replace('g', ''))
    const run = (text: string) => {
      once.test(text)
      text.replace(global, '')
    }
    expect(superlinear(run, textsFor(source))).toBeNull()
  })

  it('RL-12: built at run time: a redirect URI', () => {
    const addresses = [...textsFor('a-.[]:')].map(({ text, name }) => ({
      text: (n: number) => `https://${text(n)}`,
      name,
    }))
    expect(superlinear((text) => redirectProblem(text), addresses)).toBeNull()
  })
})

describe('RL-12: look-ups', () => {
  it('RL-12: colliding names are limited: the fifty-first parameter refuses the request', () => {
    const names = (many: number) => Array.from({ length: many }, (_, at) => `${at * 65_536}=`).join('&')
    expect(readParameters(names(50), undefined).size).toBe(50)
    expect(() => readParameters(names(51), undefined)).toThrow('more than 50 parameters')
    const form = { bytes: Buffer.from(names(1_000)), parts: null }
    expect(() => readParameters('', form)).toThrow('more than 50 parameters')
  })
})
